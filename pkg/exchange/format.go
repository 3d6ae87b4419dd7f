package exchange

import (
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/replay"
)

// FormatATIF is a whole session as a trajectory: see [ATIF].
const FormatATIF replay.Format = "atif"

// Formats are all formats in which a session is written: those of package replay first.
func Formats() []replay.Format {
	return append(replay.Formats(), FormatATIF, FormatChat, FormatResponses, FormatShareGPT)
}

// Strict reports whether a format has no place for calls without results, and results
// without calls.
func Strict(f replay.Format) bool {
	return slices.Contains([]replay.Format{replay.OpenAI, replay.Anthropic, FormatChat, FormatResponses, FormatShareGPT}, f)
}

// Write writes a context in any format but [FormatATIF].
func Write(w io.Writer, f replay.Format, origin replay.Origin, messages []replay.Message) error {
	switch f {
	case FormatChat, FormatResponses, FormatShareGPT:
		return writeLine(w, f, origin, messages)
	}
	return replay.Write(w, f, origin, messages)
}
