package openclaw

import (
	"regexp"
	"strings"
	"sync"

	"github.com/sessctl/sessctl/pkg/session"
)

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

// The names of research/formats.md section 4.1. Nothing else is a session.
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
		strings.Contains(name, ".trajectory")
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
