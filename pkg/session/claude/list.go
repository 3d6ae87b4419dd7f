package claude

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// List implements [session.Store]. Each project is an agent; its sessions come
// together, in the order of their file names, each followed by the logs of its
// sub-agents and its long outputs. What could not be used is a notice.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	top, err := logfile.Open(s.projects)
	if err != nil {
		return session.Listing{}, fmt.Errorf("open store: %w", err)
	}
	defer top.Close()
	names, err := top.Names()
	if err != nil {
		return session.Listing{}, err
	}
	l := &lister{store: s, now: time.Now()}
	if l.running, err = s.running(); err != nil {
		l.notice(s.config, "which sessions are open is not known: %v", err)
	}
	if l.period, err = s.period(); err != nil {
		l.notice(s.config, "when Claude Code deletes old sessions is not known: %v", err)
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return session.Listing{}, err
		}
		l.project(top, name)
	}
	return l.listing, nil
}

// lister collects the sessions of one store.
type lister struct {
	store   *Store
	now     time.Time
	running []instance
	period  time.Duration // after which the runtime deletes a log; 0 if it is not known
	listing session.Listing

	agent   string
	dirName string // of the project
}

func (l *lister) notice(path, format string, args ...any) {
	l.listing.Notices = append(l.listing.Notices, session.Notice{Path: path, Message: fmt.Sprintf(format, args...)})
}

// below opens a directory, if that is what the name is; nil if not.
func (l *lister) below(d *logfile.Dir, name string) *logfile.Dir {
	info, err := d.Root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	var inner *logfile.Dir
	if err == nil {
		inner, err = d.Below(name)
	}
	if err != nil {
		l.notice(d.At(name), "skipped: %v", err)
		return nil
	}
	return inner
}

// project lists one project.
func (l *lister) project(top *logfile.Dir, name string) {
	if strings.HasPrefix(name, ".") {
		return
	}
	d := l.below(top, name)
	if d == nil {
		return
	}
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		l.notice(d.Path, "skipped: %v", err)
		return
	}
	l.agent, l.dirName = agentOf(name), name
	l.listing.Agents = append(l.listing.Agents, l.agent)
	for _, file := range names {
		l.log(d, file, "")
		if session.SafeID(file) {
			l.family(d, file)
		}
	}
}

// family lists what lies in the directory of a session.
func (l *lister) family(project *logfile.Dir, id string) {
	d := l.below(project, id)
	if d == nil {
		return
	}
	defer d.Close()
	l.each(d, subagentsName, func(d *logfile.Dir, name string) { l.log(d, name, id) })
	l.each(d, resultsName, func(d *logfile.Dir, name string) { l.output(d, name, id) })
}

func (l *lister) each(d *logfile.Dir, name string, list func(*logfile.Dir, string)) {
	inner := l.below(d, name)
	if inner == nil {
		return
	}
	defer inner.Close()
	names, err := inner.Names()
	if err != nil {
		l.notice(inner.Path, "skipped: %v", err)
	}
	for _, name := range names {
		list(inner, name)
	}
}

// log adds the ref of one log, of a sub-agent if it is in a session's own
// directory. Every session is a main one: none is ever changed, and the runtime
// deletes them all.
func (l *lister) log(d *logfile.Dir, name, parent string) {
	n, ok, odd := parseName(name)
	if odd {
		l.notice(d.At(name), "skipped: not a name that is safe in a path")
	}
	if !ok || parent != "" && !n.subagent {
		return
	}
	ref, ok := l.file(d, name)
	if !ok {
		return
	}
	ref.ID, ref.Kind, ref.Primary, ref.Parent = n.stem, session.KindLive, true, parent
	if n.subagent {
		ref.Kind, ref.Primary = session.KindSubagent, false
		if parent == "" {
			ref.Parent = readSession(d, name)
		}
		if ref.Parent == ref.ID {
			ref.Parent = ""
		}
		if ref.Parent != "" {
			ref.Key = ref.Parent + "/" + ref.ID
		}
	}
	l.judge(&ref)
	l.listing.Refs = append(l.listing.Refs, ref)
}

// output adds the ref of a tool's output that was too long for the log.
func (l *lister) output(d *logfile.Dir, name, parent string) {
	if !session.SafeID(name) {
		return
	}
	ref, ok := l.file(d, name)
	if !ok {
		return
	}
	ref.Kind, ref.Parent = session.KindOutput, parent
	ref.Key = parent + "/" + resultsName + "/" + name
	ref.ID = session.CleanID(parent + "." + name)
	ref.State, ref.Reason = session.StateUnsupported, "the output of a tool: it is archived with its session and not read"
	l.listing.Refs = append(l.listing.Refs, ref)
}

// file makes what all refs have.
func (l *lister) file(d *logfile.Dir, name string) (session.Ref, bool) {
	info, err := d.Root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return session.Ref{}, false // gone since the directory was read
	}
	if err == nil {
		if reason := logfile.Unusable(info); reason != "" {
			err = errors.New(reason)
		}
	}
	if err != nil {
		l.notice(d.At(name), "skipped: %v", err)
		return session.Ref{}, false
	}
	ref := session.Ref{
		Runtime: session.RuntimeClaude, Agent: l.agent, Store: l.store.root, Path: d.At(name),
		Bytes: info.Size(), ModTime: info.ModTime(),
	}
	if l.period > 0 {
		ref.Expires = info.ModTime().Add(l.period)
	}
	return ref, true
}

// judge sets the state.
func (l *lister) judge(ref *session.Ref) {
	ref.State = session.StateIdle
	if p, ok := openIn(l.running, *ref, l.dirName); ok {
		ref.State, ref.Reason = session.StateBusy, p.reason()
		return
	}
	if age := l.now.Sub(ref.ModTime); age.Abs() < session.RecentChange {
		ref.State, ref.Reason = session.StateBusy, "changed within the last minute"
	}
}

// readSession returns the session that the first records of a log name, or "".
func readSession(d *logfile.Dir, name string) string {
	const looked = 16 << 10
	f, err := durable.OpenRegularIn(d.Root, name)
	if err != nil {
		return ""
	}
	defer f.Close()
	start := make([]byte, looked)
	n, err := io.ReadFull(f, start)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return ""
	}
	var dec decoder
	for line := range bytes.Lines(start[:n]) {
		if dec.decode(bytes.TrimSpace(line)) == nil && session.SafeID(string(dec.record.session)) {
			return string(dec.record.session)
		}
	}
	return ""
}
