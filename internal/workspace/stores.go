package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/agent"
	"github.com/sessctl/sessctl/pkg/session/annabelle"
	"github.com/sessctl/sessctl/pkg/session/antigravity"
	"github.com/sessctl/sessctl/pkg/session/claude"
	"github.com/sessctl/sessctl/pkg/session/cline"
	"github.com/sessctl/sessctl/pkg/session/codex"
	"github.com/sessctl/sessctl/pkg/session/copilot"
	"github.com/sessctl/sessctl/pkg/session/cursor"
	"github.com/sessctl/sessctl/pkg/session/droid"
	"github.com/sessctl/sessctl/pkg/session/exchange"
	"github.com/sessctl/sessctl/pkg/session/gemini"
	"github.com/sessctl/sessctl/pkg/session/goose"
	"github.com/sessctl/sessctl/pkg/session/grok"
	"github.com/sessctl/sessctl/pkg/session/hermes"
	"github.com/sessctl/sessctl/pkg/session/kimi"
	"github.com/sessctl/sessctl/pkg/session/macstats"
	"github.com/sessctl/sessctl/pkg/session/omp"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
	"github.com/sessctl/sessctl/pkg/session/opencode"
	"github.com/sessctl/sessctl/pkg/session/pi"
	"github.com/sessctl/sessctl/pkg/session/qwen"
	"github.com/sessctl/sessctl/pkg/session/yarnnn"
)

// Shown says whether a log is one that an agent may still be using.
func Shown(k session.Kind) bool {
	switch k {
	case session.KindLive, session.KindTopic, session.KindOrphan, session.KindArchived, session.KindDatabase, session.KindStored:
		return true
	}
	return false
}

// Ours reports whether a file may be made at path: root leaves none in another
// user's directory.
func Ours(a *Settings, path string) bool {
	_, info, err := Nearest(filepath.Dir(path))
	if err != nil {
		return false
	}
	uid, known := durable.Owner(info)
	return !known || uid == os.Geteuid()
}

// WithTailCache is a store that remembers what it sees, where it can. Where nothing
// is known yet it lists with several workers; to look again at logs that are
// known is so little work that to share it would cost more.
func WithTailCache(run *Run, s session.Store) session.Store {
	if run.TailCache == nil {
		return s
	}
	if with := s.Capabilities().WithWorkers; with != nil && run.TailCache.Empty() {
		s = with(run.Workers())
	}
	if with := s.Capabilities().WithTailCache; with != nil && !run.EndsLater {
		s = with(run.TailCache)
	}
	return s
}

// End ends a command, or a piece of the work of a server.
func End(run *Run) {
	EndHistory(run)
	CloseStores(run)
	run.Pins.End()
}

// CloseStores gives back what the stores of this run hold: connections, and
// copies of databases.
func CloseStores(run *Run) {
	for _, store := range slices.Concat(run.Opened, run.renamed) {
		if closer := store.Capabilities().Closer; closer != nil {
			_ = closer.Close() // it was only read
		}
	}
	if run.Opened != nil {
		run.Pins.Release()
	}
	run.Opened, run.found, run.named, run.renamed = nil, nil, nil, nil
}

// Found is a session together with the store that it was found in.
type Found struct {
	session.Ref
	Adapter session.Store
	Family  []Found // what belongs to it, of a session that is to be compacted
	// Archive is the id of the archive that the log is, or "".
	Archive string
}

// Owner is an agent of a store.
type Owner struct {
	Runtime, Store, Agent string
}

// Owner is the agent whose session it is.
func (s Found) Owner() Owner { return Owner{s.Runtime, s.Store, s.Agent} }

// Inventory is everything that all stores hold.
type Inventory struct {
	Sessions []Found
	Owners   []Owner // also those without a session
	known    map[Owner]bool
	Unread   bool             // sessions may be missing, because they could not be read
	NotRead  []session.Unread // what the stores have seen and not read
}

// FindSessions lists all stores. If there is no store at all, the error says
// which places were searched; notices of the stores are printed, and what is passed over.
func (run *Run) FindSessions(ctx context.Context) (Inventory, error) {
	all, notices, err := run.ListStores(ctx)
	run.ShowNotices(notices)
	all.Unread = slices.ContainsFunc(notices, func(n session.Notice) bool { return n.Unread })
	return all, TellPassedOver(run, err)
}

// ListStores is FindSessions for commands that are not about sessions: notices
// about the stores are not their business.
func (run *Run) ListStores(ctx context.Context) (Inventory, []session.Notice, error) {
	var all Inventory
	var notices []session.Notice
	stores, err := run.OpenStores()
	if err != nil {
		return all, nil, err
	}
	if len(stores) == 0 {
		return all, nil, NoStores(&run.Settings)
	}
	for _, store := range stores {
		listing, err := run.List(ctx, store)
		if err != nil {
			err = fmt.Errorf("list sessions of %s: %w", store.Root(), err)
		}
		if err != nil && (len(stores) == 1 || ctx.Err() != nil) {
			all.NotRead = session.UnreadIn(store.Runtime(), []session.Notice{unreadStore(store, err)})
			return all, notices, err
		}
		if err != nil { // the other stores are not to suffer for it
			notice := unreadStore(store, err)
			run.LeaveUntold(Note{Path: notice.Path, Message: notice.Message, Hint: notice.Hint})
			notices = append(notices, notice)
			all.NotRead = append(all.NotRead, session.UnreadIn(store.Runtime(), []session.Notice{notice})...)
			continue
		}
		all.Add(store, listing)
		notices = append(notices, listing.Notices...)
	}
	run.Works = all.works()
	if run.TailCache == nil { // sizes changes nothing
		run.foreign, run.Listed = findForeign(all), true
	}
	return all, notices, nil
}

// unreadStore is the notice of a store that could not be listed, with the advice of the
// error: another owner is one reason of many.
func unreadStore(store session.Store, err error) session.Notice {
	return session.Notice{Path: store.Root(), Message: err.Error(), Hint: failure.Explain(err).Hint, Unread: true}
}

// Add adds what a store has listed.
func (v *Inventory) Add(store session.Store, listing session.Listing) {
	v.Sessions = slices.Grow(v.Sessions, len(listing.Refs))
	for i := range listing.Refs {
		ref := &listing.Refs[i] // there may be 100,000, of 400 bytes each
		v.Sessions = append(v.Sessions, Found{Ref: *ref, Adapter: store})
		v.own(Owner{ref.Runtime, ref.Store, ref.Agent})
	}
	for _, agent := range listing.Agents {
		v.own(Owner{store.Runtime(), store.Root(), agent})
	}
	v.NotRead = append(v.NotRead, session.UnreadIn(store.Runtime(), listing.Notices)...)
}

// works are the agents, with the directories that their sessions were in.
func (v *Inventory) works() agentset.Directories {
	works := agentset.Directories{}
	for _, o := range v.Owners {
		works.Add(agentset.ID{Runtime: o.Runtime, Agent: o.Agent}, "")
	}
	for i := range v.Sessions {
		s := &v.Sessions[i]
		works.Add(agentset.ID{Runtime: s.Runtime, Agent: s.Agent}, s.Project)
	}
	return works
}

// Readable are the sessions, without what stands for those of a database that cannot
// be read: that is no session.
func (v *Inventory) Readable() []Found {
	return slices.DeleteFunc(slices.Clone(v.Sessions), func(s Found) bool { return s.Kind == session.KindDatabase })
}

func (v *Inventory) own(o Owner) {
	if n := len(v.Owners); o.Agent == "" || n > 0 && v.Owners[n-1] == o || v.known[o] {
		return
	}
	if v.known == nil {
		v.known = map[Owner]bool{}
	}
	v.known[o] = true
	v.Owners = append(v.Owners, o)
}

// NoStores says which places were searched: first below the home directory,
// then where variables point.
func NoStores(a *Settings) error {
	var looked, named []string
	for _, kind := range Runtimes() {
		traits := kind.Traits()
		looked = append(looked, traits.Homes...)
		for _, variable := range traits.Variables {
			if value := a.Getenv(variable); value != "" && !slices.Contains(named, variable+"="+value) {
				named = append(named, variable+"="+value)
			}
		}
	}
	looked = append(looked, named...)
	return &failure.Error{
		Code: "no_store", Exit: failure.ExitFailed, Path: a.Home(),
		Hint: "name one with --store runtime=path, for example --store openclaw=/srv/openclaw",
		Err:  fmt.Errorf("no session store found; looked at %s (home %s)", strings.Join(looked, ", "), a.Home()),
	}
}

// StoreRow is one store of sessions, and how much it holds.
type StoreRow struct {
	Runtime    string             `json:"runtime"`
	Root       string             `json:"root"`
	Agents     int                `json:"agents"`
	Sessions   int                `json:"sessions"` // that an agent may still be using
	Closed     int                `json:"closed"`   // reset, deleted, backups
	Bytes      int64              `json:"bytes"`    // of all of them
	Strategies []session.Strategy `json:"strategies"`
	Error      string             `json:"error"` // why it could not be listed, or ""
}

// LookAtStore lists one store and adds up what it holds. The reference that stands for
// the sessions of a database that cannot be read is no session.
func (run *Run) LookAtStore(ctx context.Context, store session.Store) (StoreRow, session.Listing, error) {
	row := StoreRow{Runtime: store.Runtime(), Root: store.Root(), Strategies: store.Capabilities().StrategiesOf(session.Ref{})}
	listing, err := run.List(ctx, store)
	if err != nil {
		return row, listing, err
	}
	row.Agents = len(listing.Agents)
	row.Strategies = strategiesOf(store, listing.Refs)
	for _, ref := range listing.Refs {
		row.Bytes += ref.Bytes
		switch {
		case ref.Kind == session.KindDatabase:
		case Shown(ref.Kind):
			row.Sessions++
		default:
			row.Closed++
		}
	}
	return row, listing, nil
}

// strategiesOf is what can be done with the sessions that an agent may still be
// using: only none where all of them lie in a runtime's database.
func strategiesOf(store session.Store, refs []session.Ref) []session.Strategy {
	can := store.Capabilities()
	used := slices.DeleteFunc(slices.Clone(refs), func(ref session.Ref) bool {
		return !Shown(ref.Kind) || ref.State == session.StateUnsupported && ref.Kind != session.KindDatabase
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

// StrategyList lists strategies for a message.
func StrategyList(all []session.Strategy) string {
	names := make([]string, 0, len(all))
	for _, s := range all {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// RuntimeKind is one runtime that this program can open stores of.
type RuntimeKind struct {
	Name   string
	Traits func() session.Traits
	Roots  func(home string, getenv func(string) string, c Config) []string
	Open   func(root string, c Config) session.Store
	// Named are the directories that settings of a user name, whether they exist or not;
	// nil for a runtime that has no such settings.
	Named func(home string, getenv func(string) string) []string
	// Remote says that a root is no directory.
	Remote bool
}

// Runtimes is the list of runtimes, in the order they are shown.
func Runtimes() []RuntimeKind {
	return []RuntimeKind{
		{Name: session.RuntimeOpenClaw, Traits: openclaw.Traits, Roots: onDisk(openclaw.Roots), Open: openOpenClaw},
		{Name: session.RuntimePi, Traits: pi.Traits, Roots: onDisk(pi.Roots), Named: pi.Named, Open: func(root string, _ Config) session.Store { return pi.Open(root) }},
		{Name: session.RuntimeOMP, Traits: omp.Traits, Roots: onDisk(omp.Roots), Open: func(root string, _ Config) session.Store { return omp.Open(root) }},
		{Name: session.RuntimeAgent, Traits: agent.Traits, Roots: onDisk(agent.Roots), Open: openAgent},
		{Name: session.RuntimeAnnabelle, Traits: annabelle.Traits, Roots: onDisk(annabelle.Roots), Open: openAnnabelle},
		{Name: session.RuntimeMacStats, Traits: macstats.Traits, Roots: onDisk(macstats.Roots), Open: func(root string, c Config) session.Store {
			return macstats.Open(root, macstats.Options{LessonsAgent: c.MacStats.LessonsAgent})
		}},
		{Name: session.RuntimeCodex, Traits: codex.Traits, Roots: onDisk(codex.Roots), Open: func(root string, _ Config) session.Store { return codex.Open(root) }},
		{Name: session.RuntimeClaude, Traits: claude.Traits, Roots: onDisk(claude.Roots), Open: func(root string, _ Config) session.Store { return claude.Open(root) }},
		{Name: session.RuntimeGemini, Traits: gemini.Traits, Roots: onDisk(gemini.Roots), Open: func(root string, _ Config) session.Store { return gemini.Open(root) }},
		{Name: session.RuntimeQwen, Traits: qwen.Traits, Roots: onDisk(qwen.Roots), Open: func(root string, _ Config) session.Store { return qwen.Open(root) }},
		{Name: session.RuntimeOpenCode, Traits: opencode.Traits, Roots: onDisk(opencode.Roots), Open: openOpenCode(session.RuntimeOpenCode)},
		{Name: session.RuntimeKilo, Traits: opencode.KiloTraits, Roots: onDisk(opencode.KiloRoots), Open: openOpenCode(session.RuntimeKilo)},
		{Name: session.RuntimeCline, Traits: cline.Traits, Roots: onDisk(cline.Roots), Open: func(root string, _ Config) session.Store { return cline.Open(root) }},
		{Name: session.RuntimeClineTasks, Traits: cline.TaskTraits, Roots: onDisk(cline.TaskRoots), Open: func(root string, _ Config) session.Store { return cline.OpenTasks(root) }},
		{Name: session.RuntimeCopilot, Traits: copilot.Traits, Roots: onDisk(copilot.Roots), Open: func(root string, _ Config) session.Store { return copilot.Open(root) }},
		{Name: session.RuntimeHermes, Traits: hermes.Traits, Roots: onDisk(hermes.Roots), Open: func(root string, _ Config) session.Store { return hermes.Open(root) }},
		{Name: session.RuntimeGoose, Traits: goose.Traits, Roots: onDisk(goose.Roots), Open: func(root string, _ Config) session.Store { return goose.Open(root) }},
		{Name: session.RuntimeCursor, Traits: cursor.Traits, Roots: onDisk(cursor.Roots), Open: func(root string, _ Config) session.Store { return cursor.Open(root) }},
		{Name: session.RuntimeDroid, Traits: droid.Traits, Roots: onDisk(droid.Roots), Open: func(root string, _ Config) session.Store { return droid.Open(root) }},
		{Name: session.RuntimeKimi, Traits: kimi.Traits, Roots: onDisk(kimi.Roots), Open: func(root string, _ Config) session.Store { return kimi.Open(root) }},
		{Name: session.RuntimeGrok, Traits: grok.Traits, Roots: onDisk(grok.Roots), Open: func(root string, _ Config) session.Store { return grok.Open(root) }},
		{Name: session.RuntimeAntigravity, Traits: antigravity.Traits, Roots: onDisk(antigravity.Roots), Open: func(root string, _ Config) session.Store { return antigravity.Open(root) }},
		{Name: session.RuntimeExchange, Traits: exchange.Traits, Roots: onDisk(nowhere), Open: func(root string, _ Config) session.Store { return exchange.Open(root) }},
		{Name: session.RuntimeYarnnn, Traits: yarnnn.Traits, Roots: databases, Remote: true, Open: openYarnnn},
	}
}

// onDisk finds roots that no configuration names.
func onDisk(roots func(home string, getenv func(string) string) []string) func(string, func(string) string, Config) []string {
	return func(home string, getenv func(string) string, _ Config) []string { return roots(home, getenv) }
}

// nowhere is for what lies only where a person has put it.
func nowhere(string, func(string) string) []string { return nil }

// databases are the databases that the configuration names.
func databases(_ string, _ func(string) string, c Config) []string {
	if c.Yarnnn.DSN == "" {
		return nil
	}
	return []string{c.Yarnnn.DSN}
}

func openOpenClaw(root string, c Config) session.Store {
	return openclaw.Open(root, openclaw.Options{Command: c.OpenClaw.Command, Deadline: c.OpenClaw.Deadline, Wait: c.OpenClaw.Wait})
}

func openAgent(root string, c Config) session.Store {
	return agent.Open(root, agent.Options{
		ReserveTokens: c.Compaction.Reserve, KeepRecentTokens: c.Compaction.Keep, ContextWindow: c.Compaction.Window,
	})
}

func openAnnabelle(root string, c Config) session.Store {
	o := c.Annabelle
	return annabelle.Open(root, annabelle.Options{
		ThresholdChars: o.ThresholdChars, MinTurns: o.MinTurns, Cooldown: o.Cooldown, KeepRecentTurns: o.KeepRecentTurns,
	})
}

func openYarnnn(dsn string, c Config) session.Store {
	o := c.Yarnnn
	return yarnnn.Open(dsn, yarnnn.Options{Inactivity: o.Inactivity, UserMessages: o.UserMessages, User: o.UserID})
}

func openOpenCode(runtime string) func(string, Config) session.Store {
	return func(root string, _ Config) session.Store { return opencode.Open(runtime, root) }
}

// TraitsOf returns what holds for all stores of a runtime; of one that is not
// known, nothing.
func TraitsOf(runtime string) session.Traits {
	for _, kind := range Runtimes() {
		if kind.Name == runtime {
			return kind.Traits()
		}
	}
	return session.Traits{Runtime: runtime}
}

// RuntimeNames lists the runtimes for a message.
func RuntimeNames() string { return strings.Join(RuntimeList(), ", ") }

// RuntimeList are the names of the runtimes.
func RuntimeList() []string {
	var names []string
	for _, k := range Runtimes() {
		names = append(names, k.Name)
	}
	return names
}

// findForeign returns the first session, or store, of another user. It matters
// to root alone: from others the system itself protects files.
func findForeign(all Inventory) foreignFile {
	if os.Geteuid() != 0 {
		return foreignFile{}
	}
	seen := map[string]bool{}
	last := "" // most sessions lie beside the one before
	for i := range all.Sessions {
		s := &all.Sessions[i]
		if owner := s.File.Owner; s.File.Inode != 0 && owner > 0 {
			return foreignFile{s.Path, owner}
		}
		dir, _ := filepath.Split(s.Path)
		if dir == last && s.File.Inode != 0 {
			continue
		}
		last = dir
		for _, path := range []string{s.Path, dir, s.Store} {
			if seen[path] || path == s.Path && s.File.Inode != 0 {
				continue
			}
			seen[path] = true
			info, err := os.Lstat(path)
			if err != nil {
				continue
			}
			if uid, known := durable.Owner(info); known && uid != 0 {
				return foreignFile{filepath.Clean(path), uid}
			}
		}
	}
	return foreignFile{}
}
