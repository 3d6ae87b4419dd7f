package pages

import (
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
)

// Status is the screen of sessctl status.
func Status(a *workspace.Run, doc *audit.StatusDocument) string {
	var b strings.Builder
	line := func(what, text string) { fmt.Fprintf(&b, "  %-11s %s\n", what, wording.Visible(text)) }
	b.WriteString(doc.Headline() + "\n")
	for _, p := range doc.Wrong {
		line(p.What, problemText(a, p))
		if p.Advice != "" {
			line("", p.Advice)
		}
	}
	for _, p := range doc.Due {
		line("due", fmt.Sprintf("%s: %s; %s", p.What, wording.Count(int64(p.Count)), p.Advice))
	}
	b.WriteByte('\n')
	describeRuns(line, doc)
	if grew := doc.Growth(); grew != "" {
		line("grew", grew)
	}
	for _, text := range doc.Going(func(at string) string { return GoesOn(at, a.Now()) }) {
		line("will go", text)
	}
	if doc.LeftOut > 0 {
		line("not shared", wording.Plural(doc.LeftOut, "record")+" (memory.remote.except)")
	}
	if !doc.ArchivesKnown {
		line("archives", "not known: they could not be listed, see above")
		return b.String()
	}
	line("saved", fmt.Sprintf("%s tokens out of contexts by %s, %s out of logs", wording.Count(doc.Saved.Tokens), wording.Plural(doc.Saved.Compactions, "compaction"), wording.Bytes(doc.Saved.LogBytes)))
	line("verified", doc.Verified())
	return b.String()
}

func problemText(a *workspace.Run, p audit.StatusProblem) string {
	text := p.Message
	if p.Where != "" && !strings.Contains(text, p.Where) {
		text = a.Tilde(p.Where) + ": " + text
	}
	return text + wording.MoreLike(p.Count-1)
}

func describeRuns(line func(what, text string), doc *audit.StatusDocument) {
	runs := doc.Runs
	switch {
	case !doc.RunsKnown:
		line("last run", "not known: the records of runs could not be read, see above")
	case len(runs) == 0:
		line("last run", "none is on record; sessctl schedule install nightly runs every night")
	}
	for _, r := range runs[:min(len(runs), audit.MostOfStatus)] {
		text := fmt.Sprintf("%s, %s, %s", r.Profile, wording.ShownTime(r.Started), r.Outcome)
		if r.Seconds > 0 {
			text += " in " + steps.Took(r.Seconds)
		}
		if len(r.Summary) > 0 {
			text += "; " + strings.Join(r.Summary, "; ")
		}
		line("last run", text)
	}
}
