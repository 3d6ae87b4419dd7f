package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// Recall answers a question: all of it from one moment.
func (m *Memory) Recall(ctx context.Context, q memory.Query, e embed.QueryEmbedder, model embed.Model) (result memory.Result, err error) {
	err = m.ask(ctx, func(tx pgx.Tx) error {
		x := &index{tx: tx, exact: m.options.Exact, readsAll: m.readsAll, pgvector: m.vector}
		if m.words.isUsed() {
			x.textSearch = m.words.place
		}
		result, err = memory.Ask(ctx, x, q, e, model)
		return err
	})
	if err != nil {
		return result, fmt.Errorf("ask the shared memory: %w", err)
	}
	return result, nil
}

// index looks a question up in the tables.
type index struct {
	tx       pgx.Tx
	exact    bool
	readsAll bool
	pgvector string // in front of its names

	textSearch string // schema of pg_textsearch, "" if it is not used

	query  memory.Query // that vectors are compared for
	model  int
	dim    int
	vector string // of the question

	statistics *remote.Statistics
}

// condition is a query's filters over records r, and their arguments from $first
// on.
func condition(q memory.Query, first int) (string, []any) {
	text, args := "true", []any(nil)
	add := func(on bool, sql string, value any) {
		if on {
			args = append(args, value)
			text += " AND " + strings.Replace(sql, "?", "$"+strconv.Itoa(first+len(args)-1), 1)
		}
	}
	pairs := q.Agent.Pairs()
	add(q.Agent != "" && pairs == nil, "r.agent=?", q.Agent.String())
	add(pairs != nil, "r.agent=ANY(?)", q.Agent.Names())
	add(pairs != nil, "r.runtime||'/'||r.agent=ANY(?)", pairs)
	add(q.Runtime != "", "r.runtime=?", q.Runtime)
	add(q.Session != "", "r.session=?", q.Session)
	add(q.Host != "", "r.host=(SELECT o.host FROM hosts o WHERE o.name=?)", q.Host)
	add(q.Category != "", "r.category=?", q.Category)
	add(q.Since != 0, "r.created_at>=?", q.Since)
	add(q.Until != 0, "r.created_at<?", q.Until)
	add(q.Kind != "", "r.kind<>'' AND r.kind=?", q.Kind)
	if !q.Superseded {
		text += " AND (r.successor='' OR NOT has_record(r.host, r.successor))"
	}
	return text, args
}

// HasVectors finds the number of the model, and whether any of its vectors
// passes the filters.
func (x *index) HasVectors(ctx context.Context, q memory.Query, m embed.Model) (has bool, err error) {
	x.query = q
	err = x.tx.QueryRow(ctx, "SELECT model, dim FROM models WHERE fingerprint=$1 AND dim=$2", m.Fingerprint(), m.Dim).Scan(&x.model, &x.dim)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err == nil {
		where, args := condition(q, 2)
		err = x.tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM records r WHERE r.model=$1 AND "+where+")", append([]any{x.model}, args...)...).Scan(&has)
	}
	if err != nil {
		return false, fmt.Errorf("look for vectors: %w", err)
	}
	return has, nil
}

// Models lists who made the vectors of an agent, or of all.
func (x *index) Models(ctx context.Context, agent string, m embed.Model) (models memory.Models, err error) {
	where, args := "r.model=o.model", []any(nil)
	if agent != "" {
		where, args = where+" AND r.agent=$1", []any{agent}
	}
	// One row of each model: EXISTS would be a join with all records.
	found, err := x.tx.Query(ctx, "SELECT fingerprint, name FROM models o WHERE (SELECT r.model FROM records r WHERE "+where+" LIMIT 1) IS NOT NULL ORDER BY name", args...)
	if err != nil {
		return models, fmt.Errorf("list models: %w", err)
	}
	var fingerprint, name string
	_, err = pgx.ForEachRow(found, []any{&fingerprint, &name}, func() error {
		if fingerprint == m.Fingerprint() {
			models.Own = true
		} else {
			models.Others = append(models.Others, name)
		}
		return nil
	})
	models.Elsewhere = true
	if err != nil {
		return models, fmt.Errorf("list models: %w", err)
	}
	return models, nil
}

// searchAll is how many vectors of each quarter an index of them looks at: of many
// quarters fewer each, as each has fewer of the nearest.
const searchAll = `SELECT set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.max_scan_tuples', '100000', true),
	set_config('hnsw.ef_search', least(100, greatest(40, 600 / count(*)))::text, true) FROM pg_inherits WHERE inhparent='records'::regclass`

// Compare takes the question's vector. How the server goes by the index is said for
// this transaction.
func (x *index) Compare(ctx context.Context, vector []float32) (bool, error) {
	x.vector = *halfVector(vector)
	if x.exact {
		return true, nil
	}
	if _, err := x.tx.Exec(ctx, searchAll); err != nil {
		return false, fmt.Errorf("prepare to compare vectors: %w", err)
	}
	return true, nil
}

// distance is minus the cosine of a record with the question, whose vector is
// $1.
func (x *index) distance() string {
	return fmt.Sprintf("(r.vector::%[1]shalfvec(%[2]d) OPERATOR(%[1]s<#>) $1::%[1]shalfvec(%[2]d))", x.pgvector, x.dim)
}

// Nearest compares vectors. The number of the model is written out: only so is
// the index of its vectors used.
func (x *index) Nearest(ctx context.Context, n int) ([]memory.Scored, error) {
	order := x.distance()
	if x.query.Rank == memory.RankSeed {
		order = "(0.7 * " + order + " - 0.3 * r.importance)"
	}
	if x.exact { // no index has this order; those of words and keys are used as ever
		order = "(" + order + " + 0)"
	}
	where, args := condition(x.query, 3)
	return x.scored(ctx, fmt.Sprintf("SELECT r.key, -%s FROM records r WHERE r.model=%d AND %s ORDER BY %s LIMIT $2", x.distance(), x.model, where, order),
		append([]any{x.vector, n}, args...)...)
}

// Cosines compares some records.
func (x *index) Cosines(ctx context.Context, keys []int64) (map[int64]float64, error) {
	list, err := x.scored(ctx, fmt.Sprintf("SELECT r.key, -%s FROM records r WHERE r.model=%d AND r.key = ANY ($2)", x.distance(), x.model), x.vector, keys)
	cosines := map[int64]float64{}
	for _, s := range list {
		cosines[s.Key] = s.Cosine
	}
	return cosines, err
}

func (x *index) scored(ctx context.Context, query string, args ...any) ([]memory.Scored, error) {
	found, err := x.tx.Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("compare vectors: %w", err)
	}
	list, err := pgx.CollectRows(found, pgx.RowToStructByPos[memory.Scored])
	if err != nil {
		return nil, fmt.Errorf("compare vectors: %w", err)
	}
	return list, nil
}

// recordColumns are read from records r and hosts h.
const recordColumns = `r.key, h.name, r.id, r.text, r.category, r.importance, r.created_at, r.runtime, r.agent, r.session, r.routing_key, r.archive, r.archive_path,
	r.first_line, r.last_line, r.first_byte, r.end_byte, r.branch, r.position`

// fieldsOf are where recordColumns are read to.
func fieldsOf(x *memory.Found) []any {
	return []any{&x.Key, &x.Host, &x.ID, &x.Text, &x.Category, &x.Importance, &x.CreatedAt, &x.Runtime, &x.Agent, &x.Session, &x.Record.Key, &x.Archive, &x.ArchivePath,
		&x.FirstLine, &x.LastLine, &x.FirstByte, &x.EndByte, &x.Branch, &x.Position}
}

// Read reads records.
func (x *index) Read(ctx context.Context, keys []int64) ([]memory.Found, error) {
	found, err := x.tx.Query(ctx, "SELECT "+recordColumns+" FROM records r JOIN hosts h ON h.host=r.host WHERE r.key = ANY ($1)", keys)
	if err != nil {
		return nil, fmt.Errorf("read records: %w", err)
	}
	return collect(found)
}

func collect(found pgx.Rows) ([]memory.Found, error) {
	list, err := pgx.CollectRows(found, func(row pgx.CollectableRow) (x memory.Found, err error) {
		return x, row.Scan(fieldsOf(&x)...)
	})
	if err != nil {
		return nil, fmt.Errorf("read records: %w", err)
	}
	return list, nil
}

// Span asks the index of times.
func (x *index) Span(ctx context.Context) (first, last int64, err error) {
	err = x.tx.QueryRow(ctx, "SELECT coalesce(min(created_at), 0), coalesce(max(created_at), 0) FROM records").Scan(&first, &last)
	if err != nil {
		return 0, 0, fmt.Errorf("look when records were said: %w", err)
	}
	return first, last, nil
}

// Notices has nothing to say.
func (x *index) Notices() []string { return nil }

// Neighbors returns what stands at most n places before and after a hit, on the
// host that remembers it.
func (m *Memory) Neighbors(ctx context.Context, h memory.Hit, n int) (near memory.Neighborhood, err error) {
	if n < 1 || h.Position < 0 {
		return near, nil
	}
	var list []memory.Found
	err = m.ask(ctx, func(tx pgx.Tx) error {
		found, err := tx.Query(ctx, "SELECT "+recordColumns+` FROM records r JOIN hosts h ON h.host=r.host
			WHERE h.name=$1 AND r.agent=$2 AND r.runtime=$3 AND r.session=$4 AND r.category=$5 AND r.position BETWEEN greatest($6::bigint - $7::bigint, 0) AND $6 + $7 AND r.position<>$6
			ORDER BY r.position, (r.archive=$8) DESC, r.key DESC`, h.Host, h.Agent, h.Runtime, h.Session, h.Category, h.Position, n, h.Archive)
		if err == nil {
			list, err = collect(found)
		}
		return err
	})
	return remote.Around(h, list), err
}

// Fact is what a hit says as a fact. It has no kind if it is none.
func (m *Memory) Fact(ctx context.Context, h memory.Hit) (f memory.Fact, err error) {
	var details string
	err = m.ask(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, "SELECT r.kind, r.successor, coalesce(r.fact::text, '') FROM records r JOIN hosts h ON h.host=r.host WHERE h.name=$1 AND r.id=$2", h.Host, h.ID).Scan(&f.Kind, &f.Successor, &details)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return f, nil // it was forgotten a moment ago
	}
	if err != nil {
		return f, fmt.Errorf("read a fact: %w", err)
	}
	f.Record = h.Record
	return f, remote.DecodeDetails(details, &f)
}

// Sessions lists at most n sessions whose ids begin with a text, in order.
func (m *Memory) Sessions(ctx context.Context, start string, n int) (list []string, err error) {
	err = m.ask(ctx, func(tx pgx.Tx) error {
		list, err = texts(ctx, tx, `SELECT DISTINCT session COLLATE "C" FROM records WHERE starts_with(session, $1) ORDER BY 1 LIMIT $2`, start, n)
		return err
	})
	return list, err
}
