package steps

import (
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/retention"
)

// StepResult is what a step has done.
type StepResult struct {
	Changed  int
	Summary  string
	Problems []string
	Damage   []audit.Problem // that a verification has found
}

// PerAgent lists the agents of a step, or "" for all.
func PerAgent(named []string, flags func(agent string) StepFlags) (all []StepFlags) {
	for _, agent := range agents(named) {
		all = append(all, flags(agent))
	}
	return all
}

// say joins what there is to say of a step.
func say(t *selection.Tally, nothing string) string {
	if t.Total() == 0 {
		return nothing
	}
	return t.String()
}

// TellCompact says in one line what the step did.
func TellCompact(doc selection.CompactDocument) (r StepResult) {
	var t selection.Tally
	var tokens int64
	var busy []string
	for _, s := range doc.Sessions {
		switch idle := selection.IdleReason(s); {
		case idle != "":
			t.Add(idle, 1)
			continue
		case s.Outcome == compact.Partial:
			r.Changed++
			t.Add("archived and remembered", 1)
			continue
		case s.Outcome == compact.Compacted:
			tokens += max(s.TokensBefore-s.TokensAfter, 0)
			r.Changed++
		case s.Outcome == compact.Failed:
			r.Problems = append(r.Problems, problemOf(s.Agent, s.Session, s.Reason))
		case s.Outcome == compact.Busy:
			busy = append(busy, problemOf(s.Agent, s.Session, s.Reason))
		}
		t.Add(string(s.Outcome), 1)
	}
	r.Problems = append(r.Problems, busy...) // what failed is the reason, if anything did
	r.Summary = say(&t, "no sessions")
	if tokens > 0 {
		r.Summary += fmt.Sprintf("; %s tokens less", wording.Count(tokens))
	}
	return r
}

// problemOf says what is wrong with a session.
func problemOf(agent, session, reason string) string {
	return strings.TrimSpace(agent+" "+session) + ": " + reason
}

// TellArchive says in one line what the step did.
func TellArchive(doc ArchiveDocument) (r StepResult) {
	var t selection.Tally
	for _, row := range doc.Archives {
		switch {
		case row.Outcome == "failed":
			r.Problems = append(r.Problems, problemOf(row.Agent, row.Session, row.Reason))
			fallthrough
		case row.Outcome != "archived":
			t.Add(row.Outcome, 1)
		case row.Reason != "":
			r.Changed++
			r.Problems = append(r.Problems, problemOf(row.Agent, row.Session, row.Reason))
			t.Add("archived", 1)
		case row.Unchanged:
			t.Add("unchanged", 1)
		case row.Remembered:
			r.Changed++
			t.Add("archived and remembered", 1)
		default:
			r.Changed++
			t.Add("archived", 1)
		}
	}
	r.Summary = say(&t, "no sessions")
	if n := len(doc.Superseded); n > 0 {
		r.Changed += n
		r.Summary += "; " + wording.Plural(n, "older archive") + " kept in newer ones"
	}
	return r
}

// TellFacts says in one line what the step did.
func TellFacts(doc FactsDocument) (r StepResult) {
	var t selection.Tally
	leftOut := 0
	for _, s := range doc.Sessions {
		r.Changed += s.Stored
		leftOut += s.LeftOut
		if s.Outcome == FactsFailed {
			r.Problems = append(r.Problems, problemOf(s.Agent, s.Session, s.Reason))
		}
		t.Add(s.Outcome, 1)
	}
	r.Summary = say(&t, "no sessions")
	if r.Changed > 0 {
		r.Summary = wording.Plural(r.Changed, "new fact") + "; " + r.Summary
	}
	if leftOut > 0 {
		r.Summary += fmt.Sprintf("; %s left out by extract_facts.max", wording.Plural(leftOut, "new fact"))
	}
	return r
}

// TellVerify says in one line what the step did.
func TellVerify(doc audit.VerifyDocument) (r StepResult) {
	how := map[bool]string{true: "read", false: "checked without reading"}[doc.ReadData]
	r.Summary = fmt.Sprintf("%s (%s) %s, %s checked", wording.Plural(doc.Checked, "archive"), wording.Bytes(doc.Bytes), how, wording.Plural(doc.Receipts, "receipt"))
	if doc.Copies > 0 {
		r.Summary += fmt.Sprintf(", %s of object storage read", wording.Plural(doc.Copies, "object"))
	}
	for _, p := range doc.Problems {
		r.Problems = append(r.Problems, Text(p))
	}
	r.Damage = doc.Problems
	if len(r.Problems) > 0 {
		r.Summary += ", " + wording.Plural(len(r.Problems), "problem")
	}
	return r
}

// Text is a problem, and where it is.
func Text(p audit.Problem) string {
	if strings.Contains(p.Message, p.Path) {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// TellClean says in one line what the step did.
func TellClean(doc removal.CleanDocument) StepResult {
	outcomes := make([]string, 0, len(doc.Sessions))
	var left []string
	for _, row := range doc.Sessions {
		if outcomes = append(outcomes, row.Outcome); row.Left {
			left = append(left, problemOf(row.Agent, row.Session, row.Reason))
		}
	}
	return tellDeletions(outcomes, left, doc.Bytes, doc.Waiting)
}

// TellUpload says in one line what the step did.
func TellUpload(doc workspace.UploadDocument) (r StepResult) {
	var t selection.Tally
	for _, row := range doc.Archives {
		if row.Outcome == workspace.OutcomeFailed {
			r.Problems = append(r.Problems, strings.Join([]string{row.Agent, row.Session, row.Reason}, ": "))
		} else {
			r.Changed++
		}
	}
	t.Add(workspace.OutcomeOffSite, r.Changed)
	r.Summary = say(&t, "all archives are off-site")
	return r
}

// TellPrune says in one line what the step did.
func TellPrune(doc removal.PruneDocument) StepResult {
	outcomes := make([]string, 0, len(doc.Archives))
	var left []string
	for _, row := range doc.Archives {
		if outcomes = append(outcomes, row.Outcome); row.Left {
			left = append(left, problemOf(row.Agent, row.Session, row.Reason))
		}
	}
	return tellDeletions(outcomes, left, doc.Bytes, doc.Waiting)
}

// TellPush says in one line what the step did.
func TellPush(doc recall.PushDocument) (r StepResult) {
	r.Changed = doc.Stored + doc.Gone + doc.Removed + doc.Honoured
	r.Summary = "nothing new to send"
	if r.Changed > 0 {
		r.Summary = fmt.Sprintf("%s sent and read back", wording.Plural(doc.Sent, "record"))
	}
	if doc.LeftToSend > 0 {
		r.Problems = append(r.Problems, wording.Plural(doc.LeftToSend, "record")+" left to send")
	}
	return r
}

// tellDeletions sums up what went, of so many bytes, what stayed, and how much of that
// waits for the next run.
func tellDeletions(outcomes, left []string, bytes int64, waiting int) (r StepResult) {
	r.Problems = left
	count := map[string]int{}
	for _, outcome := range outcomes {
		count[outcome]++
	}
	r.Changed = len(outcomes) - count[removal.PruneKept]
	var t selection.Tally
	t.Add("into the trash", count[retention.ActionTrash])
	t.Add("only off-site", count[workspace.OutcomeOffSite])
	t.Add("removed from the trash", count[retention.ActionPurge])
	t.Add("kept", count[removal.PruneKept]-waiting)
	t.Add("left for the next run", waiting)
	r.Summary = say(&t, "nothing is old enough")
	if r.Changed > 0 {
		r.Summary += " (" + wording.Bytes(bytes) + ")"
	}
	return r
}
