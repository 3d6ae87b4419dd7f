package cmd

import (
	"fmt"
	"time"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// progress shows how far the stage is that is under way. Where nobody looks it
// shows nothing: a cron log is for results.
type progress struct {
	tell  func(what string, done, total int64) // takes what the bar would show, nil for a bar
	on    bool
	count string      // "12 of 400, about 3m left", where many sessions are worked on
	bar   progressBar // nil until something is drawn

	newBar  func() progressBar
	now     func() time.Time
	started time.Time // when the first of many sessions came
}

func newProgress(run *invocation) *progress {
	return &progress{tell: run.underWay, on: run.underWay != nil || run.showsProgress(), newBar: run.shows.bar, now: run.now}
}

// of says which of how many sessions comes now.
func (p *progress) of(number, all int) {
	p.clear()
	if p.count = ""; all <= 1 || !p.on {
		return
	}
	p.count = fmt.Sprintf("%s of %s, ", formatCount(int64(number)), formatCount(int64(all)))
	if number == 1 {
		p.started = p.now()
	}
	if left := timeLeft(p.now().Sub(p.started), number-1, all); left != "" {
		p.count += left + ", "
	}
}

// timeLeft estimates how long the rest takes of a work of which so many parts
// took so long: "about 3m left". It is "" while too little is known to tell.
func timeLeft(elapsed time.Duration, done, all int) string {
	const least = 3 * time.Second
	if done == 0 || elapsed < least {
		return ""
	}
	left := elapsed * time.Duration(all-done) / time.Duration(done)
	return "about " + formatAge(max(left, time.Second)) + " left"
}

// show is a compact.Progress.
func (p *progress) show(ref session.Ref, stage compact.Stage, done, total int64) {
	p.draw(fmt.Sprintf("%s%s %s", p.count, firstLine(ref.Agent, 20), stage), done, total)
}

// draw shows how far a piece of work has come.
func (p *progress) draw(what string, done, total int64) {
	switch {
	case !p.on:
	case p.tell != nil:
		p.tell(what, done, total)
	default:
		if p.bar == nil {
			p.bar = p.newBar()
		}
		p.bar.draw(what, done, total)
	}
}

// clear removes the bar, before something else is printed.
func (p *progress) clear() {
	if p.bar != nil {
		p.bar.clear()
	}
}
