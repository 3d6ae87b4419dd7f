package workspace

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dustin/go-humanize/english"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// LateLines is what a run found out about lines that reached an old log after
// it was put aside (docs/json.md).
type LateLines struct {
	Runtime string `json:"runtime"`
	Agent   string `json:"agent"`
	Session string `json:"session"`    // that was compacted
	Bytes   int64  `json:"size_bytes"` // the rest is of a [compact.LateProof]
	Archive string `json:"archive"`
	Carried int    `json:"carried"`
	LeftOut int    `json:"left_out"`
	Into    string `json:"into,omitempty"`
	Waiting bool   `json:"waiting,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// tellLate says what became of lines that an agent wrote to a log after it was
// moved aside.
func tellLate(run *Run, old session.Rotation, l compact.LateProof) {
	run.Late = append(run.Late, LateLines{
		Runtime: old.Runtime, Agent: old.Agent, Session: old.Session,
		Bytes: l.Bytes, Archive: l.Archive, Carried: l.Carried, LeftOut: l.LeftOut, Into: l.Into, Waiting: l.Waiting, Reason: l.Reason,
	})
	if l.Carried > 0 {
		run.Notice(Note{Path: l.Into, Message: fmt.Sprintf("%s that session %s got after it was closed %s appended here",
			english.Plural(l.Carried, "record", ""), old.Session, wording.Were(l.Carried))})
	}
	const safe = "what was added after it was closed is archived and remembered"
	switch {
	case l.Waiting:
		run.Notice(Note{Path: old.Kept, Message: safe + ", and waits to be carried into the session that followed: " + l.Reason})
	case l.Reason != "":
		run.Notice(Note{Path: old.Kept, Message: safe + ", but not in the session that followed: " + l.Reason})
	case l.LeftOut > 0:
		run.Notice(Note{Path: old.Kept, Message: safe + "; the session that followed lacks " + english.Plural(l.LeftOut, "line", "") + " of it, which cannot be there"})
	}
}

// Note is something a person should know that is no error.
type Note struct {
	Path    string `json:"path"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
	// Cause is what it has in common with others that say the same of something else;
	// "" where the message tells.
	Cause string `json:"-"`
}

func (n Note) cause() string {
	return cmp.Or(n.Cause, wording.CauseOf(n.Path, n.Message))
}

// Notice shows a note, or keeps it for a document. A note is shown once.
func (r *Report) Notice(n Note) {
	if slices.Contains(r.Notes, n) {
		return
	}
	r.Notes = append(r.Notes, n)
	if r.above != nil {
		r.above.Notice(n)
		return
	}
	if r.JSON || r.Quiet || r.again(n) {
		return
	}
	r.Shows.Line("note: " + wording.Visible(n.Text()))
	r.Hint(n.Hint)
}

// again counts a note whose cause was shown. The first one stands for all, unless
// each is to be shown.
func (r *Report) again(n Note) bool {
	if r.told == nil {
		r.told = map[string]int{}
	}
	r.told[n.cause()]++
	return r.told[n.cause()] > 1 && !r.Every
}

// TellMore says at the end of which notes there were more than were shown.
func (r *Report) TellMore() {
	if r.JSON || r.Every {
		return
	}
	r.tellMore(map[bool]string{false: "note: ", true: "sessctl: "}[r.Quiet], r.Notes)
	r.tellMore("sessctl: ", r.failed)
}

func (r *Report) tellMore(prefix string, all []Note) {
	for _, of := range wording.ByCause(all, Note.cause) {
		if of.Count > 1 && r.told[of.First.cause()] > 1 {
			r.Shows.Line(prefix + wording.Visible(of.First.Text()) + wording.More(of.Count-1))
		}
	}
}

// Text is what the note says, and of which file.
func (n Note) Text() string {
	if n.Path == "" {
		return n.Message
	}
	return n.Path + ": " + n.Message
}

// Tell is notice for what is said with --quiet too: why the run does not do all
// that it was asked for.
func (r *Report) Tell(n Note) {
	if slices.Contains(r.Notes, n) {
		return
	}
	if r.above != nil {
		r.Notes = append(r.Notes, n)
		r.above.Tell(n)
		return
	}
	r.Notice(n)
	if r.Quiet && !r.again(n) {
		r.Shows.Line("sessctl: " + wording.Visible(n.Text()))
	}
}

// Hint shows what can be done about what was just told.
func (r *Report) Hint(text string) {
	if text != "" && !r.Quiet {
		r.Shows.Line("hint: " + wording.Visible(text))
	}
}

// PassOver tells what makes a run incomplete: the exit code is 3.
func (r *Report) PassOver(n Note) {
	r.Tell(n)
	r.Incomplete++
	r.Passed = append(r.Passed, n)
	r.toldOf(n.Path)
}

func (r *Report) toldOf(paths ...string) {
	r.untold = slices.DeleteFunc(r.untold, func(n Note) bool { return slices.Contains(paths, n.Path) })
}

// LeaveUntold makes a run incomplete. Who knows whether that matters to the command
// tells why, or [Report.TellUntold] does at its end.
func (r *Report) LeaveUntold(n Note) {
	r.Incomplete++
	r.untold = append(r.untold, n)
}

// TellUntold says why the run is incomplete, as far as that was not told: no command
// ends with 3 and says nothing.
func (r *Report) TellUntold() {
	for _, n := range r.untold {
		r.Tell(n)
	}
}

// ShowNotices tells what was found while listing.
func (r *Report) ShowNotices(notices []session.Notice) {
	for _, n := range notices {
		tell := r.Notice
		if n.Unread {
			tell = r.PassOver
		}
		tell(Note{Path: n.Path, Message: n.Message, Hint: n.Hint})
	}
}

// ShowOdd is ShowNotices without what was not read, which [Report.TellUnread] tells.
func (r *Report) ShowOdd(notices []session.Notice) {
	r.ShowNotices(slices.DeleteFunc(slices.Clone(notices), func(n session.Notice) bool { return n.Unread || n.Cause != "" }))
}

// showsProgress reports whether somebody sees how far a piece of work has come.
func (r *Report) showsProgress() bool {
	if r.above != nil {
		return r.above.showsProgress()
	}
	return r.Shows.Terminal && !r.Quiet && !r.JSON
}

// Failed says at once what went wrong with one session; the run goes on. A cause is
// said once for all the sessions that have it.
func (r *Report) Failed(path string, err error) {
	if r.above != nil {
		r.above.Failed(path, err)
		return
	}
	body := failure.Explain(err)
	n := Note{Path: path, Message: body.Message, Hint: body.Hint, Cause: "failed: " + wording.CauseOf(path, body.Message)}
	if r.JSON || slices.Contains(r.failed, n) {
		return // the document has it
	}
	r.failed = append(r.failed, n)
	if r.again(n) {
		return
	}
	r.Shows.Line("sessctl: " + wording.VisibleText(n.Text()))
	r.Hint(n.Hint)
}
