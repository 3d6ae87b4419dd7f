package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// Options say when a session is compacted and how much of it stays. What they leave
// at 0 is as the runtime's own settings say, and where these say nothing, as usual.
type Options struct {
	ReserveTokens    int64 // of the window, for the answer
	KeepRecentTokens int64
	ContextWindow    int64 // tokens
}

// The defaults (docs/dev/decisions.md D17). The log does not say how large the
// window of its model is.
const (
	DefaultReserve = 16_384
	defaultKeep    = 20_000
	defaultWindow  = 200_000
)

// Store is one sessions directory, a [session.Store]. It holds nothing open and
// may be used by several goroutines at once.
type Store struct {
	logfile.RotatingLogs
	options Options
	own     settings
}

// Open returns the store of a sessions directory, or of the directory that
// holds one, with the settings beside that directory.
func Open(root string, o Options) *Store {
	root = logfile.Absolute(root)
	own := readSettings(logfile.Within(root, sessionsName))
	o.ReserveTokens = cmp.Or(o.ReserveTokens, own.Reserve, DefaultReserve)
	o.KeepRecentTokens = cmp.Or(o.KeepRecentTokens, own.Keep, defaultKeep)
	o.ContextWindow = cmp.Or(o.ContextWindow, defaultWindow)
	s := &Store{options: o, own: own}
	s.Logs = logfile.Logs{
		Pin:  &logfile.Pin{},
		Name: session.RuntimeAgent, Store: root, Base: logfile.Within(root, sessionsName), Depth: 1, Locate: locate,
		Like: func(name string) bool { return name == metadataName },
	}
	s.ReadAll = s.Scan
	return s
}

// Roots returns the sessions directory of a user if it exists:
// ~/.agent/sessions. Other programs use the same directory for flat files,
// which are no sessions of this runtime.
func Roots(home string, _ func(string) string) []string {
	if path := filepath.Join(home, ".agent", sessionsName); home != "" && logfile.MayHold(path) {
		return []string{path}
	}
	return nil
}

const (
	sessionsName = "sessions"
	logName      = "session.jsonl"
	metadataName = "metadata.json"
	// agentName is the one agent of a store: this runtime has no agent ids.
	agentName = "agent"
)

// validID is the only form of a session's id: a ULID.
var validID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-HJKMNP-TV-Z]{26}$`) })

// locate reads where a log lies: one in each session's directory.
func locate(below string) (session.Ref, bool) {
	id, name, _ := strings.Cut(below, "/")
	return session.Ref{Agent: agentName, ID: id, Kind: session.KindLive}, name == logName && validID().MatchString(id)
}

// List implements [session.Store]: the session that was used last comes first.
// A directory whose name is no ULID is refused with a notice.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	l := &lister{Lister: s.NewLister(), used: map[string]time.Time{}, window: int(s.options.ContextWindow)}
	if s.own.err != nil {
		l.Notice(s.own.path, "what it says of compaction is not used: %v", s.own.err)
	}
	err := l.Base(ctx, func(base *logfile.Dir, name string) {
		if !base.HasDirectory(name) {
			return // plain files are nothing of ours
		}
		if d := l.Below(base, name); d != nil {
			defer d.Close()
			l.session(d, name)
		}
	})
	if err != nil {
		return session.Listing{}, err
	}
	refs := l.Listing.Refs
	slices.SortStableFunc(refs, func(a, b session.Ref) int { return l.used[b.Path].Compare(l.used[a.Path]) })
	if len(refs) > 0 {
		l.Listing.Agents = []string{agentName}
	}
	return l.Listing, nil
}

// lister collects sessions, and when each was used.
type lister struct {
	*logfile.Lister
	used   map[string]time.Time // by path
	window int                  // tokens
}

// session lists what one directory holds: a log, and the logs that were
// rotated away and are not settled yet. One that is no log ends it.
func (l *lister) session(d *logfile.Dir, id string) {
	var failed error
	l.Each(d, func(name string) {
		switch {
		case failed != nil, name != logName && !isRotated(name):
		case validID().MatchString(id):
			failed = l.log(d, id, name)
		case name == logName:
			failed = errors.New("its name is not a ULID")
		}
	})
	if failed != nil {
		l.Skip(d.Path, failed)
	}
}

func (l *lister) log(d *logfile.Dir, id, name string) error {
	ref, err := l.Look(d, name)
	if err != nil {
		return err
	}
	m := readMetadata(d)
	ref.Agent, ref.ID, ref.Key = agentName, id, m.key()
	ref.Primary, ref.Model, ref.ContextWindow = m.Source != sourceCron, m.Model, l.window
	if name != logName {
		logfile.MarkKept(&ref, session.ReasonRotated.Text())
	}
	l.used[ref.Path] = ref.ModTime
	if ms, _, ok := session.ParseTime(m.LastMessageAt); ok {
		l.used[ref.Path] = time.UnixMilli(ms)
	}
	l.Add(ref)
	return nil
}

const sourceCron = "cron"

// metadata is what is used of metadata.json (docs/dev/formats.md, "agent").
type metadata struct {
	Name          string          `json:"name"`
	LastMessageAt json.RawMessage `json:"lastMessageAt"` // a bad time must not hide the rest
	Model         string          `json:"model"`
	Source        string          `json:"source"`
	CronJob       string          `json:"cronJobId"`
}

// key is what a person knows the session by: its cron job, or its name.
func (m metadata) key() string {
	if m.Source == sourceCron {
		return "cron:" + m.CronJob
	}
	return m.Name
}

// readMetadata returns what can be read; a session without metadata is one
// with an empty one.
func readMetadata(d *logfile.Dir) (m metadata) {
	raw, _, err := d.ReadSmall(metadataName)
	if err == nil {
		_ = json.Unmarshal(raw, &m) // the log is what counts
	}
	return m
}

// Place implements [session.Restorer].
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	place, err := s.Logs.Place(ctx, path, now)
	if err != nil || s.hasMetadata(place.Path) {
		return place, err
	}
	place.Note = "there is no metadata.json beside it, and no archive has one: the runtime may not list this session"
	return place, nil
}

func (s *Store) hasMetadata(log string) bool {
	d, _, err := s.Directory(log)
	if err != nil {
		return false
	}
	defer d.Close()
	info, err := d.Stat(metadataName)
	return err == nil && info != nil
}

// Companions implements [session.Family]: a session is its log and its
// metadata.
func (s *Store) Companions(_ context.Context, refs []session.Ref) []session.Companions {
	all := make([]session.Companions, len(refs))
	for i, ref := range refs {
		all[i].Paths, all[i].Err = s.companions(ref)
	}
	return all
}

func (s *Store) companions(ref session.Ref) ([]string, error) {
	d, name, err := s.Directory(ref.Path)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if name != logName {
		return nil, nil
	}
	info, err := d.Stat(metadataName)
	if err != nil || info == nil {
		return nil, err
	}
	return []string{d.At(metadataName)}, nil
}
