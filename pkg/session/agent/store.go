package agent

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
)

// Options are the settings of seed 001, section 7.5.1.
type Options struct {
	ReserveTokens    int64 // of the window, for the answer; 0 means DefaultReserve
	KeepRecentTokens int64 // 0 means DefaultKeep
	ContextWindow    int64 // tokens; 0 means DefaultWindow
}

// The defaults of seed 001, section 7.5.1. The window is that of the models
// that its examples name; the log does not say.
const (
	DefaultReserve = 16_384
	DefaultKeep    = 20_000
	DefaultWindow  = 200_000
)

// Store is one sessions directory. It is a [session.Store], [session.Overlayer],
// [session.Rotator], [session.Restorer], [session.Recorder], [session.Shaper]
// and [session.Trigger], holds nothing open and may be used by several
// goroutines at once.
type Store struct {
	root    string // as it was opened
	base    string // the sessions directory
	options Options
	// step is called after each step of a change, with its name; an error ends
	// the change there. Tests stop it so.
	step func(name string) error
}

// Open returns the store of a sessions directory, or of the directory that
// holds one.
func Open(root string, o Options) *Store {
	if absolute, err := filepath.Abs(root); err == nil {
		root = absolute
	}
	o.ReserveTokens = orDefault(o.ReserveTokens, DefaultReserve)
	o.KeepRecentTokens = orDefault(o.KeepRecentTokens, DefaultKeep)
	o.ContextWindow = orDefault(o.ContextWindow, DefaultWindow)
	base := root
	if below := filepath.Join(root, sessionsName); isDirectory(below) {
		base = below
	}
	return &Store{root: root, base: base, options: o, step: func(string) error { return nil }}
}

func orDefault(value, fallback int64) int64 {
	if value > 0 {
		return value
	}
	return fallback
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Roots returns the sessions directory of a user if it exists:
// ~/.agent/sessions. Other programs use the same directory for flat files
// (research/formats.md section 7); those are no sessions of this runtime.
func Roots(home string, _ func(string) string) []string {
	if path := filepath.Join(home, ".agent", sessionsName); home != "" && isDirectory(path) {
		return []string{path}
	}
	return nil
}

// Runtime implements [session.Store].
func (s *Store) Runtime() string { return session.RuntimeAgent }

// Root implements [session.Store].
func (s *Store) Root() string { return s.root }

// Tail implements [session.Store].
func (s *Store) Tail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	d, name, err := directory.Of(s.base, ref.Path, 1)
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
	d, name, err := directory.Of(s.base, ref.Path, 1)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Busy(ctx, name, directory.Question{Ref: ref, Now: now, Quiet: quiet, Tail: s.Tail})
}
