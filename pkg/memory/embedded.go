package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/words"
)

// embeddedIndex is the index of the database of a store.
type embeddedIndex struct {
	store *connection
	facts bool // the memory has the tables of facts

	query  Query // that the vectors are compared for
	model  embed.Model
	vector []float32
	sweep  *sweep  // nil where vectors are listed first
	places []place // vectors that pass the filters, if they are listed
	rows   rowReader

	words   *words.Index // nil until words are asked for
	unsound int          // records that were proposed and are not what was stored
}

func (s asking) newIndex(ctx context.Context, m embed.Model) (*embeddedIndex, error) {
	facts, err := s.hasFacts(ctx)
	return &embeddedIndex{store: s.connection, facts: facts, model: m, rows: rowReader{q: s.reads(), dim: m.Dim}}, err
}

// filter is the SQL condition of a query over records r.
func (x *embeddedIndex) filter(q Query) (string, []any) {
	q.facts = x.facts
	return q.filter()
}

// HasVectors prepares a sweep, or lists the vectors.
func (x *embeddedIndex) HasVectors(ctx context.Context, q Query, _ embed.Model) (has bool, err error) {
	x.query = q
	x.query.facts = x.facts
	if x.sweep, err = x.newSweep(ctx); err == nil && x.sweep == nil {
		x.places, err = x.listPlaces(ctx)
	}
	return x.sweep != nil || len(x.places) > 0, err
}

// Models asks which models made the vectors of an agent, or of all.
func (x *embeddedIndex) Models(ctx context.Context, agent string, m embed.Model) (models Models, err error) {
	models.Others, models.Own, err = embeddings{x.store}.modelsOf(ctx, agent, m)
	if err == nil && agent == "" {
		models.Without, err = embeddings{x.store}.agentsWithout(ctx, m)
	}
	return models, err
}

// Compare sweeps. If that cannot be, the vectors are listed.
func (x *embeddedIndex) Compare(ctx context.Context, vector []float32) (bool, error) {
	x.vector = vector
	if x.sweep == nil {
		return true, nil
	}
	err := x.sweep.compare(ctx, vector)
	if errors.Is(err, errSweepMore) {
		return x.listInstead(ctx)
	}
	return true, err
}

// listInstead lists the vectors in place of a sweep.
func (x *embeddedIndex) listInstead(ctx context.Context) (has bool, err error) {
	x.sweep = nil
	x.places, err = x.listPlaces(ctx)
	return len(x.places) > 0, err
}

// Nearest asks the sweep, or the vectors that are listed.
func (x *embeddedIndex) Nearest(ctx context.Context, n int) ([]Scored, error) {
	x.rows.damaged = 0
	found, err := x.nearest(ctx, n)
	list := make([]Scored, len(found))
	for i, f := range found {
		list[i] = Scored{Key: f.record, Cosine: f.cosine}
	}
	return list, err
}

func (x *embeddedIndex) nearest(ctx context.Context, n int) ([]scored, error) {
	if x.sweep != nil {
		found, err := x.sweep.nearest(ctx, n, &x.rows)
		if !errors.Is(err, errSweepMore) {
			return found, err
		}
		if has, err := x.listInstead(ctx); err != nil || !has {
			return nil, err
		}
	}
	q := vectorQuery{vector: x.vector, places: x.places, n: n}
	if x.query.Rank == RankSeed {
		return highest(ctx, &x.rows, q)
	}
	return nearest(ctx, engineFor(len(x.places)), &x.rows, q)
}

// Cosines reads the vectors of records.
func (x *embeddedIndex) Cosines(ctx context.Context, keys []int64) (map[int64]float64, error) {
	reader := &rowReader{q: x.store.reads(), dim: len(x.vector)} // what is damaged was counted
	if x.sweep != nil {
		return x.sweep.cosines(ctx, keys, reader)
	}
	wanted := database.Set(keys)
	var places []place
	for _, p := range x.places {
		if wanted[p.record] {
			places = append(places, p)
		}
	}
	return cosinesOf(ctx, reader, vectorQuery{vector: x.vector, places: places})
}

// cosinesOf are the cosines of the vectors at places.
func cosinesOf(ctx context.Context, reader *rowReader, q vectorQuery) (map[int64]float64, error) {
	cosines := map[int64]float64{}
	err := reader.each(ctx, q.places, func(b rowsAtOnce) error {
		for i, p := range b.places {
			cosines[p.record] = dot(q.vector, b.rows[i])
		}
		return nil
	})
	return cosines, err
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
	rows, err := x.store.reads().QueryContext(ctx, "SELECT r.rowid, "+recordColumns+" FROM records r JOIN texts t ON t.record=r.rowid WHERE r.rowid IN "+listed(database.Set(keys)))
	if err != nil {
		return nil, fmt.Errorf("read records: %w", database.Classify(err))
	}
	defer rows.Close()
	for rows.Next() {
		var key int64
		var r stored
		if err := rows.Scan(append([]any{&key}, r.fields()...)...); err != nil {
			return nil, fmt.Errorf("read records: %w", database.Classify(err))
		}
		if !r.sound() {
			x.unsound++
			continue
		}
		list = append(list, Found{Key: key, Record: r.Record})
	}
	return list, database.Classify(rows.Err())
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
	if x.rows.damaged > 0 {
		list = append(list, fmt.Sprintf("%d vectors are lost or damaged, those records were found by words only; sessctl memory reindex --pending makes them again", x.rows.damaged))
	}
	if x.unsound > 0 {
		list = append(list, fmt.Sprintf("damaged records that may fit were left out: %d; sessctl memory verify says more", x.unsound))
	}
	return list
}

// listed are the keys of a map as an SQL list.
func listed[V any](keys map[int64]V) string { return database.List(slices.Collect(maps.Keys(keys))) }
