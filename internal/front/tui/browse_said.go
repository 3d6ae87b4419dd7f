package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/browse"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/retention"
)

// Said is what the command of a key was asked, and what it has said.
type Said struct {
	Ask browse.Request
	Doc any // the document of the command
}

// DryRun reports that only a plan is made.
func (x *Said) DryRun() bool { return x.Ask.Do == browse.MakePlan }

// Text is what the command has said.
func (x *Said) Text() string {
	switch doc := x.Doc.(type) {
	case selection.CompactDocument:
		return DescribeCompact(doc)
	case steps.ArchiveDocument:
		return DescribeArchive(doc)
	case removal.UndoDocument:
		return removal.DescribePutAway(doc) + removal.DescribeUndo(doc)
	case recall.ForgetDocument:
		if !x.DryRun() {
			return fmt.Sprintf("%s forgotten; archives are not touched\n", recall.ForgottenOf(doc.RecordsForgotten, doc.ActionsForgotten))
		}
		return recall.DescribeForget(doc)
	case removal.PinDocument:
		return removal.DescribePins(doc)
	case removal.CleanDocument:
		return describeClean(doc)
	case steps.ContinueDocument:
		return steps.DescribeContinue(doc)
	}
	return ""
}

// CleanOptions are those of what the keys for deleting do: with the sessions that were
// pointed at, or with what was agreed to of a plan.
func (x *Said) CleanOptions() (removal.CleanOptions, error) {
	o := removal.CleanOptions{EmptyTrash: x.Ask.Action == browse.Empty, DryRun: x.DryRun(), Yes: true, Only: x.Ask.Of}
	parts := x.Ask.Parts
	if len(parts) == 0 && !o.EmptyTrash {
		parts = []browse.Part{{Target: x.Ask.Target}}
	}
	if x.DryRun() {
		for _, p := range parts {
			o.Only = append(o.Only, selection.AgreedName(p.Target.Runtime, p.Target.Agent, p.Target.Session, p.Target.Path))
		}
	}
	return o, o.Validate()
}

// describeClean says of each session and each file of the trash what becomes of it.
func describeClean(doc removal.CleanDocument) string {
	var b strings.Builder
	for _, r := range doc.Sessions {
		name := wording.Visible(strings.TrimSpace(cmp.Or(r.ProjectName, r.Agent) + "  " + cmp.Or(r.Session, r.Path) + "  " + r.Title))
		size := wording.Bytes(r.Bytes)
		switch r.Outcome {
		case retention.ActionTrash:
			fmt.Fprintf(&b, "%s\n  %s, %s: %s into the trash\n", name, wording.Plural(r.Files, "file"), size, map[bool]string{true: "would go", false: "went"}[doc.DryRun])
		case retention.ActionPurge:
			fmt.Fprintf(&b, "%s\n  %s, %s: %s for good\n", name, wording.Visible(r.Path), size, map[bool]string{true: "would go", false: "gone"}[doc.DryRun])
		case retention.ActionUndelete:
			fmt.Fprintf(&b, "%s\n  %s, %s: %s back\n", name, wording.Visible(r.Path), size, map[bool]string{true: "would come", false: "is"}[doc.DryRun])
		default:
			fmt.Fprintf(&b, "%s\n  stays: %s\n", name, wording.Visible(r.Reason))
		}
	}
	return b.String()
}

// Agreed are those that a plan would change. Of memory and of pins, which know
// more than one session by the same name, it is all that the plan says.
func (x *Said) Agreed() (names []string) {
	switch doc := x.Doc.(type) {
	case recall.ForgetDocument:
		return []string{recall.DescribeForget(doc)}
	case removal.PinDocument:
		return []string{removal.DescribePins(doc)}
	case selection.CompactDocument:
		for _, r := range doc.Sessions {
			if r.Outcome == compact.Planned {
				names = append(names, selection.AgreedName(r.Runtime, r.Agent, r.Session, r.Path))
			}
		}
	case removal.CleanDocument:
		for _, r := range doc.Sessions {
			if r.Outcome != removal.PruneKept {
				names = append(names, selection.AgreedName(r.Runtime, r.Agent, r.Session, r.Path))
			}
		}
	case steps.ArchiveDocument:
		for _, r := range doc.Archives {
			if r.Outcome == string(compact.Planned) && !r.Unchanged {
				names = append(names, selection.AgreedName(r.Runtime, r.Agent, r.Session, r.Path))
			}
		}
	}
	return names
}

// changes counts what a plan would change.
func (x *Said) changes() int {
	switch doc := x.Doc.(type) {
	case removal.UndoDocument:
		if doc.Session.Outcome == compact.Planned {
			return 1
		}
	case recall.ForgetDocument:
		return doc.Records + doc.Actions
	case removal.PinDocument:
		return doc.Changed
	case steps.ContinueDocument:
		return 1
	}
	return len(x.Agreed())
}

// Question asks a person whether to do what a plan says, "" if that is nothing.
func (x *Said) Question() string {
	changes := x.changes()
	if changes == 0 {
		return ""
	}
	switch x.Ask.Action {
	case browse.Forget:
		return "Forget " + ForgottenIn(x.Doc) + "? It cannot be undone; the archives stay."
	case browse.Delete:
		return "Delete " + wording.Plural(changes, "session") + "? Archived and remembered first; in the trash for 7 days, u brings it back."
	case browse.Empty:
		return "Remove " + wording.Plural(changes, "file") + " of the trash for good? The archives stay."
	case browse.Undo:
		if x.Ask.Target.Trashed {
			return "Bring back " + wording.Plural(changes, "file") + "?"
		}
		return "Undo this compaction?"
	case browse.Pin:
		return "Do this?"
	case browse.Continue:
		return "Begin this session in " + x.Ask.Target.Into + "? The session here stays as it is."
	case browse.Archive:
		return "Archive and remember " + wording.Plural(changes, "session") + "?"
	}
	return "Compact " + wording.Plural(changes, "session") + "? u undoes it."
}

// Force says what another plan would do with force, "" for nothing.
func (x *Said) Force() string {
	doc, ok := x.Doc.(selection.CompactDocument)
	if !ok || x.Ask.Force {
		return ""
	}
	for _, r := range doc.Sessions {
		if r.Outcome == compact.BelowThreshold {
			return "plan it although it is below the threshold"
		}
	}
	return ""
}

// Undoable lists the compactions of a target that can be undone, and its sessions in
// the trash, the newest first.
func Undoable(ctx context.Context, run *workspace.Run, of browse.Target) ([]browse.Doing, error) {
	rows, err := audit.LogRows(ctx, run)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r audit.LogRow) bool { return r.Undo == "" || !about(of, r.Runtime, r.Agent) })
	var all []dated
	for _, r := range rows {
		all = append(all, dated{r.Time, doing(r.At, r.What(), r.Tokens()+" tokens", browse.Target{Runtime: r.Runtime, Agent: r.Agent, Session: r.Session, Receipt: r.Receipt, Name: r.Session})})
	}
	trashed, err := trashedIn(run, of)
	all = append(all, trashed...)
	slices.SortStableFunc(all, func(x, y dated) int { return cmp.Or(y.at.Compare(x.at), strings.Compare(x.What, y.What)) })
	doings := make([]browse.Doing, 0, len(all))
	for _, d := range all {
		doings = append(doings, d.Doing)
	}
	return doings, err
}

// dated is something that was done, and when.
type dated struct {
	at time.Time
	browse.Doing
}

func about(of browse.Target, runtime, agent string) bool {
	return (of.Runtime == "" || runtime == of.Runtime) && (of.Agent == "" || agent == of.Agent)
}

func doing(at, what, size string, target browse.Target) browse.Doing {
	return browse.Doing{
		When: wording.ShownTime(at), Target: target,
		What: wording.Visible(what + "  " + target.Agent + "  " + target.Session[:min(len(target.Session), 8)] + "  " + size),
	}
}

// trashedIn are the sessions of a target that are in the trash.
func trashedIn(run *workspace.Run, of browse.Target) (all []dated, err error) {
	items, err := run.SessionTrash().List()
	files := map[browse.Target]int64{}
	last := map[browse.Target]time.Time{}
	for _, item := range items {
		s, err := retention.SessionOf(item)
		if err != nil || !about(of, s.Runtime, s.Agent) {
			continue
		}
		t := browse.Target{Runtime: s.Runtime, Agent: s.Agent, Session: s.Session, Name: s.Session, Trashed: true}
		if files[t] += item.Bytes; item.At.After(last[t]) {
			last[t] = item.At
		}
	}
	for t, bytes := range files {
		all = append(all, dated{last[t], doing(last[t].UTC().Format(time.RFC3339), "deleted", wording.Bytes(bytes), t)})
	}
	return all, err
}

// AddTrash says which sessions are in the trash, and how much that is.
func AddTrash(run *workspace.Run, home *browse.Home) error {
	items, err := run.SessionTrash().List()
	until := map[selection.SessionName]time.Time{}
	for _, item := range items {
		if s, err := retention.SessionOf(item); err == nil {
			home.Trash += item.Bytes
			until[selection.SessionName{Runtime: s.Runtime, Agent: s.Agent, Session: s.Session}] = item.Until
		}
	}
	for i := range home.Sessions {
		s := &home.Sessions[i]
		if at, is := until[selection.SessionName{Runtime: s.Runtime, Agent: s.Agent, Session: s.ID}]; is && s.Path == "" {
			s.State = "in the trash to " + at.Local().Format("01-02")
		}
	}
	return err
}
