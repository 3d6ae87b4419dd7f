package tui

import (
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/browse"
)

// PlanParts makes one plan of the plans for each session that is marked: of those that
// would change something the question is asked once.
func PlanParts(r browse.Request, plan func(browse.Request) browse.Plan) browse.Plan {
	all := browse.Plan{Title: "plan: " + string(r.Action) + " " + r.Target.Name}
	var text strings.Builder
	for _, part := range r.Parts {
		p := plan(partOf(r, part))
		fmt.Fprintf(&text, "%s\n%s\n", wording.Visible(part.Target.Name), indented(p.Text))
		if p.Question != "" {
			all.Parts = append(all.Parts, browse.Part{Target: part.Target, Of: p.Of})
		}
		if p.Force != "" {
			all.Force = p.Force
		}
	}
	all.Text = text.String()
	if n := len(all.Parts); n > 0 {
		all.Question = map[browse.Action]string{
			browse.Archive: "Archive and remember", browse.Compact: "Compact", browse.Forget: "Forget what memory has of", browse.Pin: "Change the pins of",
		}[r.Action] + " " + wording.Plural(n, "session") + "?"
	}
	return all
}

// CarryParts carries out what was agreed to, one session after the other. After stopped
// says so, none is begun.
func CarryParts(r browse.Request, stopped func() bool, carry func(browse.Request) browse.Result) browse.Result {
	all := browse.Result{}
	var text strings.Builder
	done := 0
	for _, part := range r.Parts {
		if stopped() {
			all.Failed = true
			fmt.Fprintf(&text, "%s\n  was not begun\n", wording.Visible(part.Target.Name))
			continue
		}
		one := carry(partOf(r, part))
		if all.Failed = all.Failed || one.Failed; !one.Failed {
			done++
		}
		fmt.Fprintf(&text, "%s\n%s\n", wording.Visible(part.Target.Name), indented(one.Text))
	}
	all.Title = fmt.Sprintf("%s: %d of %s", r.Action, done, wording.Plural(len(r.Parts), "session"))
	all.Text = text.String()
	return all
}

// partOf is the request for one session of several.
func partOf(r browse.Request, part browse.Part) browse.Request {
	r.Target, r.Of, r.Parts = part.Target, part.Of, nil
	return r
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}
