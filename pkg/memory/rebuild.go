package memory

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/words"
)

// Rebuild is one session whose records are made again from its archives.
type Rebuild struct {
	Source   Source
	Archives []string // ids of those whose bytes the records cover
	Category string   // of pieces of the log: which old ones of those archives the new ones replace
	Mark     string   // of what, and by which rule, the records are made; see Rebuilt
	// Begun are the archives with whose bytes one of those begins, by its id: what was
	// forgotten of them stays so.
	Begun  map[string][]string
	Remade Remade // noted of the session, see [Store.Remade]
}

// Remade is how the records of a session were made again last.
type Remade struct {
	At          int64 // Unix milliseconds; 0 if they never were
	OutputLimit int64 // bytes that were taken of one output of a tool
	// Redaction names the rules by which secrets were found, without a blank.
	Redaction string
}

// RebuildResult counts what Rebuild did.
type RebuildResult struct {
	PutResult
	Removed int // pieces of the same archives as another rule had cut them
}

// Rebuild stores the records of one session in one transaction, like Put, and
// then removes the pieces of the same archives that are not among them: a rule
// that cuts differently leaves no second set. A record that is there with
// another text under the same id (a summary) keeps its text. What was
// forgotten stays forgotten, also where the new pieces have other ids. The
// session is then marked as done, see Rebuilt.
func (s rebuilding) Rebuild(ctx context.Context, b Rebuild, records iter.Seq2[Record, error]) (RebuildResult, error) {
	var result RebuildResult
	rebuild := func(tx *sql.Tx) error {
		w, err := newWriter(ctx, tx, &result.PutResult)
		if err != nil {
			return err
		}
		defer w.close()
		w.keepTexts = true
		if err := errors.Join(prepareMade(ctx, tx), b.prepareBegun(ctx, tx)); err != nil {
			return err
		}
		made := func(id string) error {
			_, err := w.exec("INSERT OR IGNORE INTO temp.made (id) VALUES (?)", id)
			return err
		}
		w.work.made = made
		var fresh []string // summaries that memory does not have
		for r, err := range ahead(records, aheadBy) {
			if err != nil {
				return err
			}
			if r.Category == CategorySummary {
				if _, known, err := w.rowOf(r.ID); err != nil || !known {
					fresh = append(fresh, r.ID) // an error comes again when it is put
				}
			}
			if err := w.put(b.Source.complete(r)); err != nil {
				return fmt.Errorf("store record %s of %s: %w", r.ID, b.Source.Session, err)
			}
			if r.Action != nil {
				continue // it is told when it is stored
			}
			if err := made(r.ID); err != nil {
				return err
			}
		}
		if err := w.finish(); err != nil {
			return err
		}
		return errors.Join(b.finish(ctx, tx, &result), b.withholdSummaries(ctx, tx, fresh, &result))
	}
	tombstones, err := forgetting(s).countTombstones(ctx)
	if tombstones > 0 { // what is taken out again must leave no trace, see EndRebuild
		err = s.deleteSecurely(ctx, func(tx *sql.Tx) (bool, error) {
			err := rebuild(tx)
			return result.Buried > 0, err
		})
	} else if err == nil {
		err = s.inTransaction(ctx, rebuild)
	}
	if err != nil {
		return RebuildResult{}, err
	}
	return result, nil
}

func (s forgetting) countTombstones(ctx context.Context) (n int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT count(*) FROM tombstones").Scan(&n)
	return n, database.Classify(err)
}

// prepareMade empties the list of the ids that this transaction has stored.
func prepareMade(ctx context.Context, tx *sql.Tx) error {
	for _, statement := range []string{"CREATE TEMP TABLE IF NOT EXISTS made (id TEXT PRIMARY KEY) WITHOUT ROWID", "DELETE FROM temp.made"} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("prepare the list of records: %w", err)
		}
	}
	return nil
}

// prepareBegun lists by which archives what was forgotten of each is found: the bytes
// of another log of the session say something else.
func (b Rebuild) prepareBegun(ctx context.Context, tx *sql.Tx) error {
	for _, statement := range []string{"CREATE TEMP TABLE IF NOT EXISTS begun (archive TEXT, beginning TEXT, PRIMARY KEY (archive, beginning)) WITHOUT ROWID", "DELETE FROM temp.begun"} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("prepare the list of archives: %w", err)
		}
	}
	for _, archive := range b.Archives {
		for _, beginning := range append(slices.Clone(b.Begun[archive]), archive) {
			if _, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO temp.begun (archive, beginning) VALUES (?,?)", archive, beginning); err != nil {
				return fmt.Errorf("prepare the list of archives: %w", err)
			}
		}
	}
	return nil
}

// finish removes what should not be there any more, and marks the session.
func (b Rebuild) finish(ctx context.Context, tx *sql.Tx, result *RebuildResult) error {
	const mine = "runtime=? AND agent=? AND session=? AND category=? AND archive IN ("
	args := append([]any{b.Source.Runtime, b.Source.Agent, b.Source.Session, b.Category}, database.Args(b.Archives)...)
	var err error
	result.Removed, err = remove(ctx, tx, mine+database.Marks(b.Archives)+") AND id NOT IN (SELECT id FROM temp.made)", args)
	if err != nil {
		return err
	}
	// A tombstone whose id was made again has served its purpose. Any other
	// marks text that another rule had cut: every record with a part of it
	// goes.
	buried, err := remove(ctx, tx, mine+database.Marks(b.Archives)+`) AND EXISTS (SELECT 1 FROM temp.begun b JOIN tombstones t ON t.archive=b.beginning
		WHERE b.archive=records.archive AND t.id NOT IN (SELECT id FROM temp.made) AND records.first_byte<t.end_byte AND records.end_byte>t.first_byte)`, args)
	if err != nil {
		return err
	}
	result.Buried += buried
	if err := b.finishWork(ctx, tx); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO rebuilt (runtime, agent, session, mark) VALUES (?,?,?,?)",
		b.Source.Runtime, b.Source.Agent, b.Source.Session, b.Mark)
	if err == nil && b.Remade.At > 0 {
		_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO state (name, value) VALUES (?,?)", remadeState(b.Source), fmt.Sprint(b.Remade.At, " ", b.Remade.OutputLimit, " ", b.Remade.Redaction))
	}
	return err
}

// withholdSummaries takes out new summaries of a session of which everything was
// forgotten: they would quote it.
func (b Rebuild) withholdSummaries(ctx context.Context, tx *sql.Tx, fresh []string, result *RebuildResult) error {
	list, _ := json.Marshal(fresh) // strings are always JSON
	marks := database.Marks(b.Archives)
	args := append([]any{string(list), b.Source.Runtime, b.Source.Agent, b.Source.Session, b.Category}, database.Args(b.Archives)...)
	buried, err := remove(ctx, tx, `id IN (SELECT value FROM json_each(?))
		AND NOT EXISTS (SELECT 1 FROM records r WHERE r.runtime=? AND r.agent=? AND r.session=? AND r.category=? AND r.archive IN (`+marks+`))
		AND EXISTS (SELECT 1 FROM temp.begun b JOIN tombstones t ON t.archive=b.beginning WHERE t.end_byte>0)`, args)
	result.Buried += buried
	return err
}

// remadeState is the row of state that has how the records of a session were made again.
// It does not name the session, which may be forgotten.
func remadeState(source Source) string {
	name, _ := json.Marshal([]string{source.Runtime, source.Agent, source.Session}) // strings are always JSON
	return fmt.Sprintf("remade %x", sha256.Sum256(name))
}

// Remade returns how the records of a session were made again last.
func (s reading) Remade(ctx context.Context, source Source) (made Remade, err error) {
	var value string
	err = s.db.QueryRowContext(ctx, "SELECT value FROM state WHERE name=?", remadeState(source)).Scan(&value)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Remade{}, nil
	case err != nil:
		return Remade{}, fmt.Errorf("look how records were made: %w", database.Classify(err))
	}
	if n, err := fmt.Sscan(value, &made.At, &made.OutputLimit, &made.Redaction); n < 2 { // rules without a name are the first
		return Remade{}, fmt.Errorf("look how records were made: %w", errors.Join(ErrCorrupt, err))
	}
	return made, nil
}

// finishWork removes the actions of the session that were not made again, and
// those that stand in a piece that was forgotten of their archive, or of one with whose
// bytes that begins.
func (b Rebuild) finishWork(ctx context.Context, tx *sql.Tx) error {
	args := append([]any{b.Source.Runtime, b.Source.Agent, b.Source.Session}, database.Args(b.Archives)...)
	_, err := removeActions(ctx, tx, `s.runtime=? AND s.agent=? AND s.session=? AND s.archive IN (`+database.Marks(b.Archives)+`)
		AND (lower(hex(a.id)) NOT IN (SELECT id FROM temp.made) OR EXISTS (SELECT 1 FROM temp.begun b JOIN tombstones f ON f.archive=b.beginning WHERE b.archive=s.archive AND f.end_byte>0 AND `+standsIn("f")+"))", args)
	return err
}

// BeginRebuild reads what was forgotten from the files beside the memory, and
// removes it; words that are not those of the texts it reads anew. It returns
// how many records it removed.
func (s rebuilding) BeginRebuild(ctx context.Context) (removed int, err error) {
	err = s.deleteSecurely(ctx, func(tx *sql.Tx) (bool, error) {
		removed, err = forgetting(s).rememberForgotten(ctx, tx)
		return removed > 0, err
	})
	if err != nil {
		return 0, err
	}
	return removed, s.repairWords(ctx)
}

// repairWords reads the words of all texts anew if their index has others.
func (s rebuilding) repairWords(ctx context.Context) error {
	wrong, check := map[words.Lexicon]bool{}, verification(s)
	err := s.atOneMoment(ctx, func(c *sql.Conn) error {
		for x, check := range map[words.Lexicon]func(context.Context, *sql.Conn) ([]Problem, error){recordWords(): check.verifyWords, workWords(): check.verifyWorkWords} {
			found, err := check(ctx, c)
			if err != nil {
				return err
			}
			wrong[x] = len(found) > 0
		}
		return nil
	})
	for x, is := range wrong {
		if err == nil && is {
			err = s.inTransaction(ctx, func(tx *sql.Tx) error { return readWordsAnew(ctx, tx, x) })
		}
	}
	return err
}

// readWordsAnew makes an index of words again, of the texts.
func readWordsAnew(ctx context.Context, tx *sql.Tx, x words.Lexicon) error {
	err := x.Anew(ctx, tx, func(w *words.Writer) error { return addTexts(ctx, tx, x, w) })
	if err != nil {
		return fmt.Errorf("read the words anew: %w", err)
	}
	return nil
}

// addTexts gives a writer the words of all texts.
func addTexts(ctx context.Context, tx *sql.Tx, x words.Lexicon, w *words.Writer) error {
	for after := int64(0); ; {
		list, err := textsAfter(ctx, tx, x, after)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, text := range list {
			if err := addText(w, x, text); err != nil {
				return err
			}
		}
		after = list[len(list)-1].record
	}
}

// recordText is a text and the record it is of.
type recordText struct {
	record int64
	text   string
}

// textsAfter returns up to summedPage texts of the records after one.
func textsAfter(ctx context.Context, q database.Querier, x words.Lexicon, after int64) (list []recordText, err error) {
	query := "SELECT r.record, t.text FROM record_rows r JOIN texts t ON t.record=r.record WHERE r.record>? ORDER BY r.record LIMIT ?"
	if x == workWords() {
		query = "SELECT text, body FROM work_texts WHERE text>? ORDER BY text LIMIT ?"
	}
	return database.All(ctx, database.For(q, "read texts"), func(t *recordText) []any { return []any{&t.record, (*keptText)(&t.text)} }, query, after, summedPage)
}

// addText gives a writer the words of a text.
func addText(w *words.Writer, x words.Lexicon, text recordText) error {
	if x == workWords() {
		return w.AddTerms(text.record, appendWorkTerms(nil, embed.NewNameReader(), text.text))
	}
	return w.Add(text.record, text.text)
}

// Rebuilt returns the mark that Rebuild left on a session since the last
// EndRebuild: a session that has it need not be done again. It is "" if there
// is none.
func (s rebuilding) Rebuilt(ctx context.Context, source Source) (mark string, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT mark FROM rebuilt WHERE runtime=? AND agent=? AND session=?", source.Runtime, source.Agent, source.Session).Scan(&mark)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return mark, database.Classify(err)
}

// EndRebuild removes all marks: the rebuild is complete. What it took out again
// because it was forgotten leaves no trace; ErrUnwiped is returned if it does.
func (s rebuilding) EndRebuild(ctx context.Context) error {
	if _, err := s.db.ExecContext(ctx, "DELETE FROM rebuilt"); err != nil {
		return fmt.Errorf("end the rebuild: %w", database.Classify(err))
	}
	return s.Wipe(ctx)
}

// incomplete is the row of state that says that a memory was made to be filled
// from the archives, and that not all of them are in it yet.
const incomplete = "incomplete"

// Incomplete says whether the memory was made to be filled from the archives, and
// that has not been done yet: what is not found may be in one of them.
func (s rebuilding) Incomplete(ctx context.Context) (is bool, err error) {
	err = s.reads().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM state WHERE name=?)", incomplete).Scan(&is)
	return is, database.Classify(err)
}

// Complete says that the memory has what the archives have.
func (s rebuilding) Complete(ctx context.Context) error {
	if is, err := s.Incomplete(ctx); err != nil || !is {
		return err
	}
	if _, err := s.db.ExecContext(ctx, "DELETE FROM state WHERE name=?", incomplete); err != nil {
		return fmt.Errorf("end the rebuild: %w", database.Classify(err))
	}
	return nil
}

// SetAsideDamaged moves the directory of a memory that is damaged, or is not
// ours, to a name beside it and returns that; "" if there is none or it is
// sound. Nothing is deleted. The vectors move with it, and are made again.
// ErrNewerSchema is returned for the memory of a newer sessctl, which stays. pins,
// which may be nil, are those of the run.
func SetAsideDamaged(ctx context.Context, pins *durable.Pins, dir string, now time.Time) (moved string, problems []Problem, err error) {
	problems, err = examine(ctx, dir)
	if err != nil || len(problems) == 0 {
		return "", nil, err
	}
	moved = dir + ".damaged-" + now.UTC().Format("20060102T150405.000000000Z")
	return moved, problems, pins.MoveDir(dir, moved)
}
