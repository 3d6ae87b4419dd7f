package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
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
	return session.TailScan(ctx, log, info.ModTime(), s.Scan)
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

const (
	sessionsName = "sessions"
	logName      = "session.jsonl"
	metadataName = "metadata.json"
	// agentName is the one agent of a store: this runtime has no agent ids.
	agentName = "agent"
)

// validID is the only form of a session's id (seed 001, section 7.1).
var validID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-HJKMNP-TV-Z]{26}$`) })

// List implements [session.Store]: the session that was used last comes first
// (S7.5). A directory whose name is no ULID is refused with a notice (S7.8).
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	var listing session.Listing
	top, err := logfile.Open(s.base)
	if err != nil {
		return listing, fmt.Errorf("open store: %w", err)
	}
	defer top.Close()
	names, err := top.Names()
	if err != nil {
		return listing, err
	}
	var all []listed
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return listing, err
		}
		found, err := s.session(top, name)
		if err != nil {
			listing.Notices = append(listing.Notices, session.Notice{Path: top.At(name), Message: "skipped: " + err.Error()})
		}
		all = append(all, found...)
	}
	slices.SortStableFunc(all, func(a, b listed) int { return b.used.Compare(a.used) })
	for _, l := range all {
		listing.Refs = append(listing.Refs, l.ref)
	}
	if len(all) > 0 {
		listing.Agents = []string{agentName}
	}
	return listing, nil
}

type listed struct {
	ref  session.Ref
	used time.Time
}

var errNoULID = errors.New("its name is not a ULID")

// session lists what one directory holds: a log, and the logs that were
// rotated away and are not settled yet. Plain files are nothing of ours.
func (s *Store) session(top *logfile.Dir, name string) ([]listed, error) {
	info, err := top.Root.Stat(name)
	if err != nil || !info.IsDir() || strings.HasPrefix(name, ".") {
		return nil, nil
	}
	d, err := top.Below(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		return nil, err
	}
	if !validID().MatchString(name) {
		if slices.Contains(names, logName) {
			return nil, errNoULID
		}
		return nil, nil
	}
	var all []listed
	for _, file := range names {
		if file != logName && !isRotated(file) {
			continue
		}
		l, err := s.log(d, name, file)
		if err != nil {
			return all, err
		}
		all = append(all, l)
	}
	return all, nil
}

func (s *Store) log(d *logfile.Dir, id, file string) (listed, error) {
	info, err := d.Root.Lstat(file)
	if err != nil {
		return listed{}, err
	}
	if reason := logfile.Unusable(info); reason != "" {
		return listed{}, errors.New(reason)
	}
	m := readMetadata(d)
	ref := session.Ref{
		Runtime: session.RuntimeAgent, Agent: agentName, ID: id, Key: m.key(), Store: s.root, Path: d.At(file),
		Kind: session.KindLive, Primary: m.Source != sourceCron, Bytes: info.Size(), ModTime: info.ModTime(),
		Model: m.Model, ContextWindow: int(s.options.ContextWindow),
	}
	logfile.State(&ref, info, time.Now())
	if file != logName {
		ref.Kind, ref.Primary = session.KindReset, false
		ref.State, ref.Reason = session.StateUnsupported, "a rotated log: it is kept until nobody can write it any more"
	}
	used := info.ModTime()
	if ms, _, ok := session.ParseTime(m.LastMessageAt); ok {
		used = time.UnixMilli(ms)
	}
	return listed{ref, used}, nil
}

const sourceCron = "cron"

// metadata is what of metadata.json is used (seed 001, section 7.3).
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

// maxMetadata bounds what is read of a metadata file, in bytes.
const maxMetadata = 1 << 20

// readMetadata returns what can be read; a session without metadata is one
// with an empty one.
func readMetadata(d *logfile.Dir) (m metadata) {
	raw, _, err := readSmall(d, metadataName)
	if err == nil {
		_ = json.Unmarshal(raw, &m) // the log is what counts
	}
	return m
}

func readSmall(d *logfile.Dir, name string) ([]byte, os.FileInfo, error) {
	f, err := durable.OpenRegularIn(d.Root, name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxMetadata))
	return raw, info, err
}

// places says where the logs of this runtime lie: one in each session's
// directory.
func (s *Store) places() logfile.Places {
	return logfile.Places{
		Base: s.base, Depth: 1, Store: s.root,
		Like: func(name string) bool { return name == metadataName || isRotated(name) },
		Log: func(below string) (session.Ref, bool) {
			id, name, _ := strings.Cut(below, "/")
			ref := session.Ref{Runtime: session.RuntimeAgent, Agent: agentName, ID: id, Kind: session.KindLive}
			return ref, name == logName && validID().MatchString(id)
		},
	}
}

// Place implements [session.Restorer].
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	place, err := s.places().Place(ctx, path, now)
	if err != nil || s.hasMetadata(place.Path) {
		return place, err
	}
	place.Note = "there is no metadata.json beside it, and no archive has one: the runtime may not list this session"
	return place, nil
}

func (s *Store) hasMetadata(log string) bool {
	d, _, err := logfile.Of(s.base, log, 1)
	if err != nil {
		return false
	}
	defer d.Close()
	info, err := d.Stat(metadataName)
	return err == nil && info != nil
}

// Unused implements [session.Restorer].
func (s *Store) Unused(ctx context.Context, path string, now time.Time, quiet time.Duration) error {
	return s.places().Unused(ctx, path, now, quiet)
}

// Companions implements [session.Family]: a session is its log and its
// metadata.
func (s *Store) Companions(_ context.Context, ref session.Ref) ([]string, error) {
	d, name, err := logfile.Of(s.base, ref.Path, 1)
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
