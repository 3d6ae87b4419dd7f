package macstats

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
)

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
	d, err := directory.Open(s.base)
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

func (s *Store) log(d *directory.Directory, name string) (session.Ref, bool, error) {
	live, rotated := directory.Unrotated(name)
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
	if reason := directory.Unusable(info); reason != "" {
		return session.Ref{}, false, errors.New(reason)
	}
	ref := session.Ref{
		Runtime: session.RuntimeMacStats, Agent: agentName, Key: id, Store: s.root, Path: d.At(name),
		ID: idOf(live), Kind: session.KindLive, Bytes: info.Size(), ModTime: info.ModTime(),
	}
	directory.State(&ref, info, time.Now())
	if rotated {
		ref.Kind = session.KindReset
		ref.State, ref.Reason = session.StateUnsupported, "a session that was cleared: it is kept until nobody can write it any more"
	}
	return ref, true, nil
}
