package outbox

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Target is somebody who is told of events.
type Target struct {
	// Name tells it from other targets, also in later runs: deliveries are kept
	// under it.
	Name  string
	Types []string // that it asks for
	// Subject is the only one that it asks for, or "".
	Subject string
	// Latest says that only the last word of each subject is worth telling: an
	// event that waits is superseded by a later one.
	Latest bool
	Sender Sender
}

// Sender tells one receiver of an event.
type Sender interface {
	// Send returns nil only if the receiver has said that it has the event. Any
	// other end is a *Failure.
	Send(ctx context.Context, e Event) error
}

// Wants says whether the target asks for an event.
func (t Target) Wants(e Event) bool {
	return slices.Contains(t.Types, e.Type) && (t.Subject == "" || t.Subject == e.Subject)
}

// Failure is an event that a receiver did not take. It holds no secret and no
// address beyond the host.
type Failure struct {
	Reason string
	// Unreachable says that nobody answered, or that the receiver asks to be left
	// alone: other events would fare no better.
	Unreachable bool
	After       time.Duration // how long the receiver asks to be left alone, 0 if it does not
}

// Error implements error.
func (f *Failure) Error() string { return f.Reason }

// State is how far a delivery is, and an event as a whole.
type State string

// The states of deliveries and events (docs/events.md).
const (
	Waiting    State = "waiting"    // is tried, or tried again
	Sent       State = "sent"       // the receiver has said that it has it
	Dead       State = "dead"       // given up; Retry sends it again
	Superseded State = "superseded" // a later event has said what matters now
	// Unaddressed is an event that no target had asked for.
	Unaddressed State = "unaddressed"
)

// Delivery is one event on its way to one target.
type Delivery struct {
	Target string    `json:"target"`
	State  State     `json:"state"`
	Tries  int       `json:"tries"`
	First  time.Time `json:"first_try,omitzero"` // since the event was put, or sent again by hand
	Last   time.Time `json:"last_try,omitzero"`
	Next   time.Time `json:"next_try,omitzero"` // not before; zero for at once
	Error  string    `json:"error,omitempty"`   // of the last try
}

// How long and how often a target is tried (docs/events.md).
const (
	firstPause   = 30 * time.Second
	longestPause = 2 * time.Hour
	tryFor       = 24 * time.Hour
	leastTries   = 5
)

// pause returns how long to wait after so many tries: twice as long each time,
// a quarter more or less by jitter (0 to 1), and not shorter than the receiver
// asks for.
func pause(tries int, asked time.Duration, jitter float64) time.Duration {
	wait := longestPause
	if tries < 10 {
		wait = min(firstPause<<max(tries-1, 0), longestPause)
	}
	wait = wait*3/4 + time.Duration(jitter*float64(wait)/2)
	return min(max(wait, asked), longestPause)
}

// due says whether it is time for another try. A clock that was set back since
// the last one, or that was far ahead then, puts nothing off.
func due(now, last, next time.Time) bool {
	return !now.Before(next) || now.Before(last) || next.Sub(now) > longestPause
}

// spent says whether a receiver has been tried for long enough.
func spent(now, first time.Time, tries int) bool {
	return tries >= leastTries && now.Sub(first) >= tryFor
}

// silence is what is kept of a target that does not answer.
type silence struct {
	Since time.Time `json:"since"` // the first of the tries in a row that failed
	Tries int       `json:"tries"`
	Last  time.Time `json:"last_try"`
	Next  time.Time `json:"next_try"`
	Error string    `json:"error"`
}

func (s silence) spent(now time.Time) bool { return spent(now, s.Since, s.Tries) }

// Silent is a target that does not answer.
type Silent struct {
	Target string    `json:"target"`
	Since  time.Time `json:"since"`
	Tries  int       `json:"tries"`
	Next   time.Time `json:"next_try"`
	Error  string    `json:"error"`
}

// checkTargets refuses two targets with one name.
func checkTargets(all []Target) error {
	known := map[string]bool{}
	for _, t := range all {
		if t.Name == "" || known[t.Name] {
			return fmt.Errorf("open the outbox: the name of a target %q is empty or taken", t.Name)
		}
		known[t.Name] = true
	}
	return nil
}
