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
	Count string      // "12 of 400, about 3m left", where many sessions are worked on
	bar   ProgressBar // nil until something is drawn

	newBar  func() ProgressBar
	Now     func() time.Time
	started time.Time // when the first of many sessions came
}

// NewProgress makes the progress of a run.
func NewProgress(run *Run) *Progress {
	return &Progress{tell: run.UnderWay, On: run.UnderWay != nil || run.showsProgress(), newBar: run.Shows.Bar, Now: run.Now}
}

// Of says which of how many sessions comes now.
func (p *Progress) Of(number, all int) {
	p.Clear()
	if p.Count = ""; all <= 1 || !p.On {
		return
	}
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
		p.bar.Draw(what, done, total)
	}
}

// Clear removes the bar, before something else is printed.
func (p *Progress) Clear() {
	if p.bar != nil {
		p.bar.Clear()
	}
}
