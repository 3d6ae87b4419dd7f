package annabelle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
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

// Store is one sessions directory, a [session.Store]. It holds nothing open and
// may be used by several goroutines at once.
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
	d, name, err := logfile.Of(s.base, ref.Path, 1)
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
	d, name, err := logfile.Of(s.base, ref.Path, 1)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Busy(ctx, name, logfile.Question{Ref: ref, Now: now, Quiet: quiet, Tail: s.Tail})
}

const sessionsName = "sessions"

// logName is the name of a log. A chat's id is a number of Telegram's, negative
// for groups, or a word.
var (
	logName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(-?[A-Za-z0-9][A-Za-z0-9._-]{0,120})\.jsonl$`) })
	subAgent = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.+)-sub-\d+$`) })
)

// List implements [session.Store].
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	l := lister{store: s, now: time.Now()}
	top, err := logfile.Open(s.base)
	if err != nil {
		return l.listing, fmt.Errorf("open store: %w", err)
	}
	defer top.Close()
	names, err := top.Names()
	if err != nil {
		return l.listing, err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return l.listing, err
		}
		info, err := top.Root.Stat(name)
		if err != nil || !info.IsDir() || strings.HasPrefix(name, ".") {
			continue
		}
		if err := l.agent(top, name); err != nil {
			l.notice(top.At(name), err)
		}
	}
	return l.listing, nil
}

// ParentOf implements [session.Parent].
func (s *Store) ParentOf(agent string) (parent string, ok bool) {
	name := subAgent().FindStringSubmatch(agent)
	if name == nil {
		return "", false
	}
	return name[1], true
}

type lister struct {
	store   *Store
	now     time.Time
	listing session.Listing
}

func (l *lister) notice(path string, err error) {
	l.listing.Notices = append(l.listing.Notices, session.Notice{Path: path, Message: "skipped: " + err.Error()})
}

func (l *lister) agent(top *logfile.Dir, name string) error {
	d, err := top.Below(name)
	if err != nil {
		return err
	}
	defer d.Close()
	files, err := d.Names()
	if err != nil {
		return err
	}
	l.listing.Agents = append(l.listing.Agents, session.CleanID(name))
	for _, file := range files {
		live, rotated := logfile.OriginalName(file)
		chat := logName().FindStringSubmatch(live)
		if chat == nil {
			if strings.HasSuffix(file, ".jsonl") {
				l.notice(d.At(file), errors.New("not a name that is safe in a path"))
			}
			continue
		}
		if err := l.log(d, file, logged{agent: name, chat: chat[1], rotated: rotated}); err != nil {
			l.notice(d.At(file), err)
		}
	}
	return nil
}

// logged is what the name of a log says.
type logged struct {
	agent, chat string
	rotated     bool
}

func (l *lister) log(d *logfile.Dir, file string, n logged) error {
	info, err := d.Root.Lstat(file)
	if err != nil {
		return err
	}
	if reason := logfile.Unusable(info); reason != "" {
		return errors.New(reason)
	}
	ref := session.Ref{
		Runtime: session.RuntimeAnnabelle, Agent: session.CleanID(n.agent), ID: session.CleanID(n.chat), Key: n.chat,
		Store: l.store.root, Path: d.At(file), Kind: session.KindLive, Primary: !subAgent().MatchString(n.agent),
		Bytes: info.Size(), ModTime: info.ModTime(),
	}
	logfile.State(&ref, info, l.now)
	if n.rotated {
		ref.Kind, ref.Primary = session.KindReset, false
		ref.State, ref.Reason = session.StateUnsupported, "a log that was cleared: it is kept until nobody can write it any more"
	}
	l.listing.Refs = append(l.listing.Refs, ref)
	return nil
}

// measured is what the runtime goes by when it decides to compact.
type measured struct {
	turns     int
	chars     int64 // of the texts of the turns; what tools said does not count
	compacted int64 // epoch milliseconds of the last compaction, 0 for none
	replaced  int   // turns that compactions so far have replaced
}

// Due implements [session.Trigger] with the conditions of seed 000: all must
// be true. The time of the last compaction is taken from its record, because
// the runtime keeps it only in memory.
func (s *Store) Due(ctx context.Context, q session.DueQuestion) (bool, string, error) {
	d, name, err := logfile.Of(s.base, q.Ref.Path, 1)
	if err != nil {
		return false, "", err
	}
	defer d.Close()
	log, _, err := d.OpenLog(name)
	if err != nil {
		return false, "", err
	}
	defer log.Close()
	m, err := measure(ctx, log)
	if err != nil {
		return false, "", err
	}
	due, reason := s.due(m, q.Now)
	return due, reason, nil
}

func (s *Store) due(m measured, now time.Time) (bool, string) {
	o := s.options
	since := now.Sub(time.UnixMilli(m.compacted))
	switch {
	case m.turns < o.MinTurns:
		return false, fmt.Sprintf("%d turns, due from %d", m.turns, o.MinTurns)
	case m.chars <= o.ThresholdChars:
		return false, fmt.Sprintf("%d characters, due above %d", m.chars, o.ThresholdChars)
	case m.compacted > 0 && since < o.Cooldown:
		return false, fmt.Sprintf("compacted %s ago, due again after %s", since.Round(time.Second), o.Cooldown)
	}
	return true, ""
}

// measure reads a log as the runtime loads it: a compaction takes the place of
// what was before it.
func measure(ctx context.Context, log io.Reader) (measured, error) {
	var m measured
	var d decoder
	_, err := jsonl.Scan(ctx, log, jsonl.Options{}, func(r *jsonl.Record) error {
		if err := d.decode(r.Raw); err != nil {
			return err
		}
		switch string(d.record.kind) {
		case kindTurn:
			m.turns++
			m.chars += characters(d.record.user) + characters(d.record.assistant)
		case kindCompaction:
			at, _, _ := session.ParseTime(d.record.time)
			m = measured{compacted: at, replaced: m.replaced + int(d.record.compacted)}
		}
		return nil
	})
	if err != nil {
		return m, fmt.Errorf("read the log: %w", err)
	}
	return m, nil
}

// characters counts as JavaScript does, in UTF-16 units.
func characters(text []byte) (n int64) {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if n++; r > 0xFFFF {
			n++
		}
		text = text[size:]
	}
	return n
}

// places says where the logs of this runtime lie: in the directory of their
// agent, one a chat.
func (s *Store) places() logfile.Places {
	return logfile.Places{
		Base: s.base, Depth: 1, Store: s.root,
		Like: func(name string) bool {
			log, _ := logfile.OriginalName(name)
			return logName().MatchString(log)
		},
		Log: func(below string) (session.Ref, bool) {
			agent, name, _ := strings.Cut(below, "/")
			chat := logName().FindStringSubmatch(name)
			if chat == nil {
				return session.Ref{}, false
			}
			return session.Ref{
				Runtime: session.RuntimeAnnabelle, Agent: session.CleanID(agent), ID: session.CleanID(chat[1]), Key: chat[1], Kind: session.KindLive,
			}, true
		},
	}
}

// Place implements [session.Restorer].
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	return s.places().Place(ctx, path, now)
}

// Unused implements [session.Restorer].
func (s *Store) Unused(ctx context.Context, path string, now time.Time, quiet time.Duration) error {
	return s.places().Unused(ctx, path, now, quiet)
}
