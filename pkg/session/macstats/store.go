package macstats

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
)

// The thresholds of seed 003.
const (
	periodicMessages  = 4 // from so many on a session is due in a run over everything
	requestedMessages = 8 // from so many on when it was asked for
	inactive          = 30 * time.Minute
)

// Options say where lessons go.
type Options struct {
	LessonsAgent string // "" for every agent, else the id of one
}

// Store is one ~/.mac-stats. It is a [session.Store], [session.Rewriter],
// [session.Rotator], [session.Restorer], [session.Successor], [session.Shaper],
// [session.Learner] and [session.Trigger], holds nothing open and may be used
// by several goroutines at once.
type Store struct {
	root    string
	base    string // the directory of sessions
	options Options
	// step is called after each step of a change, with its name; an error ends
	// the change there. Tests stop it so.
	step func(name string) error
}

// Open returns the store of ~/.mac-stats or of another directory like it.
func Open(root string, o Options) *Store {
	if absolute, err := filepath.Abs(root); err == nil {
		root = absolute
	}
	return &Store{root: root, base: filepath.Join(root, "session"), options: o, step: func(string) error { return nil }}
}

// Roots returns ~/.mac-stats if it holds sessions.
func Roots(home string, _ func(string) string) []string {
	root := filepath.Join(home, ".mac-stats")
	if info, err := os.Stat(filepath.Join(root, "session")); home == "" || err != nil || !info.IsDir() {
		return nil
	}
	return []string{root}
}

// Runtime implements [session.Store].
func (s *Store) Runtime() string { return session.RuntimeMacStats }

// Root implements [session.Store].
func (s *Store) Root() string { return s.root }

// Strategy implements [session.Shaper].
func (s *Store) Strategy() string { return "rewrite" }

// Keep implements [session.Shaper]: nothing stays but the summary (seed 003).
func (s *Store) Keep() session.Keep { return session.Keep{} }

// LessonsFile implements [session.Learner].
func (s *Store) LessonsFile(session.Ref) string {
	if s.options.LessonsAgent == "" {
		return filepath.Join(s.root, "agents", "memory.md")
	}
	return filepath.Join(s.root, "agents", "agent-"+s.options.LessonsAgent, "memory.md")
}

// Due implements [session.Trigger]: by the number of messages, a summary among
// them, as the program counts them (seed 003, Config constants).
func (s *Store) Due(_ context.Context, q session.DueQuestion) (bool, string, error) {
	least := periodicMessages
	if q.Requested {
		least = requestedMessages
	}
	return q.Tail.Messages >= least, fmt.Sprintf("%d messages, due from %d", q.Tail.Messages, least), nil
}

// Tail implements [session.Store].
func (s *Store) Tail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	d, name, err := directory.Of(s.base, ref.Path, 0)
	if err != nil {
		return session.Tail{}, err
	}
	defer d.Close()
	log, info, err := d.OpenLog(name)
	if err != nil {
		return session.Tail{}, err
	}
	defer log.Close()
	return session.TailScan(ctx, log, info.ModTime(), s.Scan)
}

// Busy implements [session.Rotator].
func (s *Store) Busy(ctx context.Context, ref session.Ref, now time.Time, quiet time.Duration) error {
	d, name, err := directory.Of(s.base, ref.Path, 0)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Busy(ctx, name, directory.Question{Ref: ref, Now: now, Quiet: quiet, Tail: s.Tail})
}
