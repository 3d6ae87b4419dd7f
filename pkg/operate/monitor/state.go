package monitor

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
)

// State is what is known between two looks. One process at a time works with
// it: the caller holds a lock.
type State struct {
	Schema     int                   `json:"schema"` // 1
	Looked     time.Time             `json:"looked_at"`
	Conditions map[string]*Condition `json:"conditions"`
	Agents     map[string]*History   `json:"agents"`   // by runtime, agent and store
	Stores     map[string]KnownStore `json:"stores"`   // by root
	Profiles   map[string]LastRun    `json:"profiles"` // by name
	// PendingSince is since when records wait for an embedding without a break.
	PendingSince time.Time `json:"pending_since"`
	// Ready are events that are decided on and perhaps not put yet; Held those that
	// wait for the end of quiet hours.
	Ready []outbox.Event `json:"ready"`
	Held  []HeldEvent    `json:"held"`
	// Anew says that what was known before is lost: what is wrong at the next look
	// may have been told, and is not told again before a cool-down is over.
	Anew bool `json:"anew,omitempty"`
}

// Condition is something that is wrong, or was a short time ago.
type Condition struct {
	Kind    Kind      `json:"kind"`
	Subject string    `json:"subject"`
	Raised  bool      `json:"raised"`
	Untold  bool      `json:"untold"` // raised, or something new, and the cool-down is not over
	Since   time.Time `json:"since"`
	Told    time.Time `json:"told"` // the last event; zero for none
	Mark    int64     `json:"mark"` // of the observation that was told
	Seen    time.Time `json:"seen"`
}

// KnownStore is a store that was seen.
type KnownStore struct {
	Runtime string    `json:"runtime"`
	Seen    time.Time `json:"seen"`
}

// LastRun is the last success of a profile, as its record says and as this
// monitor saw it: a record that was written while the clock was ahead is not
// believed for longer than that.
type LastRun struct {
	Success time.Time `json:"success"`
	Seen    time.Time `json:"seen"` // the success, but never after the look that first saw it
}

// HeldEvent is an event that waits for the end of quiet hours.
type HeldEvent struct {
	Key   string       `json:"key"` // of the condition
	Event outbox.Event `json:"event"`
}

// maxState bounds, in bytes, what is read of a state.
const maxState = 64 << 20

// Load reads the state. A file that does not exist is the state of the first
// look. For one that cannot be used it returns a new state and an error that
// says why; the new state does not repeat what may have been told.
func Load(pins *durable.Pins, path string) (*State, error) {
	s := &State{}
	text, err := pins.ReadSmall(path, maxState)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err == nil:
		err = json.Unmarshal(text, s)
		if err == nil && s.Schema != 1 {
			err = fmt.Errorf("it has schema %d, this sessctl knows 1", s.Schema)
		}
	}
	if err != nil {
		s, err = &State{Anew: true}, fmt.Errorf("the state of the monitor cannot be used: %w", err)
	}
	s.Schema = 1
	s.Conditions, s.Agents = orEmpty(s.Conditions), orEmpty(s.Agents)
	s.Stores, s.Profiles = orEmpty(s.Stores), orEmpty(s.Profiles)
	maps.DeleteFunc(s.Conditions, func(_ string, c *Condition) bool { return c == nil })
	maps.DeleteFunc(s.Agents, func(_ string, h *History) bool { return h == nil })
	return s, err
}

func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

// Save makes the state durable.
func (s *State) Save(pins *durable.Pins, path string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode the state of the monitor: %w", err)
	}
	err = pins.ReplaceFile(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return fmt.Errorf("write the state of the monitor: %w", err)
	}
	return nil
}

// Options say when a person is told.
type Options struct {
	CoolDown time.Duration // between two events about the same
	Quiet    *QuietHours   // nil: at any time
	Growth   Growth
	// Overdue is how long ago the last success of a profile may be: 0 goes by its
	// own pauses, less than 0 never tells.
	Overdue time.Duration
	NewID   func() string // makes ids of events, ULIDs
}

// Alert is something that is wrong now.
type Alert struct {
	Kind    Kind      `json:"kind"`
	Subject string    `json:"subject"`
	Since   time.Time `json:"since"`
	Message string    `json:"message"`
	Advice  string    `json:"advice"`
	Event   string    `json:"event"` // id of the event that this look made of it, or ""
	Held    bool      `json:"held"`  // that event waits for the end of quiet hours
}

// Step takes a look into the state and returns what is wrong now, what matters
// most first. Events that it decides on are in Ready, or in Held.
func (s *State) Step(look Look, o Options) []Alert {
	s.take(look)
	var alerts []Alert
	gathered, looked := map[Kind][]told{}, map[string]bool{}
	for _, seen := range s.observe(look, o) {
		looked[seen.key()] = true
		c := s.condition(seen, look.Time)
		if c == nil {
			continue
		}
		tell := c.step(seen, look.Time, o.CoolDown, s.Anew)
		if c.Raised {
			alerts = append(alerts, Alert{Kind: seen.kind, Subject: seen.subject, Since: c.Since, Message: seen.message, Advice: cmp.Or(seen.now, seen.advice)})
		}
		if tell {
			gathered[seen.kind] = append(gathered[seen.kind], told{seen, len(alerts) - 1})
		}
	}
	for _, kind := range sortedKeys(gathered) {
		s.tell(kind, gathered[kind], alerts, look.Time, o)
	}
	s.end(look, looked)
	s.endQuiet(look.Time, o.Quiet)
	s.forget(look)
	s.Anew, s.Looked = false, look.Time
	slices.SortStableFunc(alerts, func(x, y Alert) int {
		return cmp.Or(rank(x.Kind)-rank(y.Kind), cmp.Compare(x.Subject, y.Subject))
	})
	return alerts
}

// rank orders kinds by what is lost if nobody acts.
func rank(k Kind) int {
	return slices.Index([]Kind{ArchiveDamaged, PurgeSoon, DiskLow, StoreMissing, LogUnreadable, RunOverdue, UnusualGrowth, PendingVectors, NeedsCompaction, PassedOver}, k)
}

// take notes what later looks compare with.
func (s *State) take(look Look) {
	now := look.Time
	for _, a := range look.Agents {
		key := a.subject()
		if s.Agents[key] == nil {
			s.Agents[key] = &History{}
		}
		s.Agents[key].add(now, a.Bytes)
	}
	for root, known := range s.Stores {
		known.Seen = notAfter(known.Seen, now)
		s.Stores[root] = known
	}
	for _, store := range look.Stores {
		if !store.Missing {
			s.Stores[store.Root] = KnownStore{store.Runtime, now}
		}
	}
	for _, p := range look.Profiles {
		last := s.Profiles[p.Profile]
		if !last.Success.Equal(p.Success) {
			last = LastRun{Success: p.Success, Seen: p.Success}
		}
		last.Seen = notAfter(last.Seen, now)
		s.Profiles[p.Profile] = last
	}
	if m := look.Memory; m != nil {
		switch {
		case m.Pending == 0:
			s.PendingSince = time.Time{}
		case s.PendingSince.IsZero():
			s.PendingSince = now
		}
		s.PendingSince = notAfter(s.PendingSince, now)
	}
}

// condition returns that of an observation, nil if nothing is or was wrong.
func (s *State) condition(seen observation, now time.Time) *Condition {
	c := s.Conditions[seen.key()]
	if c == nil {
		if seen.level != above {
			return nil
		}
		c = &Condition{Kind: seen.kind, Subject: seen.subject}
		s.Conditions[seen.key()] = c
	}
	// The clock may have been set back: then nothing was later than now.
	c.Told, c.Since, c.Seen = notAfter(c.Told, now), notAfter(c.Since, now), now
	return c
}

// step moves the condition and says whether an event is to tell of it.
func (c *Condition) step(seen observation, now time.Time, coolDown time.Duration, anew bool) bool {
	switch {
	case seen.level == off:
		c.Raised, c.Untold = false, false
	case seen.level == above && !c.Raised:
		c.Raised, c.Untold, c.Since = true, true, now
		if anew {
			c.Told = now
		}
	case seen.level == above && seen.mark > c.Mark:
		c.Untold = true
	}
	if !c.Untold || seen.level != above || !c.Told.IsZero() && now.Sub(c.Told) < coolDown {
		return false
	}
	c.Untold, c.Told, c.Mark = false, now, seen.mark
	return true
}

// end ends what is sound again without being named by the look.
func (s *State) end(look Look, looked map[string]bool) {
	for key, c := range s.Conditions {
		whole := c.Kind == ArchiveDamaged && look.ArchivesSeen || (c.Kind == LogUnreadable || c.Kind == PassedOver) && look.UnreadSeen
		if whole && !looked[key] {
			c.Raised, c.Untold = false, false
		}
	}
}

// forgotten is how long something that is not seen any more is remembered.
const forgotten = 7 * 24 * time.Hour

// forget drops what needs not be remembered. What was not looked at this time
// stays as it is for a while: a store that cannot be read for an hour is no
// reason to tell everything about it again.
func (s *State) forget(look Look) {
	now := look.Time
	maps.DeleteFunc(s.Conditions, func(_ string, c *Condition) bool {
		c.Seen = notAfter(c.Seen, now)
		return now.Sub(c.Seen) > forgotten || !c.Raised && now.Sub(c.Told) > 2*forgotten
	})
	maps.DeleteFunc(s.Stores, func(_ string, k KnownStore) bool { return now.Sub(k.Seen) > forgotten })
	maps.DeleteFunc(s.Agents, func(_ string, h *History) bool {
		h.Seen = notAfter(h.Seen, now)
		return now.Sub(h.Seen) > 4*forgotten
	})
	for _, a := range look.Agents {
		s.Agents[a.subject()].turn(now)
	}
	seen := map[string]bool{}
	for _, p := range look.Profiles {
		seen[p.Profile] = true
	}
	maps.DeleteFunc(s.Profiles, func(name string, _ LastRun) bool { return !seen[name] })
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
