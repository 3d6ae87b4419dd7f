package postgres

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// columns are those of a row that is stored, with their types, in the order of
// arguments.
const columns = `id text, digest bigint, category text, importance float8, created_at bigint, runtime text, agent text, session text,
	routing_key text, archive text, archive_path text, first_line bigint, last_line bigint, first_byte bigint, end_byte bigint, branch text, position bigint,
	text text, terms text, length integer, kind text, successor text, fact text, vector text`

// Push stores a batch in one transaction and then reads back which of its
// records are there.
func (m *Memory) Push(ctx context.Context, b remote.Batch) (r remote.Receipt, err error) {
	rows := newRows(len(b.Records))
	for _, x := range b.Records {
		if err := rows.add(x, b.Model); err != nil {
			return r, fmt.Errorf("push record %s: %w", x.ID, err)
		}
	}
	if err := m.beginPushing(ctx); err != nil {
		return r, err
	}
	if err := (months{m.conn}).makeOf(ctx, rows.createdAt); err != nil {
		return r, err
	}
	model, err := m.modelOf(ctx, b.Model)
	if err != nil {
		return r, err
	}
	var host int
	err = inTransaction(ctx, m.conn, pgx.TxOptions{}, func(tx pgx.Tx) error {
		if host, err = lockHost(ctx, tx, b); err != nil {
			return err
		}
		r, err = rows.store(ctx, tx, origin{host, model, m.vector}, b.Gone)
		return err
	})
	if err != nil {
		return remote.Receipt{}, fmt.Errorf("push: %w", err)
	}
	return r, m.readBack(ctx, host, rows, &r)
}

// pushingLock is held, shared, by every connection that pushes: see Index.
const pushingLock = 7310575183871968119

// beginPushing tells others that this connection pushes, until Index or its end.
func (m *Memory) beginPushing(ctx context.Context) error {
	if m.pushing {
		return nil
	}
	if _, err := m.conn.Exec(ctx, "SELECT pg_advisory_lock_shared($1)", int64(pushingLock)); err != nil {
		return fmt.Errorf("push: %w", classify(err))
	}
	m.pushing = true
	return nil
}

// modelOf returns the number of a model, nil of none.
func (m *Memory) modelOf(ctx context.Context, v memory.VectorModel) (*int, error) {
	if v.Fingerprint == "" {
		return nil, nil
	}
	var model int
	var dim int
	_, err := m.conn.Exec(ctx, "INSERT INTO models (fingerprint, name, dim) SELECT $1, $2, $3 WHERE NOT EXISTS (SELECT 1 FROM models WHERE fingerprint=$1) ON CONFLICT DO NOTHING", v.Fingerprint, v.Name, v.Dim)
	if err == nil {
		err = m.conn.QueryRow(ctx, "SELECT model, dim FROM models WHERE fingerprint=$1", v.Fingerprint).Scan(&model, &dim)
	}
	if err != nil {
		return nil, fmt.Errorf("register the model of vectors: %w", classify(err))
	}
	if dim != v.Dim {
		return nil, fmt.Errorf("%w: its table models has %s with %d components, not %d", remote.ErrUnsuitable, v.Name, dim, v.Dim)
	}
	return &model, nil
}

// lockHost registers the host of a batch and lets nobody else change its records.
// It also keeps others from burying what is being stored.
func lockHost(ctx context.Context, tx pgx.Tx, b remote.Batch) (host int, err error) {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock_shared(7310575183871968117)"); err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, "INSERT INTO hosts (name) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM hosts WHERE name=$1) ON CONFLICT DO NOTHING", b.Host); err != nil {
		return 0, fmt.Errorf("register host %s: %w", b.Host, classify(err))
	}
	var of string
	err = tx.QueryRow(ctx, "SELECT host, memory FROM hosts WHERE name=$1 FOR UPDATE", b.Host).Scan(&host, &of)
	switch {
	case err == pgx.ErrNoRows:
		return 0, fmt.Errorf("%w (%s)", remote.ErrOtherRole, b.Host)
	case err != nil || of == b.Memory:
		return host, err
	case of != "" && !b.TakeOver:
		return 0, fmt.Errorf("%w: %s", remote.ErrOtherMemory, b.Host)
	}
	_, err = tx.Exec(ctx, "UPDATE hosts SET memory=$2 WHERE host=$1", host, b.Memory)
	return host, err
}

// rows are the records of a batch, by column.
type rows struct {
	ids, categories, runtimes, agents, sessions, keys, archives, paths, branches, texts, terms, kinds, successors []string
	digests, createdAt, firstLines, lastLines, firstBytes, endBytes, positions                                    []int64
	importances                                                                                                   []float64
	lengths                                                                                                       []int32
	facts, vectors                                                                                                []*string
}

func newRows(n int) *rows { return &rows{ids: make([]string, 0, n)} }

// only are the rows that were chosen.
func (r *rows) only(chosen []bool) *rows {
	return &rows{
		ids: some(r.ids, chosen), categories: some(r.categories, chosen), runtimes: some(r.runtimes, chosen), agents: some(r.agents, chosen), sessions: some(r.sessions, chosen),
		keys: some(r.keys, chosen), archives: some(r.archives, chosen), paths: some(r.paths, chosen), branches: some(r.branches, chosen), texts: some(r.texts, chosen),
		terms: some(r.terms, chosen), kinds: some(r.kinds, chosen), successors: some(r.successors, chosen), digests: some(r.digests, chosen), createdAt: some(r.createdAt, chosen),
		firstLines: some(r.firstLines, chosen), lastLines: some(r.lastLines, chosen), firstBytes: some(r.firstBytes, chosen), endBytes: some(r.endBytes, chosen),
		positions: some(r.positions, chosen), importances: some(r.importances, chosen), lengths: some(r.lengths, chosen), facts: some(r.facts, chosen), vectors: some(r.vectors, chosen),
	}
}

func some[T any](column []T, chosen []bool) []T {
	list := make([]T, 0, len(column))
	for i, x := range column {
		if chosen[i] {
			list = append(list, x)
		}
	}
	return list
}

func (r *rows) add(x memory.Shared, m memory.VectorModel) error {
	text := remote.Storable(x.Text)
	terms, length := termVector(text)
	r.ids, r.digests = append(r.ids, x.ID), append(r.digests, x.Digest)
	r.categories, r.importances, r.createdAt = append(r.categories, remote.Storable(x.Category)), append(r.importances, x.Importance), append(r.createdAt, x.CreatedAt)
	r.runtimes, r.agents, r.sessions, r.keys = append(r.runtimes, remote.Storable(x.Runtime)), append(r.agents, remote.Storable(x.Agent)), append(r.sessions, remote.Storable(x.Session)), append(r.keys, remote.Storable(x.Key))
	r.archives, r.paths, r.branches = append(r.archives, remote.Storable(x.Archive)), append(r.paths, remote.Storable(x.ArchivePath)), append(r.branches, remote.Storable(x.Branch))
	r.firstLines, r.lastLines = append(r.firstLines, int64(x.FirstLine)), append(r.lastLines, int64(x.LastLine))
	r.firstBytes, r.endBytes, r.positions = append(r.firstBytes, x.FirstByte), append(r.endBytes, x.EndByte), append(r.positions, int64(x.Position))
	r.texts, r.terms, r.lengths = append(r.texts, text), append(r.terms, terms), append(r.lengths, int32(length))
	if x.Vector != nil && len(x.Vector) != m.Dim {
		return fmt.Errorf("%w: %d components, not %d", embed.ErrDimension, len(x.Vector), m.Dim)
	}
	r.vectors = append(r.vectors, halfVector(x.Vector))
	return r.addFact(x.Fact)
}

// addFact adds what a record says as a fact.
func (r *rows) addFact(f *memory.Fact) error {
	if f == nil {
		r.kinds, r.successors, r.facts = append(r.kinds, ""), append(r.successors, ""), append(r.facts, nil)
		return nil
	}
	said, err := remote.EncodeDetails(*f)
	r.kinds, r.successors, r.facts = append(r.kinds, f.Kind), append(r.successors, f.Successor), append(r.facts, &said)
	return err
}

func (r *rows) arguments() []any {
	return []any{r.ids, r.digests, r.categories, r.importances, r.createdAt, r.runtimes, r.agents, r.sessions, r.keys, r.archives, r.paths,
		r.firstLines, r.lastLines, r.firstBytes, r.endBytes, r.branches, r.positions, r.texts, r.terms, r.lengths, r.kinds, r.successors, r.facts, r.vectors}
}

// incoming is the batch as a table; its arguments begin at $3.
func incoming() string {
	var kinds, names []string
	for i, column := range strings.Split(columns, ",") {
		name, kind, _ := strings.Cut(strings.TrimSpace(column), " ")
		kinds, names = append(kinds, "$"+strconv.Itoa(i+3)+"::"+kind+"[]"), append(names, name)
	}
	return "unnest(" + strings.Join(kinds, ", ") + ") AS x (" + strings.Join(names, ", ") + ")"
}

const insertRows = `INSERT INTO records (host, model, id, digest, category, importance, created_at, runtime, agent, session, routing_key, archive, archive_path,
	first_line, last_line, first_byte, end_byte, branch, position, text, terms, length, kind, successor, fact, vector)
	SELECT $1::integer, CASE WHEN x.vector IS NOT NULL THEN $2::integer END, x.id, x.digest, x.category, x.importance, x.created_at, x.runtime, x.agent, x.session, x.routing_key, x.archive, x.archive_path,
	x.first_line, x.last_line, x.first_byte, x.end_byte, x.branch, x.position, x.text, x.terms::tsvector, x.length, x.kind, x.successor, x.fact::json, x.vector::%shalfvec FROM `

// origin is whose records are stored: the numbers of host and model; nil where they
// have no vectors.
type origin struct {
	host   int
	model  *int
	vector string // in front of the names of pgvector
}

// store takes the place of what was changed, drops what is gone, and adds what
// is new and was not forgotten.
func (r *rows) store(ctx context.Context, tx pgx.Tx, from origin, gone []string) (receipt remote.Receipt, err error) {
	there, err := digestsOf(ctx, tx, from.host, r.ids)
	if err != nil {
		return receipt, err
	}
	var fresh []bool
	var changed []string
	for i, id := range r.ids {
		digest, known := there[id]
		if fresh = append(fresh, !known || digest != r.digests[i]); known && fresh[i] {
			changed = append(changed, id)
		}
	}
	if receipt.Gone, err = drop(ctx, tx, from.host, gone); err != nil {
		return receipt, err
	}
	if _, err = drop(ctx, tx, from.host, changed); err != nil {
		return receipt, err
	}
	added, err := tx.Exec(ctx, fmt.Sprintf(insertRows, from.vector)+incoming()+` WHERE NOT EXISTS (SELECT 1 FROM tombstones t WHERE t.id=x.id) ORDER BY x.created_at, x.id`,
		append([]any{from.host, from.model}, r.only(fresh).arguments()...)...)
	if err != nil {
		return receipt, err
	}
	receipt.Stored = int(added.RowsAffected())
	// Never the same twice: by this a host sees that the server was set back.
	err = tx.QueryRow(ctx, "UPDATE hosts SET last_push=greatest($2, last_push+1) WHERE host=$1 RETURNING last_push", from.host, time.Now().UnixMilli()).Scan(&receipt.At)
	return receipt, err
}

// drop drops records of a host. Where there is nothing to drop nothing is asked:
// the statement locks the tables of all months, and would wait for whichever is
// being indexed.
func drop(ctx context.Context, tx pgx.Tx, host int, ids []string) (dropped int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	tag, err := tx.Exec(ctx, "DELETE FROM records WHERE host=$1 AND id = ANY ($2)", host, ids)
	return int(tag.RowsAffected()), err
}

// querier is a connection, or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// digestsOf looks which records of a host are there, with their digests. Each is
// looked up by itself: a join would read all that the host has.
func digestsOf(ctx context.Context, q querier, host int, ids []string) (map[string]int64, error) {
	found, err := q.Query(ctx, `SELECT x.id, r.digest FROM unnest($2::text[]) AS x (id)
		CROSS JOIN LATERAL (SELECT r.digest FROM records r WHERE r.host=$1 AND r.id=x.id LIMIT 1) r`, host, ids)
	if err != nil {
		return nil, err
	}
	there := make(map[string]int64, len(ids))
	var id string
	var digest int64
	_, err = pgx.ForEachRow(found, []any{&id, &digest}, func() error {
		there[id] = digest
		return nil
	})
	return there, err
}

// readBack looks which records of a batch are there after all.
func (m *Memory) readBack(ctx context.Context, host int, r *rows, receipt *remote.Receipt) error {
	there, err := digestsOf(ctx, m.conn, host, r.ids)
	for i, id := range r.ids {
		if digest, ok := there[id]; ok && digest == r.digests[i] {
			receipt.Present = append(receipt.Present, id)
		}
	}
	if err == nil && len(receipt.Present) < len(r.ids) {
		receipt.Buried, err = m.texts(ctx, "SELECT id FROM tombstones WHERE id = ANY ($1)", r.ids)
	}
	slices.Sort(receipt.Present)
	if err != nil {
		return fmt.Errorf("read back: %w", classify(err))
	}
	return nil
}

// texts are the rows of a query of one text column.
func (m *Memory) texts(ctx context.Context, query string, args ...any) ([]string, error) {
	found, err := m.conn.Query(ctx, query, args...)
	if err != nil {
		return nil, classify(err)
	}
	list, err := pgx.CollectRows(found, pgx.RowTo[string])
	return list, classify(err)
}

// A tsvector keeps up to mostPositions places of a term, and no term longer
// than longestTerm bytes.
const (
	mostPositions = 255
	longestTerm   = 1000
)

// termVector is a tsvector of the terms of a text, and how many there are. What
// stands in place of their positions counts how often each occurs; most occur
// once and have none.
func termVector(text string) (vector string, length int) {
	counts := map[string]int{}
	var order []string
	for _, term := range strings.Fields(string(embed.AppendTerms(nil, text))) {
		length++
		if len(term) > longestTerm {
			continue
		}
		if counts[term]++; counts[term] == 1 {
			order = append(order, term)
		}
	}
	slices.Sort(order)
	var b strings.Builder
	for _, term := range order {
		b.WriteString(lexeme(term))
		for n := range min(counts[term], mostPositions) {
			if counts[term] == 1 {
				break
			}
			b.WriteByte(":,"[min(n, 1)])
			b.WriteString(strconv.Itoa(n + 1))
		}
		b.WriteByte(' ')
	}
	return b.String(), length
}

// lexeme is a term as it is written in a tsvector or tsquery.
func lexeme(term string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(term, `\`, `\\`), "'", "''") + "'"
}

// halfVector is a vector as it is written, nil of none. A halfvec has 11 bits of
// each component.
func halfVector(v []float32) *string {
	if v == nil {
		return nil
	}
	b := append(make([]byte, 0, 8*len(v)), '[')
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(x), 'g', 6, 32)
	}
	text := string(append(b, ']'))
	return &text
}
