package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
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

// files lists all vector files.
func (s *Store) files(ctx context.Context) ([]*vectorFile, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT f.model, m.dim, f.agent, f.name FROM files f JOIN models m ON m.fingerprint=f.model ORDER BY f.agent, f.model")
	if err != nil {
		return nil, fmt.Errorf("list vector files: %w", classifyError(err))
	}
	defer rows.Close()
	var list []*vectorFile
	for rows.Next() {
		f := &vectorFile{}
		if err := rows.Scan(&f.fingerprint, &f.dim, &f.agent, &f.base); err != nil {
			return nil, fmt.Errorf("list vector files: %w", classifyError(err))
		}
		f.path = s.vectorPath(f.agent, f.base)
		list = append(list, f)
	}
	return list, classifyError(rows.Err())
}

// examine checks the database of a memory as SetAsideDamaged needs it: what is
// wrong with the database itself. One that does not exist is sound.
func examine(ctx context.Context, dir string) ([]Problem, error) {
	s, err := Open(ctx, dir, Options{ReadOnly: true})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, ErrCorrupt):
		return []Problem{{filepath.Join(dir, "memory.db"), err.Error()}}, nil
	case err != nil:
		return nil, err
	}
	problems, err := s.verifyDatabase(ctx)
	return problems, errors.Join(err, s.Close())
}

// Coverage says how much of a session's log the records of one category hold.
type Coverage struct {
	Records    int
	Characters int64 // code points of their texts, which overlap and have labels
	Bytes      int64 // of the log, that some record was made from or that was forgotten
	Forgotten  int   // pieces that were forgotten on purpose
	positions  map[int]bool
}

// Missing returns how many of the first n pieces of the session have no record
// and were not forgotten.
func (c Coverage) Missing(n int) int {
	missing := -c.Forgotten
	for i := range n {
		if !c.positions[i] {
			missing++
		}
	}
	return max(missing, 0)
}

// byteRange is a part of a log.
type byteRange struct{ from, to int64 }

// Coverage returns what memory holds of a session; source says which one.
// archives are all archives of the session, by which what was forgotten is
// found.
func (s *Store) Coverage(ctx context.Context, source Source, category string, archives []string) (Coverage, error) {
	c := Coverage{positions: map[int]bool{}}
	rows, err := s.db.QueryContext(ctx, `SELECT position, first_byte, end_byte, length(text) FROM records JOIN texts ON record=rowid
		WHERE runtime=? AND agent=? AND session=? AND category=?`, source.Runtime, source.Agent, source.Session, category)
	if err != nil {
		return c, fmt.Errorf("look what is covered: %w", classifyError(err))
	}
	defer rows.Close()
	var ranges []byteRange
	for rows.Next() {
		var position, characters int
		var r byteRange
		if err := rows.Scan(&position, &r.from, &r.to, &characters); err != nil {
			return c, fmt.Errorf("look what is covered: %w", classifyError(err))
		}
		c.Records++
		c.Characters += int64(characters)
		c.positions[position] = true
		ranges = append(ranges, r)
	}
	if err := rows.Err(); err != nil {
		return c, classifyError(err)
	}
	forgotten, err := s.forgottenRanges(ctx, archives)
	c.Forgotten, c.Bytes = len(forgotten), union(append(ranges, forgotten...))
	return c, err
}

func (s *Store) forgottenRanges(ctx context.Context, archives []string) (ranges []byteRange, err error) {
	if len(archives) == 0 {
		return nil, nil
	}
	args := make([]any, 0, len(archives))
	for _, id := range archives {
		args = append(args, id)
	}
	rows, err := s.db.QueryContext(ctx, "SELECT first_byte, end_byte FROM tombstones WHERE end_byte>0 AND archive IN (?"+strings.Repeat(",?", len(archives)-1)+")", args...)
	if err != nil {
		return nil, fmt.Errorf("look what was forgotten: %w", classifyError(err))
	}
	defer rows.Close()
	for rows.Next() {
		var r byteRange
		if err := rows.Scan(&r.from, &r.to); err != nil {
			return nil, fmt.Errorf("look what was forgotten: %w", classifyError(err))
		}
		ranges = append(ranges, r)
	}
	return ranges, classifyError(rows.Err())
}

// union is how many bytes ranges cover together.
func union(ranges []byteRange) (covered int64) {
	slices.SortFunc(ranges, func(a, b byteRange) int { return cmp.Compare(a.from, b.from) })
	end := int64(0)
	for _, r := range ranges {
		covered += max(0, r.to-max(r.from, end))
		end = max(end, r.to)
	}
	return covered
}
