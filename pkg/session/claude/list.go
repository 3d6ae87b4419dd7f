package claude

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// List implements [session.Store]. Each project is an agent; its sessions come
// together, in the order of their file names, each followed by the logs of its
// sub-agents and its long outputs. What could not be used is a notice.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	l := &lister{Lister: s.NewLister(), root: s.Store}
	var err error
	if l.running, err = s.running(); err != nil {
		l.Notice(s.config, "which sessions are open is not known: %v", err)
	}
	if l.period, err = s.period(); err != nil {
		l.Notice(s.config, "when Claude Code deletes old sessions is not known: %v", err)
	}
	past, err := s.readHistory(ctx)
	if err != nil {
		l.Notice(past.path, "what was typed in sessions that are gone is not read: %v", err)
	}
	if past.odd > 0 {
		l.Notice(past.path, "lines that are no prompts and are not read: %d", past.odd)
	}
	l.unnamed, l.spans = past.unnamed, map[string][]span{}
	if err := l.Base(ctx, l.project); err != nil {
		return session.Listing{}, err
	}
	cache, err := s.openPastes()
	if err != nil {
		l.Notice(s.config, "texts that were pasted into prompts are not read: %v", err)
	}
	defer cache.close()
	l.prompts(past, cache)
	return l.Listing, nil
}

// lister collects the sessions of one store.
type lister struct {
	*logfile.Lister
	running []instance
	period  time.Duration // after which the runtime deletes a log; 0 if it is not known

	agent   string
	works   string // the working directory, "" if no log names it
	dirName string // of the project

	root    string
	unnamed map[string]bool   // projects of which the history has prompts that name no session
	spans   map[string][]span // when the logs of these were written
}

// project lists one project.
func (l *lister) project(base *logfile.Dir, name string) {
	if strings.HasPrefix(name, ".") {
		return
	}
	d := l.Below(base, name)
	if d == nil {
		return
	}
	defer d.Close()
	files, err := d.Names()
	if err != nil {
		l.Skip(d.Path, err)
		return
	}
	l.works = workingDirectory(d, files)
	l.agent, l.dirName = agentIn(name, l.works), name
	l.written(d, files)
	for _, file := range files {
		l.log(d, file, "")
		if _, isLog, _ := parseName(file); !isLog && session.SafeID(file) {
			l.family(d, file)
		}
	}
	l.Listing.Agents = append(l.Listing.Agents, l.agent)
}

// workingDirectory is the working directory that the first records of a project's
// logs name, "" if none does. A few logs are enough.
func workingDirectory(d *logfile.Dir, files []string) string {
	const few = 4
	looked := 0
	var start beginning
	for _, file := range files {
		if _, isLog, _ := parseName(file); !isLog {
			continue
		}
		if looked++; looked > few {
			break
		}
		for line := range firstLines(d, file) {
			if beginnings.Peek(&start, &start.cursor, line); len(start.cwd) > 0 {
				return string(start.cwd)
			}
		}
	}
	return ""
}

// beginning is what is read of the first records of a log.
type beginning struct {
	cursor jsonl.Cursor
	cwd    []byte
}

var beginnings = fields.New(func(b *beginning) []fields.Field {
	return []fields.Field{fields.Text("cwd", &b.cwd)}
})

// firstLines yields the whole lines at the beginning of a file.
func firstLines(d *logfile.Dir, name string) iter.Seq[[]byte] {
	const looked = 16 << 10
	return func(yield func([]byte) bool) {
		f, err := durable.OpenRegularIn(d.Root, name)
		if err != nil {
			return
		}
		defer f.Close()
		start := make([]byte, looked)
		n, err := io.ReadFull(f, start)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return
		}
		for line := range bytes.Lines(start[:n]) {
			if !yield(bytes.TrimSpace(line)) {
				return
			}
		}
	}
}

// family lists what lies in the directory of a session.
func (l *lister) family(project *logfile.Dir, id string) {
	d := l.Below(project, id)
	if d == nil {
		return
	}
	defer d.Close()
	l.each(d, subagentsName, func(d *logfile.Dir, name string) {
		if isMeta(name) {
			l.output(d, subagentsName, name, id, session.ReasonBelongsTo)
			return
		}
		l.log(d, name, id)
	})
	l.each(d, resultsName, func(d *logfile.Dir, name string) {
		l.output(d, resultsName, name, id, session.ReasonToolOutput)
	})
}

func (l *lister) each(d *logfile.Dir, name string, list func(*logfile.Dir, string)) {
	if inner := l.Below(d, name); inner != nil {
		defer inner.Close()
		l.Each(inner, func(name string) { list(inner, name) })
	}
}

// log adds the ref of one log, of a sub-agent if it is in a session's own
// directory. Every session is a main one: none is ever changed, and the runtime
// deletes them all.
func (l *lister) log(d *logfile.Dir, name, parent string) {
	n, ok, odd := parseName(name)
	if odd {
		l.Skip(d.At(name), errors.New("its name has characters that are not safe in a path"))
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
	l.classify(&ref)
	l.Add(ref)
}

// output adds the ref of a tool's output that was too long for the log, or of what began a
// sub-agent. where is the name of its directory.
func (l *lister) output(d *logfile.Dir, where, name, parent string, why session.Reason) {
	if !session.SafeID(name) {
		return
	}
	ref, ok := l.file(d, name)
	if !ok {
		return
	}
	ref.Kind, ref.Parent = session.KindOutput, parent
	ref.Key = parent + "/" + where + "/" + name
	ref.ID = session.CleanID(parent + "." + name)
	ref.State, ref.Reason = session.StateUnsupported, why.Text()
	l.Add(ref)
}

// file makes what all refs have.
func (l *lister) file(d *logfile.Dir, name string) (session.Ref, bool) {
	ref, ok := l.Ref(d, name)
	ref.Agent, ref.Project = l.agent, l.works
	if l.period > 0 {
		ref.Expires = ref.ModTime.Add(l.period)
	}
	return ref, ok
}

// classify sets the state.
func (l *lister) classify(ref *session.Ref) {
	if p, ok := openIn(l.running, *ref, l.dirName); ok {
		ref.State, ref.Reason = session.StateBusy, p.reason()
	} else if ref.State == session.StateBusy {
		ref.Reason = session.ReasonLastMinute.Text()
	}
}

// readSession returns the session that the first records of a log name, or "".
func readSession(d *logfile.Dir, name string) string {
	var dec decoder
	for line := range firstLines(d, name) {
		if dec.decode(line) == nil && session.SafeID(string(dec.record.session)) {
			return string(dec.record.session)
		}
	}
	return ""
}
