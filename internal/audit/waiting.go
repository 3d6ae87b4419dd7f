package audit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/report"
)

// compactsAll is advised where a compaction of everything does what is due.
const compactsAll = "sessctl compact --all"

// Waiting is what is to be done, and by which command; report and status show it. What
// is never due by the rules of compact is not in it.
func (o *Observer) Waiting() []report.Pending {
	waiting := []report.Pending{}
	add := func(count int, what, advice string) {
		if count > 0 {
			waiting = append(waiting, report.Pending{What: what, Count: count, Advice: advice})
		}
	}
	begun, err := o.Journal().List()
	if err != nil {
		o.Failures = append(o.Failures, workspace.Note{Path: o.JournalDir(), Message: err.Error(), Hint: "sessctl doctor says more"})
	}
	begun = slices.DeleteFunc(begun, func(in compact.Intent) bool {
		_, stuck := o.Journal().Note(in.ID)
		return !stuck && in.Rests() // only its old log is still kept
	})
	add(len(begun), "compactions that an earlier run began", "the next run finishes them; sessctl doctor says more")
	of, refused := map[string]int{}, []*selection.SessionRow{}
	for _, row := range o.MainRows() {
		if row.Over {
			of[row.Compact]++
		}
		if row.Refusal() != "" {
			refused = append(refused, row)
		}
	}
	add(of[selection.ProspectDue], "sessions due for compaction", compactsAll)
	add(of[selection.ProspectRuntime], "sessions to archive and remember; only their runtime makes them smaller", compactsAll)
	add(of[selection.ProspectBusy], "sessions that are due and in use", "a later run takes them")
	for _, alike := range wording.ByCause(refused, func(r *selection.SessionRow) string { return wording.CauseOf(r.Path, r.Reason) }) {
		add(alike.Count, "sessions that cannot be compacted", strings.TrimSuffix(alike.First.Reason+"; "+alike.First.Note().Hint, "; "))
	}
	add(o.Pending(), "records that wait for an embedding", "once sessctl doctor says that the embedder serves: sessctl memory reindex --pending")
	for _, alike := range wording.ByCause(o.byWords, func(w workspace.ByWords) string { return strings.ReplaceAll(w.Message, w.Agent, "") }) {
		advice := alike.First.Message + "; " + alike.First.Hint
		switch {
		case alike.First.Agent != "":
			add(alike.Count, "agents whose vectors another model made", advice)
		case o.Pending() == 0:
			add(alike.Count, "embedder that recall cannot ask", advice)
		}
	}
	if o.Events != nil {
		add(o.Events.Waiting, "events that were not sent yet", "the next run sends them; sessctl events list")
		add(o.Events.Dead, "events that could not be delivered", "once sessctl events test is accepted: sessctl events retry")
	}
	return waiting
}

// ProjectNames are the projects to show agents by.
func (o *Observer) ProjectNames() selection.Projects {
	return selection.ProjectsOf(o.Run.Home(), o.Run.Works, o.Entries, nil)
}

// Purges are what runtimes delete by themselves, by agent, the first to go first.
func (o *Observer) Purges() []report.Purge {
	archived := selection.ArchivedStates(o.Entries)
	at := map[workspace.Owner]*report.Purge{}
	for i := range o.Sessions {
		s := &o.Sessions[i]
		if s.Expires.IsZero() || s.Bytes == 0 {
			continue
		}
		p := at[s.Owner()]
		if p == nil {
			p = &report.Purge{Runtime: s.Runtime, Agent: s.Agent, First: wording.StampText(s.Expires)}
			at[s.Owner()] = p
		}
		p.Sessions++
		p.Bytes += s.Bytes
		p.First, p.Last = min(p.First, wording.StampText(s.Expires)), max(p.Last, wording.StampText(s.Expires))
		if !archived[selection.State(*s)] {
			p.Unarchived++
			if s.Expires.Sub(o.At) <= selection.PurgeWarning {
				p.Soon++
			}
		}
	}
	all := []report.Purge{}
	for _, p := range at {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(x, y report.Purge) int {
		return cmp.Or(strings.Compare(x.First, y.First), strings.Compare(x.Runtime, y.Runtime), strings.Compare(x.Agent, y.Agent))
	})
	return all
}
