package memory

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/vectors"
	"github.com/sessctl/sessctl/pkg/memory/words"
)

// Problem is something that Verify found.
type Problem struct {
	Path    string
	Message string
}

// Verify checks the database (its pages, its indexes, that every record has a
// text, words, and of each model a vector or a pending row), every record and
// fact and action against its checksum, the words against the texts, every named
// vector against its checksum, and what records that something was forgotten. All of
// it is seen as it was at one moment, whatever another process does meanwhile.
// Then it checks the files of what agents stored. It changes nothing. An error
// means that it could not check.
func (s verification) Verify(ctx context.Context) (problems []Problem, err error) {
	err = s.atOneMoment(ctx, func(c *sql.Conn) error {
		for _, check := range []func(context.Context, *sql.Conn) ([]Problem, error){s.verifyDatabase, s.verifyRecords, s.verifyWords, s.verifyWork, s.verifyWorkWords, s.verifyVectors} {
			found, err := check(ctx, c)
			problems = append(problems, found...)
			if err != nil {
				return err
			}
			if len(found) > 0 {
				break // what cannot be trusted is not looked at
			}
		}
		found, err := forgetting(s).verifyTombstones(ctx, c)
		problems = append(problems, found...)
		if errors.Is(err, ErrCorrupt) && len(problems) > 0 {
			return nil // that is told
		}
		return err
	})
	if err != nil || len(problems) > 0 {
		return problems, err
	}
	return storedWords(s).verifyOwnWords(ctx)
}

// atOneMoment runs f on a connection that sees the database as it is now.
func (s *connection) atOneMoment(ctx context.Context, f func(c *sql.Conn) error) error {
	return s.connected(ctx, []string{"BEGIN"}, f)
}

// connected runs f on a connection on which statements were executed, of which
// the last begins a transaction.
func (s *connection) connected(ctx context.Context, statements []string, f func(c *sql.Conn) error) error {
	c, err := s.db.Conn(ctx)
	if err != nil {
		return database.Classify(err)
	}
	defer c.Close()
	for _, statement := range statements {
		if _, err := c.ExecContext(ctx, statement); err != nil {
			return database.Classify(err)
		}
	}
	defer c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	return f(c)
}

// asOfNow runs f with a view of the memory that stays as it is now, whatever
// other processes do to it meanwhile. Only questions can be put to the view.
func (s *connection) asOfNow(ctx context.Context, f func(view *connection) error) error {
	return s.connected(ctx, []string{"BEGIN"}, func(c *sql.Conn) error {
		view := *s
		view.moment = c
		return f(&view)
	})
}

// verifyRecords checks every record and fact against its checksum.
func (s verification) verifyRecords(ctx context.Context, c *sql.Conn) (problems []Problem, err error) {
	path := filepath.Join(s.dir, "memory.db")
	n, ids, err := s.unsound(ctx, c)
	if n > 0 {
		problems = append(problems, Problem{path, fmt.Sprintf("records that are not what was stored: %d (%s); sessctl memory reindex --from-archives stores them anew, sessctl memory forget --id removes one", n, strings.Join(ids, ", "))})
	}
	if err != nil {
		return problems, err
	}
	n, err = s.unsoundFacts(ctx, c)
	if n > 0 {
		problems = append(problems, Problem{path, fmt.Sprintf("facts that are not what was stored: %d; sessctl extract-facts --archived finds them again", n)})
	}
	return problems, err
}

// verifyVectors checks every vector against its name, and every block.
func (s verification) verifyVectors(ctx context.Context, c *sql.Conn) (problems []Problem, err error) {
	lost, strange, err := vectors.Verify(ctx, c)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.dir, "memory.db")
	if lost > 0 {
		problems = append(problems, Problem{path, fmt.Sprintf("%d vectors are lost or damaged; sessctl memory reindex --pending makes them again", lost)})
	} else if strange > 0 {
		problems = append(problems, Problem{path, fmt.Sprintf("%d vectors belong to no record, or to another one; sessctl memory reindex --pending makes those beside them again", strange)})
	}
	return problems, nil
}

// counts are figures that are zero in a sound database.
const counts = `
SELECT 'records without a text' AS what, (SELECT count(*) FROM records) - (SELECT count(*) FROM texts) AS n
UNION ALL SELECT 'records with neither a vector nor a pending row of ' || name, (SELECT count(*) FROM records)
  - (SELECT count(*) FROM vectors WHERE model=fingerprint) - (SELECT count(*) FROM pending WHERE model=fingerprint) FROM models
UNION ALL SELECT 'blocks of vectors that are of no agent', (SELECT count(*) FROM vector_blocks b WHERE NOT EXISTS (SELECT 1 FROM vector_spaces s WHERE s.space=b.block/4294967296))`

// verifyDatabase asks SQLite, and then counts.
func (s verification) verifyDatabase(ctx context.Context, c *sql.Conn) (problems []Problem, err error) {
	path := filepath.Join(s.dir, "memory.db")
	answers, err := database.Strings(ctx, c, "PRAGMA integrity_check(10)")
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
	wrong, err := database.Strings(ctx, c, "SELECT abs(n) || ' ' || what FROM ("+counts+") WHERE n<>0")
	for _, message := range wrong {
		problems = append(problems, Problem{path, message})
	}
	return problems, err
}

// verifyWords checks that the index of words has the words of the texts and no
// others, each as often, and of the records that have them: both are summed up,
// because neither fits into memory.
func (s verification) verifyWords(ctx context.Context, c *sql.Conn) ([]Problem, error) {
	want, terms := words.NewSum(), []byte(nil)
	for after := int64(0); ; {
		list, rows, err := s.readAfter(ctx, c, after)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			break
		}
		for i, x := range list {
			terms = embed.AppendTerms(terms[:0], x.Text)
			want.AddRecord(rows[i], terms)
		}
		after = rows[len(rows)-1]
	}
	return s.wrongWords(ctx, c, recordWords(), want, "the words are not those of the texts")
}

// wrongWords says what is wrong if an index has not the words that it should have.
func (s verification) wrongWords(ctx context.Context, c *sql.Conn, x words.Lexicon, want *words.Sum, message string) ([]Problem, error) {
	same, err := want.Same(ctx, c, x)
	said := ""
	if errors.Is(err, ErrCorrupt) {
		said = " (" + err.Error() + ")"
	} else if err != nil || same {
		return nil, err
	}
	return []Problem{{filepath.Join(s.dir, "memory.db"), message + said + "; sessctl memory reindex --from-archives reads them anew"}}, nil
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
	var problems []Problem
	err = s.atOneMoment(ctx, func(c *sql.Conn) error {
		problems, err = s.verifyDatabase(ctx, c)
		return err
	})
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

// ByteRange is a part of a log: the bytes from From on, before To.
type ByteRange struct{ From, To int64 }

// Coverage returns what memory holds of a session; source says which one.
// archives are all archives of the session, by which what was forgotten is
// found. Only records from the archives in from count, all records if there are none:
// two logs of a session can say different things at the same place.
func (s reading) Coverage(ctx context.Context, source Source, category string, archives []string, from ...string) (Coverage, error) {
	c := Coverage{positions: map[int]bool{}}
	list, _ := json.Marshal(from) // strings are always JSON
	var ranges []ByteRange
	err := database.Each(ctx, database.For(s.db, "look what is covered"), func(scan database.Scan) error {
		var position int
		var r ByteRange
		var text keptText
		if err := scan(&position, &r.From, &r.To, &text); err != nil {
			return err
		}
		c.Records++
		c.Characters += int64(utf8.RuneCountInString(string(text)))
		c.positions[position] = true
		ranges = append(ranges, r)
		return nil
	}, `SELECT r.position, r.first_byte, r.end_byte, t.text FROM records r JOIN texts t ON t.record=r.rowid
		WHERE runtime=? AND agent=? AND session=? AND category=? AND (? OR archive IN (SELECT value FROM json_each(?)))`,
		source.Runtime, source.Agent, source.Session, category, len(from) == 0, string(list))
	if err != nil {
		return c, err
	}
	forgotten, err := s.ForgottenRanges(ctx, archives, nil)
	c.Forgotten, c.Bytes = len(forgotten), union(append(ranges, forgotten...))
	return c, err
}

// ArchivesOf are the ids of the archives that the records of a session come from.
func (s reading) ArchivesOf(ctx context.Context, source Source, category string) ([]string, error) {
	return database.Strings(ctx, s.db, "SELECT DISTINCT archive FROM records WHERE runtime=? AND agent=? AND session=? AND category=? AND archive<>''",
		source.Runtime, source.Agent, source.Session, category)
}

// ForgottenRanges are the parts of the logs of some archives that were forgotten, but
// for the pieces with some ids.
func (s reading) ForgottenRanges(ctx context.Context, archives, but []string) (ranges []ByteRange, err error) {
	list, _ := json.Marshal(append([]string{}, but...)) // no ids are [], not null, which no id is unlike
	return database.All(ctx, database.For(s.db, "look what was forgotten"), func(r *ByteRange) []any { return []any{&r.From, &r.To} },
		"SELECT first_byte, end_byte FROM tombstones WHERE end_byte>0 AND id NOT IN (SELECT value FROM json_each(?)) AND archive IN ("+database.Marks(archives)+")", append([]any{string(list)}, database.Args(archives)...)...)
}

// union is how many bytes ranges cover together.
func union(ranges []ByteRange) (covered int64) {
	slices.SortFunc(ranges, func(a, b ByteRange) int { return cmp.Compare(a.From, b.From) })
	end := int64(0)
	for _, r := range ranges {
		covered += max(0, r.To-max(r.From, end))
		end = max(end, r.To)
	}
	return covered
}
