package logfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// Lister collects what a store's directories hold. What cannot be used becomes
// a notice and ends nothing.
type Lister struct {
	Listing session.Listing
	logs    *Logs
	now     time.Time
}

// NewLister returns a lister that has found nothing yet.
func (l *Logs) NewLister() *Lister { return &Lister{logs: l, now: time.Now()} }

// Notice adds a notice.
func (l *Lister) Notice(path, format string, args ...any) {
	l.Listing.Notices = append(l.Listing.Notices, session.Notice{Path: path, Message: fmt.Sprintf(format, args...)})
}

// Skip adds the notice that something was left out.
func (l *Lister) Skip(path string, err error) {
	l.Listing.Notices = append(l.Listing.Notices, session.Skipped(path, err))
}

// Base hands every name in the base of the store to each, in order. It returns
// an error if the base cannot be read, or if ctx has ended.
func (l *Lister) Base(ctx context.Context, each func(base *Dir, name string)) error {
	base, err := l.logs.Top()
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	defer base.Close()
	names, err := base.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		each(base, name)
	}
	return nil
}

// HasDirectory reports whether a directory of that name is there, without a
// notice: hidden ones, and links that lead out of it, do not count.
func (d *Dir) HasDirectory(name string) bool {
	info, err := d.Root.Stat(name)
	return err == nil && info.IsDir() && !strings.HasPrefix(name, ".")
}

// Below opens the directory of that name; nil if it is gone, if it is no
// directory, or, with a notice, if it cannot be opened. A link that leads nowhere is
// not gone.
func (l *Lister) Below(in *Dir, name string) *Dir {
	d, err := in.Below(name)
	if errors.Is(err, fs.ErrNotExist) {
		if info, err := in.Root.Lstat(name); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return nil
		}
	}
	switch {
	case errors.Is(err, ErrNoDirectory):
		return nil
	case err != nil:
		l.Skip(in.At(name), err)
		return nil
	}
	return d
}

// Each hands every name in a directory to each, in order. It reports whether
// the directory could be read; a notice says so if not.
func (l *Lister) Each(d *Dir, each func(name string)) bool {
	names, err := d.Names()
	if err != nil {
		l.Skip(d.Path, err)
		return false
	}
	l.Listing.Refs = slices.Grow(l.Listing.Refs, len(names))
	for _, name := range names {
		each(name)
	}
	return true
}

// Look makes what the references of all logs have. It returns an error, which
// may wrap fs.ErrNotExist, for what can be no log.
func (l *Lister) Look(d *Dir, name string) (session.Ref, error) {
	info, err := d.Root.Lstat(name)
	if err != nil {
		return session.Ref{}, err
	}
	return l.RefOf(d.At(name), info)
}

// RefOf is Look for a log that was looked at already. State is what the time of
// its last change tells.
func (l *Lister) RefOf(path string, info os.FileInfo) (session.Ref, error) {
	switch reason := Unusable(info); reason {
	case "":
	case session.ErrLinked.Error():
		return session.Ref{}, session.ErrLinked
	default:
		return session.Ref{}, errors.New(reason)
	}
	ref := session.Ref{
		Runtime: l.logs.Name, Store: l.logs.Store, Path: path, Kind: session.KindLive,
		Bytes: info.Size(), ModTime: info.ModTime(), File: fileID(info),
	}
	state(&ref, info, l.now)
	return ref, nil
}

func fileID(info os.FileInfo) session.FileID {
	id := durable.Identify(info)
	owner, known := durable.Owner(info)
	if !known {
		owner = -1
	}
	return session.FileID{Device: id.Device, Inode: id.Inode, Changed: id.Changed.UnixNano(), Owner: owner}
}

// Ref is Look; false, with a notice, for what can be no log, and without one
// for a file that is gone since its directory was read.
func (l *Lister) Ref(d *Dir, name string) (session.Ref, bool) {
	ref, err := l.Look(d, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.Skip(d.At(name), err)
	}
	return ref, err == nil
}

// Located is Ref with what the store's Locate tells of the place. It is false,
// without a notice, where no log can be. A log that was moved aside is marked
// as such, with reason, which is for people.
func (l *Lister) Located(d *Dir, name, reason string) (session.Ref, bool) {
	live, aside := OriginalName(name)
	named, ok := l.logs.locate(d.At(live))
	if !ok {
		return session.Ref{}, false
	}
	ref, ok := l.Ref(d, name)
	ref.Agent, ref.ID, ref.Key, ref.Kind, ref.Parent = named.Agent, named.ID, named.Key, named.Kind, named.Parent
	if aside {
		MarkKept(&ref, reason)
	}
	return ref, ok
}

// Add adds a reference. The list doubles when it is full: append by itself copies
// a list of 100,000 five times over.
func (l *Lister) Add(ref session.Ref) {
	if refs := l.Listing.Refs; len(refs) == cap(refs) {
		l.Listing.Refs = slices.Grow(refs, len(refs)+8)
	}
	l.Listing.Refs = append(l.Listing.Refs, ref)
}

// MarkNewest marks the newest live log of each key as the one that its runtime
// goes on with.
func (l *Lister) MarkNewest() {
	newest := map[string]int{}
	for i, ref := range l.Listing.Refs {
		if at, seen := newest[ref.Key]; ref.Kind == session.KindLive && (!seen || l.Listing.Refs[at].ModTime.Before(ref.ModTime)) {
			newest[ref.Key] = i
		}
	}
	for _, i := range newest {
		l.Listing.Refs[i].Primary = true
	}
}

// MarkKept marks the reference of a log that was moved aside. reason is for
// people.
func MarkKept(ref *session.Ref, reason string) {
	ref.Kind, ref.Primary = session.KindReset, false
	ref.State, ref.Reason = session.StateUnsupported, reason
}
