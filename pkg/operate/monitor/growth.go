package monitor

import (
	"slices"
	"time"
)

// Growth is the rule for what is out of the usual: an agent's logs grow within
// an hour by more than Factor times what nine in ten of its own active hours
// stayed below, and by more than Floor.
type Growth struct {
	Factor float64 // 0 turns the rule off
	Floor  int64   // bytes
}

const (
	// rememberedHours is how many active hours of an agent are compared with.
	rememberedHours = 168
	// enoughHours is how many there must be before anything can be unusual.
	enoughHours = 12
)

// History is how the logs of an agent have grown.
type History struct {
	Bytes int64     `json:"bytes"` // at the last look
	From  time.Time `json:"from"`  // when the hour began that is under way
	Grown int64     `json:"grown"` // bytes since then; what became smaller does not count
	// Rates are bytes an hour, of the hours in which the logs grew; the oldest
	// first.
	Rates []int64   `json:"rates"`
	Seen  time.Time `json:"seen"`
}

// add takes in what the logs have now.
func (h *History) add(now time.Time, bytes int64) {
	if h.From.IsZero() {
		h.From, h.Bytes = now, bytes
	}
	h.From = notAfter(h.From, now)
	h.Grown += max(bytes-h.Bytes, 0)
	h.Bytes, h.Seen = bytes, now
}

// rate is how fast the logs grow now, in bytes an hour: over the hour that is
// under way, or over the time since the last look where that was longer ago.
func (h *History) rate(now time.Time) int64 {
	return int64(float64(h.Grown) / max(now.Sub(h.From).Hours(), 1))
}

// limit is the rate above which growth is unusual; false while too little is
// known.
func (h *History) limit(rule Growth) (int64, bool) {
	if len(h.Rates) < enoughHours || rule.Factor <= 0 {
		return 0, false
	}
	rates := slices.Clone(h.Rates)
	slices.Sort(rates)
	usual := rates[len(rates)*9/10]
	return max(int64(rule.Factor*float64(usual)), rule.Floor), true
}

// turn closes the hour that is under way, if it is over.
func (h *History) turn(now time.Time) {
	if now.Sub(h.From) < time.Hour {
		return
	}
	if rate := h.rate(now); rate > 0 {
		h.Rates = append(h.Rates, rate)
		h.Rates = h.Rates[max(len(h.Rates)-rememberedHours, 0):]
	}
	h.From, h.Grown = now, 0
}

// notAfter is a time that was noted, or now where the clock was set back since.
func notAfter(noted, now time.Time) time.Time {
	if noted.After(now) {
		return now
	}
	return noted
}
