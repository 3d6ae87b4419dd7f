package postgres

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// leastTextSearch is the oldest pg_textsearch that is used: those before may
// spoil their indexes when several hosts push at once.
const leastTextSearch = "1.5.1"

// wordsIndex is the index of pg_textsearch (schema.sql).
const wordsIndex = schemaName + ".record_words_by_word"

// textSearch is what the server has of pg_textsearch, as far as whoever
// connects may use it.
type textSearch struct {
	extension string // version in this database, "" if it has none
	library   string // version that the server has loaded, "" if it has not
	place     string // schema
	indexed   bool
	state     string // of the table that is indexed: whole, behind or "" without one
	readable  bool
}

// readState reads the identity of the shared memory, and what there is of
// pg_textsearch. Nothing of its table is opened: that would fail while the
// server has not loaded it.
func (m *Memory) readState(ctx context.Context) error {
	t := &m.words
	err := m.transact(ctx, readOnly, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT s.value, coalesce(e.extversion, ''), coalesce(n.nspname, ''), coalesce(current_setting('pg_textsearch.library_version', true), ''),
		coalesce((SELECT i.indisvalid FROM pg_index i WHERE i.indexrelid=to_regclass($1)), false), coalesce((SELECT w.value FROM state w WHERE w.name='words'), ''),
		coalesce(has_table_privilege(to_regclass('`+schemaName+`.record_words'), 'SELECT'), false), has_table_privilege('term_counts', 'SELECT')
		FROM state s LEFT JOIN pg_extension e ON e.extname='pg_textsearch' LEFT JOIN pg_namespace n ON n.oid=e.extnamespace WHERE s.name='server'`, wordsIndex).
			Scan(&m.server, &t.extension, &t.place, &t.library, &t.indexed, &t.state, &t.readable, &m.readsAll)
	})
	if err != nil {
		return fmt.Errorf("read the identity of the shared memory: %w", err)
	}
	return nil
}

// isThere reports whether the server could propose by it.
func (t textSearch) isThere() bool {
	return t.extension != "" && t.library != "" && !remote.IsOlder(t.extension, leastTextSearch) && !remote.IsOlder(t.library, leastTextSearch)
}

// isBuilt reports whether the table and its index have every record.
func (t textSearch) isBuilt() bool { return t.indexed && t.state == "whole" }

// isUsed reports whether questions are asked of it.
func (t textSearch) isUsed() bool { return t.isThere() && t.isBuilt() && t.readable }

// unused says why it is not used although the database has it, "" if it has
// none, or if another role may use it.
func (t textSearch) unused() string {
	switch {
	case t.extension == "" && t.state == "", t.isThere() && t.isBuilt():
		return ""
	case t.library == "" && t.extension != "":
		return "the server has not loaded it (shared_preload_libraries)"
	case t.extension == "":
		return "this database has lost the extension"
	case !t.isThere():
		return "version " + t.extension + " is too old: " + leastTextSearch + " or later"
	}
	return "its index is not made, or behind"
}

// setUpWords makes what is missing for pg_textsearch, and drops what is left of
// one that the database has no more.
func (m *Memory) setUpWords(ctx context.Context) error {
	t := m.words
	switch {
	case t.extension != "" && t.library == "":
		return nil // nobody can touch its table before it is loaded again
	case t.isThere() && t.isBuilt(), !t.isThere() && t.state == "":
		return nil
	}
	if err := m.call(ctx, longest, nil, "build_words($1)", t.isThere()); err != nil {
		return fmt.Errorf("set up the index of pg_textsearch: %w", err)
	}
	return m.readState(ctx)
}

// isUnfiltered reports whether a question is about all records. With a filter
// the index of terms is asked: one of pg_textsearch knows words alone, and would
// hand out all that do not pass too.
func isUnfiltered(q memory.Query) bool {
	return q.Agent == "" && q.Runtime == "" && q.Session == "" && q.Host == "" && q.Category == "" && q.Kind == "" && q.Since == 0 && q.Until == 0
}

// wordsOf is a question as words_of (schema.sql) writes the terms of a record.
func wordsOf(terms []string) string {
	words := make([]string, len(terms))
	for i, term := range terms {
		words[i] = term
		if strings.IndexFunc(term, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) >= 0 {
			words[i] = "q" + hex.EncodeToString([]byte(term))
		}
	}
	return strings.Join(words, " ")
}

// ranked lets pg_textsearch propose rows. Its BM25 is nearly ours: it rounds
// lengths, and weighs words that stand in most records more. So it proposes more
// than are wanted, and ours chooses.
func (x *index) ranked(ctx context.Context, q memory.Query, terms []string, n int) ([]int64, error) {
	where, args := condition(q, 3)
	for most := max(mostScored, 4*n); ; most *= 4 {
		keys, times, err := x.propose(ctx, wordsOf(terms), most)
		if err != nil {
			return nil, err
		}
		list, err := x.score(ctx, terms, `SELECT r.key, r.length, r.terms FROM unnest($1::bigint[], $2::bigint[]) AS w (key, created_at)
			CROSS JOIN LATERAL (SELECT r.key, r.length, tsvectorsend(r.terms) AS terms FROM records r WHERE r.key=w.key AND r.created_at=w.created_at AND `+where+` LIMIT 1) r`,
			append([]any{keys, times}, args...)...)
		if err != nil || len(list) >= n || len(keys) < most {
			return remote.Keys(remote.Best(list, n)), err
		}
	}
}

// propose asks the index for the keys and times of the rows that match best.
// When pg_textsearch plans that, it looks for its functions by the search path:
// its schema is the path of this statement, in which no name depends on it.
func (x *index) propose(ctx context.Context, words string, most int) (keys, times []int64, err error) {
	place := pgx.Identifier{x.textSearch}.Sanitize()
	var batch pgx.Batch
	batch.Queue("SET LOCAL search_path = " + place + ", pg_temp")
	var key, at int64
	batch.Queue(fmt.Sprintf("SELECT w.key, w.created_at FROM %[1]s.record_words w ORDER BY w.words OPERATOR(%[2]s.<@>) %[2]s.to_bm25query($1::pg_catalog.text, '%[3]s'::pg_catalog.text) LIMIT $2::pg_catalog.int8",
		schemaName, place, wordsIndex), words, most).Query(func(found pgx.Rows) error {
		_, err := pgx.ForEachRow(found, []any{&key, &at}, func() error {
			keys, times = append(keys, key), append(times, at)
			return nil
		})
		return err
	})
	batch.Queue("SET LOCAL search_path = " + schemaPath)
	if err := x.tx.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, nil, fmt.Errorf("search the words by pg_textsearch: %w", err)
	}
	return keys, times, nil
}
