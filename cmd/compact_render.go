package cmd

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// renderCompact prints the results: the document, or a few lines a session.
func renderCompact(a *app, doc compactDocument) error {
	if doc.Sessions == nil {
		doc.Sessions = []compact.Result{}
	}
	doc.Notes, doc.Late = a.notes, a.late
	if a.global.JSON {
		return a.printJSON(doc)
	}
	for _, r := range doc.Sessions {
		if _, err := fmt.Fprint(a.Out, describeResult(r)); err != nil {
			return err
		}
	}
	return nil
}

// describeResult is one session for people.
func describeResult(r compact.Result) string {
	var b strings.Builder
	name := r.Key
	if name == "" {
		name = strings.Trim(r.Agent+" "+r.Session, " ")
	}
	fmt.Fprintf(&b, "%s: %s", visible(name), strings.ReplaceAll(string(r.Outcome), "-", " "))
	if r.Reason != "" {
		fmt.Fprintf(&b, " (%s)", visible(r.Reason))
	}
	b.WriteByte('\n')
	if r.Outcome != compact.Planned && r.Outcome != compact.Compacted && r.Outcome != compact.Partial && r.Outcome != compact.Resummarized {
		return b.String()
	}
	for _, line := range details(r) {
		fmt.Fprintf(&b, "  %-9s %s\n", line[0], line[1])
	}
	return b.String()
}

func details(r compact.Result) [][2]string {
	lines := [][2]string{
		{"session", visible(r.Session)},
		{"log", fmt.Sprintf("%s, %s messages, %s tokens (%s)", formatBytes(r.Bytes), formatCount(int64(r.Messages)), formatCount(r.TokensBefore), r.TokenSource)},
	}
	if r.LinesSkipped > 0 {
		lines = append(lines, [2]string{"unread", plural(r.LinesSkipped, "line") + " could not be read; the archive has every byte"})
	}
	if r.Outcome != compact.Resummarized {
		lines = append(lines, [2]string{"memory", memoryLine(r)})
	}
	if r.Outcome == compact.Planned && r.Summary == nil {
		return append(lines, [2]string{"then", thenLine(r)})
	}
	if r.Summary != nil {
		lines = append(lines, [2]string{"summary", fmt.Sprintf("%s, %s characters", visible(cmp.Or(r.Summary.Model, r.Summary.Kind)), formatCount(int64(r.Summary.Chars)))})
		if r.Summary.Degraded {
			lines = append(lines, [2]string{"", "degraded: " + visible(r.Summary.Reason)})
		}
	}
	if r.Archive != nil {
		lines = append(lines, [2]string{"archive", visible(r.Archive.Path)}, [2]string{"", "sha256 " + r.Archive.SHA256 + ", verified"})
	}
	if r.Receipt != "" {
		lines = append(lines, [2]string{"receipt", visible(r.Receipt)})
	}
	return lines
}

func thenLine(r compact.Result) string {
	if r.Via == session.ViaGateway {
		return "archive, remember, and ask the running gateway for a fresh session (" + string(r.Strategy) + ")"
	}
	switch r.Strategy {
	case compact.StrategyNone:
		return "archive and remember; the session is not changed"
	case compact.StrategyOverlay:
		return "archive, remember, and append a summary that stands for the older messages (overlay)"
	case compact.StrategyRewrite:
		if r.Cleared {
			return "archive, remember, and clear the session: nobody uses it (rewrite)"
		}
		return "archive, remember, and put a summary in the place of the older messages (rewrite)"
	case compact.StrategyAnnotate:
		return "archive, remember, and write a summary beside the messages (annotate)"
	}
	return "archive, remember, and start a fresh session (" + string(r.Strategy) + ")"
}

// plural is a count and its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return formatCount(int64(n)) + " " + noun + "s"
}

func memoryLine(r compact.Result) string {
	s := plural(r.Chunks, "chunk")
	if r.ChunksPending > 0 {
		s += fmt.Sprintf(", %s of this agent wait for an embedding (found by text until then)", formatCount(int64(r.ChunksPending)))
	}
	return s
}
