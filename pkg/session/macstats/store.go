package macstats

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
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

// Store is one ~/.mac-stats, a [session.Store]. It holds nothing open and may be
// used by several goroutines at once.
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
	d, name, err := logfile.Of(s.base, ref.Path, 0)
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
	d, name, err := logfile.Of(s.base, ref.Path, 0)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Busy(ctx, name, logfile.Question{Ref: ref, Now: now, Quiet: quiet, Tail: s.Tail})
}

const agentName = "mac-stats"

// The two forms of names. Both match when the topic ends in digits: the
// newer one is tried first (research/formats.md section 8).
var (
	newName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^session-memory-(\d+)-(\d{8}-\d{6})-?(.*)\.md$`) })
	oldName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^session-memory-(.*)-(\d+)-(\d{8}-\d{6})\.md$`) })
)

// parseName returns the conversation's id that a name has; false for a file
// that is no session.
func parseName(name string) (id string, ok bool) {
	if m := newName().FindStringSubmatch(name); m != nil {
		return m[1], true
	}
	if m := oldName().FindStringSubmatch(name); m != nil {
		return m[2], true
	}
	return "", false
}

// List implements [session.Store]. Of the files of one conversation the newest
// is the one that the program resumes.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	var listing session.Listing
	d, err := logfile.Open(s.base)
	if err != nil {
		return listing, fmt.Errorf("open store: %w", err)
	}
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		return listing, err
	}
	newest := map[string]int{}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return listing, err
		}
		ref, ok, err := s.log(d, name)
		if err != nil {
			listing.Notices = append(listing.Notices, session.Notice{Path: d.At(name), Message: "skipped: " + err.Error()})
		}
		if !ok || err != nil {
			continue
		}
		i := len(listing.Refs)
		listing.Refs = append(listing.Refs, ref)
		if j, seen := newest[ref.Key]; ref.Kind == session.KindLive && (!seen || listing.Refs[j].ModTime.Before(ref.ModTime)) {
			newest[ref.Key] = i
		}
	}
	for _, i := range newest {
		listing.Refs[i].Primary = true
	}
	listing.Agents = []string{agentName} // also after its last session was cleared
	return listing, nil
}

func (s *Store) log(d *logfile.Dir, name string) (session.Ref, bool, error) {
	live, rotated := logfile.OriginalName(name)
	id, ok := parseName(live)
	if !ok {
		return session.Ref{}, false, nil
	}
	info, err := d.Root.Lstat(name)
	if errors.Is(err, os.ErrNotExist) {
		return session.Ref{}, false, nil
	}
	if err != nil {
		return session.Ref{}, false, err
	}
	if reason := logfile.Unusable(info); reason != "" {
		return session.Ref{}, false, errors.New(reason)
	}
	ref := session.Ref{
		Runtime: session.RuntimeMacStats, Agent: agentName, Key: id, Store: s.root, Path: d.At(name),
		ID: idOf(live), Kind: session.KindLive, Bytes: info.Size(), ModTime: info.ModTime(),
	}
	logfile.State(&ref, info, time.Now())
	if rotated {
		ref.Kind = session.KindReset
		ref.State, ref.Reason = session.StateUnsupported, "a session that was cleared: it is kept until nobody can write it any more"
	}
	return ref, true, nil
}

// places says where the sessions of this runtime lie: in one directory.
func (s *Store) places() logfile.Places {
	return logfile.Places{
		Base: s.base, Store: s.root,
		Like: func(name string) bool {
			log, _ := logfile.OriginalName(name)
			_, ok := parseName(log)
			return ok
		},
		Log: func(below string) (session.Ref, bool) {
			id, ok := parseName(below)
			return session.Ref{Runtime: session.RuntimeMacStats, Agent: agentName, ID: idOf(below), Key: id, Kind: session.KindLive}, ok
		},
	}
}

// idOf is a session's id by the name of its file.
func idOf(name string) string {
	return session.CleanID(strings.TrimSuffix(strings.TrimPrefix(name, "session-memory-"), ".md"))
}

// Place implements [session.Restorer].
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	return s.places().Place(ctx, path, now)
}

// Unused implements [session.Restorer].
func (s *Store) Unused(ctx context.Context, path string, now time.Time, quiet time.Duration) error {
	return s.places().Unused(ctx, path, now, quiet)
}

// Succeeded implements [session.Successor]: after a clear the program begins
// another file for the conversation.
func (s *Store) Succeeded(ctx context.Context, r session.Rotation) error {
	conversation, _ := parseName(filepath.Base(r.Live))
	listing, err := s.List(ctx)
	if err != nil {
		return err
	}
	for _, ref := range listing.Refs {
		if ref.Kind != session.KindLive || ref.Key != conversation || ref.Path == r.Live || !ref.ModTime.After(r.At) {
			continue
		}
		tail, err := s.Tail(ctx, ref)
		if err != nil {
			return err
		}
		if tail.Messages > 0 {
			return &session.NewerError{Path: ref.Path, Session: ref.ID, Messages: tail.Messages}
		}
	}
	return nil
}
