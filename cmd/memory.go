package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newMemoryCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "memory",
		Short: "Manage the memory: count, check, rebuild, forget, list, export",
		Long: `The memory is what recall searches: the texts of compacted sessions, their
words and their vectors, and what agents stored. All of it can be made again from
the archives, and from what is kept of agents' own words.
` + exitHelp,
		Example: `  sessctl memory stats
  sessctl memory verify
  sessctl memory reindex --pending
  sessctl memory reindex --from-archives
  sessctl memory forget --session 4f0c1d2e
  sessctl memory stored
  sessctl memory export --output memories.jsonl`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newMemoryStatsCommand(a), newMemoryVerifyCommand(a), newMemoryReindexCommand(a), newMemoryForgetCommand(a), newMemoryStoredCommand(a), newMemoryExportCommand(a))
	return c
}

// readMemory opens the memory to look at it. If there is none, the error says
// how to make one.
func (a *invocation) readMemory(ctx context.Context) (*memory.Store, error) {
	store, err := memory.Open(ctx, a.memoryDir(), memory.Options{ReadOnly: true, Pins: a.pins})
	return a.needMemory(ctx, store, err)
}

// readMemoryOf is readMemory for what is asked of one agent, "" for all: it must
// be a known one.
func (a *invocation) readMemoryOf(ctx context.Context, agent string) (*memory.Store, error) {
	store, err := a.readMemory(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.checkAgent(ctx, store, agent); err != nil {
		_ = store.Close() // it was only read
		return nil, err
	}
	return store, nil
}

// needMemory turns an error of opening the memory into what a person is told.
func (a *invocation) needMemory(ctx context.Context, store *memory.Store, err error) (*memory.Store, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return nil, a.explainNoMemory(ctx, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open memory: %w", err)
	}
	return store, nil
}

// explainNoMemory says why there is no memory to be read: somebody is making it,
// it is lost, or there never was one.
func (a *invocation) explainNoMemory(ctx context.Context, err error) error {
	lost, lostErr := a.lostMemory(ctx)
	switch {
	case lostErr != nil:
		return lostErr
	case (lost > 0 || errors.Is(err, memory.ErrEmpty)) && a.othersAtWork():
		return a.memoryBeingMade()
	case lost > 0:
		return &failure{code: "memory_lost", exit: exitIntegrity, path: a.memoryDir(), hint: adviseRebuild, err: fmt.Errorf("the memory in %s is lost: %s", a.memoryDir(), namedBy(lost))}
	}
	return &failure{code: "no_memory", exit: exitFailed, path: a.memoryDir(), hint: "compact a session first: sessctl compact --agent NAME", err: fmt.Errorf("there is no memory yet in %s", a.memoryDir())}
}

func (a *invocation) memoryBeingMade() error {
	return &failure{code: "memory_being_made", exit: exitBusy, path: a.memoryDir(), hint: "ask again when the running sessctl has finished", err: fmt.Errorf("the memory in %s is being made, and not all is in it yet", a.memoryDir())}
}

// partOfMemory says what a question to a memory cannot find: one that is being
// made from the archives is not asked, and one whose making was cut off answers
// with what it has, and a notice.
func (a *invocation) partOfMemory(ctx context.Context, store *memory.Store) (notice string, err error) {
	incomplete, err := store.Incomplete(ctx)
	switch {
	case err != nil || !incomplete:
		return "", err
	case a.othersAtWork():
		return "", a.memoryBeingMade()
	}
	return "the memory was being made from the archives and has not all of them yet; sessctl memory reindex --from-archives continues", nil
}

// lostMemory counts the receipts of what a memory must hold that is not there: 0
// if there is a memory, or if nothing has to be in it.
func (a *invocation) lostMemory(ctx context.Context) (int, error) {
	if exists(filepath.Join(a.memoryDir(), "memory.db")) {
		return 0, nil
	}
	audit, err := a.newReceiptAudit(ctx)
	if err != nil {
		return 0, err
	}
	err = audit.againstMemory(ctx, nil)
	return len(audit.ofMemory()), err
}

// namedBy says how many receipts tell that there was a memory.
func namedBy(receipts int) string {
	if receipts == 1 {
		return "1 receipt names what it held"
	}
	return plural(receipts, "receipt") + " name what it held"
}

// glimpseMemory opens the memory for a dry run: without SQLite's files beside
// it, which would be made and removed. If another run is under way, or a killed
// one has left changes beside it, it is read in the usual way.
func (a *invocation) glimpseMemory(ctx context.Context) (*memory.Store, error) {
	if !a.atWork() {
		store, err := memory.Open(ctx, a.memoryDir(), memory.Options{NoTrace: true})
		if !errors.Is(err, memory.ErrInUse) {
			return store, err
		}
	}
	return memory.Open(ctx, a.memoryDir(), memory.Options{ReadOnly: true, Pins: a.pins})
}

// openRecovered opens a workspace with memory, in which nothing is unfinished;
// rebuild says that a lost memory is about to be made again. That no store is found is no error here: the memory and the archives are there
// without one.
func (a *invocation) openRecovered(ctx context.Context, rebuild bool) (*workspace, error) {
	all, _, err := a.listStores(ctx)
	if f := (*failure)(nil); err != nil && !(errors.As(err, &f) && f.code == "no_store" && len(a.global.Stores) == 0) {
		return nil, err
	}
	return a.openWorkspace(ctx, mode{memory: true, rebuild: rebuild, reason: "compact", recover: &recovery{sessions: all.sessions, policy: a.recoveryPolicy()}})
}

func newMemoryStatsCommand(a *app) *cobra.Command {
	var agent string
	c := &cobra.Command{
		Use:   "stats",
		Short: "Count what the memory holds",
		Long: `Count the records of every agent by category, what was done by kind (commands,
files that were read and changed, searches), the vectors of every embedding
model, the records that have no vector yet, and those that were forgotten.`,
		Example: `  sessctl memory stats
  sessctl memory stats --agent coordinator --json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return runMemoryStats(c.Context(), a, agent) },
	}
	c.Flags().StringVar(&agent, "agent", "", "only this `agent`")
	return c
}

// memoryStatsDocument is `memory stats --json`.
type memoryStatsDocument struct {
	Schema int    `json:"schema"`
	Path   string `json:"path"`
	memory.Stats
}

func runMemoryStats(ctx context.Context, a *app, agent string) error {
	store, err := a.readMemoryOf(ctx, agent)
	if err != nil {
		return err
	}
	defer store.Close()
	stats, err := store.Stats(ctx)
	if err != nil {
		return err
	}
	stats.Agents = slices.DeleteFunc(stats.Agents, func(s memory.AgentStats) bool {
		return agent != "" && s.Agent != agent || a.global.Runtime != "" && s.Runtime != a.global.Runtime
	})
	doc := memoryStatsDocument{Schema: 1, Path: a.memoryDir(), Stats: stats}
	if a.JSON {
		return a.printJSON(doc)
	}
	return renderMemoryStats(a, doc)
}

func renderMemoryStats(a *app, doc memoryStatsDocument) error {
	var b strings.Builder
	for _, s := range doc.Agents {
		fmt.Fprintf(&b, "%s (%s): %s of %s\n", visible(s.Agent), visible(s.Runtime), plural(s.Records, "record"), plural(s.Sessions, "session"))
		for _, category := range slices.Sorted(maps.Keys(s.Category)) {
			fmt.Fprintf(&b, "  %-17s %s\n", visible(category), formatCount(int64(s.Category[category])))
		}
		if s.Stored > 0 {
			fmt.Fprintf(&b, "  %-17s %s in the agent's own words (sessctl memory stored lists them)\n", "stored", formatCount(int64(s.Stored)))
		}
		for _, kind := range slices.Sorted(maps.Keys(s.Actions)) {
			fmt.Fprintf(&b, "  %-17s %s\n", "work: "+visible(kind), formatCount(int64(s.Actions[kind])))
		}
		if s.Unembedded > 0 && len(s.Pending) == 0 { // no embedder has ever answered
			fmt.Fprintf(&b, "  %-17s %s without a vector; found by their words until then\n", "pending", formatCount(int64(s.Unembedded)))
		}
		for _, model := range slices.Sorted(maps.Keys(s.Pending)) {
			fmt.Fprintf(&b, "  %-17s %s without a vector of\n    %s\n", "pending", formatCount(int64(s.Pending[model])), visible(model))
		}
	}
	for _, m := range doc.Models {
		fmt.Fprintf(&b, "model %s\n  %-17s %s, %s", visible(m.Name), "vectors", formatCount(int64(m.Vectors)), formatBytes(m.Bytes))
		b.WriteByte('\n')
	}
	if doc.Forgotten > 0 {
		fmt.Fprintf(&b, "forgotten: %s\n", plural(doc.Forgotten, "record"))
	}
	_, err := fmt.Fprintf(a.Out, "%s%s in %s\n", b.String(), formatBytes(doc.Bytes), visible(doc.Path))
	return err
}

func newMemoryVerifyCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Check the memory's database and every record and vector in it",
		Long: `Check the pages and indexes of the database, that every record has its text, its
words and a vector or a place in the queue for one, the checksum of every record
and of every vector, the words against the texts, and that what every receipt
says was stored is there. If another run is under way, the receipts are left
out. Exit code 4 means that something is damaged or missing.`,
		Example: "  sessctl memory verify",
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(c *cobra.Command, _ []string) error { return runMemoryVerify(c.Context(), a) },
	}
}

// memoryVerifyDocument is `memory verify --json`.
type memoryVerifyDocument struct {
	Schema   int       `json:"schema"`
	Path     string    `json:"path"`
	Records  int       `json:"records"`
	Vectors  int       `json:"vectors"`
	Actions  int       `json:"actions"` // what was done
	Problems []problem `json:"problems"`
}

func runMemoryVerify(ctx context.Context, a *app) error {
	doc := memoryVerifyDocument{Schema: 1, Path: a.memoryDir(), Problems: []problem{}}
	err := verifyMemory(ctx, a.invocation, &doc)
	if errors.Is(err, memory.ErrCorrupt) {
		doc.Problems = append(doc.Problems, problem{Path: a.memoryDir(), Message: err.Error()})
	} else if err != nil {
		return err
	}
	if err := renderMemoryVerify(a, doc); err != nil {
		return err
	}
	if len(doc.Problems) > 0 {
		return &outcomeError{exit: exitIntegrity}
	}
	return nil
}

func verifyMemory(ctx context.Context, a *invocation, doc *memoryVerifyDocument) error {
	store, err := a.readMemory(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	found, err := store.Verify(ctx)
	if err != nil {
		return fmt.Errorf("verify memory: %w", err)
	}
	for _, p := range found {
		doc.Problems = append(doc.Problems, problem{Path: p.Path, Message: p.Message})
	}
	if len(found) > 0 {
		return nil // what cannot be trusted is not counted
	}
	if err := holdAgainstReceipts(ctx, a, store, doc); err != nil {
		return err
	}
	stats, err := store.Stats(ctx)
	if err != nil {
		return err
	}
	for _, s := range stats.Agents {
		doc.Records += s.Records
		for _, n := range s.Actions {
			doc.Actions += n
		}
	}
	for _, m := range stats.Models {
		doc.Vectors += m.Vectors
	}
	return nil
}

// holdAgainstReceipts adds what receipts say was stored and memory does not have.
// While another run is at work memory may be on its way to have it.
func holdAgainstReceipts(ctx context.Context, a *invocation, store *memory.Store, doc *memoryVerifyDocument) error {
	if a.atWork() {
		a.notice(note{Path: a.receiptsDir(), Message: "another sessctl is running: the memory is not compared with the receipts"})
		return nil
	}
	audit, err := a.newReceiptAudit(ctx)
	if err != nil {
		return err
	}
	audit.reading = true
	if err := audit.againstMemory(ctx, store); err != nil {
		return err
	}
	for _, p := range audit.ofMemory() {
		doc.Problems = append(doc.Problems, p.problem)
	}
	return nil
}

func renderMemoryVerify(a *app, doc memoryVerifyDocument) error {
	if a.JSON {
		return a.printJSON(doc)
	}
	for _, p := range doc.Problems {
		_, _ = fmt.Fprintf(a.Out, "damaged\t%s\t%s\n", visible(p.Path), visible(p.Message))
	}
	if len(doc.Problems) > 0 {
		var hints []string
		for _, p := range doc.Problems {
			hint := adviseMemory(p.Path, a.memoryDir())
			if p.ID != "" { // of a receipt
				hint = adviseRebuild
			}
			hints = append(hints, hint)
		}
		slices.Sort(hints)
		for _, hint := range slices.Compact(hints) {
			a.hint(hint)
		}
		_, err := fmt.Fprintf(a.Out, "%s\n", plural(len(doc.Problems), "problem"))
		return err
	}
	checked := plural(doc.Records, "record") + " and " + plural(doc.Vectors, "vector")
	if doc.Actions > 0 {
		checked = plural(doc.Records, "record") + ", " + plural(doc.Vectors, "vector") + " and " + plural(doc.Actions, "action")
	}
	_, err := fmt.Fprintf(a.Out, "%s checked, 0 problems\n", checked)
	return err
}

type forgetOptions struct {
	Session string
	Agent   string
	ID      string
	Text    string
	DryRun  bool
	Yes     bool

	// exact says that Session is a whole id: one that begins with it is not meant.
	exact bool
	// agree is asked instead of a person, before anything is forgotten: an error
	// forgets nothing.
	agree func(forgetDocument) error
}

func (o *forgetOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Session, "session", "", "forget what was remembered of this session (`id` or its start)")
	fs.StringVar(&o.Agent, "agent", "", "forget what was remembered of this `agent`")
	fs.StringVar(&o.ID, "id", "", "forget the record with this `id`, or the start of it (recall --json shows it)")
	fs.StringVar(&o.Text, "text", "", "forget the records that contain this `text`, in any case")
	fs.BoolVar(&o.DryRun, "dry-run", false, "show what would be forgotten and change nothing")
	fs.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
}

func newMemoryForgetCommand(a *app) *cobra.Command {
	var o forgetOptions
	c := &cobra.Command{
		Use:   "forget",
		Short: "Remove a session, an agent or a record from the memory",
		Long: `Remove records with their text, words and vectors. All options that are given
must match. What was forgotten does not come back by a later compaction of the
same log, or when the memory is rebuilt. Pages of these sessions that archive show
--html keeps are removed, with --text all pages. Archives are not touched: whoever
can read those can still read what was said.
` + exitHelp,
		Example: `  sessctl memory forget --session 4f0c1d2e
  sessctl memory forget --agent scout --dry-run
  sessctl memory forget --text "the old staging password" --dry-run
  sessctl memory forget --id 9b1f0c --yes`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			o.Text = strings.TrimSpace(o.Text)
			if o.Session == "" && o.Agent == "" && o.ID == "" && o.Text == "" {
				return usageError("see sessctl memory forget --help", "what should be forgotten? --session, --agent, --id or --text is needed")
			}
			return runMemoryForget(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

// forgetSession is a session of which something is selected.
type forgetSession struct {
	memory.Selected
	// Places are the stores and databases that hold a session of this name, if
	// there are several: memory does not tell those apart.
	Places []string `json:"places,omitempty"`
}

// forgetDocument is `memory forget --json`.
type forgetDocument struct {
	Schema    int             `json:"schema"`
	DryRun    bool            `json:"dry_run"`
	Sessions  []forgetSession `json:"sessions"` // what is selected, by session
	Records   int             `json:"records"`  // selected
	Actions   int             `json:"actions"`  // what was done, selected
	Forgotten int             `json:"forgotten"`
	// What went: the records, and what was done in them.
	RecordsForgotten int `json:"records_forgotten"`
	ActionsForgotten int `json:"actions_forgotten"`

	Notes []note `json:"notes"`

	unwiped bool // an earlier forget was cut off, and its traces are left
}

func runMemoryForget(ctx context.Context, a *app, o forgetOptions) error {
	open := a.readMemory
	if o.DryRun {
		open = func(ctx context.Context) (*memory.Store, error) {
			store, err := a.glimpseMemory(ctx)
			return a.needMemory(ctx, store, err)
		}
	}
	doc, selections, err := a.previewForget(ctx, open, o)
	if err != nil {
		return err
	}
	doc.DryRun = o.DryRun
	selected := doc.Records+doc.Actions > 0
	if !selected {
		a.notice(note{Message: "memory has no such record: nothing to forget"})
	}
	if !selected && !doc.unwiped || o.DryRun {
		return renderForget(a, doc)
	}
	if selected {
		if err := a.agreeToForget(doc, o); err != nil {
			return err
		}
	}
	w, err := a.openRecovered(ctx, false)
	if err != nil {
		return err
	}
	defer w.close()
	if err := a.stillSelected(ctx, w.memory, doc, o); err != nil {
		return err
	}
	if err := a.forgetPages(ctx, doc, o); err != nil {
		return err
	}
	unwiped := false
	for _, selection := range selections {
		gone, err := w.memory.Forget(ctx, selection)
		doc.Forgotten += gone.Marked
		doc.RecordsForgotten += gone.Records
		doc.ActionsForgotten += gone.Actions
		unwiped = unwiped || errors.Is(err, memory.ErrUnwiped)
		if err := a.tellUnwiped(err); err != nil {
			return err
		}
	}
	a.buryShared(ctx, w.memory)
	a.noteSetAside()
	if err := renderForget(a, doc); err != nil || !unwiped {
		return err
	}
	return &outcomeError{exit: exitPartly}
}

// agreeToForget asks whether what is selected may go. An error forgets nothing.
func (a *app) agreeToForget(doc forgetDocument, o forgetOptions) error {
	if o.agree != nil {
		return o.agree(doc)
	}
	if o.Yes {
		return nil
	}
	if !a.JSON {
		if err := listForget(a, doc); err != nil {
			return err
		}
	}
	return a.confirm(fmt.Sprintf("forget %s? The archives stay.", forgottenOf(doc.Records, doc.Actions)))
}

// forgetPages removes the kept pages of archives of which something is forgotten,
// before it is: what was forgotten is on none. With --text all go, because the
// text may stand in sessions of which memory does not have it.
func (a *invocation) forgetPages(ctx context.Context, doc forgetDocument, o forgetOptions) error {
	entries, err := a.archived(ctx, archive.Filter{})
	if err != nil {
		return err
	}
	stays := map[string]bool{}
	for _, e := range entries {
		stays[e.ID] = o.Text == "" && !slices.ContainsFunc(doc.Sessions, func(s forgetSession) bool {
			return s.Runtime == e.Runtime && s.Agent == e.Agent && s.Session == e.Session
		})
	}
	return a.removePagesOf(func(id string) bool { return !stays[id] })
}

// noteSetAside names the damaged memories that are kept: what was forgotten may
// still be in them.
func (a *invocation) noteSetAside() {
	for _, path := range a.setAside() {
		a.notice(note{Path: path, Message: "a damaged memory that was set aside: what was forgotten may still be in it", Hint: "remove it when you are sure that you do not need it"})
	}
}

// previewForget is selectToForget in a memory that nobody holds open yet.
func (a *invocation) previewForget(ctx context.Context, open func(context.Context) (*memory.Store, error), o forgetOptions) (forgetDocument, []memory.Selection, error) {
	store, err := open(ctx)
	if err != nil {
		return forgetDocument{}, nil, err
	}
	defer store.Close()
	return a.selectToForget(ctx, store, o)
}

// stillSelected returns an error if a person has agreed to something else than
// what is selected now: another run, or one that was finished first, may have
// remembered more.
func (a *invocation) stillSelected(ctx context.Context, store *memory.Store, shown forgetDocument, o forgetOptions) error {
	if o.Yes {
		return nil
	}
	now, _, err := a.selectToForget(ctx, store, o)
	if err == nil && describeForget(now) != describeForget(shown) {
		err = errMemoryChanged()
	}
	return err
}

func errMemoryChanged() error {
	return &failure{code: "not_confirmed", exit: exitFailed, hint: "look at the plan again", err: errors.New("the memory has changed since the plan was shown: nothing was forgotten")}
}

// selectToForget returns what is selected, and the selections with whole ids: that
// of a session and those of what belongs to it.
func (a *invocation) selectToForget(ctx context.Context, store *memory.Store, o forgetOptions) (doc forgetDocument, selections []memory.Selection, err error) {
	doc = forgetDocument{Schema: 1, Sessions: []forgetSession{}}
	selection := memory.Selection{ID: o.ID, Runtime: a.global.Runtime, Agent: o.Agent, Session: o.Session}
	if !o.exact {
		if selection, err = a.wholeIDs(ctx, store, selection); err != nil {
			return doc, nil, err
		}
	}
	if selections, err = a.withMembers(ctx, selection); err != nil {
		return doc, nil, err
	}
	places, err := a.sessionPlaces(ctx)
	if err != nil {
		return doc, nil, err
	}
	for i, selection := range selections {
		if o.Text != "" {
			if selection.IDs, err = store.Containing(ctx, selection, o.Text); err != nil {
				return doc, nil, err
			}
			selections[i] = selection
		}
		sessions, err := store.Select(ctx, selection)
		if err != nil {
			return doc, nil, err
		}
		for _, s := range sessions {
			doc.Sessions = append(doc.Sessions, forgetSession{s, places.of(s.Runtime, s.Agent, s.Session)})
			doc.Records += s.Records
			doc.Actions += s.Actions
		}
	}
	doc.unwiped, err = store.WipeIsDue(ctx)
	return doc, selections, err
}

// withMembers adds to the selection of a session those of its sub-agents and of
// its long outputs, which memory has as sessions of their own. The catalogue knows
// whose they are, by their keys.
func (a *invocation) withMembers(ctx context.Context, selection memory.Selection) ([]memory.Selection, error) {
	all := []memory.Selection{selection}
	if selection.Session == "" || selection.ID != "" {
		return all, nil
	}
	archives, err := a.openArchive()
	if err != nil {
		return nil, err
	}
	entries, err := archives.List(ctx, archive.Filter{Agent: selection.Agent, Runtime: selection.Runtime})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		member := memory.Selection{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session}
		kind := session.Kind(e.Kind)
		if (kind == session.KindSubagent || kind == session.KindOutput) && strings.HasPrefix(e.Key, selection.Session+"/") && !slices.ContainsFunc(all, func(s memory.Selection) bool {
			return s.Session == member.Session && s.Agent == member.Agent && s.Runtime == member.Runtime
		}) {
			all = append(all, member)
		}
	}
	return all, nil
}

// wholeIDs is a selection with the ids that its names mean. A name that means
// nothing is an error: whoever forgets something must not believe it is gone.
func (a *invocation) wholeIDs(ctx context.Context, store *memory.Store, s memory.Selection) (memory.Selection, error) {
	err := a.checkAgent(ctx, store, s.Agent)
	if err != nil {
		return s, err
	}
	if s.Session, err = a.sessionID(ctx, store, s.Session, scope{s.Runtime, s.Agent}); err != nil || s.ID == "" {
		return s, err
	}
	s.ID, err = recordID(ctx, store, s.ID)
	return s, err
}

func renderForget(a *app, doc forgetDocument) error {
	doc.Notes = a.notes
	if a.JSON {
		return a.printJSON(doc)
	}
	if doc.DryRun {
		return listForget(a, doc)
	}
	if doc.Records+doc.Actions == 0 {
		return nil
	}
	_, err := fmt.Fprintf(a.Out, "%s forgotten; archives are not touched\n", forgottenOf(doc.RecordsForgotten, doc.ActionsForgotten))
	return err
}

// forgottenOf counts what is forgotten: records, and what was done in them.
func forgottenOf(records, actions int) string {
	switch {
	case actions == 0:
		return plural(records, "record")
	case records == 0:
		return plural(actions, "action")
	}
	return plural(records, "record") + " and " + plural(actions, "action")
}

// listForget shows what is selected.
func listForget(a *app, doc forgetDocument) error {
	_, err := fmt.Fprint(a.Out, describeForget(doc))
	return err
}

// describeForget is what is selected, for people.
func describeForget(doc forgetDocument) string {
	var b strings.Builder
	for _, s := range doc.Sessions {
		fmt.Fprintf(&b, "%s %s: %s (%s not touched)\n", visible(s.Agent), visible(s.Session), forgottenOf(s.Records, s.Actions), plural(s.Archives, "archive"))
		b.WriteString(describePlaces(s.Places, "memory does not tell them apart, and forgets what it has of all of them"))
	}
	return b.String()
}
