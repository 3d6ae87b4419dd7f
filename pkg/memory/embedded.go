package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/rank"
	"github.com/sessctl/sessctl/pkg/memory/vectors"
	"github.com/sessctl/sessctl/pkg/memory/words"
)

// embeddedIndex is the index of the database of a store.
type embeddedIndex struct {
	*vectors.Search
	store   *connection
	facts   bool         // the memory has the tables of facts
	words   *words.Index // nil until words are asked for
	unsound int          // records that were proposed and are not what was stored
}

func (s asking) newIndex(ctx context.Context, m embed.Model) (*embeddedIndex, error) {
	facts, err := s.hasFacts(ctx)
	return &embeddedIndex{Search: vectors.NewSearch(s.reads(), m), store: s.connection, facts: facts}, err
}

// filter is the SQL condition of a query over records r.
func (x *embeddedIndex) filter(q Query) (string, []any) {
	q.facts = x.facts
	return q.filter()
}

// HasVectors gives the search its scope.
func (x *embeddedIndex) HasVectors(ctx context.Context, q Query, _ embed.Model) (bool, error) {
	scope := vectors.Scope{Agent: q.oneName(), Unfiltered: q.isUnfiltered(), Narrow: q.isNarrow(), First: rank.Proposed}
	scope.Condition, scope.Args = x.filter(q)
	if x.facts && !q.Superseded {
		scope.Hidden = "SELECT f.record FROM facts f WHERE NOT " + live
	}
	if q.Rank == RankSeed {
		scope.Score = rank.SeedScore
	}
	return x.Within(ctx, scope)
}

// isUnfiltered reports whether there is no filter but the agent, and that for
// superseded facts.
func (q Query) isUnfiltered() bool {
	return q.Agent.Pairs() == nil && q == Query{Text: q.Text, Agent: q.Agent, Limit: q.Limit, MinScore: q.MinScore, LeastFit: q.LeastFit, Rank: q.Rank, Superseded: q.Superseded, Now: q.Now, facts: q.facts}
}

// isNarrow reports whether few records may pass.
func (q Query) isNarrow() bool {
	return q.Session != "" || q.Agent != "" || q.Since != 0 || q.Until != 0
}

// Models asks which models made the vectors of an agent, or of all.
func (x *embeddedIndex) Models(ctx context.Context, agent string, m embed.Model) (models Models, err error) {
	models.Others, models.Own, err = vectors.Models(ctx, x.store.reads(), agent, m)
	if err == nil && agent == "" {
		models.Without, err = vectors.AgentsWithout(ctx, x.store.reads(), m)
	}
	return models, err
}

// Words asks the index of words.
func (x *embeddedIndex) Words(ctx context.Context, q Query, m Match, n int) ([]int64, error) {
	condition, args := x.filter(q)
	if m.IsEmpty() {
		return x.keys(ctx, "SELECT r.rowid FROM records r WHERE "+condition+" ORDER BY r.created_at, r.rowid LIMIT ?", append(args, n)...)
	}
	return x.matching(ctx, m, n, condition, args)
}

// matching are the best n matches that meet a condition over records r.
func (x *embeddedIndex) matching(ctx context.Context, m Match, n int, condition string, args []any) ([]int64, error) {
	index, err := x.wordIndex(ctx)
	if err != nil {
		return nil, err
	}
	keys, err := index.Passed(ctx, m, n, func(rows []int64) ([]int64, error) {
		among := ""
		if rows != nil {
			among = "r.rowid IN " + database.List(rows) + " AND "
		}
		return database.Numbers(ctx, x.store.reads(), "SELECT r.rowid FROM records r WHERE "+among+condition, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("search the words: %w", err)
	}
	return keys, nil
}

// wordIndex reads the index of words once in a question.
func (x *embeddedIndex) wordIndex(ctx context.Context) (*words.Index, error) {
	if x.words == nil {
		index, err := recordWords().NewIndex(ctx, x.store.reads())
		if err != nil {
			return nil, fmt.Errorf("search the words: %w", err)
		}
		x.words = index
	}
	return x.words, nil
}

func (x *embeddedIndex) keys(ctx context.Context, query string, args ...any) ([]int64, error) {
	keys, err := database.Numbers(ctx, x.store.reads(), query, args...)
	if err != nil {
		return nil, fmt.Errorf("search the words: %w", err)
	}
	return keys, nil
}

// WordScores returns what Words has ranked by.
func (x *embeddedIndex) WordScores(ctx context.Context, m Match, keys []int64) (map[int64]float64, error) {
	index, err := x.wordIndex(ctx)
	if err != nil {
		return nil, err
	}
	scores, err := index.Score(ctx, m)
	if err != nil {
		return nil, fmt.Errorf("score the words: %w", err)
	}
	return index.ScoresOf(scores, keys), nil
}

// Read leaves out what is not what was stored: it says what nobody has said, or
// names a source that it is not from.
func (x *embeddedIndex) Read(ctx context.Context, keys []int64) (list []Found, err error) {
	x.unsound = 0
	err = database.Each(ctx, database.For(x.store.reads(), "read records"), func(scan database.Scan) error {
		var key int64
		var r stored
		if err := scan(append([]any{&key}, r.fields()...)...); err != nil {
			return err
		}
		if !r.sound() {
			x.unsound++
			return nil
		}
		list = append(list, Found{Key: key, Record: r.Record})
		return nil
	}, "SELECT r.rowid, "+recordColumns+" FROM records r JOIN texts t ON t.record=r.rowid WHERE r.rowid IN "+listed(database.Set(keys)))
	return list, err
}

// Count counts the records that have each term.
func (x *embeddedIndex) Count(ctx context.Context, terms []string) (Counts, error) {
	index, err := x.wordIndex(ctx)
	if err != nil {
		return Counts{}, err
	}
	c := Counts{Records: index.Records(), With: make([]int, len(terms))}
	for i, term := range terms {
		if c.With[i], err = index.CountWith(ctx, term); err != nil {
			return c, fmt.Errorf("count the records with a word: %w", err)
		}
	}
	return c, nil
}

// Span is when the oldest and the newest record were said.
func (x *embeddedIndex) Span(ctx context.Context) (first, last int64, err error) {
	err = x.store.reads().QueryRowContext(ctx, "SELECT coalesce(min(created_at), 0), coalesce(max(created_at), 0) FROM records").Scan(&first, &last)
	if err != nil {
		return 0, 0, fmt.Errorf("look when records were said: %w", database.Classify(err))
	}
	return first, last, nil
}

// Notices count what is damaged.
func (x *embeddedIndex) Notices() (list []string) {
	if n := x.Damaged(); n > 0 {
		list = append(list, fmt.Sprintf("%d vectors are lost or damaged, those records were found by words only; sessctl memory reindex --pending makes them again", n))
	}
	if x.unsound > 0 {
		list = append(list, fmt.Sprintf("damaged records that may fit were left out: %d; sessctl memory verify says more", x.unsound))
	}
	return list
}

// listed are the keys of a map as an SQL list.
func listed[V any](keys map[int64]V) string { return database.List(slices.Collect(maps.Keys(keys))) }
