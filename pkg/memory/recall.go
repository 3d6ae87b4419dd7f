package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
)

// The mix of the two halves, and of relevance and importance
// (research/recall.md sections 1 and 3; seed 002).
const (
	textShare       = 0.6
	vectorShare     = 0.4
	relevanceShare  = 0.7
	importanceShare = 0.3
)

const (
	candidates = 100 // that each half proposes
	poolSize   = 50  // by relevance, before importance has its say
	exactBonus = 0.3 // for a text that holds an identifier of the query
)

// Hit is a record that was found.
type Hit struct {
	Record
	Score      float64 // 0.7 * relevance + 0.3 * importance; more for an exact identifier
	Relevance  float64 // 0 to 1 within the pool
	Duplicates int     // other records with the same text
}

// Result is what Recall found.
type Result struct {
	Hits   []Hit
	Rank   string // how it was ranked
	Notice string // what a person should know about the ranking, or ""
}

// Recall finds the records that answer a query. Without an embedder, or when
// memory has vectors of another model only, the words alone decide and Notice
// says so; RankVector and RankSeed return ErrOtherModel then.
func (s *Store) Recall(ctx context.Context, q Query, e embed.QueryEmbedder, m embed.Model) (Result, error) {
	q = q.withDefaults()
	r := &recall{store: s, query: q, pool: map[int64]*candidate{}}
	result := Result{Rank: q.Rank}
	if q.Rank != RankText {
		notice, err := r.askVectors(ctx, e, m)
		if err != nil {
			return result, err
		}
		result.Notice = notice
	}
	if q.Rank == RankHybrid || q.Rank == RankText {
		if err := r.askWords(ctx); err != nil {
			return result, err
		}
	}
	if err := r.load(ctx); err != nil {
		return result, err
	}
	result.Hits = r.rank()
	return result, nil
}

func (q Query) withDefaults() Query {
	q.Limit = cmp.Or(q.Limit, 5)
	q.Rank = cmp.Or(q.Rank, RankHybrid)
	return q
}

// recall is one query on its way.
type recall struct {
	store *Store
	query Query
	pool  map[int64]*candidate

	vector []float32 // of the query, if it has one
	all    []place   // vectors that pass the filters
}

// candidate is a record that one half proposed.
type candidate struct {
	record Record
	text   float64 // BM25, more is better
	cosine float64
	exact  bool
	loaded bool
}

func (r *recall) at(record int64) *candidate {
	c := r.pool[record]
	if c == nil {
		c = &candidate{}
		r.pool[record] = c
	}
	return c
}

// askWords adds the records whose words match best.
func (r *recall) askWords(ctx context.Context) error {
	words := match(r.query.Text)
	if words == "" {
		return nil
	}
	condition, args := r.query.filter()
	rows, err := r.store.db.QueryContext(ctx, `SELECT r.rowid, -bm25(words) FROM words JOIN records r ON r.rowid=words.rowid
		WHERE words MATCH ? AND `+condition+` ORDER BY bm25(words), r.rowid LIMIT ?`, append(append([]any{words}, args...), candidates)...)
	if err != nil {
		return fmt.Errorf("search the words: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var record int64
		var score float64
		if err := rows.Scan(&record, &score); err != nil {
			return fmt.Errorf("search the words: %w", err)
		}
		r.at(record).text = score
	}
	return rows.Err()
}

// askVectors adds the records whose vectors are nearest. It returns a notice
// when the vectors cannot be asked.
func (r *recall) askVectors(ctx context.Context, e embed.QueryEmbedder, m embed.Model) (string, error) {
	places, err := r.places(ctx, m)
	if err != nil {
		return "", err
	}
	if e == nil || len(places) == 0 {
		return r.withoutVectors(ctx, e, m)
	}
	vector, err := e.EmbedQuery(ctx, r.query.Text)
	if errors.Is(err, embed.ErrNoVector) {
		return "", nil // nothing in it has a meaning to compare: words decide
	}
	if err != nil {
		return "the query could not be embedded (" + err.Error() + "); found by words only", nil
	}
	r.vector, r.all = vector, places
	n := candidates
	if r.query.Rank == RankSeed {
		n = len(places)
	}
	nearest, err := engineFor(len(places)).nearest(ctx, vector, places, n)
	if err != nil {
		return "", fmt.Errorf("search the vectors: %w", err)
	}
	for _, x := range nearest {
		r.at(x.record).cosine = x.cosine
	}
	return "", nil
}

// places lists the vectors of the model that pass the filters.
func (r *recall) places(ctx context.Context, m embed.Model) ([]place, error) {
	condition, args := r.query.filter()
	rows, err := r.store.db.QueryContext(ctx, `SELECT v.record, v.agent, v.slot, v.crc FROM vectors v JOIN records r ON r.rowid=v.record
		WHERE v.model=? AND `+condition, append([]any{m.Fingerprint()}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("list vectors: %w", err)
	}
	defer rows.Close()
	var places []place
	for rows.Next() {
		var p place
		var agent string
		if err := rows.Scan(&p.record, &agent, &p.slot, &p.crc); err != nil {
			return nil, fmt.Errorf("list vectors: %w", err)
		}
		p.file = r.store.vectorFile(m, agent)
		places = append(places, p)
	}
	return places, rows.Err()
}

// withoutVectors says why the vectors are silent.
func (r *recall) withoutVectors(ctx context.Context, e embed.QueryEmbedder, m embed.Model) (string, error) {
	others, err := r.store.modelNames(ctx, m)
	if err != nil {
		return "", err
	}
	needed := r.query.Rank == RankVector || r.query.Rank == RankSeed
	switch {
	case e == nil:
		return "there is no embedder; found by words only", nil
	case len(others) > 0 && needed:
		return "", fmt.Errorf("%w: %s, and the query would be embedded by %s; sessctl memory reindex makes them the same", ErrOtherModel, strings.Join(others, ", "), m)
	case len(others) > 0:
		return fmt.Sprintf("memory has vectors of %s, not of %s; found by words only until sessctl memory reindex", strings.Join(others, ", "), m), nil
	}
	return "", nil
}

// modelNames lists the models that have vectors, without m.
func (s *Store) modelNames(ctx context.Context, m embed.Model) ([]string, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT name FROM models WHERE fingerprint<>? AND EXISTS (SELECT 1 FROM vectors WHERE model=fingerprint) ORDER BY name", m.Fingerprint())
	if err != nil {
		return nil, fmt.Errorf("list models: %w", err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("list models: %w", err)
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// rank orders the pool and folds records with the same text.
func (r *recall) rank() []Hit {
	hits := r.relevant()
	slices.SortFunc(hits, func(x, y Hit) int { return cmp.Or(cmp.Compare(y.Score, x.Score), strings.Compare(x.ID, y.ID)) })
	first := map[[32]byte]int{}
	var folded []Hit
	for _, h := range hits {
		sum := sha256.Sum256([]byte(h.Text))
		if i, ok := first[sum]; ok {
			folded[i].Duplicates++
			continue
		}
		if h.Score < r.query.MinScore {
			continue
		}
		first[sum] = len(folded)
		folded = append(folded, h)
	}
	return folded[:min(len(folded), r.query.Limit)]
}
