package workspace

import (
	"fmt"
	"time"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// Progress shows how far the stage is that is under way. Where nobody looks it
// shows nothing: a cron log is for results.
type Progress struct {
	tell  func(what string, done, total int64) // takes what the bar would show, nil for a bar
	On    bool
	Count string // "12 of 400, about 3m left", where many sessions are worked on
	Part  string // which step of a run it is: "step 2 of 6, "
	whole whole
	bar   ProgressBar // nil until something is drawn

	newBar  func() ProgressBar
	Now     func() time.Time
	line    func(text string) // prints a line beside the results
	began   time.Time
	started time.Time // when the first of many sessions came
}

// whole is how much of many sessions is done, in the unit that they are weighed by.
type whole struct{ before, this, all, reached float64 }

// share is what is done with a part of the session under way. It never falls: each
// stage of a session begins at nothing.
func (w *whole) share(done, total int64) (int64, int64) {
	if total > 0 {
		w.reached = max(w.reached, w.this*float64(done)/float64(total))
	}
	return int64(w.before + w.reached), int64(w.all)
}

// NewProgress makes the progress of a run.
func NewProgress(run *Run) *Progress {
	return &Progress{
		tell: run.UnderWay, On: run.UnderWay != nil || run.showsProgress(), newBar: run.Shows.Bar, line: run.Shows.Line,
		Part: run.Part, Now: run.Now, began: run.Now(),
	}
}

// Of says which of how many sessions comes now. The bar shows the share of all.
func (p *Progress) Of(number, all int) {
	const each = 1000
	p.OfBytes(number, all, each*int64(number-1), each, each*int64(all))
}

// OfBytes is Of for sessions that are weighed: how many bytes those before this one
// have, this one, and all.
func (p *Progress) OfBytes(number, all int, before, this, bytes int64) {
	p.Clear()
	if p.Count, p.whole = "", (whole{}); all <= 1 || !p.On {
		return
	}
	p.whole = whole{before: float64(before), this: float64(this), all: float64(bytes)}
	p.Count = fmt.Sprintf("%s of %s, ", wording.Count(int64(number)), wording.Count(int64(all)))
	if number == 1 {
		p.started = p.Now()
	}
	if left := TimeLeft(p.Now().Sub(p.started), number-1, all); left != "" {
		p.Count += left + ", "
	}
}

// TimeLeft estimates how long the rest takes of a work of which so many parts
// took so long: "about 3m left". It is "" while too little is known to tell.
func TimeLeft(elapsed time.Duration, done, all int) string {
	const least = 3 * time.Second
	if done == 0 || elapsed < least {
		return ""
	}
	left := elapsed * time.Duration(all-done) / time.Duration(done)
	return "about " + wording.Age(max(left, time.Second)) + " left"
}

// Show is a compact.Progress.
func (p *Progress) Show(ref session.Ref, stage compact.Stage, done, total int64) {
	if !p.On {
		return // there may be 100,000
	}
	if p.whole.all > 0 {
		done, total = p.whole.share(done, total)
	}
	p.Draw(fmt.Sprintf("%s%s %s", p.Count, wording.FirstLine(ref.Agent, 20), stage), done, total)
}

// Draw shows how far a piece of work has come.
func (p *Progress) Draw(what string, done, total int64) {
	switch {
	case !p.On:
	case p.tell != nil:
		p.tell(what, done, total)
	default:
		if p.bar == nil {
			p.bar = p.newBar()
		}
		p.bar.Draw(p.Part+what, done, total)
	}
}

// leastTold is how long a piece of work takes whose end is told.
const leastTold = 5 * time.Second

// End removes the bar and says on a terminal what was done and how long it took, of
// work that somebody has waited for.
func (p *Progress) End(done string) {
	p.Of(1, 1)
	if took := p.Now().Sub(p.began); p.On && p.tell == nil && took >= leastTold {
		p.line(fmt.Sprintf("%sdone: %s in %s", p.Part, done, took.Round(time.Second)))
	}
}

// Clear removes the bar, before something else is printed.
func (p *Progress) Clear() {
	if p.bar != nil {
		p.bar.Clear()
	}
}
