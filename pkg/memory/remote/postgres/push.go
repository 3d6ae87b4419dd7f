package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// Push stores a batch as one statement and then reads back which of its records
// are there.
func (m *Memory) Push(ctx context.Context, b remote.Batch) (r remote.Receipt, err error) {
	rows := make([]row, 0, len(b.Records))
	times := make([]int64, 0, len(b.Records))
	for _, x := range b.Records {
		made, err := newRow(x, b.Model)
		if err != nil {
			return r, fmt.Errorf("push record %s: %w", x.ID, err)
		}
		rows, times = append(rows, made), append(times, x.CreatedAt)
	}
	if err := (quarters{m}).makeOf(ctx, times); err != nil {
		return r, err
	}
	model, err := m.modelOf(ctx, b.Model)
	if err != nil {
		return r, err
	}
	if err := m.introduce(ctx, b.Host); err != nil {
		return r, err
	}
	m.host = b.Host
	err = patiently(ctx, patience*m.options.Timeout, func(int) error {
		r, err = m.store(ctx, b, model, rows)
		return err
	})
	if err != nil {
		return remote.Receipt{}, fmt.Errorf("push: %w", err)
	}
	return r, m.readBack(ctx, b.Host, rows, &r)
}

// modelOf returns the number of a model, nil of none.
func (m *Memory) modelOf(ctx context.Context, v memory.VectorModel) (model *int, err error) {
	if v.Fingerprint == "" {
		return nil, nil
	}
	const insert = "INSERT INTO " + schemaName + ".models (fingerprint, name, dim) SELECT $1, $2, $3 WHERE NOT EXISTS (SELECT 1 FROM " + schemaName + ".models WHERE fingerprint=$1) ON CONFLICT DO NOTHING"
	err = m.exec(ctx, insert, v.Fingerprint, v.Name, v.Dim)
	if err == nil {
		err = m.transact(ctx, readOnly, func(tx pgx.Tx) error {
			return tx.QueryRow(ctx, "SELECT model FROM models WHERE fingerprint=$1", v.Fingerprint).Scan(&model)
		})
	}
	if err != nil {
		return nil, fmt.Errorf("register the model of vectors: %w", err)
	}
	return model, nil
}

// seen is what the server has of a host, as a batch is made for it.
type seen struct {
	host     int
	lastPush int64
	there    map[string]int64 // digests of the records of the batch that are there
}

// look looks what is there of a batch, and whether the host may push it.
func look(ctx context.Context, tx pgx.Tx, b remote.Batch, rows []row) (s seen, err error) {
	var of string
	var own bool
	err = tx.QueryRow(ctx, "SELECT host, memory, last_push, role=current_user OR NOT row_security_active('hosts') FROM hosts WHERE name=$1", b.Host).Scan(&s.host, &of, &s.lastPush, &own)
	switch {
	case err != nil:
		return s, err
	case !own:
		return s, fmt.Errorf("%w (%s)", remote.ErrOtherRole, b.Host)
	case of != "" && of != b.Memory && !b.TakeOver:
		return s, fmt.Errorf("%w: %s", remote.ErrOtherMemory, b.Host)
	}
	s.there, err = digestsOf(ctx, tx, b.Host, rows)
	return s, err
}

// store takes the place of what was changed, drops what is gone, and adds what is
// new and was not forgotten: by one statement, so that no lock waits for this host.
// If the host was pushed since it was looked at, nothing of that is done.
func (m *Memory) store(ctx context.Context, b remote.Batch, model *int, rows []row) (r remote.Receipt, err error) {
	var s seen
	if err := m.transact(ctx, readOnly, func(tx pgx.Tx) error { s, err = look(ctx, tx, b, rows); return err }); err != nil {
		return r, err
	}
	fresh, changed, gone := make([]map[string]any, 0, len(rows)), []string{}, append([]string{}, b.Gone...)
	for _, x := range rows {
		digest, known := s.there[x.ID]
		if known && digest != x.Digest {
			changed = append(changed, x.ID)
		}
		if !known || digest != x.Digest {
			fresh = append(fresh, x.columns)
		}
	}
	batch, err := json.Marshal(fresh)
	if err != nil {
		return r, fmt.Errorf("write the records: %w", err)
	}
	var done []int64
	err = m.call(ctx, m.options.Timeout, &done, "push($1, $2, $3, $4, $5, $6, $7, $8, $9)",
		s.host, b.Memory, b.TakeOver, s.lastPush, model, gone, changed, string(batch), lockMoment.Milliseconds())
	if err == nil {
		r.At, r.Stored, r.Gone = done[0], int(done[1]), int(done[2])
	}
	return r, err
}

// row is a record as a row of the table records.
type row struct {
	ID      string
	Digest  int64
	columns map[string]any // by their names
}

func newRow(x memory.Shared, m memory.VectorModel) (row, error) {
	if x.Vector != nil && len(x.Vector) != m.Dim {
		return row{}, fmt.Errorf("%w: %d components, not %d", embed.ErrDimension, len(x.Vector), m.Dim)
	}
	text := remote.Storable(x.Text)
	terms, length := termVector(text)
	columns := map[string]any{
		"id": x.ID, "digest": x.Digest, "category": remote.Storable(x.Category), "importance": x.Importance, "created_at": x.CreatedAt, "runtime": remote.Storable(x.Runtime),
		"agent": remote.Storable(x.Agent), "session": remote.Storable(x.Session), "routing_key": remote.Storable(x.Key), "archive": remote.Storable(x.Archive),
		"archive_path": remote.Storable(x.ArchivePath), "first_line": x.FirstLine, "last_line": x.LastLine, "first_byte": x.FirstByte, "end_byte": x.EndByte,
		"branch": remote.Storable(x.Branch), "position": x.Position, "text": text, "terms": terms, "length": length, "vector": halfVector(x.Vector), "kind": "", "successor": "",
	}
	if x.Fact != nil {
		said, err := remote.EncodeDetails(*x.Fact)
		if err != nil {
			return row{}, err
		}
		columns["kind"], columns["successor"], columns["fact"] = x.Fact.Kind, x.Fact.Successor, json.RawMessage(said)
	}
	return row{x.ID, x.Digest, columns}, nil
}

// digestsOf looks which records of a host are there, with their digests. Each is
// looked up by itself: a join would read all that the host has.
func digestsOf(ctx context.Context, tx pgx.Tx, host string, rows []row) (map[string]int64, error) {
	ids := make([]string, len(rows))
	for i, x := range rows {
		ids[i] = x.ID
	}
	found, err := tx.Query(ctx, `SELECT x.id, r.digest FROM (SELECT host FROM hosts WHERE name=$1) h CROSS JOIN unnest($2::text[]) AS x (id)
		CROSS JOIN LATERAL (SELECT r.digest FROM records r WHERE r.host=h.host AND r.id=x.id LIMIT 1) r`, host, ids)
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
func (m *Memory) readBack(ctx context.Context, host string, rows []row, receipt *remote.Receipt) error {
	err := m.transact(ctx, readOnly, func(tx pgx.Tx) error {
		there, err := digestsOf(ctx, tx, host, rows)
		var missing []string
		for _, x := range rows {
			if digest, ok := there[x.ID]; ok && digest == x.Digest {
				receipt.Present = append(receipt.Present, x.ID)
			} else {
				missing = append(missing, x.ID)
			}
		}
		if err == nil && len(missing) > 0 {
			receipt.Buried, err = texts(ctx, tx, "SELECT id FROM tombstones WHERE id = ANY ($1)", missing)
		}
		return err
	})
	slices.Sort(receipt.Present)
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	return nil
}

// texts are the rows of a query of one text column.
func texts(ctx context.Context, tx pgx.Tx, query string, args ...any) ([]string, error) {
	found, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowTo[string])
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
