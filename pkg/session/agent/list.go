package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
)

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
	top, err := directory.Open(s.base)
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
func (s *Store) session(top *directory.Directory, name string) ([]listed, error) {
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

func (s *Store) log(d *directory.Directory, id, file string) (listed, error) {
	info, err := d.Root.Lstat(file)
	if err != nil {
		return listed{}, err
	}
	if reason := directory.Unusable(info); reason != "" {
		return listed{}, errors.New(reason)
	}
	m := readMetadata(d)
	ref := session.Ref{
		Runtime: session.RuntimeAgent, Agent: agentName, ID: id, Key: m.key(), Store: s.root, Path: d.At(file),
		Kind: session.KindLive, Primary: m.Source != sourceCron, Bytes: info.Size(), ModTime: info.ModTime(),
		Model: m.Model, ContextWindow: int(s.options.ContextWindow),
	}
	directory.State(&ref, info, time.Now())
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
func readMetadata(d *directory.Directory) (m metadata) {
	raw, _, err := readSmall(d, metadataName)
	if err == nil {
		_ = json.Unmarshal(raw, &m) // the log is what counts
	}
	return m
}

func readSmall(d *directory.Directory, name string) ([]byte, os.FileInfo, error) {
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
