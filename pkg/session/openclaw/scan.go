package openclaw

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// wholeText is up to how many bytes the text of a compressed log is kept to be
// read backwards, like one that is not compressed.
const wholeText = 64 << 20

// Scan implements [session.Store]. From 2026.8 on the runtime compresses the
// logs of deleted sessions. They are read as what they hold, so places are
// those in the plain text; one that was cut off is read as far as it goes, and
// is torn.
func (s *Store) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	plain, err := plainText(r)
	if err != nil {
		return session.Scan{}, fmt.Errorf("scan log: %w", err)
	}
	defer plain.Close()
	scan, err := piformat.Scan(ctx, plain, o, emit)
	scan.Counts.Torn = scan.Counts.Torn || plain.cut
	return scan, err
}

// logText is what a log holds.
type logText struct {
	io.ReadCloser
	compressed bool
	cut        bool // its compressed form ended too early
}

// plainText decompresses a log that is compressed, whatever its name.
func plainText(r io.Reader) (*logText, error) {
	plain, compression, err := jsonl.Decompress(r, jsonl.Unsized)
	return &logText{ReadCloser: plain, compressed: compression != jsonl.CompressionNone}, err
}

// Read implements io.Reader. What was cut off ends where it was cut.
func (t *logText) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if t.compressed && errors.Is(err, io.ErrUnexpectedEOF) {
		t.cut, err = true, io.EOF
	}
	return n, err
}

// fileTail is Tail for a log that is a file. The runtime could not go on with
// an open log that is compressed, so that is none of its own.
func (s *Store) fileTail(ctx context.Context, ref session.Ref, log *os.File) (session.Tail, error) {
	info, err := log.Stat()
	if err != nil {
		return session.Tail{}, fmt.Errorf("look at log: %w", err)
	}
	plain, err := plainText(io.NewSectionReader(log, 0, info.Size()))
	if err != nil {
		return session.Tail{}, err
	}
	defer plain.Close()
	if !plain.compressed {
		return piformat.Tail(ctx, log, info.Size(), info.ModTime())
	}
	if ref.Kind == session.KindLive {
		return session.Tail{}, fmt.Errorf("%w: it is compressed, and under the name of a log that is written", session.ErrUnknownFormat)
	}
	whole, err := io.ReadAll(io.LimitReader(plain, wholeText+1))
	if err != nil {
		return session.Tail{}, fmt.Errorf("read the log: %w", err)
	}
	if len(whole) > wholeText {
		return session.TailScan(ctx, io.NewSectionReader(log, 0, info.Size()), info.ModTime(), s.Scan)
	}
	tail, err := piformat.Tail(ctx, bytes.NewReader(whole), int64(len(whole)), info.ModTime())
	tail.Torn = tail.Torn || plain.cut
	return tail, err
}

// Companions implements [session.Family]: the run traces that stand under a
// session's id, which a reset leaves behind. While the session has an open log
// or another closed one, they stay. Each directory is read once.
func (s *Store) Companions(_ context.Context, refs []session.Ref) []session.Companions {
	all := make([]session.Companions, len(refs))
	seen := map[string]*traces{}
	for i, ref := range refs {
		dir := filepath.Dir(ref.Path)
		if seen[dir] == nil {
			seen[dir] = s.tracesIn(ref.Path)
		}
		all[i] = seen[dir].of(filepath.Base(ref.Path))
	}
	return all
}

// traceMark is in the name of a run trace, after the session's id. No log has it
// in its name.
const traceMark = ".trajectory"

// traces are the run traces of a sessions directory, by session.
type traces struct {
	paths map[string][]string
	logs  map[string][]string // the names of the session's logs, open and closed
	err   error
}

// tracesIn reads the directory of a log.
func (at *stateDir) tracesIn(path string) *traces {
	t := &traces{paths: map[string][]string{}, logs: map[string][]string{}}
	d, _, err := at.directoryOf(path)
	if err != nil {
		return &traces{err: err}
	}
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		return &traces{err: err}
	}
	for _, name := range names {
		if id, _, trace := strings.Cut(name, traceMark); trace {
			t.paths[id] = append(t.paths[id], d.At(name))
		} else if n, v := parseName(name); v == isLog {
			t.logs[n.session] = append(t.logs[n.session], name)
		}
	}
	return t
}

// of returns the traces that belong to one log and to no other.
func (t *traces) of(name string) session.Companions {
	if t.err != nil {
		return session.Companions{Err: t.err}
	}
	n, v := parseName(name)
	if v != isLog || slices.ContainsFunc(t.logs[n.session], func(other string) bool { return other != name }) {
		return session.Companions{}
	}
	return session.Companions{Paths: t.paths[n.session]}
}
