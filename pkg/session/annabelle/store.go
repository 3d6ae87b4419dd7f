package annabelle

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
)

// Options are the settings of seed 000, Session Compaction. 0 is the default.
type Options struct {
	ThresholdChars  int64         // a session with more characters is due
	MinTurns        int           // and at least as many turns
	Cooldown        time.Duration // and no compaction within this time
	KeepRecentTurns int           // that stay, byte for byte
}

// The defaults of seed 000.
const (
	DefaultThresholdChars  = 20_000
	DefaultMinTurns        = 8
	DefaultCooldown        = 2 * time.Minute
	DefaultKeepRecentTurns = 5
)

func (o Options) withDefaults() Options {
	if o.ThresholdChars <= 0 {
		o.ThresholdChars = DefaultThresholdChars
	}
	if o.MinTurns <= 0 {
		o.MinTurns = DefaultMinTurns
	}
	if o.Cooldown <= 0 {
		o.Cooldown = DefaultCooldown
	}
	if o.KeepRecentTurns <= 0 {
		o.KeepRecentTurns = DefaultKeepRecentTurns
	}
	return o
}

// Store is one sessions directory. It is a [session.Store], [session.Rewriter],
// [session.Rotator], [session.Restorer], [session.Shaper] and [session.Trigger],
// holds nothing open and may be used by several goroutines at once.
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
	base := root
	if below := filepath.Join(root, sessionsName); isDirectory(below) {
		base = below
	}
	return &Store{root: root, base: base, options: o.withDefaults(), step: func(string) error { return nil }}
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Roots returns the sessions directories of a user that exist, each once: what
// THINKER_SESSIONS_DIR and HEXA_PUFFS_HOME name, ~/.annabelle and
// ~/.hexa-puffs.
func Roots(home string, getenv func(string) string) []string {
	candidates := []string{getenv("THINKER_SESSIONS_DIR")}
	if dir := getenv("HEXA_PUFFS_HOME"); dir != "" {
		candidates = append(candidates, filepath.Join(dir, sessionsName))
	}
	if home != "" {
		candidates = append(candidates, filepath.Join(home, ".annabelle", sessionsName), filepath.Join(home, ".hexa-puffs", sessionsName))
	}
	var found []string
	var seen []os.FileInfo
	for _, path := range candidates {
		info, err := os.Stat(path)
		if path == "" || err != nil || !info.IsDir() || contains(seen, info) {
			continue
		}
		if absolute, err := filepath.Abs(path); err == nil {
			found, seen = append(found, absolute), append(seen, info)
		}
	}
	return found
}

func contains(all []os.FileInfo, one os.FileInfo) bool {
	for _, info := range all {
		if os.SameFile(info, one) {
			return true
		}
	}
	return false
}

// Runtime implements [session.Store].
func (s *Store) Runtime() string { return session.RuntimeAnnabelle }

// Root implements [session.Store].
func (s *Store) Root() string { return s.root }

// Tail implements [session.Store]. A turn is written when it is answered, so
// the end of a log always is.
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
	tail, err := session.TailScan(ctx, log, info.ModTime(), s.Scan)
	tail.Answered = true
	return tail, err
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
