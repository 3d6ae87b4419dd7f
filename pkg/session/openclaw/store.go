package openclaw

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/openclaw/agentdb"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

const (
	agentsName   = "agents"
	sessionsName = "sessions"
)

// maxVersion is the newest transcript format that is rotated: the last of the
// file era.
const maxVersion = 3

// Store is one state directory of OpenClaw, a [session.Store]. It holds nothing
// open but the databases that it has read, until it is closed, and may be used
// by several goroutines at once.
type Store struct {
	*stateDir
	*storedSessions
	*gateways
	*rotations
	*resets
}

// stateDir is the directory on disk: it finds and opens the logs in it.
type stateDir struct {
	root string
	pin  *logfile.Pin // of root
	// pause waits for what somebody else is writing. Tests do not.
	pause func(ctx context.Context, d time.Duration) error
}

// Open returns the store of a state directory: the one that holds agents/.
// The options say how a running gateway is found and asked. Nothing is read
// yet.
func Open(root string, o Options) *Store {
	state := &stateDir{root: logfile.Absolute(root), pin: &logfile.Pin{}, pause: session.Wait}
	stored := &storedSessions{state, agentdb.NewDatabases()}
	gateways := &gateways{state, o}
	rotations := &rotations{stored, gateways, func(string) error { return nil }}
	return &Store{state, stored, gateways, rotations, &resets{rotations}}
}

// Runtime implements [session.Store].
func (s *Store) Runtime() string { return session.RuntimeOpenClaw }

// Root implements [session.Store].
func (s *Store) Root() string { return s.root }

// Close gives the databases back that were read.
func (s *Store) Close() error { return s.databases.Close() }

// Tail implements [session.Store]. A log that is shorter than it was when it
// was listed is waited for, for a second: it is being rewritten.
func (s *Store) Tail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	if ref.Kind == session.KindStored {
		return s.storedTail(ctx, ref)
	}
	log, _, err := s.openLog(ctx, ref)
	if err != nil {
		return session.Tail{}, err
	}
	defer log.Close()
	return s.fileTail(ctx, ref, log)
}

// CountMessages returns the number of messages in a log, exactly.
func (s *Store) CountMessages(ctx context.Context, ref session.Ref) (int, error) {
	if ref.Kind == session.KindStored {
		return s.countStored(ctx, ref)
	}
	log, info, err := s.openLog(ctx, ref)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	plain, err := plainText(io.NewSectionReader(log, 0, info.Size()))
	if err != nil {
		return 0, fmt.Errorf("count messages: %w", err)
	}
	defer plain.Close()
	return piformat.CountMessages(ctx, plain)
}

// rewriteWait is how often, and how long each time, a log is waited for that is
// shorter than it was: for a second in all.
const (
	rewriteTries = 4
	rewriteWait  = 250 * time.Millisecond
)

// openLog opens a log that this store has listed.
func (at *stateDir) openLog(ctx context.Context, ref session.Ref) (*os.File, os.FileInfo, error) {
	if ref.Kind == session.KindDatabase {
		return nil, nil, fmt.Errorf("read %s: a database: %w", ref.Path, session.ErrUnknownFormat)
	}
	d, name, err := at.readableOf(ref.Path)
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	log, err := durable.OpenRegularIn(d.Root, name)
	if err != nil {
		return nil, nil, fmt.Errorf("open log: %w", err)
	}
	info, err := log.Stat()
	for try := 0; err == nil && info.Size() < ref.Bytes && try < rewriteTries; try++ {
		if err = at.pause(ctx, rewriteWait); err == nil {
			info, err = log.Stat()
		}
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("look at log: %w", err), log.Close())
	}
	return log, info, nil
}

// Roots returns the state directories of a user that exist, each once: those
// that OPENCLAW_STATE_DIR, CLAWDBOT_STATE_DIR and OPENCLAW_HOME name, those of
// profiles (~/.openclaw-<profile>, if they hold agents), and those of the
// runtime's earlier names.
func Roots(home string, getenv func(string) string) []string {
	candidates := []string{
		logfile.Expand(getenv("OPENCLAW_STATE_DIR"), home),
		logfile.Expand(getenv("CLAWDBOT_STATE_DIR"), home),
	}
	if other := logfile.Expand(getenv("OPENCLAW_HOME"), home); other != "" {
		candidates = append(candidates, filepath.Join(other, ".openclaw"))
	}
	if home != "" {
		candidates = append(candidates, filepath.Join(home, ".openclaw"))
		candidates = append(candidates, profiles(home)...)
		for _, name := range []string{".clawdbot", ".moldbot", ".moltbot"} {
			candidates = append(candidates, filepath.Join(home, name))
		}
	}
	return logfile.Existing(candidates...)
}

// profiles returns the state directories that `openclaw --profile` makes.
func profiles(home string) []string {
	entries, err := os.ReadDir(home)
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		path := filepath.Join(home, e.Name())
		if strings.HasPrefix(e.Name(), ".openclaw-") && logfile.IsDirectory(filepath.Join(path, agentsName)) {
			found = append(found, path)
		}
	}
	return found
}

// logName is what the name of a file in a sessions directory says.
type logName struct {
	name string
	// live is the name of the log that this is, or is a copy or an earlier
	// state of.
	live string
	// id is the log's own: the session id, for a thread with "-topic-<n>".
	id      string
	session string // the session id
	topic   string // the thread of a topic log, URL-encoded as in the name, or ""
	fork    bool   // named after the time of the fork
	kind    session.Kind
}

// open reports whether the runtime may append to the log.
func (n logName) open() bool {
	return n.kind == session.KindLive || n.kind == session.KindTopic
}

// verdict says what to do with a name.
type verdict uint8

const (
	notALog verdict = iota // a side file that is known not to be a session
	isLog
	isOdd // looks like a session, but of no kind that is known
)

// The names of logs (docs/dev/formats.md, "openclaw"). Nothing else is a session.
var (
	closedName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(.+\.jsonl)\.(reset|deleted|bak)\.` + stamp + `(?:\.[0-9A-Za-z]+)?(?:\.zst)?$`)
	})
	backupName     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.+\.jsonl)\.bak(?:-\d+-\d+|\.\d+)?$`) })
	checkpointName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.+)\.checkpoint\.[0-9A-Fa-f-]{36}\.jsonl$`) })
	forkName       = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:[.-]\d+)?Z_(.+)$`)
	})
	topicText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._~%!*'()-]+$`) }) // what encodeURIComponent leaves
)

const (
	stamp = `\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d{1,9})?Z`

	logEnd    = ".jsonl"
	lockEnd   = ".lock"
	topicMark = "-topic-"
	indexName = "sessions.json"
)

// parseName reads a file name by the allow-list.
func parseName(name string) (logName, verdict) {
	if sideFile(name) || !strings.Contains(name, logEnd) {
		return logName{}, notALog
	}
	if m := checkpointName().FindStringSubmatch(name); m != nil {
		return parseLive(name, m[1]+logEnd, session.KindCheckpoint)
	}
	if m := closedName().FindStringSubmatch(name); m != nil {
		kinds := map[string]session.Kind{"reset": session.KindReset, "deleted": session.KindDeleted, "bak": session.KindBackup}
		return parseLive(name, m[1], kinds[m[2]])
	}
	if m := backupName().FindStringSubmatch(name); m != nil {
		return parseLive(name, m[1], session.KindBackup)
	}
	if !strings.HasSuffix(name, logEnd) {
		return logName{}, isOdd
	}
	return parseLive(name, name, session.KindLive)
}

// sideFile reports the files that the runtime keeps beside its sessions.
func sideFile(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, indexName) ||
		strings.HasSuffix(name, lockEnd) || strings.HasSuffix(name, ".tmp") ||
		strings.Contains(name, traceMark)
}

// parseLive reads the name of a log that is, or once was, live.
func parseLive(name, live string, kind session.Kind) (logName, verdict) {
	n := logName{name: name, live: live, kind: kind}
	n.id = strings.TrimSuffix(live, logEnd)
	if m := forkName().FindStringSubmatch(n.id); m != nil {
		n.id, n.fork = m[1], true
	}
	n.session = n.id
	if id, topic, ok := strings.Cut(n.id, topicMark); ok && topicText().MatchString(topic) {
		n.session, n.topic = id, topic
		n.id = session.CleanID(n.id)
		if kind == session.KindLive {
			n.kind = session.KindTopic
		}
	}
	if !session.SafeID(n.session) {
		return logName{}, isOdd
	}
	return n, isLog
}

// directory is one agent's sessions directory, opened so that no name in it
// leads out of the store.
type directory struct {
	*logfile.Dir
	agent string
	pause func(ctx context.Context, d time.Duration) error
}

// openDirectory opens the sessions directory of an agent.
func (at *stateDir) openDirectory(agent string) (*directory, error) {
	store, err := at.pin.OpenRoot(at.root)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	defer store.Close()
	return at.directory(store, agent)
}

// directory opens the sessions directory of an agent of an open store.
func (at *stateDir) directory(store *os.Root, agent string) (*directory, error) {
	return at.below(store, agent, sessionsName)
}

// below opens a directory of an agent of an open store.
func (at *stateDir) below(store *os.Root, agent, name string) (*directory, error) {
	d, err := at.top(store).Below(filepath.Join(agentsName, agent, name))
	if err != nil {
		return nil, err
	}
	return &directory{Dir: d, agent: agent, pause: at.pause}, nil
}

// top is the open state directory.
func (at *stateDir) top(store *os.Root) *logfile.Dir { return &logfile.Dir{Root: store, Path: at.root} }

// directoryOf opens the directory of a log by the log's absolute path, which
// must be agents/<agent>/sessions/<name> in this store.
func (at *stateDir) directoryOf(path string) (*directory, string, error) {
	agent, name, err := at.split(path)
	if err != nil {
		return nil, "", err
	}
	d, err := at.openDirectory(agent)
	if err != nil {
		return nil, "", fmt.Errorf("open the directory of %s: %w", path, err)
	}
	return d, name, nil
}

// split takes the path of a log apart.
func (at *stateDir) split(path string) (agent, name string, err error) {
	below, err := filepath.Rel(at.root, path)
	if err != nil || !filepath.IsLocal(below) {
		return "", "", fmt.Errorf("%s is not in the store %s", path, at.root)
	}
	parts := strings.Split(filepath.ToSlash(below), "/")
	if len(parts) != 4 || parts[0] != agentsName || parts[2] != sessionsName || !session.SafeAgent(parts[1]) {
		return "", "", fmt.Errorf("%s is not a session of the store %s", path, at.root)
	}
	return parts[1], parts[3], nil
}
