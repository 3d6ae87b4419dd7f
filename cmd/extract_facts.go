package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/facts"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type factsOptions struct {
	Agent, Session, File string
	All, Archived        bool
	Max, Last            int
	MinConfidence        float64
	Idle                 time.Duration
	MaxCalls             int
	DryRun, Force        bool
	Lines                bool

	List       bool
	Kind       string
	Superseded bool
}

func (o *factsOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Agent, "agent", "", "the sessions of this `agent`")
	fs.BoolVar(&o.All, "all", false, "the sessions of every agent that is found")
	fs.StringVar(&o.Session, "session", "", "only this session (`id` or key)")
	fs.StringVar(&o.File, "file", "", "any session `file` of any runtime; its facts are stored if it is known whose it is, or with --agent")
	fs.BoolVar(&o.Archived, "archived", false, "look at archives instead: the newest of each session that is meant")
	fs.IntVar(&o.Max, "max", facts.DefaultMost, "store at most `n` new facts of a session, the surest (0: no limit)")
	fs.IntVar(&o.Last, "last", facts.DefaultMessages, "look at the last `n` messages of a session (0: all)")
	fs.Float64Var(&o.MinConfidence, "min-confidence", facts.DefaultConfidence, "store facts of at least this `confidence`, 0 to 1")
	fs.DurationVar(&o.Idle, "idle", 5*time.Minute, "skip sessions that changed within this `duration`")
	fs.IntVar(&o.MaxCalls, "max-llm-calls", 0, "ask models at most this many `times` in this run (default 50)")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print what would be stored and change nothing; no model is asked")
	fs.BoolVar(&o.Force, "force", false, "look again at sessions that were looked at")
	fs.BoolVar(&o.Lines, "jsonl", false, "print one JSON object a fact and nothing else")
	fs.BoolVar(&o.List, "list", false, "print the facts that are known")
	fs.StringVar(&o.Kind, "kind", "", "with --list: only facts of this `kind`: "+kindNames())
	fs.BoolVar(&o.Superseded, "superseded", false, "with --list: also facts that newer ones have superseded")
	fromConfig(fs, "max-llm-calls", "llm.max_calls")
}

func kindNames() string {
	var names []string
	for _, k := range facts.Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

func checkKind(kind string) error {
	if kind != "" && !slices.Contains(facts.Kinds(), facts.Kind(kind)) {
		return usageError("kinds: "+kindNames(), "unknown kind of facts %q", kind)
	}
	return nil
}

func (o *factsOptions) validate() error {
	const see = "see sessctl extract-facts --help"
	switch {
	case o.List && (o.File != "" || o.DryRun || o.Force || o.Archived):
		return usageError(see, "--list goes with --agent, --session, --kind and --superseded only")
	case o.List:
		return checkKind(o.Kind)
	case o.Kind != "" || o.Superseded:
		return usageError(see, "--kind and --superseded go with --list")
	case o.Agent == "" && !o.All && o.Session == "" && o.File == "":
		return usageError("name an agent, or use --all; sessctl sizes shows the agents there are", "which sessions? --agent, --all, --session or --file is needed")
	case o.All && (o.Agent != "" || o.Session != "" || o.File != "") || o.File != "" && (o.Session != "" || o.Archived):
		return usageError(see, "of --all, --session and --file only one can be meant")
	case o.Max < 0 || o.Last < 0 || o.MaxCalls < 0 || o.Idle < 0:
		return usageError(see, "--max, --last, --idle and --max-llm-calls must not be negative")
	case !(o.MinConfidence >= 0 && o.MinConfidence <= 1):
		return usageError(see, "--min-confidence must be from 0 to 1, not %v", o.MinConfidence)
	}
	return nil
}

// most is how many new facts of a session are stored; -1 for all.
func (o *factsOptions) most() int {
	if o.Max == 0 {
		return -1
	}
	return o.Max
}

func newExtractFactsCommand(a *app) *cobra.Command {
	var o factsOptions
	c := &cobra.Command{
		Use:   "extract-facts",
		Short: "Remember what people asked to keep, and what commands proved",
		Long: fmt.Sprintf(`Find facts in what was said and store them in memory. Without a model these are
what a person asks to keep ("remember that ...", "always ...", "from now on ...",
"my name is ..."), and what a command that succeeded proves (hosts, databases,
ports, versions). With facts.provider a model finds decisions, preferences, people,
projects and deadlines too, and each of its facts is compared with the
conversation. Each fact has the line of the log and the words that say so. What
looks like a secret is never a fact.

The last %d messages of a session are looked at once it has been idle for five
minutes, and again when it has gone on. What is known is not stored again; what
has changed supersedes the older fact, which is kept. Sessions are only read.
Facts are found with "sessctl recall --category fact" and listed with --list.
`, facts.DefaultMessages) + exitHelp,
		Example: `  sessctl extract-facts --agent coordinator --dry-run
  sessctl extract-facts --all
  sessctl extract-facts --file session.jsonl --last 0 --max 0 --dry-run
  sessctl extract-facts --list --kind contact --jsonl
  sessctl recall --category fact "where does the user live"`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			if o.List {
				return runListFacts(c.Context(), a, o)
			}
			return runExtractFacts(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

// The outcomes of a session.
const (
	factsExtracted = "extracted"
	factsPlanned   = "planned"
	factsUnchanged = "unchanged" // nothing was said since the last extraction
	factsTooShort  = "too-short"
	factsNotIdle   = "not-idle"
	factsFailed    = "failed"
)

// factsRun is one run of extract-facts.
type factsRun struct {
	*app
	options  factsOptions
	endpoint summarize.Endpoint
	memory   *memory.Store // nil in a dry run without a memory
}

func runExtractFacts(ctx context.Context, a *app, o factsOptions) error {
	a.config.LLM.MaxCalls = o.MaxCalls
	endpoint, err := a.endpoint("facts", a.config.Facts)
	if err != nil {
		return err
	}
	targets, all, err := a.factTargets(ctx, o)
	if err != nil {
		return err
	}
	r := &factsRun{app: a, options: o, endpoint: endpoint}
	if o.DryRun || len(targets) == 1 && targets[0].Agent == "" {
		return r.rehearse(ctx, targets)
	}
	w, err := a.openWorkspace(ctx, mode{memory: true, reason: "compact", recover: &recovery{sessions: all.sessions}})
	if err != nil {
		return err
	}
	defer w.close()
	if w.outdated() {
		if targets, _, err = a.factTargets(ctx, o); err != nil {
			return err
		}
	}
	r.memory = w.memory
	doc, err := r.each(ctx, targets)
	if err == nil {
		err = w.embedFacts(ctx, targets, doc)
	}
	w.progress.clear()
	return a.finishFacts(o, doc, err)
}

// finishFacts prints what there is to say and decides the exit code.
func (a *app) finishFacts(o factsOptions, doc factsDocument, err error) error {
	if err = errors.Join(err, a.renderFacts(o, doc)); err != nil {
		return err
	}
	return outcomeOfFacts(doc)
}

// rehearse is a dry run: no model is asked and nothing is stored.
func (r *factsRun) rehearse(ctx context.Context, targets []found) error {
	if r.endpoint.Provider != summarize.ProviderExtractive {
		client, err := summarize.NewClient(r.endpoint)
		if err != nil {
			return err
		}
		r.notice(note{Message: fmt.Sprintf("conversations, without what looks like a secret, would be sent to %s, where %s would look for facts; what follows is what is found without it", client.Address(), client.Name())})
	}
	r.endpoint.Provider = summarize.ProviderExtractive
	if store, err := r.glimpseMemory(ctx); err == nil {
		defer store.Close()
		r.memory = store
	}
	doc, err := r.each(ctx, targets)
	return r.finishFacts(r.options, doc, err)
}

// factTargets are the sessions that are meant: what agents said to each other,
// and copies that a runtime made, are not.
func (a *invocation) factTargets(ctx context.Context, o factsOptions) ([]found, inventory, error) {
	switch {
	case o.File != "":
		return a.factFile(ctx, o)
	case o.Archived:
		return a.factArchives(ctx, o)
	}
	all, err := a.findSessions(ctx)
	if err != nil {
		return nil, all, err
	}
	mine, err := all.of(o.Agent)
	if err != nil {
		return nil, all, err
	}
	if o.Session != "" {
		targets, err := named(mine.sessions, o.Session)
		return targets, all, err
	}
	targets := slices.DeleteFunc(slices.Clone(mine.sessions), func(s found) bool {
		return !shown(s.Kind) || s.Kind == session.KindDatabase || s.Parent != ""
	})
	return targets, all, nil
}

// each extracts the facts of sessions, one after the other. A failure is
// reported, and the others go on.
func (r *factsRun) each(ctx context.Context, targets []found) (factsDocument, error) {
	doc := factsDocument{Schema: 1, DryRun: r.options.DryRun, Sessions: []factsSession{}}
	for _, t := range targets {
		row, err := r.one(ctx, t)
		if ctx.Err() != nil {
			return doc, ctx.Err()
		}
		if err != nil {
			row.Outcome, row.Reason, row.damaged = factsFailed, err.Error(), exitCode(err) == exitIntegrity
			r.app.failed(t.Path, err)
		}
		doc.Sessions = append(doc.Sessions, row)
	}
	return doc, nil
}

// look is one session whose facts are extracted.
type look struct {
	found
	before, now memory.Extraction
	known       []facts.Known // of its agent
	row         factsSession
}

// one extracts the facts of one session.
func (r *factsRun) one(ctx context.Context, t found) (factsSession, error) {
	l := &look{found: t, row: newFactsSession(t)}
	if r.options.File == "" && t.archive == "" && r.now().Sub(t.ModTime) < r.options.Idle {
		l.row.Outcome, l.row.Reason = factsNotIdle, fmt.Sprintf("it changed within %s", r.options.Idle)
		return l.row, nil
	}
	if err := r.remember(ctx, l); err != nil {
		return l.row, err
	}
	l.now.Said, l.now.Last = l.before.Said, l.before.Last
	if !r.options.Force && l.before.Bytes == t.Bytes && l.before.Modified == l.now.Modified && same(l.before, l.now) {
		l.row.Outcome, l.row.Messages = factsUnchanged, l.before.Said
		return l.row, nil
	}
	err := r.read(ctx, l)
	return l.row, err
}

// read reads the log, and looks for facts if there is something new in it.
func (r *factsRun) read(ctx context.Context, l *look) error {
	window, scan, err := facts.Read(ctx, l.store, r.options.Last, func() (io.ReadCloser, error) { return r.openSession(ctx, l.found) })
	if err != nil {
		return err
	}
	if l.ID == "" && scan.SessionID != "" {
		l.now.Session, l.row.Session = scan.SessionID, scan.SessionID
	}
	l.now.Said, l.now.Last, l.row.Messages = window.Said(), window.Last(), window.Said()
	switch {
	case l.now.Said < facts.LeastMessages:
		l.row.Outcome, l.row.Reason = factsTooShort, fmt.Sprintf("%s, %d are needed", plural(l.now.Said, "message"), facts.LeastMessages)
		return nil
	case !r.options.Force && same(l.before, l.now):
		l.row.Outcome = factsUnchanged
		return r.keep(ctx, l, facts.Merged{})
	}
	return r.extract(ctx, l, window)
}

// degradedPause is how long a model that did not answer, or not usably, is not
// asked about a session again, unless it has gone on.
const degradedPause = time.Hour

// same tells whether an extraction has nothing to add to the one before.
func same(before, now memory.Extraction) bool {
	tryAgain := before.Degraded && now.At-before.At >= degradedPause.Milliseconds()
	return before.At > 0 && !tryAgain && before.Said == now.Said && before.Last == now.Last && before.MadeBy == now.MadeBy
}

// remember gets the last extraction of a session, and what is known of its
// agent.
func (r *factsRun) remember(ctx context.Context, l *look) error {
	l.now = memory.Extraction{
		Runtime: l.Runtime, Agent: l.Agent, Session: l.ID, At: r.app.now().UnixMilli(), Bytes: l.Bytes, Modified: l.ModTime.UnixNano(),
		MadeBy: facts.Version + " " + facts.Options{Client: r.clientOf(l.found)}.Maker(),
	}
	if r.memory == nil {
		return nil
	}
	var err error
	if l.before, _, err = r.memory.Extraction(ctx, memory.Source{Runtime: l.Runtime, Agent: l.Agent, Session: l.ID}); err != nil {
		return err
	}
	stored, err := r.memory.Facts(ctx, memory.FactFilter{Runtime: l.Runtime, Agent: l.Agent, Superseded: true})
	for _, f := range stored {
		l.known = append(l.known, facts.Known{ID: f.ID, Session: f.Session, Superseded: f.Successor != "", Fact: facts.Fact{
			Kind: facts.Kind(f.Kind), Text: f.Text, Confidence: f.Confidence, Quote: f.Quote, Line: f.FirstLine, Time: f.CreatedAt,
			Topic: f.Topic, Value: f.Value,
		}})
	}
	return err
}

func (r *factsRun) extract(ctx context.Context, l *look, window *facts.Window) error {
	o := facts.Options{Client: r.clientOf(l.found), Confidence: r.options.MinConfidence, Once: r.endpoint.Provider == summarize.ProviderHermes}
	made, err := facts.Extract(ctx, window.Messages(), l.known, o)
	if err != nil {
		return err
	}
	l.now.Degraded = made.Degraded
	l.row.Outcome, l.row.MadeBy, l.row.Degraded, l.row.Reason = factsExtracted, made.MadeBy, made.Degraded, made.Reason
	l.row.Calls, l.row.Tokens, l.row.Refused = made.Calls, made.Tokens, refusals(made.Refused)
	for i := range made.Facts {
		if made.Facts[i].Time == 0 { // a log without times has that of its file
			made.Facts[i].Time = l.ModTime.UnixMilli()
		}
	}
	return r.keep(ctx, l, facts.Merge(made.Facts, l.known, r.options.most()))
}

// clientOf is the client that asks the model about a session, nil for none.
func (r *factsRun) clientOf(t found) *summarize.Client {
	if r.endpoint.Provider == summarize.ProviderExtractive {
		return nil
	}
	of := r.endpoint
	of.Agent = t.Agent
	client, err := summarize.NewClient(of)
	if err != nil {
		return nil // the same endpoint was checked before
	}
	return client
}

// embedFacts gives vectors to what was stored, agent by agent.
func (w *workspace) embedFacts(ctx context.Context, targets []found, doc factsDocument) error {
	done := map[string]bool{}
	for i, row := range doc.Sessions {
		if row.Stored == 0 || done[row.Agent] {
			continue
		}
		done[row.Agent] = true
		if _, err := w.compactor.Embedder.EmbedPending(ctx, targets[i].Ref, nil); err != nil {
			return fmt.Errorf("embed facts: %w", err)
		}
	}
	return nil
}

func timeOf(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

// factFile is the session in a file: one of a store, one of the archive, or
// one that belongs to neither. The last has no agent, unless --agent names one.
func (a *invocation) factFile(ctx context.Context, o factsOptions) ([]found, inventory, error) {
	file, err := a.sessionFile(o.File)
	if err != nil {
		return nil, inventory{}, err
	}
	all, _, err := a.listStores(ctx)
	if err == nil {
		if i := slices.IndexFunc(all.sessions, func(s found) bool { return s.Path == file.Path }); i >= 0 {
			return all.sessions[i : i+1], all, nil
		}
	}
	entries, err := a.archivedAt(ctx, file.Path)
	if err != nil {
		return nil, all, err
	}
	for _, e := range entries {
		file.Runtime, file.Agent, file.ID, file.Key, file.archive = e.Runtime, e.Agent, e.Session, e.Key, e.ID
		return []found{file}, all, nil
	}
	file.Kind, file.Agent = session.KindOrphan, o.Agent
	if o.Agent != "" {
		file.ID = session.CleanID(strings.TrimSuffix(filepath.Base(file.Path), filepath.Ext(file.Path)))
		return []found{file}, all, nil
	}
	a.notice(note{Path: file.Path, Message: "nothing is stored: it is not known whose session this is", Hint: "--agent NAME stores the facts as those of an agent"})
	return []found{file}, all, nil
}

// factArchives are the newest archives of the sessions that are meant.
func (a *invocation) factArchives(ctx context.Context, o factsOptions) ([]found, inventory, error) {
	all, _, err := a.listStores(ctx)
	if f := (*failure)(nil); err != nil && !(errors.As(err, &f) && f.code == "no_store" && len(a.global.Stores) == 0) {
		return nil, all, err
	}
	store, err := a.openArchive()
	if err != nil {
		return nil, all, err
	}
	entries, err := store.List(ctx, archive.Filter{})
	if err != nil {
		return nil, all, err
	}
	if err := a.checkAgent(ctx, nil, o.Agent); err != nil {
		return nil, all, err
	}
	metas := make([]archive.Meta, 0, len(entries))
	for _, e := range entries {
		metas = append(metas, e.Meta)
	}
	if o.Session, err = knownSession(metas, o.Session, scope{a.global.Runtime, o.Agent}); err != nil {
		return nil, all, err
	}
	var targets []found
	seen := map[memory.Source]bool{}
	for _, e := range slices.Backward(entries) {
		source := memory.Source{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session}
		reader := a.readerOf(e.Runtime)
		meant := (o.Agent == "" || e.Agent == o.Agent) && (o.Session == "" || e.Session == o.Session || e.Key == o.Session) && (a.global.Runtime == "" || e.Runtime == a.global.Runtime)
		if seen[source] || !meant || reader == nil || e.Kind != "" && !shown(session.Kind(e.Kind)) {
			continue
		}
		seen[source] = true
		ref := session.Ref{Runtime: e.Runtime, Agent: e.Agent, ID: e.Session, Key: e.Key, Path: e.Path, Kind: session.KindOrphan, Bytes: e.StoredBytes, ModTime: e.CreatedAt}
		targets = append(targets, found{Ref: ref, store: reader, archive: e.ID})
	}
	slices.Reverse(targets)
	return targets, all, nil
}

// openSession opens a log, or the archive of one: that is checked as it is read.
func (a *invocation) openSession(ctx context.Context, t found) (io.ReadCloser, error) {
	if t.archive == "" {
		return openFound(ctx, t)
	}
	store, err := a.openArchive()
	if err != nil {
		return nil, err
	}
	e, err := store.Get(ctx, t.archive)
	if err != nil {
		return nil, err
	}
	return store.OpenEntry(ctx, e)
}

// archivedAt finds the archives whose copy lies at a path.
func (a *invocation) archivedAt(ctx context.Context, path string) ([]archive.Entry, error) {
	store, err := a.openArchive()
	if err != nil {
		return nil, err
	}
	entries, err := store.List(ctx, archive.Filter{})
	return slices.DeleteFunc(entries, func(e archive.Entry) bool { return e.Path != path }), err
}

// keep stores what is new, in one transaction, and then writes the receipt.
func (r *factsRun) keep(ctx context.Context, l *look, m facts.Merged) error {
	ids := make([]string, len(m.Facts))
	records := make([]memory.Fact, len(m.Facts))
	for i, f := range m.Facts {
		records[i] = l.record(f)
		ids[i] = records[i].ID
	}
	over := supersessions(m, ids)
	l.row.Repeated, l.row.LeftOut = m.Repeated, m.LeftOut
	l.row.list(records, over, l.known)
	if r.options.DryRun || r.memory == nil || l.Agent == "" {
		if l.row.Outcome == factsExtracted {
			l.row.Outcome = factsPlanned
		}
		return nil
	}
	result, err := r.memory.PutFacts(ctx, l.now, records, over)
	if err != nil {
		return fmt.Errorf("store facts: %w", err)
	}
	l.row.Stored, l.row.Forgotten = result.Stored, result.Buried
	if l.row.Stored+l.row.Calls == 0 && len(over) == 0 {
		return nil
	}
	return r.writeFactsReceipt(l.found, &l.row, ulid.Make().String())
}

// supersessions are the ids of what is superseded, each with that of what
// supersedes it.
func supersessions(m facts.Merged, ids []string) map[string]string {
	over := map[string]string{}
	for id, at := range m.Over {
		over[id] = ids[at]
	}
	for at, by := range m.Late {
		over[ids[at]] = by.ID
		if by.ID == "" {
			over[ids[at]] = ids[by.Index]
		}
	}
	return over
}

// factPosition is the position of facts: no piece of the log, as summaries.
const factPosition = -3

// factImportance is that of a fact that is certain (docs/dev/decisions.md D11).
const factImportance = 0.70

// record is a fact as it goes to memory.
func (l *look) record(f facts.Fact) memory.Fact {
	r := memory.Record{
		ID:   memory.RecordID(l.Agent, l.now.Session, factPosition, "fact "+string(f.Kind), f.Text),
		Text: f.Text, Category: memory.CategoryFact, Importance: factImportance * f.Confidence, CreatedAt: f.Time,
		Runtime: l.Runtime, Agent: l.Agent, Session: l.now.Session, Key: l.Key, ArchivePath: l.Path, Archive: l.archive,
		FirstLine: f.Line, LastLine: f.Line, FirstByte: f.Offset, EndByte: f.End, Branch: session.Active.String(), Position: factPosition,
	}
	return memory.Fact{
		Record: r, Kind: string(f.Kind), Confidence: f.Confidence, Quote: f.Quote, Speaker: f.Speaker.String(),
		Topic: f.Topic, Value: f.Value, MadeBy: f.MadeBy,
	}
}

// linkFacts gives facts of a log the archive that the log is in now. A log that
// is not append-only may have been written again since.
func (m memoryAdapter) linkFacts(ctx context.Context, ref session.Ref, source memory.Source, size int64) error {
	_, err := m.store.LinkFacts(ctx, source, ref.Path, size, traitsOf(ref.Runtime).AppendOnly)
	return err
}
