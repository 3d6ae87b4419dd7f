package openclaw

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// PlanReset implements [session.Resetter]. A reset is of one entry of the
// index: a log that several entries mean, or none, is busy while the gateway
// runs.
func (s *Store) PlanReset(ctx context.Context, ref session.Ref, snap session.Snapshot, now time.Time) (session.Rotation, error) {
	r, err := s.PlanRotation(ctx, ref, snap, now)
	if err != nil {
		return session.Rotation{}, err
	}
	r.Kept, r.NewSession = "", ""
	busy := &session.BusyError{Path: ref.Path, Reason: "its gateway is running and "}
	switch program, err := s.options.program(); {
	case len(r.Keys) == 0:
		busy.Reason += "does not know this log: stop it to compact the log"
	case len(r.Keys) > 1:
		busy.Reason += fmt.Sprintf("would start only one of the %d entries fresh that share this log: stop it to compact the log", len(r.Keys))
	case err != nil:
		busy.Reason += fmt.Sprintf("cannot be asked (%v): set openclaw.command to the runtime's program, or stop the gateway", err)
	case program != "":
		return r, nil
	}
	return session.Rotation{}, busy
}

// Reset implements [session.Resetter]. The gateway is asked first whether a
// turn is going on: its reset would end that turn without an answer. Between
// this answer and the reset lie a few seconds, the time its program takes to
// start; a message that comes in then is closed away with the log, unanswered.
func (s *Store) Reset(ctx context.Context, r session.Rotation) (session.Rotation, error) {
	done, ok, err := s.FindReset(ctx, r)
	if err != nil || ok {
		return done, err
	}
	g, err := s.gateway()
	switch {
	case err != nil:
		return r, err
	case g == nil:
		return r, &session.BusyError{Path: r.Live, Reason: "its gateway has stopped just now"}
	}
	if err := s.askIdle(ctx, g, r); err != nil {
		return r, err
	}
	if err := s.unchanged(r); err != nil {
		return r, err
	}
	if err := s.step("asked"); err != nil {
		return r, err
	}
	refused := s.ask(ctx, g, "sessions.reset", map[string]string{"key": r.Before[0].Key}, &struct{}{})
	return s.afterReset(ctx, r, refused)
}

// afterReset believes the files: what the gateway said, or did not say any
// more, is only a reason where they show nothing.
func (s *Store) afterReset(ctx context.Context, r session.Rotation, refused error) (session.Rotation, error) {
	if err := ctx.Err(); err != nil {
		return r, err
	}
	const tries, wait = 8, 250 * time.Millisecond
	for try := 0; ; try++ {
		done, ok, err := s.FindReset(ctx, r)
		switch {
		case err != nil || ok:
			return done, err
		case refused != nil:
			return r, refused
		case try == tries:
			return r, s.unasked(errors.New("it says that it started the session fresh, but its files do not show it"), "openclaw sessions lists what the gateway knows; the session was not changed by sessctl")
		}
		if err := s.pause(ctx, wait); err != nil {
			return r, err
		}
	}
}

// sessionRow is a session as the gateway lists it.
type sessionRow struct {
	Key       string `json:"key"`
	SessionID string `json:"sessionId"`
	Active    bool   `json:"hasActiveRun"`
}

// askIdle asks the gateway whether it means the same session and whether a
// turn is going on.
func (s *Store) askIdle(ctx context.Context, g *gateway, r session.Rotation) error {
	key := r.Before[0].Key
	var reply struct {
		Path     string       `json:"path"`
		Sessions []sessionRow `json:"sessions"`
	}
	if err := s.ask(ctx, g, "sessions.list", map[string]string{"agentId": r.Agent, "search": key}, &reply); err != nil {
		return err
	}
	if filepath.IsAbs(reply.Path) && !sameFile(reply.Path, r.Index) {
		return s.unasked(fmt.Errorf("it serves another store (%s)", reply.Path), "")
	}
	i := slices.IndexFunc(reply.Sessions, func(row sessionRow) bool { return strings.EqualFold(row.Key, key) })
	switch {
	case i < 0:
		return s.unasked(fmt.Errorf("it does not know the session %s", key), "")
	case reply.Sessions[i].SessionID != r.Before[0].Session:
		return &session.BusyError{Path: r.Live, Reason: "the gateway has moved on to another session"}
	case reply.Sessions[i].Active:
		return &session.BusyError{Path: r.Live, Reason: "the gateway says that a turn is going on"}
	}
	return nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// unchanged returns a [*session.BusyError] unless the log is what was
// archived.
func (s *Store) unchanged(r session.Rotation) error {
	d, name, err := s.directoryOf(r.Live)
	if err != nil {
		return err
	}
	defer d.close()
	info, err := d.stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return gone(r.Live)
	}
	if err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	return r.Snapshot.Matches(info)
}

// FindReset implements [session.Resetter].
func (s *Store) FindReset(ctx context.Context, r session.Rotation) (session.Rotation, bool, error) {
	d, name, err := s.directoryOf(r.Live)
	if err != nil {
		return r, false, err
	}
	defer d.close()
	if r.Index != d.at(indexName) || len(r.Before) != 1 {
		return r, false, fmt.Errorf("look for the reset of %s: the plan is not whole", r.Live)
	}
	v, err := d.look(ctx, "")
	if err != nil {
		return r, false, err
	}
	if v.index == nil {
		return r, false, &session.BusyError{Path: r.Live, Reason: "sessions.json cannot be read just now"}
	}
	e := v.index.entry(r.Before[0].Key)
	if e == nil || e.session == "" || e.session == r.Before[0].Session {
		return r, false, nil
	}
	closed, err := v.closedBy(name, r)
	if err != nil || closed == "" {
		return r, false, err
	}
	r.Kept, r.NewSession = v.at(closed), e.session
	return r, true, nil
}

// closedBy returns the name that the runtime gave the log when it closed it
// after the reset was planned, "" if there is none. The runtime renames a log,
// so its inode tells which one it is; without that it is the newest, if there
// is no live one.
func (v *view) closedBy(live string, r session.Rotation) (string, error) {
	newest := ""
	for _, name := range slices.Backward(v.resets(live)) {
		info, err := v.stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("look at %s: %w", v.at(name), err)
		}
		if unusable(info) != "" || closedAt(name, live).Before(r.At.Add(-clockSlack)) {
			continue
		}
		if r.Snapshot.SameFile(session.Observe(v.at(name), info)) {
			return name, nil
		}
		if newest == "" {
			newest = name
		}
	}
	if _, err := v.stat(live); newest != "" && errors.Is(err, fs.ErrNotExist) {
		return newest, nil
	}
	return "", nil
}

// clockSlack is how far the gateway's clock may be behind this program's.
const clockSlack = time.Minute

// resets returns the closed logs of a log, oldest first.
func (v *view) resets(live string) []string {
	var found []string
	for name, n := range v.all.byName {
		if n.kind == session.KindReset && n.live == live {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// closedAt is the time in the name of a closed log, zero if there is none.
func closedAt(name, live string) time.Time {
	at, err := time.Parse(stampForm, strings.TrimPrefix(name, live+".reset."))
	if err != nil {
		return time.Time{}
	}
	return at
}
