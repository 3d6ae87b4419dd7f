package openclaw

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// List implements [session.Store]. The sessions of an agent come together, in
// the order of their file names; what could not be used is a notice. Only
// names, the index and locks are read, and of main sessions the header.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	root, err := s.pin.OpenRoot(s.root)
	if err != nil {
		return session.Listing{}, fmt.Errorf("open store: %w", err)
	}
	defer root.Close()
	l := s.lister(root, time.Now())
	agents, err := l.agents()
	if err != nil {
		return session.Listing{}, err
	}
	l.Listing.Agents = agents
	for _, agent := range agents {
		if err := l.agent(ctx, agent); err != nil {
			return session.Listing{}, err
		}
	}
	return l.Listing, nil
}

// lister collects the sessions of one store.
type lister struct {
	*logfile.Lister
	store *Store
	root  *os.Root
	now   time.Time
}

func (s *Store) lister(root *os.Root, now time.Time) *lister {
	logs := &logfile.Logs{Name: session.RuntimeOpenClaw, Store: s.root}
	return &lister{Lister: logs.NewLister(), store: s, root: root, now: now}
}

// hint adds a notice that says what can be done.
func (l *lister) hint(path, hint, format string, args ...any) {
	l.Notice(path, format, args...)
	l.Listing.Notices[len(l.Listing.Notices)-1].Hint = hint
}

// agents returns the ids of the store's agents, sorted.
func (l *lister) agents() ([]string, error) {
	dir, err := l.store.top(l.root).Below(agentsName)
	if errors.Is(err, fs.ErrNotExist) {
		l.hint(l.store.root, "a state directory of OpenClaw holds agents/<agent>/sessions/", "no agents here")
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", filepath.Join(l.store.root, agentsName), err)
	}
	defer dir.Close()
	names, err := dir.Names()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(names, func(name string) bool { return !l.isAgent(dir.Root, name) }), nil
}

func (l *lister) isAgent(dir *os.Root, name string) bool {
	path := filepath.Join(l.store.root, agentsName, name)
	info, err := dir.Stat(name)
	switch {
	case err != nil:
		l.Skip(path, err)
	case !info.IsDir() || strings.HasPrefix(name, "."):
	case !session.SafeAgent(name):
		l.Notice(path, "skipped: the directory's name cannot be an agent's: it has characters that are not safe in a path")
	default:
		return true
	}
	return false
}

// agent lists one agent. Only a context that ended is an error.
func (l *lister) agent(ctx context.Context, agent string) error {
	db, frozen, err := l.store.era(l.root, agent)
	if err != nil {
		l.doubtful(agent, frozen, err)
	}
	if db != nil {
		l.database(ctx, db, agent)
	}
	l.imported(agent)
	d, err := l.store.directory(l.root, agent)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ctx.Err()
	case err != nil:
		l.Skip(filepath.Join(l.store.root, agentsName, agent, sessionsName), err)
		return ctx.Err()
	}
	defer d.Close()
	return l.sessions(ctx, d, frozen)
}

// sessions lists one sessions directory. frozen says why none of its sessions
// may be changed, "" if they may.
func (l *lister) sessions(ctx context.Context, d *directory, frozen string) error {
	v, err := d.look(ctx, frozen)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		l.Skip(d.Path, err)
		return nil
	}
	l.tell(v)
	for _, name := range slices.Sorted(maps.Keys(v.all.byName)) {
		l.log(v, v.all.byName[name])
	}
	return nil
}

// tell makes notices of what is wrong in a directory.
func (l *lister) tell(v *view) {
	if v.fileEra {
		l.tellIndex(v)
	}
	for _, name := range v.all.odd {
		l.Notice(v.At(name), "skipped: not a name that the runtime gives a session")
	}
}

// tellIndex says what is wrong with the index.
func (l *lister) tellIndex(v *view) {
	path := v.At(indexName)
	switch {
	case errors.Is(v.indexErr, fs.ErrNotExist):
		if len(v.all.byName) > 0 {
			l.hint(path, "if the configuration names another index (session.store), sessions here are read but never changed", "there is none beside the transcripts")
		}
	case v.indexErr != nil:
		l.hint(path, "the runtime takes it for an empty index and writes that back: keep a copy before a gateway starts", "%v", v.indexErr)
	case v.index.unchangeable != "":
		l.hint(path, "its sessions are read, not changed", "%s", v.index.unchangeable)
	}
	if v.index == nil {
		return
	}
	for _, e := range v.index.entries {
		if e.problem != "" {
			l.Notice(path, "entry %q skipped: %s", e.key, e.problem)
		}
	}
	gone, untold := v.index.withoutLogs(v.all, l.now)
	l.tellEntries(path, session.CauseGone, "it names sessions whose logs are gone: ", gone)
	l.tellEntries(path, session.CauseUntold, session.CauseUntold.Text(1)+": ", untold)
}

// tellEntries says what is wrong with some entries of an index.
func (l *lister) tellEntries(path string, cause session.Cause, what string, of []*entry) {
	if len(of) > 0 {
		l.Listing.Notices = append(l.Listing.Notices, session.Notice{
			Path: path, Message: fmt.Sprintf("%s%d, such as %s", what, len(of), of[0].session), Hint: cause.Hint(), Cause: cause,
		})
	}
}

// log lists one log of a directory.
func (l *lister) log(v *view, n logName) {
	ref, ok := l.Ref(v.Dir, n.name)
	if !ok {
		return
	}
	ref.Agent, ref.ID, ref.Kind = v.agent, n.id, v.kind(n)
	if best, primary := v.best(n); best != nil {
		ref.Primary = primary
		ref.Key, ref.Model, ref.ContextWindow, ref.Counter = best.key, best.model, best.window, best.counter
	}
	l.classify(v, n, &ref)
	l.Add(ref)
}

// classify says whether a log may be changed, as far as that is seen without
// reading it. Of main sessions the format is looked at too.
func (l *lister) classify(v *view, n logName, ref *session.Ref) {
	reason := v.refusal(n)
	if reason == "" && ref.Primary {
		reason, _ = v.newer(n) // who reads the log will say what is wrong with it
	}
	if reason != "" {
		ref.State, ref.Reason = session.StateUnsupported, reason
	} else if holder, err := v.lockedNow(n, l.now); err != nil || holder != "" {
		ref.State, ref.Reason = session.StateBusy, holder
	}
}

// logs are the session files of a directory, by name and by what their names
// say.
type logs struct {
	byName map[string]logName
	topics map[thread]string // names of open logs of threads
	forks  map[string]string // names of open forked logs, by session id
	odd    []string          // look like sessions, but of no known kind
	locks  map[string]bool   // names of lock files
}

// thread is one thread of a session.
type thread struct{ session, topic string }

// sortLogs reads names by the allow-list.
func sortLogs(names []string) *logs {
	all := &logs{
		byName: make(map[string]logName), topics: make(map[thread]string),
		forks: make(map[string]string), locks: make(map[string]bool),
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.HasSuffix(name, lockEnd) {
			all.locks[name] = true
		}
		switch n, v := parseName(name); v {
		case isLog:
			all.add(n)
		case isOdd:
			all.odd = append(all.odd, name)
		}
	}
	return all
}

func (l *logs) add(n logName) {
	l.byName[n.name] = n
	switch {
	case !n.open():
	case n.topic != "":
		l.topics[thread{n.session, n.topic}] = n.name
	case n.fork:
		l.forks[n.session] = n.name
	}
}

// owners are the entries of the index by the log that they mean, the best
// first.
type owners map[string][]*entry

// ownersOf finds out which entries mean which log.
func ownersOf(x *index, all *logs, agent string) owners {
	o := make(owners)
	if x == nil {
		return o
	}
	for _, e := range x.entries {
		if name := e.log(all); name != "" {
			o[name] = append(o[name], e)
		}
	}
	for _, entries := range o {
		slices.SortStableFunc(entries, func(a, b *entry) int { return betterKey(a, b, agent) })
	}
	return o
}

// betterKey orders the entries that mean one log: the agent's main key, then a
// key that is not of a single run, then the newest, then by name.
func betterKey(a, b *entry, agent string) int {
	return cmp.Or(
		trueFirst(isMain(a.key, agent), isMain(b.key, agent)),
		trueFirst(!isRun(a.key), !isRun(b.key)),
		cmp.Compare(b.updated, a.updated),
		strings.Compare(a.key, b.key),
	)
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// mainKey is the key of the session that an agent continues by itself.
func mainKey(agent string) string { return "agent:" + agent + ":main" }

// isMain ignores case: keys are lower-cased when they are written, but older
// ones may be there in other spellings.
func isMain(key, agent string) bool { return strings.EqualFold(key, mainKey(agent)) }

func isRun(key string) bool { return strings.Contains(strings.ToLower(key), ":run:") }

// mainOf returns the entry that the runtime takes for the agent's main
// session: of several spellings the one that was updated last. nil if there
// is none.
func (x *index) mainOf(agent string) *entry {
	var best *entry
	for _, e := range x.entries {
		if isMain(e.key, agent) && (best == nil || e.updated > best.updated) {
			best = e
		}
	}
	return best
}

// importedName is where the runtime puts the logs of the file era when it moves
// their records into its database, and those that no entry of the index named,
// whose records it does not take in. It deletes them later, when it is asked to
// clean up after an update (docs/dev/formats.md, "openclaw database").
const importedName = "session-sqlite-import-archive"

// The name of an imported log: what stands before the log's own name is made
// from its key. Other files there are no logs.
var (
	importedLog = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.+\.jsonl(?:\..+)?)\.imported-\d+$`) })
	uuidOfLog   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`([0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?:-topic-[^.]+)?)\.jsonl`)
	})
)

// parseImported returns the id of the session that an imported log is of.
func parseImported(name string) (id string, ok bool) {
	m := importedLog().FindStringSubmatch(name)
	if m == nil || strings.HasPrefix(name, ".") {
		return "", false
	}
	if uuid := uuidOfLog().FindStringSubmatch(m[1]); uuid != nil {
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
		l.Skip(path, err)
		return
	}
	defer d.Close()
	l.Each(d.Dir, func(name string) {
		if id, ok := parseImported(name); ok {
			l.importedLog(d, name, id)
		}
	})
}

func (l *lister) importedLog(d *directory, name, id string) {
	ref, ok := l.Ref(d.Dir, name)
	if !ok {
		return
	}
	ref.Agent, ref.ID, ref.Kind = d.agent, id, session.KindBackup
	ref.State, ref.Reason = session.StateUnsupported, session.ReasonOnlyCopy.Text()
	l.Add(ref)
}

// importedOf opens the directory of an agent's imported logs.
func (at *stateDir) importedOf(store *os.Root, agent string) (*directory, error) {
	return at.below(store, agent, importedName)
}

// readableOf is directoryOf for a log that is only read: an imported one too.
func (at *stateDir) readableOf(path string) (*directory, string, error) {
	agent, name, ok := at.splitImported(path)
	if !ok {
		return at.directoryOf(path)
	}
	store, err := at.pin.OpenRoot(at.root)
	if err != nil {
		return nil, "", err
	}
	defer store.Close()
	d, err := at.importedOf(store, agent)
	return d, name, err
}

// splitImported takes the path of an imported log apart.
func (at *stateDir) splitImported(path string) (agent, name string, ok bool) {
	below, err := filepath.Rel(at.root, path)
	if err != nil || !filepath.IsLocal(below) {
		return "", "", false
	}
	parts := strings.Split(filepath.ToSlash(below), "/")
	if len(parts) != 4 || parts[0] != agentsName || parts[2] != importedName || !session.SafeAgent(parts[1]) {
		return "", "", false
	}
	return parts[1], parts[3], true
}
