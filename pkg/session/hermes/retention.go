package hermes

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session/hermes/statedb"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

const (
	day = 24 * time.Hour
	// defaultRetention is how long the program keeps a session that has ended.
	defaultRetention = 90 * day
	// maxRetention is more days than a duration can hold, by far.
	maxRetention = 36_500
	// maxConfig bounds what is read of the settings, in bytes.
	maxConfig = 4 << 20
)

// retention is what the program's settings say of its pruning.
type retention struct {
	off   bool
	after time.Duration
}

// retention reads the settings. Since September 2026 the program prunes unless
// they say otherwise; an earlier one begins with its next update, so what they do
// not say counts as that. With an error it is what the program does by itself.
func (s *Store) retention(root *os.Root) (retention, error) {
	r := retention{after: defaultRetention}
	f, err := durable.OpenRegularIn(root, configName)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxConfig))
	if err != nil {
		return r, fmt.Errorf("read %s: %w", configName, err)
	}
	var settings struct {
		Sessions struct {
			Prune *bool    `yaml:"auto_prune"`
			Days  *float64 `yaml:"retention_days"`
		} `yaml:"sessions"`
	}
	if err := yaml.Unmarshal(raw, &settings); err != nil {
		return r, fmt.Errorf("read %s: %w", configName, err)
	}
	if days := settings.Sessions.Days; days != nil && math.IsNaN(*days) {
		return r, fmt.Errorf("read %s: retention_days is no number", configName)
	}
	if on, days := settings.Sessions.Prune, settings.Sessions.Days; on != nil && !*on || days != nil && *days < 0 {
		r.off = true
	} else if days != nil {
		r.after = time.Duration(min(*days, maxRetention) * float64(day))
	}
	return r, nil
}

// expiries says when the program may delete each session. One that has not ended,
// or that a person has pinned, stays. Of a conversation that compactions have
// divided an earlier piece stays as long as a later one does.
func (r retention) expiries(sessions []statedb.Session, byActivity bool) map[string]time.Time {
	if r.off {
		return nil
	}
	x := &expiring{retention: r, byActivity: byActivity, byID: map[string]statedb.Session{}, later: map[string][]string{}, known: map[string]time.Time{}}
	for _, s := range sessions {
		x.byID[s.ID] = s
		if s.Continues {
			x.later[s.Parent] = append(x.later[s.Parent], s.ID)
		}
	}
	for _, s := range sessions {
		if when := x.of(s.ID, 0); !when.IsZero() {
			x.known[s.ID] = when
		}
	}
	return x.known
}

type expiring struct {
	retention
	byActivity bool
	byID       map[string]statedb.Session
	later      map[string][]string // pieces that go on from a piece
	known      map[string]time.Time
}

// of is when a session may go, zero for never.
func (x *expiring) of(id string, depth int) time.Time {
	if when, known := x.known[id]; known {
		return when
	}
	s := x.byID[id]
	if s.Ended.IsZero() || depth > sqlitefile.MaxFamily || x.pinned(s) {
		return time.Time{}
	}
	if !x.byActivity {
		return s.Started.Add(x.after)
	}
	last := s.Active
	if s.EndReason == "startup_orphan_reap" && s.Ended.After(last) {
		last = s.Ended
	}
	when := last.Add(x.after)
	for _, next := range x.later[id] {
		with := x.of(next, depth+1)
		if with.IsZero() {
			return with
		}
		if with.After(when) {
			when = with
		}
	}
	return when
}

// pinned reports whether a person has pinned the session, or a piece of the
// conversation from which it goes on.
func (x *expiring) pinned(s statedb.Session) bool {
	for range sqlitefile.MaxFamily {
		if s.Pinned {
			return true
		}
		if !s.Continues {
			return false
		}
		s = x.byID[s.Parent]
	}
	return true
}
