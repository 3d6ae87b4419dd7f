package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/rank"
	"github.com/sessctl/sessctl/pkg/memory/vectors"
)

// The ways to rank.
const (
	RankHybrid = rank.Hybrid // words and meaning, then importance
	RankText   = rank.Text   // words only
	RankVector = rank.Vector // meaning only
	RankSeed   = rank.Seed   // 0.7 * cosine + 0.3 * importance on raw cosines, for comparison (docs/dev/decisions.md D9)
)

// What who asks must know of the ranking (see rank/weights.go).
const (
	// LeastFit is the fit below which the best hit of a question does not answer it.
	LeastFit = rank.LeastFit
	// ShortBytes is how long a record is, in bytes, that is understood from those
	// around it.
	ShortBytes = rank.ShortBytes
)

// Query says what to find. Empty filters match everything.
type Query struct {
	Text         string
	Agent        agentset.Set
	Runtime      string
	Session      string
	Host         string // that remembers it: of a shared memory only
	Category     string
	Since, Until int64   // epoch milliseconds, Until not included; 0 = open
	Limit        int     // hits, 5 if 0
	MinScore     float64 // fit of a hit; those below are left out
	LeastFit     float64 // fit of the best hit: below it nothing is found
	Rank         string  // RankHybrid if empty
	Kind         string  // of facts only: no other record has one
	Superseded   bool    // also facts that newer ones have superseded
	// Now is when it is asked: "last week" counts from it, and days begin as in
	// its zone. Zero leaves such words alone, and days begin in UTC.
	Now time.Time

	facts bool // the memory has the tables of facts
}

// Hit is a record that was found.
type Hit struct {
	Record
	Host       string  // where it was remembered; "" in the memory of this host
	Score      float64 // 0.7 * relevance + 0.3 * importance; of a summary under RankHybrid 0.3 * 0.4
	Relevance  float64 // 0 to 1 within the pool; the raw cosine under RankSeed
	Fit        float64 // 0 to 1, whatever else is in the pool; see LeastFit
	Duplicates int     // other records found with the same text, or nearly so beside it, and a summary that says no more
}

// Result is what Recall found.
type Result struct {
	Hits   []Hit
	Rank   string  // how it was ranked: RankText if the vectors could not be asked
	Notice string  // what a person should know about the ranking, or ""
	Fit    float64 // of the best that was found, even if it is no hit because of it
}

// Recall finds the records that answer a query, best first. A record that
// holds an identifier of the query word for word (an id, a path, an error
// code) is among the first three even if its score is lower, save under
// RankVector and RankSeed.
//
// Without an embedder, or while nothing has a vector, the words alone decide
// and Notice says so. ErrOtherModel is returned by RankVector and RankSeed
// when there are vectors, but of another model only; RankHybrid then goes by
// words, with a notice. An unknown Rank is an error.
func (s asking) Recall(ctx context.Context, q Query, e embed.QueryEmbedder, m embed.Model) (Result, error) {
	known, err := s.embedQuery(ctx, q, e, m)
	if err != nil {
		return Result{}, err
	}
	var result Result
	err = s.asOfNow(ctx, func(view *connection) (err error) {
		result, err = asking{view}.recallOnce(ctx, q, e, m, known)
		return err
	})
	return result, err
}

// embeddedQuery is what an embedder made of a query: neither vector nor error if
// it was not asked.
type embeddedQuery struct {
	vector []float32
	err    error
}

// embedQuery asks the embedder before the memory is held as it is at one moment:
// a server may take minutes, in which nobody could wipe what was forgotten. Where
// there is nothing to compare with, nobody is asked.
func (s asking) embedQuery(ctx context.Context, q Query, e embed.QueryEmbedder, m embed.Model) (v embeddedQuery, err error) {
	if e == nil || q.Rank == RankText {
		return v, nil
	}
	if some, err := vectors.Any(ctx, s.db, m); err != nil || !some {
		return v, err
	}
	v.vector, v.err = e.EmbedQuery(ctx, q.Text)
	return v, ctx.Err()
}

func (s asking) recallOnce(ctx context.Context, q Query, e embed.QueryEmbedder, m embed.Model, known embeddedQuery) (Result, error) {
	x, err := s.newIndex(ctx, m)
	if err != nil {
		return Result{}, err
	}
	r, err := newRecall(x, q, e, m)
	if err != nil {
		return Result{}, err
	}
	r.known = known
	return r.answer(ctx)
}

// newRecall begins to answer a query.
func newRecall(index Index, q Query, e embed.QueryEmbedder, m embed.Model) (*recall, error) {
	r := &recall{index: index, query: q.withDefaults(), model: m, embedder: e}
	r.closely, r.words = r.query.Rank == RankHybrid, r.query.Text
	if !slices.Contains([]string{RankHybrid, RankText, RankVector, RankSeed}, r.query.Rank) {
		return nil, fmt.Errorf("unknown rank %q", r.query.Rank)
	}
	return r, nil
}

// answer finds the hits. Names that nobody said are taken for others at once, other
// words only if nothing fits as it was typed.
func (r *recall) answer(ctx context.Context) (Result, error) {
	if _, err := r.correctSpelling(ctx, rank.IsIdentifier); err != nil {
		return Result{Rank: r.query.Rank}, err
	}
	result, err := r.find(ctx)
	if err != nil || len(result.Hits) > 0 || r.query.LeastFit == 0 {
		return result, err
	}
	corrected, err := r.correctSpelling(ctx, func(string) bool { return true })
	if err != nil || !corrected {
		return result, err
	}
	return r.find(ctx)
}

// find finds the hits of the query as it is.
func (r *recall) find(ctx context.Context) (Result, error) {
	if err := r.prepareVectors(ctx); err != nil {
		return Result{Rank: r.query.Rank}, err
	}
	if err := r.gather(ctx); err != nil {
		return Result{Rank: r.query.Rank}, err
	}
	hits, err := r.ranked(ctx)
	return Result{Hits: hits, Rank: r.query.Rank, Notice: r.notices(), Fit: r.bestFit}, err
}

// ranked makes hits of the pool, best first; none if not even the best fits.
func (r *recall) ranked(ctx context.Context) ([]Hit, error) {
	q, err := r.question(ctx)
	if err != nil {
		return nil, err
	}
	list, best, err := rank.Rank(ctx, q, r.loaded())
	if err != nil {
		return nil, err
	}
	r.bestFit = max(r.bestFit, best)
	if r.bestFit < r.query.LeastFit {
		return nil, nil
	}
	hits := make([]Hit, len(list))
	for i, x := range list {
		hits[i] = r.pool[x.Key].hit()
	}
	return hits, nil
}

// question is the query as the pool is ranked for it.
func (r *recall) question(ctx context.Context) (rank.Question, error) {
	q := rank.Question{
		Way: r.query.Rank, Closely: r.closely, Text: r.query.Text, Words: r.words, Names: r.names, Periods: r.periods,
		Limit: r.query.Limit, MinScore: r.query.MinScore, Vectors: r.vector != nil, Farthest: 1,
	}
	if r.vector != nil {
		q.Meanings, _ = r.embedder.(rank.Meanings)
	}
	for _, c := range r.pool {
		if c.HasVector {
			q.Farthest = min(q.Farthest, c.Cosine)
		}
	}
	var err error
	q.Frequencies, err = r.frequencies(ctx)
	return q, err
}

// frequencies counts the records with the words of the query.
func (r *recall) frequencies(ctx context.Context) (f rank.Frequencies, err error) {
	asked := terms(r.words)
	counts, err := r.index.Count(ctx, asked)
	if err != nil {
		return f, err
	}
	f.All = float64(counts.Records)
	for i, term := range asked {
		f.Words = append(f.Words, rank.Frequency{Text: term, Records: float64(counts.With[i])})
	}
	return f, nil
}

// loaded are the candidates that are still there; one may have been forgotten a
// moment ago.
func (r *recall) loaded() (list []*rank.Candidate) {
	for _, key := range slices.Sorted(maps.Keys(r.pool)) {
		if c := r.pool[key]; c.loaded {
			list = append(list, &c.Candidate)
		}
	}
	return list
}

func (q Query) withDefaults() Query {
	q.Limit = cmp.Or(max(q.Limit, 0), 5)
	q.Rank = cmp.Or(q.Rank, RankHybrid)
	return q
}

// recall is one query on its way.
type recall struct {
	index     Index
	query     Query
	notice    string
	corrected []string // words of the query that were taken for others

	embedder embed.QueryEmbedder
	known    embeddedQuery // what the embedder has said already
	words    string        // of the query that full text looks for
	closely  bool          // RankHybrid was asked for, whatever it became

	vector []float32 // of the query, unit length, if the vectors are asked
	model  embed.Model

	names   []string             // identifiers in the query
	periods []rank.Period        // times that it names; only RankHybrid asks for them
	pool    map[int64]*candidate // by key
	bestFit float64              // of those that were judged
}

// candidate is a record that was proposed: as it was read, and as it is ranked.
type candidate struct {
	rank.Candidate
	record Record
	loaded bool
}

// load takes in what was read of the record.
func (c *candidate) load(x Found, names []string) {
	c.record, c.loaded = x.Record, true
	c.ID, c.Text, c.Category, c.Summary = x.ID, x.Text, x.Category, x.Category == CategorySummary
	c.Host, c.Runtime, c.Agent, c.Session, c.Position = x.Host, x.Runtime, x.Agent, x.Session, x.Position
	c.CreatedAt, c.Importance, c.OwnWords, c.Carried = x.CreatedAt, x.Importance, x.Record.OwnWords(), x.Branch == BranchCarried
	c.Holds = rank.Holds(x.Text, names)
}

// hit is the record as it was ranked.
func (c *candidate) hit() Hit {
	h := Hit{Record: c.record, Host: c.Host, Score: c.Score, Relevance: c.Relevance, Fit: c.Fit, Duplicates: c.Duplicates}
	h.Importance = c.Importance
	return h
}

func (r *recall) at(record int64) *candidate {
	c := r.pool[record]
	if c == nil {
		c = &candidate{}
		c.Key = record
		r.pool[record] = c
	}
	return c
}

// gather fills the pool. If most of what was proposed has the same text, each
// half is asked for more, so that copies do not crowd out the rest.
func (r *recall) gather(ctx context.Context) error {
	need := max(rank.PoolSize, r.query.Limit)
	if r.byWords() {
		names := rank.Identifiers(r.query.Text)
		r.names = names[:min(len(names), rank.PinnedPlaces)]
	}
	if r.closely {
		if err := r.readDates(ctx); err != nil {
			return err
		}
	}
	for n := max(rank.Proposed, 2*r.query.Limit); ; n *= 4 {
		r.pool = map[int64]*candidate{}
		more, err := r.propose(ctx, n)
		if err != nil {
			return err
		}
		if err := r.load(ctx); err != nil {
			return err
		}
		if !more || r.distinct() >= need || n >= rank.MostProposed {
			return r.complete(ctx)
		}
	}
}

// propose asks each half for n records. It reports whether there are more.
func (r *recall) propose(ctx context.Context, n int) (more bool, err error) {
	if r.vector != nil {
		if more, err = r.askVectors(ctx, n); err != nil {
			return false, err
		}
	}
	if !r.byWords() {
		return more, nil
	}
	moreWords, err := r.askWords(ctx, r.query, matchAny(r.words), n)
	if err != nil {
		return false, err
	}
	if err := r.askNames(ctx); err != nil {
		return false, err
	}
	return more || moreWords, r.askDates(ctx)
}

func (r *recall) byWords() bool {
	return r.query.Rank == RankHybrid || r.query.Rank == RankText
}

// distinct counts the different texts in the pool that are not an agent's own
// words: however many of those fit, the rest is looked for.
func (r *recall) distinct() int {
	texts := map[string]bool{}
	for _, c := range r.pool {
		if !c.OwnWords {
			texts[c.Text] = true
		}
	}
	return len(texts)
}

// askVectors proposes the records whose vectors are nearest.
func (r *recall) askVectors(ctx context.Context, n int) (more bool, err error) {
	found, err := r.index.Nearest(ctx, n)
	if err != nil {
		return false, fmt.Errorf("search the vectors: %w", err)
	}
	for _, x := range found {
		c := r.at(x.Key)
		c.Cosine, c.HasVector = x.Cosine, true
	}
	return len(found) == n, nil
}

// askWords proposes the records that match best.
func (r *recall) askWords(ctx context.Context, q Query, m Match, n int) (more bool, err error) {
	if m.IsEmpty() {
		return false, nil
	}
	keys, err := r.index.Words(ctx, q, m, n)
	for _, key := range keys {
		r.at(key)
	}
	return len(keys) == n, err
}

// askNames proposes records that may hold an identifier of the query word for
// word: one rare word among many common ones must not be outvoted.
func (r *recall) askNames(ctx context.Context) error {
	for _, name := range r.names {
		if _, err := r.askWords(ctx, r.query, matchName(name), rank.PoolSize); err != nil {
			return err
		}
	}
	return nil
}

// load reads the records of the pool.
func (r *recall) load(ctx context.Context) error {
	if len(r.pool) == 0 {
		return nil
	}
	found, err := r.index.Read(ctx, slices.Sorted(maps.Keys(r.pool)))
	for _, x := range found {
		r.at(x.Key).load(x, r.names)
	}
	return err
}

// complete gives each record of the pool the score of both halves, whichever
// proposed it.
func (r *recall) complete(ctx context.Context) error {
	if len(r.pool) == 0 {
		return nil
	}
	if r.byWords() {
		if err := r.completeText(ctx); err != nil {
			return err
		}
	}
	return r.completeCosines(ctx)
}

// completeText gives the records of the pool their BM25 score.
func (r *recall) completeText(ctx context.Context) error {
	words := matchAny(r.words)
	if words.IsEmpty() {
		return nil
	}
	scores, err := r.index.WordScores(ctx, words, slices.Sorted(maps.Keys(r.pool)))
	for key, score := range scores {
		r.at(key).BM25 = score
	}
	return err
}

// completeCosines gives records that the words proposed their cosine.
func (r *recall) completeCosines(ctx context.Context) error {
	if r.vector == nil {
		return nil
	}
	var missing []int64
	for key, c := range r.pool {
		if !c.HasVector {
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	cosines, err := r.index.Cosines(ctx, missing)
	for key, cosine := range cosines {
		c := r.at(key)
		c.Cosine, c.HasVector = cosine, true
	}
	return err
}

func (r *recall) goByWords(notice string) {
	r.query.Rank, r.notice = RankText, notice
}

func (r *recall) notices() string {
	list := slices.Concat([]string{r.notice}, r.corrected, r.index.Notices())
	return strings.TrimPrefix(strings.Join(list, "; "), "; ")
}

// filter is the SQL condition of the query's filters over records r.
func (q Query) filter() (string, []any) {
	condition, args := "1=1", []any(nil)
	add := func(on bool, sql string, value any) {
		if on {
			condition += " AND " + sql
			args = append(args, value)
		}
	}
	if of, list := whose(q.Agent, "r."); of != "" {
		condition, args = condition+" AND "+of, append(args, list...)
	}
	add(q.Runtime != "", "r.runtime=?", q.Runtime)
	add(q.Session != "", "r.session=?", q.Session)
	add(q.Category != "", "r.category=?", q.Category)
	add(q.Since != 0, "r.created_at>=?", q.Since)
	add(q.Until != 0, "r.created_at<?", q.Until)
	switch {
	case q.facts && q.Kind != "":
		add(true, "r.rowid IN (SELECT f.record FROM facts f WHERE f.kind=?)", q.Kind)
	case q.Kind != "":
		condition += " AND 0=1"
	}
	if q.facts && !q.Superseded {
		condition += " AND r.rowid NOT IN (SELECT f.record FROM facts f WHERE NOT " + live + ")"
	}
	return condition, args
}

// matchAny finds what has any of the terms of a text. It is empty if the text
// has none.
func matchAny(text string) Match { return Match{Any: terms(text)} }

// matchName finds texts that hold all parts of an identifier; those that hold
// it as one word come first.
func matchName(name string) Match {
	parts := terms(name)
	if len(parts) < 2 {
		return Match{Any: parts}
	}
	last := len(parts) - 1 // a compound follows its parts
	return Match{All: parts[:last], Any: []string{parts[0], parts[last]}}
}

// terms returns the different terms of a text, up to rank.MaxTerms.
func terms(text string) []string {
	var list []string
	seen := map[string]bool{}
	for _, term := range strings.Fields(string(embed.AppendTerms(nil, text))) {
		if !seen[term] && len(list) < rank.MaxTerms {
			seen[term] = true
			list = append(list, term)
		}
	}
	return list
}

// columns are read from records r and texts t.
const columns = "r.id, t.text, r.category, r.importance, r.created_at, r.runtime, r.agent, r.session, r.key, r.archive, r.archive_path, r.first_line, r.last_line, r.first_byte, r.end_byte, r.branch, r.position"

// fields are where columns of r are read to.
func (x *Record) fields() []any {
	return []any{&x.ID, (*keptText)(&x.Text), &x.Category, &x.Importance, &x.CreatedAt, &x.Runtime, &x.Agent, &x.Session, &x.Key,
		&x.Archive, &x.ArchivePath, &x.FirstLine, &x.LastLine, &x.FirstByte, &x.EndByte, &x.Branch, &x.Position}
}

// Neighborhood is what stands around a record in its session.
type Neighborhood struct {
	Before, After []Record
	Damaged       int // that are not what was stored, and are left out
}

// Neighbors returns the records that stand in the same session at most n
// places before and after x, in their order. A summary has none. Where a place
// was cut twice as the session grew, it is the record of x's archive, else the
// latest.
func (s asking) Neighbors(ctx context.Context, x Record, n int) (near Neighborhood, err error) {
	if n < 1 || x.Position < 0 {
		return near, nil
	}
	list, err := database.All(ctx, database.For(s.reads(), "read neighbours"), (*stored).fields, "SELECT "+recordColumns+` FROM records r JOIN texts t ON t.record=r.rowid
		WHERE r.agent=? AND r.runtime=? AND r.session=? AND r.category=? AND r.position BETWEEN max(?, 0) AND ? AND r.position<>?
		ORDER BY r.position, r.archive=? DESC, r.rowid DESC`,
		x.Agent, x.Runtime, x.Session, x.Category, x.Position-n, x.Position+n, x.Position, x.Archive)
	last := -1
	for _, r := range list {
		switch {
		case !r.sound():
			near.Damaged++
			continue
		case r.Position == last:
		case r.Position < x.Position:
			near.Before = append(near.Before, r.Record)
		default:
			near.After = append(near.After, r.Record)
		}
		last = r.Position
	}
	return near, err
}
