package openclaw

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
)

// importedName is where the runtime puts the logs of the file era when it
// moves their records into its database, and those that no entry of the index
// named, whose records it does not take in (research/formats.md section 5,
// research/pitfalls.md number 60). It deletes them later, when it is asked to
// clean up after an update.
const importedName = "session-sqlite-import-archive"

// onlyCopy is why an imported log is never changed.
const onlyCopy = "a log of before the migration to the runtime's database, which the runtime keeps for a way back: it is archived, never changed"

// The name of an imported log: what stands before the log's own name is made
// from its key. Other files there are no logs.
var (
	importedLog = regexp.MustCompile(`^(.+\.jsonl(?:\..+)?)\.imported-\d+$`)
	uuidOfLog   = regexp.MustCompile(`([0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?:-topic-[^.]+)?)\.jsonl`)
)

// parseImported returns the id of the session that an imported log is of.
func parseImported(name string) (id string, ok bool) {
	m := importedLog.FindStringSubmatch(name)
	if m == nil || strings.HasPrefix(name, ".") {
		return "", false
	}
	if uuid := uuidOfLog.FindStringSubmatch(m[1]); uuid != nil {
		return session.CleanID(uuid[1]), true
	}
	id, _, _ = strings.Cut(m[1], logEnd)
	return session.CleanID(id), id != ""
}

// imported lists the logs that the runtime kept when it moved an agent's
// sessions into its database.
func (l *lister) imported(agent string) {
	path := filepath.Join(l.store.root, agentsName, agent, importedName)
	d, err := l.store.importedOf(l.root, agent)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		l.notice(path, "", "skipped: %v", err)
		return
	}
	defer d.close()
	names, err := d.names()
	if err != nil {
		l.notice(path, "", "skipped: %v", err)
		return
	}
	slices.Sort(names)
	for _, name := range names {
		if id, ok := parseImported(name); ok {
			l.importedLog(d, name, id)
		}
	}
}

func (l *lister) importedLog(d *directory, name, id string) {
	info, err := d.stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return // gone since the directory was read
	}
	if err != nil {
		l.notice(d.at(name), "", "skipped: %v", err)
		return
	}
	if reason := unusable(info); reason != "" {
		l.notice(d.at(name), "", "skipped: %s", reason)
		return
	}
	l.listing.Refs = append(l.listing.Refs, session.Ref{
		Runtime: session.RuntimeOpenClaw, Agent: d.agent, ID: id, Store: l.store.root, Path: d.at(name),
		Kind: session.KindBackup, Bytes: info.Size(), ModTime: info.ModTime(), State: session.StateUnsupported, Reason: onlyCopy,
	})
}

// importedOf opens the directory of an agent's imported logs.
func (s *Store) importedOf(store *os.Root, agent string) (*directory, error) {
	name := filepath.Join(agentsName, agent, importedName)
	root, err := openBelow(store, name)
	if err != nil {
		return nil, err
	}
	return &directory{root: root, path: filepath.Join(s.root, name), agent: agent, pause: s.pause}, nil
}

// readableOf is directoryOf for a log that is only read: an imported one too.
func (s *Store) readableOf(path string) (*directory, string, error) {
	agent, name, ok := s.splitImported(path)
	if !ok {
		return s.directoryOf(path)
	}
	store, err := os.OpenRoot(s.root)
	if err != nil {
		return nil, "", err
	}
	defer store.Close()
	d, err := s.importedOf(store, agent)
	return d, name, err
}

// splitImported takes the path of an imported log apart.
func (s *Store) splitImported(path string) (agent, name string, ok bool) {
	below, err := filepath.Rel(s.root, path)
	if err != nil || !filepath.IsLocal(below) {
		return "", "", false
	}
	parts := strings.Split(filepath.ToSlash(below), "/")
	if len(parts) != 4 || parts[0] != agentsName || parts[2] != importedName || !session.SafeID(parts[1]) {
		return "", "", false
	}
	return parts[1], parts[3], true
}
