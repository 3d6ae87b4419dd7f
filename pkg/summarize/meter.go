package summarize

import (
	"errors"
	"sync"
)

// DefaultMaxCalls is how often models are asked in one run.
const DefaultMaxCalls = 50

// ErrCalls is returned when a run has made as many calls as it may.
var ErrCalls = errors.New("no more calls to models are allowed in this run (--max-llm-calls)")

// Meter counts the calls of a run, and stops them. It may be shared.
type Meter struct {
	mu     sync.Mutex
	max    int
	calls  int
	tokens int64
}

// NewMeter returns a meter that lets at most so many calls through, none for 0.
func NewMeter(most int) *Meter { return &Meter{max: most} }

// Spent returns the calls and their tokens, in and out, so far.
func (m *Meter) Spent() (calls int, tokens int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls, m.tokens
}

// Left returns how many calls may still be made.
func (m *Meter) Left() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(0, m.max-m.calls)
}

// take counts a call before it is made; ErrCalls is returned if it may not be.
func (m *Meter) take() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls >= m.max {
		return ErrCalls
	}
	m.calls++
	return nil
}

func (m *Meter) add(tokens int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tokens += tokens
}
