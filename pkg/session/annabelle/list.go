package annabelle

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
)

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
	top, err := directory.Open(s.base)
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

func (l *lister) agent(top *directory.Directory, name string) error {
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
		live, rotated := directory.Unrotated(file)
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

func (l *lister) log(d *directory.Directory, file string, n logged) error {
	info, err := d.Root.Lstat(file)
	if err != nil {
		return err
	}
	if reason := directory.Unusable(info); reason != "" {
		return errors.New(reason)
	}
	ref := session.Ref{
		Runtime: session.RuntimeAnnabelle, Agent: session.CleanID(n.agent), ID: session.CleanID(n.chat), Key: n.chat,
		Store: l.store.root, Path: d.At(file), Kind: session.KindLive, Primary: !subAgent().MatchString(n.agent),
		Bytes: info.Size(), ModTime: info.ModTime(),
	}
	directory.State(&ref, info, l.now)
	if n.rotated {
		ref.Kind, ref.Primary = session.KindReset, false
		ref.State, ref.Reason = session.StateUnsupported, "a log that was cleared: it is kept until nobody can write it any more"
	}
	l.listing.Refs = append(l.listing.Refs, ref)
	return nil
}
