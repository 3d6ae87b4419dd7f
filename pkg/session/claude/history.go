package claude

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

const (
	// historyName is the file to which Claude Code appends every prompt that a
	// person types. It stays when the sessions are deleted.
	historyName = "history.jsonl"
	// historyMark stands between its path and the name of a group of its lines.
	historyMark = "#"
	// noProject is the agent of prompts that name no project.
	noProject = "claude"
)

// promptLine is what a line of the history tells of where it belongs.
type promptLine struct {
	agent, project string
	group          string   // the id of its session, or the day of one that names none
	named          bool     // it names its session
	time           int64    // epoch milliseconds
	pasted         []string // hashes of texts that lie elsewhere
}

// id is what the prompts of a group are listed as.
func (p promptLine) id() string { return session.PromptsID(p.group) }

// promptReader reads lines of the history.
type promptReader struct{ decoder }

// read returns where a line belongs; false for one that is no prompt.
func (r *promptReader) read(raw []byte) (p promptLine, ok bool) {
	if r.decode(raw) != nil || r.record.kind != prompt {
		return p, false
	}
	if p.time, _, ok = session.ParseTime(r.record.time); !ok {
		return p, false
	}
	p.agent = noProject
	if cwd := string(r.record.cwd); cwd != "" {
		p.project = session.FolderOf(cwd)
		p.agent = agentIn(p.project, cwd)
	}
	p.named = len(r.record.session) > 0
	if p.group = string(r.record.session); !p.named {
		p.group = time.UnixMilli(p.time).UTC().Format(time.DateOnly)
	}
	pastesOf(r.record.pasted, func(hash []byte) { p.pasted = append(p.pasted, string(hash)) }, func([]byte) {})
	return p, true
}

// groupKey tells groups apart: a session has one wherever its lines were typed, a
// day has one for each agent.
type groupKey struct{ agent, id string }

func (p promptLine) key() groupKey {
	if p.named {
		return groupKey{id: p.id()}
	}
	return groupKey{p.agent, p.id()}
}

// promptGroup is the prompts of one session, or of one day.
type promptGroup struct {
	promptLine       // the first of them
	last       int64 // time of the last
	bytes      int64 // of the lines, with a line feed each
	times      []int64
	pastes     pastes // that its lines name
}

// history is what the prompts tell, by groups in the order of their first lines.
type history struct {
	path    string
	groups  []*promptGroup
	unnamed map[string]bool // projects with prompts that name no session
	odd     int             // lines that are no prompts
}

// readHistory groups the prompts of the history.
func (s *Store) readHistory(ctx context.Context) (history, error) {
	h := history{path: filepath.Join(s.config, historyName), unnamed: map[string]bool{}}
	file, err := s.openHistory()
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	defer file.Close()
	known, reader := map[groupKey]*promptGroup{}, promptReader{}
	counts, err := jsonl.Scan(ctx, file, jsonl.Options{}, func(r *jsonl.Record) error {
		p, ok := reader.read(r.Raw)
		if !ok {
			h.odd++
			return nil
		}
		g := known[p.key()]
		if g == nil {
			g = &promptGroup{promptLine: p}
			known[p.key()], h.groups = g, append(h.groups, g)
		}
		g.last, g.bytes = max(g.last, p.time), g.bytes+r.Length+1
		g.pastes.add(p)
		if !p.named {
			g.times, h.unnamed[p.project] = append(g.times, p.time), true
		}
		return nil
	})
	h.odd += counts.Bad
	return h, err
}

func (s *Store) openHistory() (*os.File, error) {
	d, err := logfile.Open(s.config)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	file, _, err := d.OpenLog(historyName)
	return file, err
}

// span is from when to when a log was written.
type span struct{ first, last int64 }

// prompts lists what people typed in sessions whose logs are gone. Where logs may
// be that nobody could list, nothing is taken for gone.
func (l *lister) prompts(h history, cache pasteCache) {
	if len(h.groups) == 0 || slices.ContainsFunc(l.Listing.Notices, func(n session.Notice) bool { return n.Unread }) {
		return
	}
	there := map[string]bool{}
	for _, ref := range l.Listing.Refs {
		there[ref.ID] = true
	}
	for _, p := range l.running {
		there[p.Session] = true
	}
	recent := time.Now().Add(-session.RecentChange).UnixMilli()
	var made pasteLine
	for _, g := range h.groups {
		if there[g.group] || g.last > recent || l.covered(g) {
			continue
		}
		pasted, lacking, problem := made.measure(cache, g.pastes)
		if problem != nil {
			l.Notice(filepath.Join(filepath.Dir(h.path), pasteCacheName), "a pasted text is not read: %v", problem)
		}
		reason := session.ReasonLogGone.Text(historyName)
		if lacking > 0 {
			reason = session.ReasonLogGoneLacking.Text(historyName, lacking)
		}
		l.Add(session.Ref{
			Runtime: session.RuntimeClaude, Agent: g.agent, ID: g.id(), Store: l.root,
			Path: h.path + historyMark + g.agent + "/" + g.id(), Kind: session.KindPrompts, Bytes: g.bytes + pasted,
			ModTime: time.UnixMilli(g.last).UTC(), State: session.StateUnsupported, Lacking: lacking, Reason: reason,
		})
	}
}

// covered reports whether each prompt of a day was typed while a log of its
// project was written that is still there.
func (l *lister) covered(g *promptGroup) bool {
	return !g.named && !slices.ContainsFunc(g.times, func(at int64) bool {
		return !slices.ContainsFunc(l.spans[g.project], func(s span) bool { return s.first <= at && at <= s.last })
	})
}

// written notes from when to when the logs of a project were written, if there are
// prompts of it that name no session.
func (l *lister) written(d *logfile.Dir, files []string) {
	if !l.unnamed[l.dirName] {
		return
	}
	for _, file := range files {
		info, err := d.Stat(file)
		if n, isLog, _ := parseName(file); !isLog || n.subagent || err != nil {
			continue
		}
		var dec decoder
		for line := range firstLines(d, file) {
			if dec.decode(line) != nil {
				continue
			}
			if first, _, ok := session.ParseTime(dec.record.time); ok {
				l.spans[l.dirName] = append(l.spans[l.dirName], span{first, info.ModTime().UnixMilli()})
				break
			}
		}
	}
}

// OpenLog implements [session.LogSource]: the lines of the history that belong to
// a session whose log is gone, byte for byte, and after each the texts that were
// pasted into it and lie elsewhere, if they are still there.
func (s *Store) OpenLog(ctx context.Context, ref session.Ref) (io.ReadCloser, error) {
	place, ok := strings.CutPrefix(ref.Path, filepath.Join(s.config, historyName)+historyMark)
	i := strings.LastIndexByte(place, '/')
	if !ok || i < 0 {
		return nil, fmt.Errorf("%s names no prompts of the store %s", ref.Path, s.Store)
	}
	agent, id := place[:i], place[i+1:]
	file, err := s.openHistory()
	if err != nil {
		return nil, err
	}
	cache, err := s.openPastes()
	if err != nil {
		cache = pasteCache{} // the listing tells it; the prompts themselves are there
	}
	log := promptLog{file: file, cache: cache}
	if err = s.collect(ctx, &log, agent, id); errors.Is(err, errOtherLines) {
		err = s.collect(ctx, &log, agent, id)
	}
	if err == nil && len(log.lines) == 0 {
		err = fmt.Errorf("prompts of %s: %w", id, fs.ErrNotExist)
	}
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	log.Reader = io.MultiReader(log.lines...)
	return &log, nil
}

// errOtherLines means that the history was written anew since its lines were found.
var errOtherLines = errors.New("the history has other lines than before")

// collect puts the prompts that are listed under an agent and an id into a log. Each
// line is read again: where one is another than was found there, it returns
// errOtherLines, and the next call reads the whole history.
func (s *Store) collect(ctx context.Context, log *promptLog, agent, id string) error {
	found, err := s.prompts.find(ctx, log.file, id)
	if err != nil {
		return err
	}
	log.lines, log.pastes = nil, nil
	reader := promptReader{}
	var raw []byte
	for _, line := range found {
		if !line.belongs(agent) {
			continue
		}
		raw = slices.Grow(raw[:0], int(line.length))[:line.length]
		if _, err := log.file.ReadAt(raw, line.offset); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		p, ok := reader.read(raw)
		if !ok || p.id() != id || p.agent != line.agent {
			s.prompts.forget()
			return errOtherLines
		}
		log.add(line, p)
	}
	return nil
}

// promptLog is the log of a group of prompts.
type promptLog struct {
	io.Reader
	file   *os.File
	cache  pasteCache
	pastes pastes // that its lines name
	lines  []io.Reader
}

// add puts a line of the history at the log's end.
func (l *promptLog) add(line linePlace, p promptLine) {
	l.lines = append(l.lines, io.NewSectionReader(l.file, line.offset, line.length), strings.NewReader("\n"))
	for _, named := range l.pastes.add(p) {
		l.lines = append(l.lines, &pasteReader{cache: l.cache, paste: named})
	}
}

// Close implements io.Closer.
func (l *promptLog) Close() error {
	l.cache.close()
	return l.file.Close()
}

// Tail implements [session.Store]. Nobody goes on with prompts alone: they have no
// context.
func (s *Store) Tail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	if ref.Kind != session.KindPrompts {
		return s.Logs.Tail(ctx, ref)
	}
	log, err := s.OpenLog(ctx, ref)
	if err != nil {
		return session.Tail{}, err
	}
	defer log.Close()
	tail, err := session.TailScan(ctx, log, ref.ModTime, s.Scan)
	tail.Tokens, tail.Answered = 0, true
	return tail, err
}

// fromHistory makes the message of a prompt: what was typed, then what was pasted
// into it. A long paste has a line of its own.
func (d *decoder) fromHistory() {
	r, m := &d.record, &d.message
	m.Role = session.RoleUser
	d.queue.Reset(r.display)
	text, _ := d.queue.Bytes()
	m.Parts = append(m.Parts[:0], session.Part{Kind: session.PartText, Text: text})
	pastesOf(r.pasted, func([]byte) {}, func(content []byte) {
		m.Parts = append(m.Parts, session.Part{Kind: session.PartText, Text: content})
	})
}

// fromPaste makes the message of a text that was pasted into the prompt before.
func (d *decoder) fromPaste() {
	d.message.Role = session.RoleUser
	d.queue.Reset(d.record.content)
	text, _ := d.queue.Bytes()
	d.message.Parts = append(d.message.Parts[:0], session.Part{Kind: session.PartText, Text: text})
}

// isPrompt reports whether a record without a type is a line of the history.
func (r *record) isPrompt() bool {
	return len(r.name) == 0 && len(r.display) > 0 && r.display[0] == '"' && len(r.time) > 0 && len(r.id) == 0
}

// isPaste reports whether a record of that type has a text.
func (r *record) isPaste() bool { return len(r.content) > 0 && r.content[0] == '"' && len(r.id) == 0 }
