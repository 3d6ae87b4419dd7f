package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/agent"
	"github.com/sessctl/sessctl/pkg/session/annabelle"
	"github.com/sessctl/sessctl/pkg/session/claude"
	"github.com/sessctl/sessctl/pkg/session/cline"
	"github.com/sessctl/sessctl/pkg/session/codex"
	"github.com/sessctl/sessctl/pkg/session/copilot"
	"github.com/sessctl/sessctl/pkg/session/cursor"
	"github.com/sessctl/sessctl/pkg/session/gemini"
	"github.com/sessctl/sessctl/pkg/session/goose"
	"github.com/sessctl/sessctl/pkg/session/hermes"
	"github.com/sessctl/sessctl/pkg/session/macstats"
	"github.com/sessctl/sessctl/pkg/session/omp"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
	"github.com/sessctl/sessctl/pkg/session/opencode"
	"github.com/sessctl/sessctl/pkg/session/pi"
	"github.com/sessctl/sessctl/pkg/session/qwen"
	"github.com/sessctl/sessctl/pkg/session/yarnnn"
	"github.com/spf13/cobra"
)

// pathless is what the system said, without the path that it is about.
func pathless(err error) error {
	if of := (*os.PathError)(nil); errors.As(err, &of) {
		return of.Err
	}
	return err
}

// openStores returns the stores of this run: those named by --store, else all
// that are found under the home directory.
//
// They are opened once: all of a run happens in the directories that it has found
// first, also where somebody puts a link in the place of one.
func (a *invocation) openStores() ([]session.Store, error) {
	if a.opened != nil {
		return slices.Clone(a.opened), nil
	}
	if len(a.global.Stores) > 0 {
		return a.namedStores()
	}
	var stores []session.Store
	for _, kind := range runtimes() {
		for _, root := range kind.roots(a.home(), a.getenv, a.config) {
			stores = append(stores, a.withTailCache(kind.open(root, a.config)))
		}
	}
	return a.ofRuntime(stores), nil
}

func (a *invocation) namedStores() ([]session.Store, error) {
	var stores []session.Store
	for _, named := range a.global.Stores {
		name, path, ok := strings.Cut(named, "=")
		i := slices.IndexFunc(runtimes(), func(k runtimeKind) bool { return k.name == name })
		if i < 0 {
			return nil, usageError(didYouMean(name, runtimeList(), "write --store runtime=path; known runtimes: "+runtimeNames()), "store %s: unknown runtime %q", named, name)
		}
		if !ok {
			return nil, usageError("write --store "+name+"=PATH", "store %q has no path", named)
		}
		if runtimes()[i].remote {
			stores = append(stores, runtimes()[i].open(path, a.config))
			continue
		}
		path = absolute(path)
		if info, err := os.Stat(path); err != nil {
			return nil, &failure{code: "no_store", exit: exitFailed, path: path, err: fmt.Errorf("open store %s=%s: %w", name, path, pathless(err))}
		} else if !info.IsDir() {
			return nil, &failure{code: "no_store", exit: exitFailed, path: path, err: fmt.Errorf("open store %s: not a directory", path)}
		}
		stores = append(stores, a.withTailCache(runtimes()[i].open(path, a.config)))
	}
	return a.ofRuntime(stores), nil
}

// ofRuntime leaves out what --runtime does not mean, and remembers the others
// to be closed.
func (a *invocation) ofRuntime(stores []session.Store) []session.Store {
	stores = slices.DeleteFunc(stores, func(s session.Store) bool {
		return a.global.Runtime != "" && s.Runtime() != a.global.Runtime
	})
	if a.opened == nil {
		a.pin()
	}
	a.opened = stores
	for _, store := range stores {
		a.pins.Top(store.Root())
	}
	return slices.Clone(stores)
}

// end ends a command, or a piece of the work of a server.
func (a *invocation) end() {
	a.closeStores()
	a.pins.End()
}

// closeStores gives back what the stores of this run hold: connections, and
// copies of databases.
func (a *invocation) closeStores() {
	for _, store := range a.opened {
		if closer := store.Capabilities().Closer; closer != nil {
			_ = closer.Close() // it was only read
		}
	}
	if a.opened != nil {
		a.pins.Release()
	}
	a.opened = nil
}

// found is a session together with the store that it was found in.
type found struct {
	session.Ref
	store  session.Store
	family []found // what belongs to it, of a session that is to be compacted
	// archive is the id of the archive that the log is, or "".
	archive string
}

// owner is an agent of a store.
type owner struct {
	runtime, store, agent string
}

func (s found) owner() owner { return owner{s.Runtime, s.Store, s.Agent} }

// output is a tool's output with a store that reads it; false if it is none, or
// one that says nothing to memory.
func (s found) output() (found, bool) {
	if s.Kind != session.KindOutput || !s.store.Capabilities().Outputs {
		return s, false
	}
	s.store, s.State, s.Reason = session.ReadOutput(s.store), session.StateIdle, ""
	return s, true
}

// inventory is everything that all stores hold.
type inventory struct {
	sessions []found
	owners   []owner // also those without a session
	known    map[owner]bool
	unread   bool // sessions may be missing, because the system let nobody read them
}

// findSessions lists all stores. If there is no store at all, the error says
// which places were searched; notices of the stores are printed.
func (a *invocation) findSessions(ctx context.Context) (inventory, error) {
	all, notices, err := a.listStores(ctx)
	a.showNotices(notices)
	all.unread = slices.ContainsFunc(notices, func(n session.Notice) bool { return n.Unread })
	return all, err
}

// listStores is findSessions for commands that are not about sessions: notices
// about the stores are not their business.
func (a *invocation) listStores(ctx context.Context) (inventory, []session.Notice, error) {
	var all inventory
	var notices []session.Notice
	stores, err := a.openStores()
	if err != nil {
		return all, nil, err
	}
	if len(stores) == 0 {
		return all, nil, a.noStores()
	}
	for _, store := range stores {
		listing, err := store.List(ctx)
		if err != nil {
			err = fmt.Errorf("list sessions of %s: %w", store.Root(), err)
		}
		if err != nil && (len(stores) == 1 || ctx.Err() != nil) {
			return all, notices, err
		}
		if err != nil { // the other stores are not to suffer for it
			a.incomplete++
			notices = append(notices, session.Notice{Path: store.Root(), Message: err.Error(), Unread: true})
			continue
		}
		all.add(store, listing)
		notices = append(notices, listing.Notices...)
	}
	if a.tailCache == nil { // sizes changes nothing
		a.foreign, a.listed = findForeign(all), true
	}
	return all, notices, nil
}

func (v *inventory) add(store session.Store, listing session.Listing) {
	v.sessions = slices.Grow(v.sessions, len(listing.Refs))
	for _, ref := range listing.Refs {
		v.sessions = append(v.sessions, found{Ref: ref, store: store})
		v.own(found{Ref: ref}.owner())
	}
	for _, agent := range listing.Agents {
		v.own(owner{store.Runtime(), store.Root(), agent})
	}
}

func (v *inventory) own(o owner) {
	if n := len(v.owners); o.agent == "" || n > 0 && v.owners[n-1] == o || v.known[o] {
		return
	}
	if v.known == nil {
		v.known = map[owner]bool{}
	}
	v.known[o] = true
	v.owners = append(v.owners, o)
}

// noStores says which places were searched: first below the home directory,
// then where variables point.
func (a *settings) noStores() error {
	var looked, named []string
	for _, kind := range runtimes() {
		traits := kind.traits()
		looked = append(looked, traits.Homes...)
		for _, variable := range traits.Variables {
			if value := a.getenv(variable); value != "" {
				named = append(named, variable+"="+value)
			}
		}
	}
	looked = append(looked, named...)
	return &failure{
		code: "no_store", exit: exitFailed, path: a.home(),
		hint: "name one with --store runtime=path, for example --store openclaw=/srv/openclaw",
		err:  fmt.Errorf("no session store found; looked at %s (home %s)", strings.Join(looked, ", "), a.home()),
	}
}

// agentNames returns the agents that were found, sorted, each once.
func (v inventory) agentNames() []string {
	var names []string
	for _, o := range v.owners {
		names = append(names, o.agent)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// of keeps what belongs to one agent. An unknown agent is a usage error that
// names those there are.
func (v inventory) of(agent string) (inventory, error) {
	if agent == "" {
		return v, nil
	}
	mine := inventory{unread: v.unread}
	for _, s := range v.sessions {
		if s.Agent == agent {
			mine.sessions = append(mine.sessions, s)
		}
	}
	for _, o := range v.owners {
		if o.agent == agent {
			mine.owners = append(mine.owners, o)
		}
	}
	if len(mine.owners) > 0 {
		return mine, nil
	}
	return mine, unknownAgent(agent, v.agentNames())
}

func newStoresCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "stores",
		Short: "List the session stores that were found, and what may be changed in them",
		Long: `List every store of every runtime: where it is, how many agents and sessions it
has and how large they are, and how its sessions can be compacted, the default
first. "none" means that only the runtime changes its sessions; they can be
archived and remembered.
` + exitHelp,
		Example: `  sessctl stores
  sessctl stores --json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return runStores(c.Context(), a) },
	}
}

// storesDocument is `stores --json`.
type storesDocument struct {
	Schema int        `json:"schema"`
	Stores []storeRow `json:"stores"`
	Notes  []note     `json:"notes"`
}

type storeRow struct {
	Runtime    string             `json:"runtime"`
	Root       string             `json:"root"`
	Agents     int                `json:"agents"`
	Sessions   int                `json:"sessions"` // that an agent may still be using
	Closed     int                `json:"closed"`   // reset, deleted, backups
	Bytes      int64              `json:"bytes"`    // of all of them
	Strategies []session.Strategy `json:"strategies"`
	Error      string             `json:"error"` // why it could not be listed, or ""
}

func runStores(ctx context.Context, a *app) error {
	stores, err := a.openStores()
	if err != nil {
		return err
	}
	if len(stores) == 0 {
		return a.noStores()
	}
	doc := storesDocument{Schema: 1}
	for _, store := range stores {
		row, notices, err := lookAtStore(ctx, store)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			a.incomplete++
			row.Error = err.Error()
		}
		a.showNotices(notices)
		doc.Stores = append(doc.Stores, row)
	}
	return renderStores(a, doc)
}

func lookAtStore(ctx context.Context, store session.Store) (storeRow, []session.Notice, error) {
	row := storeRow{Runtime: store.Runtime(), Root: store.Root(), Strategies: store.Capabilities().StrategiesOf(session.Ref{})}
	listing, err := store.List(ctx)
	if err != nil {
		return row, nil, err
	}
	row.Agents = len(listing.Agents)
	row.Strategies = strategiesOf(store, listing.Refs)
	for _, ref := range listing.Refs {
		row.Bytes += ref.Bytes
		if shown(ref.Kind) {
			row.Sessions++
		} else {
			row.Closed++
		}
	}
	return row, listing.Notices, nil
}

// strategiesOf is what can be done with the sessions that an agent may still be
// using: only none where all of them lie in a runtime's database.
func strategiesOf(store session.Store, refs []session.Ref) []session.Strategy {
	can := store.Capabilities()
	used := slices.DeleteFunc(slices.Clone(refs), func(ref session.Ref) bool {
		return !shown(ref.Kind) || ref.State == session.StateUnsupported && ref.Kind != session.KindDatabase
	})
	for _, ref := range used {
		if ref.Kind != session.KindStored && ref.Kind != session.KindDatabase {
			return can.StrategiesOf(ref)
		}
	}
	if len(used) == 0 {
		return can.StrategiesOf(session.Ref{})
	}
	return can.StrategiesOf(used[0])
}

func renderStores(a *app, doc storesDocument) error {
	doc.Notes = a.notes
	if a.JSON {
		return a.printJSON(doc)
	}
	rows := make([][]string, 0, len(doc.Stores))
	t := table{empty: "no stores", columns: []column{
		{name: "RUNTIME"}, {name: "STORE", least: 16}, {name: "AGENTS", right: true, drop: 2}, {name: "SESSIONS", right: true}, {name: "CLOSED", right: true, drop: 1},
		{name: "SIZE", right: true}, {name: "STRATEGIES", least: 12},
	}}
	for _, r := range doc.Stores {
		last := strategyList(r.Strategies)
		if r.Error != "" {
			last = "cannot be listed: " + r.Error
		}
		rows = append(rows, []string{
			r.Runtime, visible(r.Root), plural(r.Agents, "agent"), plural(r.Sessions, "session"),
			strconv.Itoa(r.Closed) + " closed", formatBytes(r.Bytes), visible(last),
		})
		t.rows = append(t.rows, []string{
			r.Runtime, a.tilde(r.Root), formatCount(int64(r.Agents)), formatCount(int64(r.Sessions)), formatCount(int64(r.Closed)), formatBytes(r.Bytes), last,
		})
	}
	return a.printList(t, rows)
}

func strategyList(all []session.Strategy) string {
	names := make([]string, 0, len(all))
	for _, s := range all {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// runtimeKind is one runtime that this program can open stores of.
type runtimeKind struct {
	name   string
	traits func() session.Traits
	roots  func(home string, getenv func(string) string, c config) []string
	open   func(root string, c config) session.Store
	// remote says that a root is no directory.
	remote bool
}

// runtimes is the list of runtimes, in the order they are shown.
func runtimes() []runtimeKind {
	return []runtimeKind{
		{name: session.RuntimeOpenClaw, traits: openclaw.Traits, roots: onDisk(openclaw.Roots), open: openOpenClaw},
		{name: session.RuntimePi, traits: pi.Traits, roots: onDisk(pi.Roots), open: func(root string, _ config) session.Store { return pi.Open(root) }},
		{name: session.RuntimeOMP, traits: omp.Traits, roots: onDisk(omp.Roots), open: func(root string, _ config) session.Store { return omp.Open(root) }},
		{name: session.RuntimeAgent, traits: agent.Traits, roots: onDisk(agent.Roots), open: openAgent},
		{name: session.RuntimeAnnabelle, traits: annabelle.Traits, roots: onDisk(annabelle.Roots), open: openAnnabelle},
		{name: session.RuntimeMacStats, traits: macstats.Traits, roots: onDisk(macstats.Roots), open: func(root string, c config) session.Store {
			return macstats.Open(root, macstats.Options{LessonsAgent: c.MacStats.LessonsAgent})
		}},
		{name: session.RuntimeCodex, traits: codex.Traits, roots: onDisk(codex.Roots), open: func(root string, _ config) session.Store { return codex.Open(root) }},
		{name: session.RuntimeClaude, traits: claude.Traits, roots: onDisk(claude.Roots), open: func(root string, _ config) session.Store { return claude.Open(root) }},
		{name: session.RuntimeGemini, traits: gemini.Traits, roots: onDisk(gemini.Roots), open: func(root string, _ config) session.Store { return gemini.Open(root) }},
		{name: session.RuntimeQwen, traits: qwen.Traits, roots: onDisk(qwen.Roots), open: func(root string, _ config) session.Store { return qwen.Open(root) }},
		{name: session.RuntimeOpenCode, traits: opencode.Traits, roots: onDisk(opencode.Roots), open: openOpenCode(session.RuntimeOpenCode)},
		{name: session.RuntimeKilo, traits: opencode.KiloTraits, roots: onDisk(opencode.KiloRoots), open: openOpenCode(session.RuntimeKilo)},
		{name: session.RuntimeCline, traits: cline.Traits, roots: onDisk(cline.Roots), open: func(root string, _ config) session.Store { return cline.Open(root) }},
		{name: session.RuntimeClineTasks, traits: cline.TaskTraits, roots: onDisk(cline.TaskRoots), open: func(root string, _ config) session.Store { return cline.OpenTasks(root) }},
		{name: session.RuntimeCopilot, traits: copilot.Traits, roots: onDisk(copilot.Roots), open: func(root string, _ config) session.Store { return copilot.Open(root) }},
		{name: session.RuntimeHermes, traits: hermes.Traits, roots: onDisk(hermes.Roots), open: func(root string, _ config) session.Store { return hermes.Open(root) }},
		{name: session.RuntimeGoose, traits: goose.Traits, roots: onDisk(goose.Roots), open: func(root string, _ config) session.Store { return goose.Open(root) }},
		{name: session.RuntimeCursor, traits: cursor.Traits, roots: onDisk(cursor.Roots), open: func(root string, _ config) session.Store { return cursor.Open(root) }},
		{name: session.RuntimeYarnnn, traits: yarnnn.Traits, roots: databases, remote: true, open: openYarnnn},
	}
}

// onDisk finds roots that no configuration names.
func onDisk(roots func(home string, getenv func(string) string) []string) func(string, func(string) string, config) []string {
	return func(home string, getenv func(string) string, _ config) []string { return roots(home, getenv) }
}

// databases are the databases that the configuration names.
func databases(_ string, _ func(string) string, c config) []string {
	if c.Yarnnn.DSN == "" {
		return nil
	}
	return []string{c.Yarnnn.DSN}
}

func openOpenClaw(root string, c config) session.Store {
	return openclaw.Open(root, openclaw.Options{Command: c.OpenClaw.Command, Deadline: c.OpenClaw.Deadline, Wait: c.OpenClaw.Wait})
}

func openAgent(root string, c config) session.Store {
	return agent.Open(root, agent.Options{
		ReserveTokens: c.Compaction.Reserve, KeepRecentTokens: c.Compaction.Keep, ContextWindow: c.Compaction.Window,
	})
}

func openAnnabelle(root string, c config) session.Store {
	o := c.Annabelle
	return annabelle.Open(root, annabelle.Options{
		ThresholdChars: o.ThresholdChars, MinTurns: o.MinTurns, Cooldown: o.Cooldown, KeepRecentTurns: o.KeepRecentTurns,
	})
}

func openYarnnn(dsn string, c config) session.Store {
	o := c.Yarnnn
	return yarnnn.Open(dsn, yarnnn.Options{Inactivity: o.Inactivity, UserMessages: o.UserMessages, User: o.UserID})
}

func openOpenCode(runtime string) func(string, config) session.Store {
	return func(root string, _ config) session.Store { return opencode.Open(runtime, root) }
}

// traitsOf returns what holds for all stores of a runtime; of one that is not
// known, nothing.
func traitsOf(runtime string) session.Traits {
	for _, kind := range runtimes() {
		if kind.name == runtime {
			return kind.traits()
		}
	}
	return session.Traits{Runtime: runtime}
}

func runtimeNames() string { return strings.Join(runtimeList(), ", ") }

// runtimeList are the names of the runtimes.
func runtimeList() []string {
	var names []string
	for _, k := range runtimes() {
		names = append(names, k.name)
	}
	return names
}

// storesByRoot finds the store that a journal entry is about.
func storesByRoot(stores []session.Store) compact.Stores {
	return func(runtime, root string) (session.Store, bool) {
		for _, s := range stores {
			if s.Runtime() == runtime && s.Root() == root {
				return s, true
			}
		}
		return nil, false
	}
}

// selection is what a run works on. It is chosen once a run, and again only if
// recovery has changed what was listed.
type selection struct {
	all     inventory
	targets []found          // the sessions that the options mean
	none    []compact.Result // of agents without a main session
}

// choose lists the sessions and picks those that the options mean.
func (a *invocation) choose(ctx context.Context, o compactOptions) (selection, error) {
	all, err := a.findSessions(ctx)
	if err != nil {
		return selection{}, err
	}
	targets, none, err := chooseTargets(all, o)
	return selection{all, o.agreed.of(targets), none}, err
}

// chooseTargets picks the sessions that the options mean. An agent without a
// main session is a result, not an error: its next message starts one.
func chooseTargets(all inventory, o compactOptions) (targets []found, none []compact.Result, err error) {
	if all, err = all.of(o.Agent); err != nil {
		return nil, nil, err
	}
	defer func() {
		for i, t := range targets {
			targets[i].family = all.family(t)
		}
	}()
	if o.Session != "" {
		targets, err = named(all.sessions, o.Session)
		return targets, nil, err
	}
	served, inDatabase := map[owner]bool{}, all.inDatabase()
	for _, s := range all.sessions {
		if !s.meant(inDatabase) {
			continue
		}
		targets = append(targets, s)
		served[s.owner()] = served[s.owner()] || !s.Fragment && s.Kind != session.KindDeleted
	}
	for _, w := range all.owners {
		if !served[w] {
			none = append(none, all.withoutMain(w))
		}
	}
	return targets, none, nil
}

// meant reports whether a run over everything is about the session: it is the
// one that its agent goes on with, or what is left of one.
func (s found) meant(inDatabase map[owner]bool) bool {
	if s.Kind == session.KindDeleted && inDatabase[s.owner()] {
		return true // what the runtime deletes, it keeps as a file, for a while
	}
	return s.Primary || s.Kind == session.KindDatabase || s.Fragment
}

// inDatabase are the agents whose sessions are in a database of their runtime.
func (v inventory) inDatabase() map[owner]bool {
	agents := map[owner]bool{}
	for _, s := range v.sessions {
		if s.Kind == session.KindStored || s.Kind == session.KindDatabase {
			agents[s.owner()] = true
		}
	}
	return agents
}

// withoutMain says why an agent has no main session: its sessions cannot be
// told apart (an index that cannot be read), or there is none yet.
func (v inventory) withoutMain(w owner) compact.Result {
	for _, s := range v.sessions {
		if s.owner() == w && s.State == session.StateUnsupported && shown(s.Kind) {
			return compact.NewResult(session.Ref{Runtime: w.runtime, Agent: w.agent, Path: s.Path}, compact.Unsupported, s.Reason)
		}
	}
	ref := session.Ref{Runtime: w.runtime, Agent: w.agent}
	if v.unread {
		return compact.NewResult(ref, compact.NothingToDo, "no main session was found, and not all of them could be read")
	}
	return compact.NewResult(ref, compact.NothingToDo, "there is no main session; the next message starts one")
}

// named finds sessions by id, by key, or by the start of an id that only one
// session has. Of several that had a key one after the other the newest is
// meant. Logs that were closed are meant where no other has the id.
func named(sessions []found, name string) ([]found, error) {
	var exact, keyed, prefixed, closed, closedPrefixed []found
	for _, s := range sessions {
		switch {
		case s.Kind.Closed() && s.ID == name:
			closed = append(closed, s)
		case s.Kind.Closed() && strings.HasPrefix(s.ID, name):
			closedPrefixed = append(closedPrefixed, s)
		case !shown(s.Kind) && s.Kind != session.KindSubagent:
		case s.ID == name:
			exact = append(exact, s)
		case strings.EqualFold(s.Key, name):
			keyed = append(keyed, s)
		case strings.HasPrefix(s.ID, name):
			prefixed = append(prefixed, s)
		}
	}
	if exact = append(exact, newestOf(keyed)...); len(exact) == 0 {
		exact = closed
	}
	if len(exact) > 0 {
		return exact, nil
	}
	if len(prefixed) == 0 {
		prefixed = closedPrefixed
	}
	_, err := sessionIDs().resolve(name, inventory{sessions: prefixed}.candidates(scope{}))
	return prefixed, err
}

// newestOf keeps of the sessions of each agent the one that was used last.
func newestOf(sessions []found) []found {
	var newest []found
	for _, s := range sessions {
		i := slices.IndexFunc(newest, func(n found) bool { return n.owner() == s.owner() })
		switch {
		case i < 0:
			newest = append(newest, s)
		case s.ModTime.After(newest[i].ModTime):
			newest[i] = s
		}
	}
	return newest
}

// family is what belongs to a session: the logs of its sub-agents and its long
// outputs.
func (v inventory) family(s found) (members []found) {
	for _, x := range v.sessions {
		if x.Parent != "" && x.Parent == s.ID && x.owner() == s.owner() {
			members = append(members, x)
		}
	}
	return members
}

// withFamilies adds to each session what belongs to it.
func (v inventory) withFamilies(sessions []found) (whole []found) {
	for _, s := range sessions {
		for _, x := range append([]found{s}, v.family(s)...) {
			if !slices.ContainsFunc(whole, func(y found) bool { return x.Path == y.Path }) {
				whole = append(whole, x)
			}
		}
	}
	return whole
}

// compactFamily archives what belongs to a session that was archived and
// remembered, and remembers what its sub-agents said.
func compactFamily(ctx context.Context, a *invocation, w *workspace, s found, policy compact.Policy) (results []compact.Result) {
	policy.Force = true
	for _, member := range s.family {
		result, err := compactMember(ctx, a, w, member, policy)
		if ctx.Err() != nil {
			return results
		}
		if err != nil {
			w.progress.clear()
			a.failed(member.Path, err)
		}
		if err != nil || member.Kind != session.KindOutput {
			results = append(results, result)
		}
	}
	return results
}

// compactMember archives and remembers what belongs to a session. An output that
// is no text is only archived, and none has a summary.
func compactMember(ctx context.Context, a *invocation, w *workspace, member found, policy compact.Policy) (compact.Result, error) {
	if member.Kind != session.KindOutput {
		return compactOne(ctx, a, w, member, policy)
	}
	if policy.SkipArchive || member.Bytes == 0 {
		return compact.Result{}, nil
	}
	if output, ok := member.output(); ok {
		policy.SkipSummary = true
		result, err := compactOne(ctx, a, w, output, policy)
		if result.Archive != nil || ctx.Err() != nil || err != nil && !errors.Is(err, session.ErrUnknownFormat) {
			return result, err
		}
	}
	if _, same, err := w.fileKnown(ctx, member); err == nil && same {
		return compact.Result{}, nil
	}
	if _, err := putArchive(ctx, a, w.archives, member); err != nil {
		return failedResult(member, err), err
	}
	return compact.Result{}, nil
}
