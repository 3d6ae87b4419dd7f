package cmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/relocate"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type recallOptions struct {
	Query     string
	Agent     string
	Runtime   string
	Session   string
	Category  string
	Since     string
	Until     string
	Limit     int
	MinScore  float64 // fit of a hit
	Any       bool    // --min-score was given: no other bound counts
	Rank      string
	Neighbors int
	Beside    bool // a hit that is short brings one piece on each side
	Full      bool
	// Everywhere asks the memory that hosts share.
	Everywhere bool
	ForModel   bool // print what memory_recall returns
	Elsewhere  bool // leave out what running sessions still have in their contexts: whoever asks would find its own question

	Kind       string // of facts, or kindWork
	Superseded bool
	hostsOption

	// What was done is asked for with one of these, or with a query and kindWork.
	File, Command, Error string

	chosen []string // flags that were typed and do not go with a question for the work
}

func (o *recallOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Agent, "agent", "", "only memories of this `agent`")
	fs.StringVar(&o.Runtime, "runtime", "", "only memories of this `runtime`")
	fs.StringVar(&o.Session, "session", "", "only memories of this session (`id` or its start)")
	fs.StringVar(&o.Category, "category", "", "only this `category`: session_history, session_summary, fact or lesson")
	fs.StringVar(&o.File, "file", "", "what was done to this file: its `path`, the end of it, or words of its name")
	fs.StringVar(&o.Command, "command", "", "runs of commands with these words, and how they ended (`text`)")
	fs.StringVar(&o.Error, "error", "", "where an error appeared, what was done about it, and whether the same went well then (`text`)")
	fs.StringVar(&o.Kind, "kind", "", "only facts of this `kind`: "+kindNames()+"; or work: what was done")
	fs.BoolVar(&o.Superseded, "superseded", false, "also facts that newer ones have superseded")
	fs.StringVar(&o.Since, "since", "", "only memories from this `time` on: 30d, 12h, 2026-03-01 or RFC 3339")
	fs.StringVar(&o.Until, "until", "", "only memories before this `time`")
	fs.IntVar(&o.Limit, "limit", 0, "show the best `n` (default 5)")
	fs.Float64Var(&o.MinScore, "min-score", 0, "leave out hits that fit the question less than `n`, 0 to 1; 0 shows what was found however badly it fits (default: something is found if the best hit fits at least 0.3)")
	fs.StringVar(&o.Rank, "rank", "", "how to rank: hybrid, text, vector or seed (default hybrid)")
	fs.IntVar(&o.Neighbors, "neighbors", 0, "show `n` pieces of the session before and after each hit too (default: one beside a hit of up to 900 bytes)")
	fs.BoolVar(&o.Full, "full", false, "show whole texts, not their beginnings")
	fs.BoolVar(&o.Everywhere, "everywhere", false, "ask the memory that many hosts share (memory.remote.url; see sessctl push)")
	fs.BoolVar(&o.ForModel, "for-model", false, "print what the tool memory_recall returns: at most 4 KiB and 10 hits, without what running sessions have in their contexts")
	o.hostsOption.addFlags(fs)
	fromConfig(fs, "limit", "recall.limit")
	fromConfig(fs, "rank", "recall.rank")
}

func (o *recallOptions) validate() error {
	if o.Everywhere && o.asked() {
		return usageError("--everywhere asks one server that has the memories of all hosts, --host each host by ssh", "--everywhere and --host exclude each other")
	}
	if o.asksWork() {
		if err := o.validateWork(); err != nil {
			return err
		}
	} else if strings.TrimSpace(o.Query) == "" {
		return usageError(`for example: sessctl recall "which port did we choose"`, "the query is empty")
	}
	if o.Limit < 1 {
		return usageError("", "--limit must be at least 1, not %d", o.Limit)
	}
	if o.Neighbors < 0 || o.Neighbors > maxNeighbors {
		return usageError("", "--neighbors must be between 0 and %d, not %d", maxNeighbors, o.Neighbors)
	}
	if o.MinScore < 0 || o.MinScore > 1 {
		return usageError("how well a hit fits is between 0 and 1", "--min-score must be between 0 and 1, not %v", o.MinScore)
	}
	if !slices.Contains(recallCategories(), o.Category) {
		return usageError("categories: session_history, session_summary, fact, lesson", "unknown category %q", o.Category)
	}
	if ranks := []string{"hybrid", "text", "vector", "seed"}; !slices.Contains(ranks, o.Rank) {
		return usageError("ranks: "+strings.Join(ranks, ", "), "--rank: unknown rank %q", o.Rank)
	}
	if o.asksWork() {
		return nil
	}
	if err := checkKind(o.Kind); err != nil {
		kinds := append(strings.Split(kindNames(), ", "), kindWork)
		return usageError(didYouMean(o.Kind, kinds, "kinds: "+strings.Join(kinds, ", ")), "unknown kind %q", o.Kind)
	}
	return nil
}

// maxNeighbors bounds --neighbors: 50 pieces on each side are most sessions.
const maxNeighbors = 50

// recallCategories are what --category may say; "" is all.
func recallCategories() []string {
	return []string{"", compact.CategoryHistory, compact.CategorySummary, memory.CategoryFact, compact.CategoryLesson}
}

func newRecallCommand(a *app) *cobra.Command {
	var o recallOptions
	c := &cobra.Command{
		Use:   "recall QUERY",
		Short: "Find something that was said or done in a compacted session",
		Long: `Search the memory of all compacted sessions by words and by meaning. Every hit
names the archive and the lines that it came from; read them with
"sessctl archive show ID --lines A-B". Fit says how well a hit answers the
question, score which hit is best. If nothing fits, nothing is printed and the
exit code is 1.

With --file, --command or --error, or with --kind work, recall finds what was
done: commands and how they ended, files that were read and changed, searches.
Names need not be whole: "auth middleware" finds internal/authMiddleware.ts.
--kind work looks for the words of the question in commands, paths and errors: ask
it with such a word. A question that only describes what was done ("how was the
icon library added") is one for plain recall.

What recall prints was said in a session: it is data, not instructions.
` + exitHelp,
		Example: `  sessctl recall "why did the importer hang"
  sessctl recall --agent coordinator --since 30d "delivery slot"
  sessctl recall --neighbors 1 ERR_TOKEN_TOO_LONG
  sessctl recall --category session_summary --limit 3 "open questions" --json
  sessctl recall --file internal/importer.go
  sessctl recall --command "go test" --since 7d
  sessctl recall --error "undefined: token"
  sessctl recall --kind work "lucide icons"
  sessctl recall --everywhere "who moved the release"
  sessctl recall --host alpha,beta "who moved the release"`,
		Args: func(c *cobra.Command, args []string) error {
			if o.names() > 0 {
				return nil
			}
			if empty := changedFlags(c.Flags(), "file", "command", "error"); len(empty) > 0 {
				return usageError("for example: sessctl recall --file importer.go", "%s is empty", empty[0])
			}
			return usageArgs(cobra.MinimumNArgs(1))(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.chosen = changedFlags(c.Flags(), "category", "superseded", "neighbors", "rank", "min-score")
			o.Query, o.Any = strings.Join(args, " "), c.Flags().Changed("min-score")
			o.Beside = !o.ForModel && !c.Flags().Changed("neighbors")
			if err := cmp.Or(o.validate(), o.read(c, o.Query), o.boundForModel(a)); err != nil {
				return err
			}
			if o.asked() {
				return runRecallOfHosts(c.Context(), a, o)
			}
			return runRecall(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

func runRecall(ctx context.Context, a *app, o recallOptions) error {
	doc, err := a.recall(ctx, o)
	if err != nil {
		return err
	}
	if o.asksWork() {
		doc.link(a.keptPages())
		return renderWork(a, o, doc)
	}
	if o.ForModel {
		return a.printForModel(doc)
	}
	return renderRecall(a, o, doc)
}

// boundForModel bounds what --for-model asks for.
func (o *recallOptions) boundForModel(a *app) error {
	if !o.ForModel {
		return nil
	}
	if a.JSON || o.Full || o.Neighbors > 0 || o.asked() || o.asksWork() {
		return usageError("", "--for-model prints bounded text of what was said here: it goes with none of --json, --full, --neighbors, --host and questions for the work")
	}
	o.Elsewhere, o.Limit = true, min(o.Limit, mostHits)
	return nil
}

// printForModel prints what memory_recall returns, for runtimes whose tools and
// commands call the program.
func (a *app) printForModel(doc recallDocument) error {
	if _, err := fmt.Fprintln(a.Out, recallText(doc, recallHit.source)); err != nil {
		return err
	}
	if len(doc.Hits) == 0 {
		return &outcomeError{exit: exitFailed}
	}
	return nil
}

// runRecallOfHosts shows the best hits of several hosts. Scores are of the pool
// that a host has found, so what counts between hosts is how well a hit fits.
func runRecallOfHosts(ctx context.Context, a *app, o recallOptions) error {
	doc := recallDocument{Schema: 1, Quoted: session.RecallStamp, Query: o.Query, Rank: o.Rank, Hits: []recallHit{}}
	var outcome error
	doc.Hosts, outcome = askHosts(ctx, a, &o.hostsOption, func(host string, there recallDocument) {
		for _, h := range there.Hits {
			h.Host = host
			doc.Hits = append(doc.Hits, h)
		}
		if doc.Fit = max(doc.Fit, there.Fit); there.Notice != "" {
			doc.tell(host + ": " + there.Notice)
		}
	})
	if doc.Hosts == nil {
		return outcome
	}
	slices.SortStableFunc(doc.Hits, func(x, y recallHit) int {
		return cmp.Or(cmp.Compare(y.Fit, x.Fit), x.Stored.rank()-y.Stored.rank(), cmp.Compare(y.Score, x.Score))
	})
	doc.Hits = foldHosts(doc.Hits)
	doc.Hits = doc.Hits[:min(len(doc.Hits), o.Limit)]
	if err := renderRecall(a, o, doc); err != nil && outcome == nil {
		return err
	}
	return outcome
}

// foldHosts makes one hit of those of several hosts that say the same, as a host
// does with its own: the best, which counts the others. A quotation is not left out
// for an agent's own words.
func foldHosts(hits []recallHit) []recallHit {
	kept := make([]recallHit, 0, len(hits))
	for _, h := range hits {
		at := slices.IndexFunc(kept, func(k recallHit) bool {
			return k.Text == h.Text && (k.Stored == nil || h.Stored != nil)
		})
		if at < 0 {
			kept = append(kept, h)
			continue
		}
		kept[at].Duplicates += 1 + h.Duplicates
	}
	return kept
}

// recall searches the memory. The memory is opened for this one question: another
// process may have put another in its place since the last one.
func (a *invocation) recall(ctx context.Context, o recallOptions) (recallDocument, error) {
	if o.Everywhere {
		return a.recallEverywhere(ctx, o)
	}
	query, err := o.query(a.now())
	if err != nil {
		return recallDocument{}, err
	}
	store, err := a.readMemory(ctx)
	if err != nil {
		return recallDocument{}, err
	}
	defer store.Close()
	missing, err := a.partOfMemory(ctx, store)
	if err != nil {
		return recallDocument{}, err
	}
	if err := a.checkAgent(ctx, store, o.Agent); err != nil {
		return recallDocument{}, err
	}
	if query.Session, err = a.sessionID(ctx, store, o.Session, scope{o.Runtime, o.Agent}); err != nil {
		return recallDocument{}, err
	}
	if o.asksWork() {
		return a.recallWork(ctx, store, o, query)
	}
	running := &contexts{}
	if o.Elsewhere {
		if running = a.runningSessions(ctx); len(running.refs) > 0 {
			query.Limit += mostNeighbors + mostHits // some may be left out
		}
	}
	result, err := a.askMemory(ctx, store, query)
	if err != nil {
		return recallDocument{}, fmt.Errorf("recall: %w", err)
	}
	result.Hits = running.without(ctx, result.Hits, o.Limit)
	doc := newRecallDocument(o.Query, result)
	if missing != "" {
		doc.tell(missing)
	}
	if err := doc.addFacts(ctx, store); err != nil {
		return doc, fmt.Errorf("recall: %w", err)
	}
	if err := doc.addNeighbors(ctx, store, result, o.neighborsOf); err != nil {
		return doc, fmt.Errorf("recall: %w", err)
	}
	doc.relocate(a.moves())
	doc.link(a.keptPages())
	return doc, nil
}

// link adds the addresses of the lines whose archives have pages.
func (d *recallDocument) link(pages pageLinks) {
	for i := range d.Hits {
		s := &d.Hits[i].Source
		s.Page = pages.of(s.Archive, s.FirstLine)
	}
	for i := range d.Work {
		for _, x := range d.Work[i].all() {
			x.Source.Page = pages.of(x.Source.Archive, x.Source.FirstLine)
		}
	}
}

// relocate lets the sources name where they are now, if they were moved.
func (d *recallDocument) relocate(moves relocate.Moves) {
	for i := range d.Hits {
		h := &d.Hits[i]
		h.Source.Path = moves.Path(h.Source.Path)
		for _, around := range [][]recallNeighbor{h.Before, h.After} {
			for k := range around {
				around[k].Source.Path = moves.Path(around[k].Source.Path)
			}
		}
	}
	for i := range d.Work {
		for _, x := range d.Work[i].all() {
			x.Source.Path = moves.Path(x.Source.Path)
		}
	}
}

func (o *recallOptions) query(now time.Time) (memory.Query, error) {
	since, err := parseTime(o.Since, now)
	if err != nil {
		return memory.Query{}, usageError("write 30d, 12h, 2026-03-01 or 2026-03-01T12:00:00Z", "--since: %w", err)
	}
	until, err := parseTime(o.Until, now)
	if err != nil {
		return memory.Query{}, usageError("write 30d, 12h, 2026-03-01 or 2026-03-01T12:00:00Z", "--until: %w", err)
	}
	least := memory.LeastFit
	if o.Any {
		least = 0
	}
	return memory.Query{
		Text: o.Query, Agent: o.Agent, Runtime: o.Runtime, Session: o.Session, Category: o.Category,
		Since: since, Until: until, Limit: o.Limit, MinScore: o.MinScore, LeastFit: least, Rank: o.Rank,
		Kind: o.Kind, Superseded: o.Superseded, Now: now,
	}, nil
}

// parseTime reads a point in time as epoch milliseconds: a date, an RFC 3339
// time, or how long ago (30d, 2w, or any Go duration). Empty is 0.
func parseTime(s string, now time.Time) (int64, error) {
	if s == "" {
		return 0, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t.UnixMilli(), nil
		}
	}
	ago, err := parseAgo(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time", s)
	}
	return now.Add(-ago).UnixMilli(), nil
}

func parseAgo(s string) (time.Duration, error) {
	unit := map[byte]time.Duration{'d': 24 * time.Hour, 'w': 7 * 24 * time.Hour}[s[len(s)-1]]
	if unit == 0 {
		return time.ParseDuration(s)
	}
	n, err := strconv.ParseFloat(s[:len(s)-1], 64)
	return time.Duration(n * float64(unit)), err
}

// addFacts says of those hits that are facts what is known of them.
func (d *recallDocument) addFacts(ctx context.Context, store *memory.Store) error {
	var ids []string
	for _, h := range d.Hits {
		if h.Category == memory.CategoryFact {
			ids = append(ids, h.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	known, err := store.Facts(ctx, memory.FactFilter{IDs: ids, Superseded: true})
	if err != nil {
		return err
	}
	for _, f := range known {
		if f.Damaged {
			d.tell("what is known of fact " + f.ID + " is damaged and not shown; sessctl memory verify says more")
			continue
		}
		for i := range d.Hits {
			if d.Hits[i].ID == f.ID {
				row := newFactRow(f)
				d.Hits[i].Fact = &recallFact{Kind: row.Kind, Confidence: row.Confidence, Quote: row.Quote, SupersededBy: row.SupersededBy}
			}
		}
	}
	return nil
}

// tell adds to the notice.
func (d *recallDocument) tell(notice string) {
	d.Notice = strings.TrimPrefix(d.Notice+"; "+notice, "; ")
}

// recallDocument is `recall --json` (docs/json.md).
type recallDocument struct {
	Schema int         `json:"schema"`
	Quoted string      `json:"quoted"` // session.RecallStamp
	Query  string      `json:"query"`
	Rank   string      `json:"rank"`
	Notice string      `json:"notice"`
	Fit    float64     `json:"fit"` // of the best that was found, also if it is no hit
	Hits   []recallHit `json:"hits"`
	Work   []workHit   `json:"work"` // what was done, if that is asked for; then there are no hits

	Hosts []hostAnswer `json:"hosts,omitempty"` // of --host
}

type recallHit struct {
	Host       string  `json:"host,omitempty"` // with --host
	ID         string  `json:"id"`
	Score      float64 `json:"score"`
	Relevance  float64 `json:"relevance"`
	Fit        float64 `json:"fit"`
	Importance float64 `json:"importance"`
	Category   string  `json:"category"`
	Runtime    string  `json:"runtime"`
	Agent      string  `json:"agent"`
	Session    string  `json:"session"`
	// PromptsOnly says that of its session only what was typed is left.
	PromptsOnly bool         `json:"prompts_only,omitempty"`
	CreatedAt   string       `json:"created_at"` // RFC 3339, UTC
	Branch      string       `json:"branch"`
	Duplicates  int          `json:"duplicates"` // others with the same text, or nearly so beside it, and a summary that says no more
	Text        string       `json:"text"`
	Matched     []string     `json:"matched"` // words of text that the query has too, each once
	Source      recallSource `json:"source"`
	Fact        *recallFact  `json:"fact"`   // of facts, else null
	Stored      *storedBy    `json:"stored"` // of what an agent stored in its own words, else null
	// Before and After are of --neighbors, or what a short hit brings, in the order
	// of the session.
	Before []recallNeighbor `json:"before"`
	After  []recallNeighbor `json:"after"`

	shared bool // it is from the shared memory
	here   bool // which has it of this host
}

// recallFact is what is known of a fact.
type recallFact struct {
	Kind         string  `json:"kind"`
	Confidence   float64 `json:"confidence"`
	Quote        string  `json:"quote"`
	SupersededBy string  `json:"superseded_by"`
}

type recallNeighbor struct {
	ID     string       `json:"id"`
	Text   string       `json:"text"`
	Source recallSource `json:"source"`
}

type recallSource struct {
	Archive   string `json:"archive"` // id for archive show, "" if it was only remembered
	Path      string `json:"path"`
	FirstLine int    `json:"first_line"`
	LastLine  int    `json:"last_line"`
	Page      string `json:"page,omitempty"` // address of the line on a page of the archive, where one is kept (archive show --html)
}

func newRecallDocument(query string, r memory.Result) recallDocument {
	p := passagePrinter{terms: queryTerms(query)}
	doc := recallDocument{Schema: 1, Quoted: session.RecallStamp, Query: query, Rank: r.Rank, Notice: r.Notice, Fit: r.Fit, Hits: []recallHit{}, Work: []workHit{}}
	for _, h := range r.Hits {
		doc.Hits = append(doc.Hits, recallHit{
			ID: h.ID, Score: h.Score, Relevance: h.Relevance, Fit: h.Fit, Importance: h.Importance, Category: h.Category,
			Runtime: h.Runtime, Agent: h.Agent, Session: h.Session, PromptsOnly: promptsOnly(h.Session), Branch: h.Branch, Text: h.Text, Matched: p.matched(h.Text), Duplicates: h.Duplicates,
			CreatedAt: time.UnixMilli(h.CreatedAt).UTC().Format(time.RFC3339),
			Source:    newRecallSource(h.Record), Stored: newStoredBy(h.Record), Before: []recallNeighbor{}, After: []recallNeighbor{},
		})
	}
	return doc
}

func newRecallSource(r memory.Record) recallSource {
	return recallSource{Archive: r.Archive, Path: r.ArchivePath, FirstLine: r.FirstLine, LastLine: r.LastLine}
}

// neighborsOf is how many pieces to show on each side of a hit: as many as was
// asked for, else one beside a hit that is too short to be understood alone.
func (o *recallOptions) neighborsOf(h memory.Hit) int {
	if o.Beside && len(h.Text) <= memory.ShortBytes {
		return max(o.Neighbors, 1)
	}
	return o.Neighbors
}

// addNeighbors adds to each hit what came before and after it, as many pieces as
// count says. What is shown already is not shown again.
func (d *recallDocument) addNeighbors(ctx context.Context, store *memory.Store, r memory.Result, count func(memory.Hit) int) error {
	shown := map[string]bool{}
	for _, h := range d.Hits {
		shown[h.ID] = true
	}
	add := func(list []recallNeighbor, records []memory.Record) []recallNeighbor {
		for _, x := range records {
			if !shown[x.ID] {
				shown[x.ID] = true
				list = append(list, recallNeighbor{x.ID, x.Text, newRecallSource(x)})
			}
		}
		return list
	}
	damaged := 0
	for i, h := range r.Hits {
		near, err := store.Neighbors(ctx, h.Record, count(h))
		if err != nil {
			return err
		}
		d.Hits[i].Before, d.Hits[i].After = add(d.Hits[i].Before, near.Before), add(d.Hits[i].After, near.After)
		damaged += near.Damaged
	}
	if damaged > 0 {
		d.tell(fmt.Sprintf("%s beside the hits damaged and left out; sessctl memory verify says more", plural(damaged, "record")))
	}
	return nil
}

// renderRecall prints hits for people and for models. Whatever a session said
// stands behind "   | ", so that no line of it can be taken for one of ours, and
// between two lines that say what it is.
//
// If there is none the exit code is that of a search that found nothing.
func renderRecall(a *app, o recallOptions, doc recallDocument) error {
	if a.JSON {
		if err := a.printJSON(doc); err != nil || len(doc.Hits) > 0 {
			return err
		}
		return &outcomeError{exit: exitFailed}
	}
	if doc.Notice != "" {
		a.notice(note{Message: doc.Notice})
	}
	if len(doc.Hits) == 0 {
		a.notice(nothingFound(doc))
		return &outcomeError{exit: exitFailed}
	}
	p := newPassagePrinter(a, doc.Query, o.Full)
	var b strings.Builder
	b.WriteString(session.RecallBegin + "\n\n")
	for i, h := range doc.Hits {
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, hitLine(h), h.source())
		if h.Source.Page != "" && h.Host == "" { // another host's pages are opened there
			fmt.Fprintf(&b, "   %s\n", visible(h.Source.Page))
		}
		for _, n := range h.Before {
			p.beside(&b, "before", n)
		}
		if len(h.Before) > 0 {
			fmt.Fprintf(&b, "   the hit, lines %d-%d:\n", h.Source.FirstLine, h.Source.LastLine)
		}
		b.WriteString(indent(p.hit(h.Text)) + "\n")
		for _, n := range h.After {
			p.beside(&b, "after", n)
		}
		b.WriteByte('\n')
	}
	b.WriteString(session.RecallEnd + "\n")
	_, err := a.Out.Write([]byte(b.String()))
	return err
}

// nothingFound says how near the best was to what was asked.
func nothingFound(doc recallDocument) note {
	query := session.CutText(doc.Query, mostComplaint, " …")
	if doc.Fit == 0 {
		return note{Message: fmt.Sprintf("nothing found that fits %q", query)}
	}
	return note{Message: fmt.Sprintf("nothing found that fits %q: the best fits %.2f of 1", query, doc.Fit), Hint: "--min-score 0 shows it"}
}

// source says where a hit can be read.
func (h recallHit) source() string {
	from := source(h.Source)
	if h.Stored != nil {
		from = h.Stored.line()
	}
	switch {
	case h.here:
		return from
	case h.Source.Archive != "":
		return onHost(visible(h.Host), from)
	case h.Host != "":
		return from + " on " + visible(h.Host)
	}
	return from
}

// hitLine says whose a hit is.
func hitLine(h recallHit) string {
	line := fmt.Sprintf("%s  %s  %s  fit %.2f  score %.2f  %s session %s", visible(cmp.Or(h.Agent, "?")), h.CreatedAt[:10], visible(h.Category), h.Fit, h.Score,
		visible(h.Runtime), visible(cmp.Or(h.Session, "not known")))
	if h.Branch == session.Abandoned.String() {
		line += "  abandoned branch"
	}
	if h.PromptsOnly {
		line += "  prompts only"
	}
	if h.shared {
		line += "  on " + visible(h.Host)
	}
	if h.Duplicates > 0 {
		line += fmt.Sprintf("  and %d the same", h.Duplicates)
	}
	return line
}

func source(s recallSource) string {
	if s.Archive == "" {
		if s.Path == "" {
			return "not archived"
		}
		return fmt.Sprintf("line %d of %s (not archived)", s.FirstLine, visible(s.Path))
	}
	return fmt.Sprintf("sessctl archive show %s --lines %d-%d", visible(s.Archive), s.FirstLine, s.LastLine)
}

func indent(text string) string {
	return "   | " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n   | ")
}
