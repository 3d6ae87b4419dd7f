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

// Options say when a session is compacted and how much of it stays. 0 is the
// default.
type Options struct {
	ThresholdChars  int64         // a session with more characters is due
	MinTurns        int           // and at least as many turns
	Cooldown        time.Duration // and no compaction within this time
	KeepRecentTurns int           // that stay, byte for byte
}

// The defaults are the runtime's own (docs/dev/formats.md, "annabelle").
const (
	defaultThresholdChars  = 20_000
	defaultMinTurns        = 8
	defaultCooldown        = 2 * time.Minute
	defaultKeepRecentTurns = 5
)

func (o Options) withDefaults() Options {
	if o.ThresholdChars <= 0 {
		o.ThresholdChars = defaultThresholdChars
	}
	if o.MinTurns <= 0 {
		o.MinTurns = defaultMinTurns
	}
	if o.Cooldown <= 0 {
		o.Cooldown = defaultCooldown
	}
	if o.KeepRecentTurns <= 0 {
		o.KeepRecentTurns = defaultKeepRecentTurns
	}
	return o
}

// Store is one sessions directory, a [session.Store]. It holds nothing open and
// may be used by several goroutines at once.
type Store struct {
	logfile.RotatingLogs
	options Options
}

// Open returns the store of a sessions directory, or of the directory that
// holds one.
func Open(root string, o Options) *Store {
	root = logfile.Absolute(root)
	s := &Store{options: o.withDefaults()}
	s.Logs = logfile.Logs{
		Pin:  &logfile.Pin{},
		Name: session.RuntimeAnnabelle, Store: root, Base: logfile.Within(root, sessionsName), Depth: 1, Locate: locate,
	}
	s.ReadAll, s.ReadTail = s.Scan, s.tail
	return s
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
	return logfile.Existing(candidates...)
}

// tail reads the end of a log, which is always answered: a turn is written when
// it is.
func (s *Store) tail(ctx context.Context, log *os.File, info os.FileInfo, _ session.Ref) (session.Tail, error) {
	tail, err := session.TailScan(ctx, log, info.ModTime(), s.Scan)
	tail.Answered = err == nil
	return tail, err
}

const sessionsName = "sessions"

// logName is the name of a log. A chat's id is a number of Telegram's, negative
// for groups, or a word.
var (
	logName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(-?[A-Za-z0-9][A-Za-z0-9._-]{0,120})\.jsonl$`) })
	subAgent = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.+)-sub-\d+$`) })
)

// locate reads where a log lies: in the directory of its agent, one a chat.
func locate(below string) (session.Ref, bool) {
	agent, name, _ := strings.Cut(below, "/")
	chat := logName().FindStringSubmatch(name)
	if chat == nil {
		return session.Ref{}, false
	}
	return session.Ref{Agent: session.CleanAgent(agent), ID: session.CleanID(chat[1]), Key: chat[1], Kind: session.KindLive}, true
}

// List implements [session.Store].
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	l := s.NewLister()
	err := l.Base(ctx, func(base *logfile.Dir, name string) {
		if !base.HasDirectory(name) {
			return
		}
		if d := l.Below(base, name); d != nil {
			defer d.Close()
			listAgent(l, d, name)
		}
	})
	return l.Listing, err
}

// listAgent lists the logs of one agent.
func listAgent(l *logfile.Lister, d *logfile.Dir, agent string) {
	listed := l.Each(d, func(name string) {
		if strings.HasSuffix(name, ".jsonl") && !logName().MatchString(name) {
			l.Skip(d.At(name), errors.New("its name has characters that are not safe in a path"))
		}
		ref, ok := l.Located(d, name, session.ReasonClearedLog.Text())
		if ok {
			ref.Primary = ref.Kind == session.KindLive && !subAgent().MatchString(agent)
			l.Add(ref)
		}
	})
	if listed {
		l.Listing.Agents = append(l.Listing.Agents, session.CleanAgent(agent))
	}
}

// ParentOf implements [session.Parent].
func (s *Store) ParentOf(agent string) (parent string, ok bool) {
	name := subAgent().FindStringSubmatch(agent)
	if name == nil {
		return "", false
	}
	return name[1], true
}

// measured is what the runtime goes by when it decides to compact.
type measured struct {
	turns     int
	chars     int64 // of the texts of the turns; what tools said does not count
	compacted int64 // epoch milliseconds of the last compaction, 0 for none
	replaced  int   // turns that compactions so far have replaced
}

// Due implements [session.Trigger] with the runtime's own conditions: all must
// be true. The time of the last compaction is taken from its record, because
// the runtime keeps it only in memory.
func (s *Store) Due(ctx context.Context, q session.DueQuestion) (bool, string, error) {
	if q.Asked {
		return true, "", nil
	}
	log, _, err := s.OpenLog(q.Ref)
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
		return false, session.ReasonFewTurns.Text(m.turns, o.MinTurns)
	case m.chars <= o.ThresholdChars:
		return false, session.ReasonFewCharacters.Text(m.chars, o.ThresholdChars)
	case m.compacted > 0 && since < o.Cooldown:
		return false, session.ReasonCooldown.Text(since.Round(time.Second), o.Cooldown)
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
