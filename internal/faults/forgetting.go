//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// forgettings are runs that remember a log of which something was forgotten, and
// which has grown since: the forgotten piece has got longer, and so has another
// identity, which Put notes in a file inside its transaction. A run that says it is
// done has noted it: the next one would write the file if it were missing, so each is
// verified at once.
func forgettings() []Command {
	return []Command{{
		Name: "archive, and remember, grown after a forget", Runtime: "pi", Args: []string{"archive", "--all", "--remember"},
		Prepare: grownAfterForget, Sessions: true, Slow: true,
		Done: func(h *Home) error {
			return errors.Join(h.logIs(h.source()), h.inArchives(h.Lines), h.recalls(Chunks-1), h.lacksForgotten(), h.verifies())
		},
		Whole:   (*Home).lacksForgotten,
		Settled: func(h *Home) error { return errors.Join(remembers(Chunks-1)(h), h.lacksForgottenAnew()) },
	}}
}

// forgottenLines is how many lines the log had when its last message was forgotten:
// the header, ten messages and a damaged line. The piece of the last two gets longer.
const forgottenLines = 12

// grownAfterForget is a home whose session was remembered when a part of it was
// said, of which the last message was forgotten.
func grownAfterForget(h *Home) error {
	part := strings.Join(h.Lines[:forgottenLines], "\n") + "\n"
	return errors.Join(
		writeAged(h.Log(), part), h.must([]int{0}, "archive", "--all", "--remember"),
		h.must([]int{0}, "memory", "forget", "--text", h.forgottenText(), "--yes"), writeAged(h.Log(), h.source()), h.lacksForgotten(),
	)
}

// forgottenText stands only in the last message that was there then.
func (h *Home) forgottenText() string {
	return fmt.Sprintf("moved for reason %d, which", forgottenLines-3)
}

// lacksForgotten checks that memory does not have what was forgotten.
func (h *Home) lacksForgotten() error {
	code, out, err := h.Run("memory", "export")
	if err != nil || code != 0 && !strings.Contains(out, "no memory yet") {
		return fmt.Errorf("memory export: exit %d, %v: %s", code, err, out)
	}
	if strings.Contains(out, h.forgottenText()) {
		return errors.New("what was forgotten is in memory")
	}
	return nil
}

// lacksForgottenAnew checks the same of a memory that is made again: only the files
// beside it say what was forgotten.
func (h *Home) lacksForgottenAnew() error {
	if err := os.RemoveAll(filepath.Join(h.Data(), "memory")); err != nil {
		return err
	}
	return errors.Join(h.must([]int{0}, "memory", "reindex", "--from-archives"), h.lacksForgotten(), h.recalls(Chunks-1))
}
