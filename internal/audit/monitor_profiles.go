package audit

import (
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/operate/monitor"
)

// Profiles say when each profile that ever ran last succeeded, and how long it
// usually pauses, by the records of runs.
func (o *Observed) Profiles() []monitor.Profile {
	var all []monitor.Profile
	started := map[string][]time.Time{}
	for _, r := range o.Runs { // the newest first
		i := slices.IndexFunc(all, func(p monitor.Profile) bool { return p.Profile == r.Profile })
		if i < 0 {
			i = len(all)
			all = append(all, monitor.Profile{Profile: r.Profile, Never: true})
		}
		p := &all[i]
		started[r.Profile] = append(started[r.Profile], r.Started)
		switch {
		case p.Never && r.Outcome == operate.OK && r.Ended():
			p.Success, p.Never = r.Finished, false
		case p.Never:
			p.Success = r.Started
		}
	}
	for i := range all {
		all[i].Pause = usualPause(started[all[i].Profile])
	}
	return all
}

// usualPause is the median of the pauses between runs; 0 of fewer than three.
func usualPause(started []time.Time) time.Duration {
	if len(started) < 3 {
		return 0
	}
	var pauses []time.Duration
	for i := range len(started) - 1 {
		pauses = append(pauses, started[i].Sub(started[i+1]).Abs())
	}
	slices.Sort(pauses)
	return pauses[len(pauses)/2]
}
