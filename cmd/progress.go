package cmd

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// progressInterval keeps the bar from costing more than the work.
const progressInterval = 100 * time.Millisecond

// progress shows one bar on stderr for the stage that is under way. Without a
// terminal it shows nothing: a cron log wants results.
type progress struct {
	out   io.Writer
	on    bool
	stage compact.Stage
	bar   *progressbar.ProgressBar
}

func newProgress(a *app) *progress {
	return &progress{out: a.Err, on: a.ErrTTY && !a.global.Quiet && !a.global.JSON}
}

// show is a compact.Progress.
func (p *progress) show(ref session.Ref, stage compact.Stage, done, total int64) {
	if !p.on {
		return
	}
	if stage != p.stage || p.bar == nil {
		p.clear()
		p.stage = stage
		p.bar = progressbar.NewOptions64(max(total, 1),
			progressbar.OptionSetWriter(p.out),
			progressbar.OptionSetDescription(fmt.Sprintf("%s %s", firstLine(ref.Agent, 20), stage)),
			progressbar.OptionSetWidth(24),
			progressbar.OptionThrottle(progressInterval),
			progressbar.OptionClearOnFinish(),
		)
	}
	if total > 0 && p.bar.GetMax64() != total {
		p.bar.ChangeMax64(total)
	}
	_ = p.bar.Set64(done) // a bar that cannot be drawn is no reason to stop
}

func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}
