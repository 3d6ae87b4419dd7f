package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/rank"
	"github.com/sessctl/sessctl/pkg/memory/words"
)

// WorkQuery asks what was done. One of File, Command, Error and Text is set; the
// rest narrows it, and what is empty matches everything.
type WorkQuery struct {
	File    string // what was done to this file: its path, the end of it, or words of its name
	Command string // runs of this command
	Error   string // where this error appeared, and what made it go away
	Text    string // any question

	Agent            agentset.Set
	Runtime, Session string
	Since, Until     int64 // epoch milliseconds, Until not included; 0 = open
	Limit            int   // hits, 5 if 0
}

// WorkHit is something that was done.
type WorkHit struct {
	Record
	Fit   float64 // 0 to 1: how well it answers the question
	Times int     // how often the same was done: a hit of --command is its latest run
	// Failures are those of Times that failed.
	Failures int
	After    *Aftermath // of a WorkQuery.Error, else nil
}

// WorkResult is what Work found.
type WorkResult struct {
	Hits    []WorkHit
	Damaged int // actions that may fit, are not what was stored, and are left out
}

// ErrNoQuestion is returned by Work if nothing, or more than one thing, is asked.
var ErrNoQuestion = errors.New("ask for a file, a command, an error or a text")

// Work finds what was done, best first: actions whose file, command or error
// fits a question as well are in the order of their time, the newest first. Names
// need not be whole: "auth middleware" finds internal/http/authMiddleware.ts.
func (s asking) Work(ctx context.Context, q WorkQuery) (r WorkResult, err error) {
	ask, err := q.asked()
	if err != nil {
		return r, err
	}
	has, err := hasActions(ctx, s.db)
	if err != nil || !has {
		return r, err
	}
	q.Limit = cmp.Or(max(q.Limit, 0), usualLimit)
	w := &workSearch{store: s.connection, query: q, ask: ask, folded: map[foldKey]int{}, done: map[deed]doer{}}
	if err := w.run(ctx); err != nil {
		return r, err
	}
	r.Hits, r.Damaged = w.hits, w.damaged
	return r, nil
}

// usualLimit is how many hits are wanted if nothing is said.
const usualLimit = 5

// workAsk is a kind of question.
type workAsk struct {
	text  string
	sorts []string // of texts that may answer it
	where string   // the condition under which an action a has a text; %s is the list of texts
	least float64  // share of the question's words that a text must have
	fit   func(n *rank.Named, share float64, text string) float64
	fold  func(x *storedAction) foldKey
}

// foldKey is what actions have in common that are one hit.
type foldKey struct {
	subject int64
	session string
	kind    string
	row     int64 // of an action that is a hit by itself, or of what ended an episode
}

func (q WorkQuery) asked() (ask workAsk, err error) {
	asks := []workAsk{
		{text: rank.WithoutPlace(q.File), sorts: []string{sortPath}, least: rank.LeastNames, fit: rank.FileFit, fold: foldReads,
			where: "(a.subject IN %[1]s AND a.kind NOT IN ('command', 'search', 'fetch') OR a.kind='search' AND a.place IN %[1]s)"},
		{text: q.Command, sorts: []string{sortCommand}, least: rank.LeastNames, fit: rank.CommandFit, fold: foldSubjects, where: "a.kind='command' AND a.subject IN %[1]s"},
		{text: q.Error, sorts: []string{sortError}, least: rank.LeastErrors, fit: rank.ErrorFit, where: "a.errors IN %[1]s"},
		{text: q.Text, least: rank.LeastFit, fit: rank.WordFit, fold: foldSubjects, where: "(a.subject IN %[1]s OR a.errors IN %[1]s)"},
	}
	asks = slices.DeleteFunc(asks, func(a workAsk) bool { return strings.TrimSpace(a.text) == "" })
	if len(asks) != 1 {
		return ask, ErrNoQuestion
	}
	return asks[0], nil
}

// foldReads makes one hit of how often a session read or searched a file.
// Changes are hits by themselves.
func foldReads(x *storedAction) foldKey {
	if x.Action.Kind == "read" || x.Action.Kind == "search" {
		return foldKey{subject: x.subject, session: x.Session, kind: x.Action.Kind}
	}
	return foldKey{row: x.row}
}

// foldSubjects makes one hit of how often the same was done.
func foldSubjects(x *storedAction) foldKey { return foldKey{subject: x.subject, kind: x.Action.Kind} }

// workSearch is one question on its way.
type workSearch struct {
	store *connection
	query WorkQuery
	ask   workAsk

	hits    []WorkHit
	folded  map[foldKey]int // index of the hit
	done    map[deed]doer
	damaged int
}

// Bounds of a search: how many texts are looked at closely, and how many of the
// actions that have a text of the same fit.
const (
	mostTexts   = 2000
	mostActions = 4000
)

// run asks for the actions of the texts that fit best, then for those of the
// next, until there are enough.
func (w *workSearch) run(ctx context.Context) error {
	texts, err := w.texts(ctx)
	if err != nil {
		return err
	}
	for len(texts) > 0 && len(w.hits) < w.query.Limit {
		n := slices.IndexFunc(texts, func(t fittingText) bool { return t.fit < texts[0].fit })
		if n < 0 {
			n = len(texts)
		}
		if err := w.take(ctx, texts[:n]); err != nil {
			return err
		}
		texts = texts[n:]
	}
	w.hits = w.hits[:min(len(w.hits), w.query.Limit)]
	return nil
}

// take adds the hits of texts that fit as well as each other, newest first.
func (w *workSearch) take(ctx context.Context, texts []fittingText) error {
	rows := make([]int64, len(texts))
	for i, t := range texts {
		rows[i] = t.row
	}
	condition, args := w.query.filter()
	list, err := readActions(ctx, w.store.db, "WHERE "+fmt.Sprintf(w.ask.where, database.List(rows))+" AND "+condition+
		" ORDER BY a.created_at DESC, s.branch='"+BranchCarried+"', a.first_line DESC, a.action DESC LIMIT ?", append(args, mostActions)...)
	if err != nil {
		return err
	}
	for i := range list {
		x := &list[i]
		if !x.sound() {
			w.damaged++
			continue
		}
		if err := w.add(ctx, x, texts[0].fit); err != nil {
			return err
		}
	}
	return nil
}

// add adds an action to the hits, or to one of them that says the same.
func (w *workSearch) add(ctx context.Context, x *storedAction, fit float64) error {
	hit := WorkHit{Record: x.Record, Fit: fit, Times: 1}
	if x.Action.Failed {
		hit.Failures = 1
	}
	var key foldKey
	by, known := w.done[deedOf(x)]
	copied := known && x.Branch == BranchCarried && by.session != x.Session
	if w.ask.fold != nil {
		key = w.ask.fold(x)
	} else {
		if len(w.hits) >= w.query.Limit+foldedEpisodes {
			return nil
		}
		after, end, err := asking{w.store}.aftermath(ctx, x)
		if err != nil {
			return err
		}
		hit.After, key = after, foldKey{subject: x.subject, session: x.Session, kind: x.Action.Kind, row: end}
	}
	if copied {
		w.follow(&w.hits[by.hit], hit)
		return nil
	}
	i, known := w.folded[key]
	if known {
		w.fold(&w.hits[i], hit)
	} else {
		i = len(w.hits)
		w.folded[key], w.hits = i, append(w.hits, hit)
	}
	w.done[deedOf(x)] = doer{x.Session, i}
	return nil
}

// deed is what was done at a time, whatever log tells it.
type deed struct {
	kind          string
	subject, time int64
}

func deedOf(x *storedAction) deed { return deed{x.Action.Kind, x.subject, x.CreatedAt} }

// doer is the session that did something, and its hit.
type doer struct {
	session string
	hit     int
}

// follow takes from the copy of an action, in a session that went on with it, how it
// went well there.
func (*workSearch) follow(hit *WorkHit, copied WorkHit) {
	if hit.After != nil && hit.After.Success == nil && copied.After != nil && copied.After.Success != nil {
		hit.After = copied.After
	}
}

// foldedEpisodes is how many failures beyond the limit are looked at: they may
// belong to an episode that is known.
const foldedEpisodes = 20

// fold adds another action of the same hit. Actions come newest first: an episode
// is told from its beginning.
func (w *workSearch) fold(hit *WorkHit, older WorkHit) {
	times, failures := hit.Times+older.Times, hit.Failures+older.Failures
	if older.After != nil {
		older.Fit = max(hit.Fit, older.Fit)
		*hit = older
	}
	hit.Times, hit.Failures = times, failures
}

// filter is the condition of the query over actions a of sources s.
func (q WorkQuery) filter() (string, []any) {
	return Query{Agent: q.Agent, Runtime: q.Runtime, Session: q.Session, Since: q.Since, Until: q.Until}.workFilter()
}

// workFilter is filter over actions a of sources s.
func (q Query) workFilter() (string, []any) {
	condition, args := "1=1", []any(nil)
	if of, list := whose(q.Agent, "s."); of != "" {
		condition, args = of, list
	}
	for _, f := range []struct{ column, value string }{{"s.runtime", q.Runtime}, {"s.session", q.Session}} {
		if f.value != "" {
			condition, args = condition+" AND "+f.column+"=?", append(args, f.value)
		}
	}
	if q.Since != 0 {
		condition, args = condition+" AND a.created_at>=?", append(args, q.Since)
	}
	if q.Until != 0 {
		condition, args = condition+" AND a.created_at<?", append(args, q.Until)
	}
	return condition, args
}

// fittingText is a text that fits a question.
type fittingText struct {
	row int64
	fit float64
}

// texts are those that fit the question, best first.
func (w *workSearch) texts(ctx context.Context) ([]fittingText, error) {
	m := &rank.Named{Question: w.ask.text, WordsOf: workWordsOf}
	shares, err := w.match(ctx, m)
	if err != nil || len(shares) == 0 {
		return nil, err
	}
	var list []fittingText
	for row, share := range shares {
		if share = m.Share(share); share >= w.ask.least-1e-9 {
			list = append(list, fittingText{row, share})
		}
	}
	best := func(x, y fittingText) int { return cmp.Or(cmp.Compare(y.fit, x.fit), cmp.Compare(y.row, x.row)) }
	slices.SortFunc(list, best)
	list = list[:min(len(list), mostTexts)]
	if err := w.judge(ctx, m, list); err != nil {
		return nil, err
	}
	slices.SortFunc(list, best)
	return worthwhile(list), nil
}

// worthwhile leaves out what fits much less than the best.
func worthwhile(list []fittingText) []fittingText {
	if len(list) == 0 {
		return nil
	}
	least := rank.LeastOf(list[0].fit)
	n := slices.IndexFunc(list, func(t fittingText) bool { return t.fit < least })
	if n < 0 {
		return list
	}
	return list[:n]
}

// match finds how much of the question's words the texts have, by row. Texts of
// which the filters let no action through are left out.
func (w *workSearch) match(ctx context.Context, m *rank.Named) (map[int64]float64, error) {
	var all float64
	if err := w.store.db.QueryRowContext(ctx, "SELECT count(*) FROM work_texts").Scan(&all); err != nil {
		return nil, fmt.Errorf("count texts of actions: %w", database.Classify(err))
	}
	index, err := workWords().NewIndex(ctx, w.store.reads())
	if err != nil {
		return nil, fmt.Errorf("search the work: %w", err)
	}
	shares := map[int64]float64{}
	for _, text := range workQuestion(m.Question) {
		whole, begun, err := w.having(ctx, index, text)
		if err != nil {
			return nil, err
		}
		weight := m.Add(text, all, float64(max(len(whole), len(begun))))
		seen := make(map[int64]bool, len(whole))
		for _, row := range whole {
			shares[row] += weight
			seen[row] = true
		}
		for _, row := range begun {
			if !seen[row] {
				shares[row] += rank.BeginningShare * weight
			}
		}
	}
	return shares, nil
}

// having lists the texts that have a word, and those that have one which begins with
// it.
func (w *workSearch) having(ctx context.Context, index *words.Index, text string) (whole, begun []int64, err error) {
	if whole, err = index.Having(ctx, text); err == nil {
		whole, err = w.passing(ctx, whole)
	}
	if err == nil && len(text) >= rank.LeastBeginning {
		if begun, err = index.BeginningWith(ctx, text); err == nil {
			begun, err = w.passing(ctx, begun)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("search the work: %w", err)
	}
	return whole, begun, nil
}

// passing are those of some texts that are of the sorts that are asked for, and have
// an action that the filters let through.
func (w *workSearch) passing(ctx context.Context, texts []int64) ([]int64, error) {
	query, args := "SELECT t.text FROM work_texts t WHERE t.text IN "+database.List(texts), []any(nil)
	if len(w.ask.sorts) > 0 {
		query, args = query+" AND t.sort IN ("+database.Marks(w.ask.sorts)+")", append(args, database.Args(w.ask.sorts)...)
	}
	if condition, more := w.query.filter(); len(more) > 0 {
		query += " AND EXISTS (SELECT 1 FROM actions a JOIN sources s ON s.source=a.source WHERE " + fmt.Sprintf(w.ask.where, "(t.text)") + " AND " + condition + ")"
		args = append(args, more...)
	}
	if len(args) == 0 {
		return texts, nil
	}
	return database.Numbers(ctx, w.store.reads(), query, args...)
}

// workQuestion are the words that a question is asked by: the parts of its
// names, each once. Words that say nothing are left out if others are left.
func workQuestion(text string) []string {
	var said, all []string
	for _, word := range workNames(text) {
		parts := strings.Fields(string(embed.AppendNameParts(nil, word)))
		all = append(all, parts...)
		if len(embed.AppendTerms(nil, word)) > 0 {
			said = append(said, parts...)
		}
	}
	if len(said) == 0 {
		said = all
	}
	var list []string
	for _, part := range said {
		if !slices.Contains(list, part) && len(list) < rank.MaxTerms {
			list = append(list, part)
		}
	}
	return list
}

// judge replaces the shares of texts by how well they fit, in hundredths: what
// fits as well is told apart by its time.
func (w *workSearch) judge(ctx context.Context, m *rank.Named, list []fittingText) error {
	at, rows := map[int64]int{}, make([]int64, len(list))
	for i, t := range list {
		at[t.row], rows[i] = i, t.row
	}
	return database.Each(ctx, database.For(w.store.db, "read texts of actions"), func(scan database.Scan) error {
		var row int64
		var body keptText
		if err := scan(&row, &body); err != nil {
			return err
		}
		t := &list[at[row]]
		t.fit = math.Round(100*w.ask.fit(m, t.fit, string(body))) / 100
		return nil
	}, "SELECT text, body FROM work_texts WHERE text IN "+database.List(rows))
}
