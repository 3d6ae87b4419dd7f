package macstats

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// When a session is due (docs/dev/decisions.md D17).
const (
	periodicMessages  = 4 // from so many on a session is due in a run over everything
	requestedMessages = 8 // from so many on when it was asked for
)

// Options say where lessons go.
type Options struct {
	LessonsAgent string // "" for every agent, else the id of one
}

// Store is one ~/.mac-stats, a [session.Store]. It holds nothing open and may be
// used by several goroutines at once.
type Store struct {
	logfile.RotatingLogs
	options Options
}

// Open returns the store of ~/.mac-stats or of another directory like it.
func Open(root string, o Options) *Store {
	root = logfile.Absolute(root)
	s := &Store{options: o}
	s.Logs = logfile.Logs{
		Pin:  &logfile.Pin{},
		Name: session.RuntimeMacStats, Store: root, Base: filepath.Join(root, "session"),
		Locate: locate, ReadAll: s.Scan,
	}
	s.Resuming = &logfile.Resuming{List: s.List, Nothing: opensAnswer}
	return s
}

// Roots returns ~/.mac-stats if it holds sessions.
func Roots(home string, _ func(string) string) []string {
	return logfile.Holding(home, ".mac-stats", "session")
}

// Busy implements [session.Liveness]. A last message without an answer is being
// answered only in the log that the program resumes, and only for as long as the
// program takes that for one in use.
func (s *Store) Busy(ctx context.Context, q session.BusyQuestion) error {
	question := logfile.Question{BusyQuestion: q, Tail: s.Tail}
	question.Ref.Runtime = session.RuntimeMacStats
	if !q.Ref.Primary {
		question.Tail = nil
	}
	return s.Ask(ctx, question)
}

// LessonsFile implements [session.Learner].
func (s *Store) LessonsFile(session.Ref) string {
	if s.options.LessonsAgent == "" {
		return filepath.Join(s.Root(), "agents", "memory.md")
	}
	return filepath.Join(s.Root(), "agents", "agent-"+s.options.LessonsAgent, "memory.md")
}

// Due implements [session.Trigger]: by the number of messages, a summary among
// them, as the program counts them.
func (s *Store) Due(_ context.Context, q session.DueQuestion) (bool, string, error) {
	least := periodicMessages
	if q.Asked {
		return true, "", nil
	}
	if q.Requested {
		least = requestedMessages
	}
	return q.Tail.Messages >= least, session.ReasonFewMessages.Text(q.Tail.Messages, least), nil
}

const agentName = "mac-stats"

// names are the two forms of a session's name. Both match when the topic ends in
// digits: the newer one is tried first.
var names = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`^session-memory-(\d+)-\d{8}-\d{6}-?.*\.md$`),
		regexp.MustCompile(`^session-memory-.*-(\d+)-\d{8}-\d{6}\.md$`),
	}
})

// parseName returns the conversation's id that a name has; false for a file
// that is no session.
func parseName(name string) (id string, ok bool) {
	for _, form := range names() {
		if m := form.FindStringSubmatch(name); m != nil {
			return m[1], true
		}
	}
	return "", false
}

// locate reads where a session lies: all are in one directory.
func locate(name string) (session.Ref, bool) {
	conversation, ok := parseName(name)
	id := strings.TrimSuffix(strings.TrimPrefix(name, "session-memory-"), ".md")
	return session.Ref{Agent: agentName, ID: session.CleanID(id), Key: conversation, Kind: session.KindLive}, ok
}

// List implements [session.Store]. Of the files of one conversation the newest
// is the one that the program resumes.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	l := s.NewLister()
	err := l.Base(ctx, func(d *logfile.Dir, name string) {
		if ref, ok := l.Located(d, name, session.ReasonClearedSession.Text()); ok {
			l.Add(ref)
		}
	})
	l.MarkNewest()
	l.Listing.Agents = []string{agentName} // also after its last session was cleared
	return l.Listing, err
}

// Succeeded implements [session.Successor].
func (s *Store) Succeeded(ctx context.Context, r session.Rotation) error { return s.WentOn(ctx, r) }
