package hermes

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// A transcript is a file beside the database that says what was said: one document with
// an array of messages, or a line for each. Where the database is gone, or does not have
// its session, it is the only text of it, and it is read as that session.

// indexName is a file of the gateway beside them: which chat goes on with which session.
const indexName = "sessions.json"

// transcriptOf is the id of the session of a transcript, by the name of the file.
func transcriptOf(name string) (id string, ok bool) {
	stem, isDocument := strings.CutSuffix(name, ".json")
	stem, isLines := strings.CutSuffix(stem, ".jsonl")
	if !isDocument && !isLines || name == indexName || strings.HasPrefix(name, dumpStart) || strings.HasPrefix(name, ".") {
		return "", false
	}
	return session.CleanID(strings.TrimPrefix(stem, "session_")), true
}

// hasTranscripts reports whether a home has transcripts.
func hasTranscripts(home string) bool {
	paths, _ := filepath.Glob(filepath.Join(quotedGlob(home), sessionsName, "*.json*"))
	for _, path := range paths {
		if _, ok := transcriptOf(filepath.Base(path)); ok {
			return true
		}
	}
	return false
}

// speaks reports whether a file is a transcript: a document with messages, or lines of
// which the first has a role. What cannot be read is one until it is read.
func (l *lister) speaks(root *os.Root, name string) bool {
	f, err := root.Open(filepath.Join(sessionsName, name))
	if err != nil {
		return true
	}
	defer f.Close()
	head, _ := io.ReadAll(io.LimitReader(f, documentHead))
	first, _, _ := bytes.Cut(head, []byte("\n"))
	return session.ReadDocumentHead(head).Messages || bytes.HasPrefix(first, []byte("{")) && bytes.Contains(first, []byte(`"role"`))
}

// transcript lists one as a session that no database has, and reports whether the file is
// one. Two of a session are two, each under its own name.
func (l *lister) transcript(root *os.Root, e fs.DirEntry) bool {
	id, ok := transcriptOf(e.Name())
	if !ok || !e.Type().IsRegular() || !l.speaks(root, e.Name()) {
		return false
	}
	path := filepath.Join(l.store.root, sessionsName, e.Name())
	info, err := e.Info()
	if err != nil {
		l.Notices = append(l.Notices, session.Skipped(path, err))
		return true
	}
	if l.told[id] {
		id = session.CleanID(e.Name())
	}
	l.told[id] = true
	l.Add(session.Ref{
		Runtime: session.RuntimeHermes, Agent: l.store.agent(), ID: id, Store: l.store.root, Path: path,
		Kind: session.KindLive, Primary: true, Bytes: info.Size(), ModTime: info.ModTime(), State: session.StateIdle,
	})
	return true
}

// transcriptTail reads the tail of one.
func (s *Store) transcriptTail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	root, err := s.pin.OpenRoot(s.root)
	if err != nil {
		return session.Tail{}, fmt.Errorf("open store: %w", err)
	}
	defer root.Close()
	log, err := root.Open(filepath.Join(sessionsName, filepath.Base(ref.Path)))
	if err != nil {
		return session.Tail{}, logfile.GoneOr(ref.Path, err)
	}
	defer log.Close()
	return session.TailScan(ctx, log, ref.ModTime, s.Scan)
}

// CountMessages implements [session.MessageCounter].
func (s *Store) CountMessages(ctx context.Context, ref session.Ref) (int, error) {
	if ref.Kind != session.KindLive {
		return s.Sessions.CountMessages(ctx, ref)
	}
	tail, err := s.transcriptTail(ctx, ref)
	return tail.Messages, err
}

// lacksDatabase reports whether a home has none.
func (s *Store) lacksDatabase() bool {
	_, err := os.Lstat(s.path())
	return errors.Is(err, fs.ErrNotExist)
}

// documentHead is how much of a log is looked at to tell a document from lines, in bytes:
// a system prompt may stand before the messages.
const documentHead = 1 << 20

// run reads a log, whatever its form.
func (s *scanner) run(ctx context.Context, r io.Reader, emit func(*session.Message) error) (session.Scan, error) {
	in := bufio.NewReaderSize(r, documentHead)
	head, _ := in.Peek(documentHead)
	first, _, _ := bytes.Cut(head, []byte("\n"))
	if bytes.Contains(first, []byte(`"hermes.session"`)) || !session.ReadDocumentHead(head).Messages {
		return s.lines.Run(ctx, in, emit, s.line)
	}
	err := s.lines.RunDocument(ctx, in, emit, s.transcribed)
	return s.lines.Result, err
}

// transcribed takes a message of a transcript, whose members are those of a row.
func (s *scanner) transcribed(r *jsonl.Record) (known bool, err error) {
	var l logLine
	s.cursor.Reset(r.Raw)
	l.columns(&s.cursor)
	if err := s.cursor.End(); err != nil {
		return false, err
	}
	switch role := string(l.row["role"].text); role {
	case "":
		return false, nil
	case "session_meta": // of the program: tools, the model
		return true, nil
	}
	l.row.asStored()
	s.lines.Result.Records++
	return true, s.message(r, l.row)
}

// asStored writes the members of a message as the database has them in its columns.
func (r row) asStored() {
	if list := r["content"].raw; bytes.HasPrefix(list, []byte("[")) {
		r["content"] = value{text: append([]byte(structuredMark), list...)}
	}
	if list := r["tool_calls"].raw; bytes.HasPrefix(list, []byte("[")) {
		r["tool_calls"] = value{text: list}
	}
	if len(r["tool_name"].text) == 0 {
		r["tool_name"] = r["name"]
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05"} { // without a zone it is of this system
		if at, err := time.ParseInLocation(form, string(r["timestamp"].text), time.Local); err == nil {
			r["timestamp"] = value{raw: strconv.AppendFloat(nil, float64(at.UnixMilli())/1000, 'f', 3, 64)}
		}
	}
}
