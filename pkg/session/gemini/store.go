package gemini

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// Store is one home directory of Gemini, a [session.Store]: sessions are read,
// never changed; one that is gone can be put back. It holds nothing open and may
// be used by several goroutines at once.
type Store struct{ logfile.Logs }

// Open returns the store of a .gemini directory, or of the directory in it
// that holds the projects.
func Open(root string) *Store {
	root = logfile.Absolute(root)
	s := &Store{logfile.Logs{
		Name: session.RuntimeGemini, Store: root, Base: logfile.Within(root, projectsName), Depth: deepest,
		Locate: locate, Owned: true,
	}}
	s.ReadAll, s.ReadTail = s.Scan, s.readTail
	return s
}

// Roots returns the .gemini directory of a user if it holds projects: that of
// GEMINI_CLI_HOME, else ~/.gemini.
func Roots(home string, getenv func(string) string) []string {
	if other := getenv("GEMINI_CLI_HOME"); other != "" {
		home = other
	}
	return logfile.Holding(home, ".gemini", projectsName)
}

// OwnCommand implements [session.Adviser].
func (s *Store) OwnCommand(session.Ref) string {
	return "/compress in the session makes its context small"
}

// deepest is how many directories a chat lies below the projects:
// <project>/chats/<parent>.
const deepest = 3

// readTail reads the end of a chat. One that is one document is read in full.
func (s *Store) readTail(ctx context.Context, log *os.File, info os.FileInfo, _ session.Ref) (session.Tail, error) {
	all := io.NewSectionReader(log, 0, info.Size())
	head := make([]byte, min(documentHead, info.Size()))
	if _, err := io.ReadFull(all, head); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return session.Tail{}, fmt.Errorf("read the log: %w", err)
	}
	all = io.NewSectionReader(log, 0, info.Size())
	if isDocument(head) || isSaved(head) {
		return session.TailScan(ctx, all, info.ModTime(), s.Scan)
	}
	t, err := Tail(ctx, log, info.Size(), info.ModTime())
	if err != nil || info.Size() > session.ExactTail {
		return t, err
	}
	t.Messages, err = s.CountIn(ctx, all)
	t.MessagesExact = true
	return t, err
}

// locate reads the place of a chat, or of a sub-agent's.
func locate(below string) (session.Ref, bool) {
	parts := strings.Split(below, "/")
	name := parts[len(parts)-1]
	stem := strings.TrimSuffix(strings.TrimSuffix(name, ".jsonl"), ".json")
	ref := session.Ref{Agent: session.CleanAgent(parts[0]), ID: session.CleanID(stem), Kind: session.KindLive}
	switch {
	case len(parts) == 2:
		ref.Kind = session.KindArchived
		return ref, savedName().MatchString(name)
	case len(parts) < 3 || parts[1] != chatsName:
		return ref, false
	case len(parts) == 3:
		return ref, chatName().MatchString(name)
	}
	ref.Kind = session.KindTopic
	return ref, len(parts) == 4 && session.SafeID(parts[2]) && subChatName().MatchString(name)
}
