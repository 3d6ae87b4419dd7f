package recall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/hooks"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

// Options are the options of recall.
type Options struct {
	Query     string
	Agent     agentset.Set
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
	On         string // the host that remembers it
	ForModel   bool   // print what memory_recall returns
	Elsewhere  bool   // leave out what running sessions still have in their contexts: whoever asks would find its own question

	Kind       string // of facts, or KindWork
	Superseded bool
	selection.HostsOption

	// What was done is asked for with one of these, or with a query and KindWork.
	File, Command, Error string

	Chosen []string // flags that were typed and do not go with a question for the work
}

// Validate refuses options that contradict each other.
func (o *Options) Validate() error {
	if o.Everywhere && o.Asked() {
		return failure.Usage("--everywhere asks one server that has the memories of all hosts, --host each host by ssh", "--everywhere and --host exclude each other")
	}
	if o.On != "" && !o.Everywhere {
		return failure.Usage("say --everywhere too", "--on names a host of the shared memory")
	}
	if o.AsksWork() {
		if err := o.validateWork(); err != nil {
			return err
		}
	} else if strings.TrimSpace(o.Query) == "" {
		return failure.Usage(`for example: sessctl recall "which port did we choose"`, "the query is empty")
	}
	if o.Limit < 1 {
		return failure.Usage("", "--limit must be at least 1, not %d", o.Limit)
	}
	if o.Neighbors < 0 || o.Neighbors > maxNeighbors {
		return failure.Usage("", "--neighbors must be between 0 and %d, not %d", maxNeighbors, o.Neighbors)
	}
	if o.MinScore < 0 || o.MinScore > 1 {
		return failure.Usage("how well a hit fits is between 0 and 1", "--min-score must be between 0 and 1, not %v", o.MinScore)
	}
	if !slices.Contains(Categories(), o.Category) {
		return failure.Usage("categories: session_history, session_summary, fact, lesson", "unknown category %q", o.Category)
	}
	if ranks := []string{"hybrid", "text", "vector", "seed"}; !slices.Contains(ranks, o.Rank) {
		return failure.Usage("ranks: "+strings.Join(ranks, ", "), "--rank: unknown rank %q", o.Rank)
	}
	if o.AsksWork() {
		return nil
	}
	if err := CheckKind(o.Kind); err != nil {
		kinds := append(strings.Split(KindNames(), ", "), KindWork)
		return failure.Usage(wording.DidYouMean(o.Kind, kinds, "kinds: "+strings.Join(kinds, ", ")), "unknown kind %q", o.Kind)
	}
	return nil
}

// maxNeighbors bounds --neighbors: 50 pieces on each side are most sessions.
const maxNeighbors = 50

// Categories are what --category may say; "" is all.
func Categories() []string {
	return []string{"", compact.CategoryHistory, compact.CategorySummary, memory.CategoryFact, compact.CategoryLesson}
}

// FoldHosts makes one hit of those of several hosts that say the same, as a host
// does with its own: the best, which counts the others. A quotation is not left out
// for an agent's own words.
func FoldHosts(hits []Hit) []Hit {
	kept := make([]Hit, 0, len(hits))
	for _, h := range hits {
		at := slices.IndexFunc(kept, func(k Hit) bool {
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

// Recall searches the memory. The memory is opened for this one question: another
// process may have put another in its place since the last one.
func Recall(ctx context.Context, run *workspace.Run, o Options) (Document, error) {
	if o.Everywhere {
		return recallEverywhere(ctx, run, o)
	}
	query, err := o.query(run.Now())
	if err != nil {
		return Document{}, err
	}
	store, err := ReadMemory(ctx, run)
	if err != nil {
		return Document{}, err
	}
	defer store.Close()
	missing, err := PartOfMemory(ctx, run, store)
	if err != nil {
		return Document{}, err
	}
	if err := selection.CheckAgent(ctx, run, store, o.Agent); err != nil {
		return Document{}, err
	}
	if query.Session, err = selection.SessionID(ctx, run, store, o.Session, selection.Scope{Runtime: o.Runtime, Agent: o.Agent}); err != nil {
		return Document{}, err
	}
	if o.AsksWork() {
		return recallWork(ctx, run, store, o, query)
	}
	running := &RunningContexts{}
	if o.Elsewhere {
		if running = RunningSessions(ctx, run); len(running.Refs) > 0 {
			query.Limit += MostNeighbors + MostHits // some may be left out
		}
	}
	result, err := workspace.AskMemory(ctx, &run.Settings, store, query)
	if err != nil {
		return Document{}, fmt.Errorf("recall: %w", err)
	}
	result.Hits = running.without(ctx, result.Hits, o.Limit)
	doc := newRecallDocument(o.Query, result)
	if missing != "" {
		doc.Tell(missing)
	}
	if err := doc.addFacts(ctx, store); err != nil {
		return doc, fmt.Errorf("recall: %w", err)
	}
	if err := doc.addNeighbors(ctx, store, result, o.neighborsOf); err != nil {
		return doc, fmt.Errorf("recall: %w", err)
	}
	doc.nameHits(ctx, run)
	doc.relocate(sourcePath(ctx, run))
	doc.Link(KeptPages(run))
	return doc, nil
}

// nameHits says what the sessions of hits were called, as their archives have it.
func (d *Document) nameHits(ctx context.Context, run *workspace.Run) {
	archives, err := run.OpenArchive()
	if err != nil {
		return
	}
	for i := range d.Hits {
		h := &d.Hits[i]
		if h.Source.Archive == "" || h.shared && !h.here {
			continue
		}
		if e, err := archives.Get(ctx, h.Source.Archive); err == nil {
			h.Title, h.Project, h.LastUsed = workspace.ArchivedTitle(e), e.Project, wording.StampText(e.SourceModTime)
		}
	}
}

// NameProjects says what people call the agents of hits, as far as this host knows them.
func (d *Document) NameProjects(names selection.Projects) {
	for i := range d.Hits {
		if h := &d.Hits[i]; h.here || !h.shared {
			h.ProjectName = names.Of(h.Runtime, h.Agent)
		}
	}
}

// Link adds the addresses of the lines whose archives have pages.
func (d *Document) Link(pages PageLinks) {
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

// relocate lets the sources name where they are now.
func (d *Document) relocate(now func(audit.RecallSource) string) {
	for i := range d.Hits {
		h := &d.Hits[i]
		h.Source.Path = now(h.Source)
		for _, around := range [][]recallNeighbor{h.Before, h.After} {
			for k := range around {
				around[k].Source.Path = now(around[k].Source)
			}
		}
	}
	for i := range d.Work {
		for _, x := range d.Work[i].all() {
			x.Source.Path = now(x.Source)
		}
	}
}

// sourcePath tells where a source is now, if it was moved, or if its archive is read in
// the file of a later one by now.
func sourcePath(ctx context.Context, run *workspace.Run) func(audit.RecallSource) string {
	moves := run.Moves()
	return func(s audit.RecallSource) string {
		path := moves.Path(s.Path)
		if s.Archive == "" || workspace.Exists(path) {
			return path
		}
		archives, err := run.OpenArchive()
		if err != nil {
			return path
		}
		if e, err := archives.Get(ctx, s.Archive); err == nil {
			return e.Path
		}
		return path
	}
}

func (o *Options) query(now time.Time) (memory.Query, error) {
	since, err := audit.ParseTime(o.Since, now)
	if err != nil {
		return memory.Query{}, failure.Usage("write 30d, 12h, 2026-03-01 or 2026-03-01T12:00:00Z", "--since: %w", err)
	}
	until, err := audit.ParseTime(o.Until, now)
	if err != nil {
		return memory.Query{}, failure.Usage("write 30d, 12h, 2026-03-01 or 2026-03-01T12:00:00Z", "--until: %w", err)
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

// addFacts says of those hits that are facts what is known of them.
func (d *Document) addFacts(ctx context.Context, store *memory.Store) error {
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
			d.Tell("what is known of fact " + f.ID + " is damaged and not shown; sessctl memory verify says more")
			continue
		}
		for i := range d.Hits {
			if d.Hits[i].ID == f.ID {
				row := NewFactRow(f)
				d.Hits[i].Fact = &recallFact{Kind: row.Kind, Confidence: row.Confidence, Quote: row.Quote, SupersededBy: row.SupersededBy}
			}
		}
	}
	return nil
}

// Tell adds to the notice.
func (d *Document) Tell(notice string) {
	d.Notice = strings.TrimPrefix(d.Notice+"; "+notice, "; ")
}

// Document is `recall --json` (docs/json.md).
type Document struct {
	Schema int       `json:"schema"`
	Quoted string    `json:"quoted"` // session.RecallStamp
	Query  string    `json:"query"`
	Rank   string    `json:"rank"`
	Notice string    `json:"notice"`
	Fit    float64   `json:"fit"`             // of the best that was found, also if it is no hit
	State  *Standing `json:"state,omitempty"` // of a question about where work stands
	Hits   []Hit     `json:"hits"`
	Work   []workHit `json:"work"` // what was done, if that is asked for; then there are no hits

	Hosts []selection.HostAnswer `json:"hosts,omitempty"` // of --host
}

// Answers reports whether there is anything to print.
func (d *Document) Answers() bool { return len(d.Hits) > 0 || d.State != nil }

// Hit is one answer of recall, as JSON.
type Hit struct {
	Host        string  `json:"host,omitempty"` // with --host
	ID          string  `json:"id"`
	Score       float64 `json:"score"`
	Relevance   float64 `json:"relevance"`
	Fit         float64 `json:"fit"`
	Importance  float64 `json:"importance"`
	Category    string  `json:"category"`
	Runtime     string  `json:"runtime"`
	Agent       string  `json:"agent"`
	Session     string  `json:"session"`
	Title       string  `json:"title"`        // what its session was called when it was archived, or ""
	Project     string  `json:"project"`      // the directory that its agent worked in, or ""
	ProjectName string  `json:"project_name"` // what people call the agent, see selection.ProjectNames
	LastUsed    string  `json:"last_used"`    // RFC 3339, UTC, or ""
	// PromptsOnly says that of its session only what was typed is left.
	PromptsOnly bool               `json:"prompts_only,omitempty"`
	CreatedAt   string             `json:"created_at"` // RFC 3339, UTC
	Branch      string             `json:"branch"`
	Duplicates  int                `json:"duplicates"` // others with the same text, or nearly so beside it, and a summary that says no more
	Text        string             `json:"text"`
	Matched     []string           `json:"matched"` // words of text that the query has too, each once
	Source      audit.RecallSource `json:"source"`
	Fact        *recallFact        `json:"fact"`   // of facts, else null
	Stored      *audit.StoredBy    `json:"stored"` // of what an agent stored in its own words, else null
	// Before and After are of --neighbors, or what a short hit brings, in the order
	// of the session.
	Before []recallNeighbor `json:"before"`
	After  []recallNeighbor `json:"after"`

	shared bool // it is from the shared memory
	copied bool // archives show finds the copy of its archive, if there is one
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
	ID     string             `json:"id"`
	Text   string             `json:"text"`
	Source audit.RecallSource `json:"source"`
}

func newRecallDocument(query string, r memory.Result) Document {
	p := PassagePrinter{Terms: QueryTerms(query)}
	doc := Document{Schema: 1, Quoted: session.RecallStamp, Query: query, Rank: r.Rank, Notice: r.Notice, Fit: r.Fit, Hits: []Hit{}, Work: []workHit{}}
	for _, h := range r.Hits {
		doc.Hits = append(doc.Hits, Hit{
			ID: h.ID, Score: h.Score, Relevance: h.Relevance, Fit: h.Fit, Importance: h.Importance, Category: h.Category,
			Runtime: h.Runtime, Agent: h.Agent, Session: h.Session, PromptsOnly: selection.PromptsOnly(h.Session), Branch: h.Branch, Text: h.Text, Matched: p.matched(h.Text), Duplicates: h.Duplicates,
			CreatedAt: time.UnixMilli(h.CreatedAt).UTC().Format(time.RFC3339),
			Source:    audit.NewRecallSource(h.Record), Stored: audit.NewStoredBy(h.Record), Before: []recallNeighbor{}, After: []recallNeighbor{},
		})
	}
	return doc
}

// neighborsOf is how many pieces to show on each side of a hit: as many as was
// asked for, else one beside a hit that is too short to be understood alone.
func (o *Options) neighborsOf(h memory.Hit) int {
	if o.Beside && len(h.Text) <= memory.ShortBytes {
		return max(o.Neighbors, 1)
	}
	return o.Neighbors
}

// addNeighbors adds to each hit what came before and after it, as many pieces as
// count says. What is shown already is not shown again.
func (d *Document) addNeighbors(ctx context.Context, store *memory.Store, r memory.Result, count func(memory.Hit) int) error {
	shown := map[string]bool{}
	for _, h := range d.Hits {
		shown[h.ID] = true
	}
	add := func(list []recallNeighbor, records []memory.Record) []recallNeighbor {
		for _, x := range records {
			if !shown[x.ID] {
				shown[x.ID] = true
				list = append(list, recallNeighbor{x.ID, x.Text, audit.NewRecallSource(x)})
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
		d.Tell(fmt.Sprintf("%s beside the hits damaged and left out; sessctl memory verify says more", wording.Plural(damaged, "record")))
	}
	return nil
}

// NothingFound says how near the best was to what was asked.
func NothingFound(doc Document) workspace.Note {
	query := session.CutText(doc.Query, MostComplaint, " …")
	if doc.Fit == 0 {
		return workspace.Note{Message: fmt.Sprintf("nothing found that fits %q", query)}
	}
	return workspace.Note{Message: fmt.Sprintf("nothing found that fits %q: the best fits %.2f of 1", query, doc.Fit), Hint: "--min-score 0 shows it"}
}

// Origin says where a hit can be read.
func (h Hit) Origin() string {
	from := source(h.Source)
	if h.Stored != nil {
		from = Line(h.Stored)
	}
	switch {
	case h.here:
		return from
	case h.copied && h.Source.Archive != "" && IsHostName(h.Host):
		return from + " --on " + hooks.QuoteWord(h.Host)
	case h.Source.Archive != "":
		return OnHost(wording.Visible(h.Host), from)
	case h.Host != "":
		return from + " on " + wording.Visible(h.Host)
	}
	return from
}

// titleCells is how wide the title of a hit's session is, in columns of the terminal.
const titleCells = 60

// UncommonCategory is the category of a hit for a person, "" for that of nearly all.
func (h Hit) UncommonCategory() string {
	if h.Category == compact.CategoryHistory {
		return ""
	}
	return h.Category
}

// Heading says in short whose a hit is and where it stands.
func (h Hit) Heading() string {
	text := fmt.Sprintf("%s  %s  fit %.2f", wording.DayOf(h.CreatedAt), cmp.Or(h.Agent, "?"), h.Fit)
	if category := h.UncommonCategory(); category != "" {
		text += "  " + category
	}
	if h.Source.Archive != "" {
		text += fmt.Sprintf("  line %d", h.Source.FirstLine)
	}
	return text
}

// BranchMark says of what stands elsewhere than in the conversation where it stands.
func BranchMark(branch string) string {
	switch branch {
	case session.Abandoned.String():
		return "  abandoned branch"
	case memory.BranchCarried:
		return "  carried over"
	}
	return ""
}

// HitLine says whose a hit is.
func HitLine(h Hit) string {
	line := wording.Visible(cmp.Or(h.ProjectName, h.Agent, "?")) + "  " + wording.DayOf(h.CreatedAt)
	if h.Category != "" {
		line += "  " + wording.Visible(h.Category)
	}
	line += fmt.Sprintf("  fit %.2f  %s session %s", h.Fit, wording.Visible(h.Runtime), wording.Visible(cmp.Or(h.Session, "not known")))
	if h.Title != "" {
		line += "  \"" + wording.FirstLine(h.Title, titleCells) + "\""
	}
	line += BranchMark(h.Branch)
	if h.PromptsOnly {
		line += "  prompts only"
	}
	if h.shared {
		line += "  on " + wording.Visible(h.Host)
	}
	if h.Duplicates > 0 {
		line += fmt.Sprintf("  and %d the same", h.Duplicates)
	}
	return line
}

func source(s audit.RecallSource) string {
	if s.Archive == "" {
		if s.Path == "" {
			return "not archived"
		}
		return fmt.Sprintf("line %d of %s (not archived)", s.FirstLine, wording.Visible(s.Path))
	}
	return fmt.Sprintf("sessctl archives show %s --lines %d-%d", wording.Visible(s.Archive), s.FirstLine, s.LastLine)
}

// Quoted puts what sessions said between two lines that tell a model so. A person at a
// terminal sees it.
func Quoted(text string, terminal bool) string {
	if terminal {
		return text
	}
	return session.RecallBegin + "\n\n" + text + session.RecallEnd + "\n"
}

// Indent puts spaces before each line of a text.
func Indent(text string) string {
	return "   | " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n   | ")
}
