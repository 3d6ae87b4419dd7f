package memory

import (
	"context"
	"fmt"
	"path/filepath"
)

// Problem is something that Verify found.
type Problem struct {
	Path    string
	Message string
}

// Verify checks the database (its pages, its indexes, and that every record
// has a text, words, and of each model a vector or a pending row) and every
// named vector against its file. It changes nothing. An error means that it
// could not check.
func (s *Store) Verify(ctx context.Context) ([]Problem, error) {
	problems, err := s.verifyDatabase(ctx)
	if err != nil || len(problems) > 0 {
		return problems, err
	}
	files, err := s.files(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		lost, _, err := f.lost(ctx, s.db)
		if err != nil {
			return nil, err
		}
		if len(lost) > 0 {
			problems = append(problems, Problem{f.path, fmt.Sprintf("%d vectors are lost or damaged; sessctl memory reindex --pending makes them again", len(lost))})
		}
	}
	return problems, nil
}

// counts are figures that are zero in a sound database.
const counts = `
SELECT 'records without a text' AS what, (SELECT count(*) FROM records) - (SELECT count(*) FROM texts) AS n
UNION ALL SELECT 'records without words', (SELECT count(*) FROM records) - (SELECT count(*) FROM words_docsize)
UNION ALL SELECT 'records with neither a vector nor a pending row of ' || name, (SELECT count(*) FROM records)
  - (SELECT count(*) FROM vectors WHERE model=fingerprint) - (SELECT count(*) FROM pending WHERE model=fingerprint) FROM models
UNION ALL SELECT 'vectors that are in no file', (SELECT count(*) FROM vectors v WHERE NOT EXISTS (SELECT 1 FROM files f WHERE f.model=v.model AND f.agent=v.agent AND v.slot<f.slots))`

// verifyDatabase asks SQLite, and then counts.
func (s *Store) verifyDatabase(ctx context.Context) (problems []Problem, err error) {
	path := filepath.Join(s.dir, "memory.db")
	answers, err := readStrings(ctx, s.db, "PRAGMA integrity_check(10)")
	if err != nil {
		answers = append(answers, err.Error())
	}
	for _, answer := range answers {
		if answer != "ok" {
			problems = append(problems, Problem{path, "the database is damaged: " + answer})
		}
	}
	if err := ctx.Err(); err != nil || len(problems) > 0 {
		return problems, err
	}
	wrong, err := readStrings(ctx, s.db, "SELECT abs(n) || ' ' || what FROM ("+counts+") WHERE n<>0")
	for _, message := range wrong {
		problems = append(problems, Problem{path, message})
	}
	return problems, err
}

// readStrings returns the rows of a query of one text column.
func readStrings(ctx context.Context, q querier, query string, args ...any) (list []string, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, judged(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return list, judged(err)
		}
		list = append(list, text)
	}
	return list, judged(rows.Err())
}

// files lists all vector files.
func (s *Store) files(ctx context.Context) ([]*vectorFile, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT f.model, m.dim, f.agent, f.name FROM files f JOIN models m ON m.fingerprint=f.model ORDER BY f.agent, f.model")
	if err != nil {
		return nil, fmt.Errorf("list vector files: %w", judged(err))
	}
	defer rows.Close()
	var list []*vectorFile
	for rows.Next() {
		f := &vectorFile{}
		if err := rows.Scan(&f.fingerprint, &f.dim, &f.agent, &f.base); err != nil {
			return nil, fmt.Errorf("list vector files: %w", judged(err))
		}
		f.path = s.vectorPath(f.agent, f.base)
		list = append(list, f)
	}
	return list, judged(rows.Err())
}
