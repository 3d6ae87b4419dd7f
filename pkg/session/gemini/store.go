package gemini

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// Store is one home directory of Gemini, a [session.Store]. Sessions are read and
// never changed; one that is gone can be put back. It holds nothing open and may
// be used by several goroutines at once.
type Store struct {
	root string // as it was opened
	base string // the directory of projects
}

// Open returns the store of a .gemini directory, or of the directory in it
// that holds the projects.
func Open(root string) *Store {
	if absolute, err := filepath.Abs(root); err == nil {
		root = absolute
	}
	base := root
	if below := filepath.Join(root, projectsName); isDirectory(below) {
		base = below
	}
	return &Store{root: root, base: base}
}

// Roots returns the .gemini directory of a user if it holds projects: that of
// GEMINI_CLI_HOME, else ~/.gemini.
func Roots(home string, getenv func(string) string) []string {
	if other := getenv("GEMINI_CLI_HOME"); other != "" {
		home = other
	}
	if root := filepath.Join(home, ".gemini"); home != "" && isDirectory(filepath.Join(root, projectsName)) {
		return []string{root}
	}
	return nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Runtime implements [session.Store].
func (s *Store) Runtime() string { return session.RuntimeGemini }

// Root implements [session.Store].
func (s *Store) Root() string { return s.root }

// OwnCommand implements [session.Adviser].
func (s *Store) OwnCommand(session.Ref) string {
	return "/compress in the session makes its context small"
}

// deepest is how many directories a chat lies below the projects:
// <project>/chats/<parent>.
const deepest = 3

// Tail implements [session.Store]. A chat that is one document is read in full.
func (s *Store) Tail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	d, name, err := logfile.Of(s.base, ref.Path, deepest)
	if err != nil {
		return session.Tail{}, err
	}
	defer d.Close()
	log, info, err := d.OpenLog(name)
	if err != nil {
		return session.Tail{}, err
	}
	defer log.Close()
	return s.tail(ctx, log, info)
}

func (s *Store) tail(ctx context.Context, log io.ReaderAt, info os.FileInfo) (session.Tail, error) {
	all := io.NewSectionReader(log, 0, info.Size())
	head := make([]byte, min(documentHead, info.Size()))
	if _, err := io.ReadFull(all, head); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return session.Tail{}, fmt.Errorf("read the log: %w", err)
	}
	all = io.NewSectionReader(log, 0, info.Size())
	if isDocument(head) {
		return session.TailScan(ctx, all, info.ModTime(), s.Scan)
	}
	t, err := tail(ctx, log, info.Size(), info.ModTime())
	if err != nil || info.Size() > session.ExactTail {
		return t, err
	}
	t.Messages, err = s.count(ctx, all)
	t.MessagesExact = true
	return t, err
}

func (s *Store) count(ctx context.Context, r io.Reader) (int, error) {
	scan, err := s.Scan(ctx, r, session.ScanOptions{}, func(*session.Message) error { return nil })
	return scan.Records, err
}

// CountMessages returns the number of messages in a chat, exactly.
func (s *Store) CountMessages(ctx context.Context, ref session.Ref) (int, error) {
	d, name, err := logfile.Of(s.base, ref.Path, deepest)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	log, info, err := d.OpenLog(name)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	return s.count(ctx, io.NewSectionReader(log, 0, info.Size()))
}

// Busy implements [session.Liveness]. Gemini leaves no sign of life but what
// it writes: a session is busy shortly after a change, and while its last turn
// is not answered.
func (s *Store) Busy(ctx context.Context, ref session.Ref, now time.Time, quiet time.Duration) error {
	d, name, err := logfile.Of(s.base, ref.Path, deepest)
	if errors.Is(err, fs.ErrNotExist) {
		return logfile.Gone(ref.Path)
	}
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Busy(ctx, name, logfile.Question{Ref: ref, Now: now, Quiet: quiet, Tail: s.Tail})
}

// places says where the chats of this runtime lie. Gemini owns them: one that
// is gone can come back, and one that is there is never replaced.
func (s *Store) places() logfile.Places {
	return logfile.Places{Base: s.base, Depth: deepest, Store: s.root, Owned: true, Log: placed}
}

// placed reads the place of a chat, or of a sub-agent's.
func placed(below string) (session.Ref, bool) {
	parts := strings.Split(below, "/")
	name := parts[len(parts)-1]
	stem := strings.TrimSuffix(strings.TrimSuffix(name, ".jsonl"), ".json")
	ref := session.Ref{Runtime: session.RuntimeGemini, Agent: session.CleanID(parts[0]), ID: session.CleanID(stem), Kind: session.KindLive}
	switch {
	case len(parts) < 3 || parts[1] != chatsName:
		return ref, false
	case len(parts) == 3:
		return ref, chatName().MatchString(name)
	}
	ref.Kind = session.KindTopic
	return ref, len(parts) == 4 && session.SafeID(parts[2]) && subChatName().MatchString(name)
}

// Place implements [session.Restorer].
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	return s.places().Place(ctx, path, now)
}

// Unused implements [session.Restorer].
func (s *Store) Unused(ctx context.Context, path string, now time.Time, quiet time.Duration) error {
	return s.places().Unused(ctx, path, now, quiet)
}
