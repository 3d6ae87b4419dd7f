package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// List implements [session.Store]: the threads of sessions/ and then those of
// archived_sessions/, in the order of their names, which begin with a time. Of
// every rollout the first record is read. Every thread is primary: Codex goes
// on with whichever it is told to.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	top, err := logfile.Open(s.Base)
	if err != nil {
		return session.Listing{}, fmt.Errorf("open store: %w", err)
	}
	defer top.Close()
	for _, name := range []string{sessionsName, archivedName} {
		if err := logfile.Unreadable(filepath.Join(s.Base, name)); err != nil {
			return session.Listing{}, err
		}
	}
	l := &lister{Lister: s.NewLister(), store: s, top: top, titles: titles(ctx, top)}
	for _, area := range l.areas() {
		if err := l.area(ctx, area); err != nil {
			return session.Listing{}, err
		}
	}
	for _, ref := range l.Listing.Refs {
		if !slices.Contains(l.Listing.Agents, ref.Agent) {
			l.Listing.Agents = append(l.Listing.Agents, ref.Agent)
		}
	}
	return l.Listing, nil
}

// lister collects the threads of one store.
type lister struct {
	*logfile.Lister
	store  *Store
	top    *logfile.Dir
	titles map[string]string // of threads, by their ids
}

// indexName is the list of the names of threads, which Codex only appends to.
const indexName = "session_index.jsonl"

// titles reads the names of threads: of several the last one counts. What cannot be read
// names nothing.
func titles(ctx context.Context, top *logfile.Dir) map[string]string {
	names := map[string]string{}
	index, _, err := top.OpenLog(indexName)
	if err != nil {
		return names
	}
	defer index.Close()
	_, _ = jsonl.Scan(ctx, index, jsonl.Options{}, func(r *jsonl.Record) error {
		var named struct {
			ID   string `json:"id"`
			Name string `json:"thread_name"`
		}
		if json.Unmarshal(r.Raw, &named) == nil {
			names[named.ID] = named.Name
		}
		return nil
	})
	return names
}

// areas are the directories that hold rollouts; "." for a directory that is
// not a Codex home.
func (l *lister) areas() (names []string) {
	for _, name := range []string{sessionsName, archivedName} {
		if info, err := l.top.Root.Stat(name); err == nil && info.IsDir() {
			names = append(names, name)
		}
	}
	if names == nil {
		return []string{"."}
	}
	return names
}

// area lists the rollouts of one directory and those below it. Links are not
// followed.
func (l *lister) area(ctx context.Context, area string) error {
	return fs.WalkDir(l.top.Root.FS(), area, func(name string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		below := strings.Count(name, "/")
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // gone since its directory was read
		case err != nil:
			l.Skip(l.top.At(filepath.FromSlash(name)), err)
			return fs.SkipDir
		case !entry.IsDir():
			l.file(area, name)
		case name != area && (below >= deepest || strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		}
		return nil
	})
}

// file lists a file, if it is a rollout.
func (l *lister) file(area, name string) {
	at := l.top.At(filepath.FromSlash(name))
	id, ok := threadOf(path.Base(name))
	if !ok {
		if rolloutDocument().MatchString(path.Base(name)) {
			l.Notice(at, "skipped: a session of the first Codex, one JSON document; this tool reads rollouts")
		}
		return
	}
	if plain, cold := strings.CutSuffix(name, coldEnd); cold {
		if _, err := l.top.Root.Lstat(filepath.FromSlash(plain + plainEnd)); err == nil {
			return // Codex reads the plain one
		}
	}
	ref, err := l.thread(filepath.FromSlash(name), id)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		l.Skip(at, err)
		return
	}
	if area == archivedName {
		ref.Kind = session.KindArchived
	}
	l.Add(ref)
}

// thread makes the ref of one rollout. Its header names it; a rollout without
// one goes by its file name.
func (l *lister) thread(name, id string) (session.Ref, error) {
	ref, err := l.Look(l.top, name)
	if err != nil {
		return session.Ref{}, err
	}
	log, info, err := l.top.OpenLog(name)
	if err != nil {
		return session.Ref{}, err
	}
	defer log.Close()
	h, err := readHeader(log, info.Size())
	if err != nil {
		return session.Ref{}, err
	}
	if h.id == "" {
		h.id = id
	}
	ref.Agent, ref.Project, ref.ID, ref.Primary = session.AgentOfDirectory(h.cwd, noAgent), h.cwd, session.CleanID(h.id), true
	ref.Title = l.titles[h.id]
	if lock := l.store.lockOf(ref.ID); lock != "" {
		ref.State, ref.Reason = session.StateBusy, heldBy(lock)
	}
	return ref, nil
}

// isCompressed looks at the first bytes of a log: names lie.
func isCompressed(log *os.File) (bool, error) {
	plain, compression, err := jsonl.Decompress(io.NewSectionReader(log, 0, 8), 8)
	if err != nil {
		return false, err
	}
	return compression != jsonl.CompressionNone, plain.Close()
}

// endSize is how much of the end of a compressed rollout is kept to be read
// backwards, in bytes.
const endSize = 1 << 20

// textEnd is the end of a plain text, and how many bytes stand before it.
type textEnd struct {
	text *bytes.Reader
	base int64
}

// readEnd decompresses a rollout and keeps the whole lines of its last bytes.
func readEnd(ctx context.Context, log io.Reader, size int64) (textEnd, error) {
	plain, _, err := jsonl.Decompress(log, size)
	if err != nil {
		return textEnd{}, fmt.Errorf("read the end of the log: %w", err)
	}
	defer plain.Close()
	buf := make([]byte, 0, 2*endSize)
	var base int64
	for err == nil {
		if len(buf) == cap(buf) {
			base += int64(len(buf) - endSize)
			buf = append(buf[:0], buf[len(buf)-endSize:]...)
		}
		var n int
		n, err = plain.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == nil {
			err = ctx.Err()
		}
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return textEnd{}, fmt.Errorf("read the end of the log: %w", err)
	}
	if base > 0 { // the first line is cut
		if n := bytes.IndexByte(buf, '\n'); n >= 0 {
			buf, base = buf[n+1:], base+int64(n)+1
		}
	}
	return textEnd{bytes.NewReader(buf), base}, nil
}

// header is what the first record of a rollout says.
type header struct{ id, cwd string }

var errFound = errors.New("found")

// readHeader returns what the first session_meta of a rollout says, an empty
// header if there is none in its first 256 KiB.
func readHeader(log io.Reader, size int64) (h header, err error) {
	plain, _, err := jsonl.Decompress(log, size)
	if err != nil {
		return h, err
	}
	defer plain.Close()
	var d decoder
	_, err = jsonl.Scan(context.Background(), io.LimitReader(plain, session.HeadSize), jsonl.Options{}, func(r *jsonl.Record) error {
		if err := d.decode(r.Raw); err != nil {
			return err
		}
		if d.record.kind != meta {
			return nil
		}
		h = header{id: string(d.record.item.id), cwd: string(d.record.item.cwd)}
		return errFound
	})
	if errors.Is(err, errFound) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, jsonl.ErrUTF16) {
		err = nil
	}
	return h, err
}
