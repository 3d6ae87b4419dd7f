package cmd

import (
	"fmt"
	"slices"

	"github.com/sessctl/sessctl/pkg/session"
)

// note is something a person should know that is no error.
type note struct {
	Path    string `json:"path"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// notice shows a note, or keeps it for a document. A note is shown once.
func (r *reporting) notice(n note) {
	if slices.Contains(r.notes, n) {
		return
	}
	r.notes = append(r.notes, n)
	if r.above != nil {
		r.above.notice(n)
		return
	}
	if r.JSON || r.Quiet {
		return
	}
	r.shows.line("note: " + visible(n.text()))
	r.hint(n.Hint)
}

// text is what the note says, and of which file.
func (n note) text() string {
	if n.Path == "" {
		return n.Message
	}
	return n.Path + ": " + n.Message
}

// tell is notice for what is said with --quiet too: why the run does not do all
// that it was asked for.
func (r *reporting) tell(n note) {
	if slices.Contains(r.notes, n) {
		return
	}
	if r.above != nil {
		r.notes = append(r.notes, n)
		r.above.tell(n)
		return
	}
	r.notice(n)
	if r.Quiet {
		r.shows.line("sessctl: " + visible(n.text()))
	}
}

// hint shows what can be done about what was just told.
func (r *reporting) hint(text string) {
	if text != "" && !r.Quiet {
		r.shows.line("hint: " + visible(text))
	}
}

// passOver tells what makes a run incomplete: the exit code is 3.
func (r *reporting) passOver(n note) {
	r.tell(n)
	r.incomplete++
}

// showNotices tells what was found while listing.
func (r *reporting) showNotices(notices []session.Notice) {
	for _, n := range notices {
		tell := r.notice
		if n.Unread {
			tell = r.passOver
		}
		tell(note{Path: n.Path, Message: n.Message, Hint: n.Hint})
	}
}

// showsProgress reports whether somebody sees how far a piece of work has come.
func (r *reporting) showsProgress() bool {
	if r.above != nil {
		return r.above.showsProgress()
	}
	return r.shows.terminal && !r.Quiet && !r.JSON
}

// failed says at once what went wrong with one session; the run goes on.
func (r *reporting) failed(path string, err error) {
	if r.above != nil {
		r.above.failed(path, err)
		return
	}
	if r.JSON {
		return // the document has it
	}
	body := explain(err)
	r.shows.line(fmt.Sprintf("sessctl: %s: %s", visible(path), visibleText(body.Message)))
	r.hint(body.Hint)
}
