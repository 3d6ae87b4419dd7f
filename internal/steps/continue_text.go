package steps

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/session"
)

// ContinueHelp is what the help of the command says.
const ContinueHelp = `Begin a session of another runtime with what was said in one: messages, calls of
tools with their results, the summary of what was compacted. SESSION is an id or key
of a session that is there, or an archive's. It is only read. The new session is
written beside those of the target; the command that goes on with it is printed.

Thinking, and what the runtime itself put in front of the model stay behind. Secrets
are masked, as another provider gets what was said; what an image shows is not:
--images none leaves images out. Each of these is counted.`

// largeContext is from how many tokens on a context may not fit into a model's window.
const largeContext = 150_000

// DescribeContinue is the document for people.
func DescribeContinue(d ContinueDocument) string {
	var b strings.Builder
	done := "continued"
	if d.DryRun {
		done = "would continue"
	}
	fmt.Fprintf(&b, "%s in %s: session %s of %s\n", done, d.In, wording.Visible(d.From.Session), d.From.Runtime)
	line := func(what, text string) { fmt.Fprintf(&b, "  %-10s%s\n", what, text) }
	line("arrives", fmt.Sprintf("%s, %s of text, about %s tokens", wording.Plural(d.Messages, "message"), wording.Bytes(int64(d.TextBytes)), wording.Count(int64(d.Tokens))))
	line("calls", fmt.Sprintf("%s with their results, %s as text", wording.Count(int64(d.Pairs)), wording.Count(int64(d.CallsText))))
	if d.Shown > 0 {
		line("images", wording.Count(int64(d.Shown))+", as they are: what they show is not masked; --images none leaves them out")
	}
	for _, c := range d.changes() {
		line(c[0], c[1])
	}
	if d.Path != "" {
		line("log", wording.Visible(d.Path))
		line("go on", "cd "+wording.Visible(session.ShellWord(d.Directory))+" && "+strings.Join(d.Command, " "))
	}
	return b.String()
}

// changes are the lines about what does not arrive as it was.
func (d ContinueDocument) changes() (lines [][2]string) {
	for _, c := range []struct {
		n                int
		what, noun, tail string
	}{
		{d.Unanswered, "changed", "call", " without a result: one that says so stands there"},
		{d.Orphans, "changed", "result", " without a call: as text"},
		{d.Summarized, "summed up", "message", " beyond the budget"},
		{d.Masked, "masked", "secret", "; --keep-secrets leaves them"},
		{d.Images, "left out", "image", d.unseen()},
		{d.Injected, "left out", "message", " that the runtime put there itself"},
		{d.BrokenOff, "left out", "answer", " that did not end, with the results"},
	} {
		if c.n > 0 {
			lines = append(lines, [2]string{c.what, wording.Plural(c.n, c.noun) + c.tail})
		}
	}
	if d.Tokens > largeContext {
		lines = append(lines, [2]string{"large", "a window may be smaller: --budget 100000 sums up what is older"})
	}
	return lines
}

// unseen says why images stay behind.
func (d ContinueDocument) unseen() string {
	if d.asked == ImagesNone {
		return ": --images none"
	}
	return " that cannot be sent or are too many"
}

// TellContinue says of a session that was shown how it goes on in another agent.
func TellContinue(run *workspace.Run, entry archive.Entry, shown bool) {
	into := slices.DeleteFunc(IntoRuntimes(), func(name string) bool { return name == entry.Runtime })
	if shown && len(into) > 0 {
		run.Notice(workspace.Note{Message: "the session can go on in " + strings.Join(into, ", "), Hint: "sessctl continue " + entry.ID + " --in " + into[0]})
	}
}
