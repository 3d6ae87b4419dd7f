package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/memory/database"
)

// CategoryFact is the category of facts.
const CategoryFact = "fact"

// factTables are made with the first fact. Removing a record removes its fact too.
const factTables = `
CREATE TABLE IF NOT EXISTS facts (
  record     INTEGER PRIMARY KEY REFERENCES record_rows (record) ON DELETE CASCADE,
  kind       TEXT NOT NULL,
  confidence REAL NOT NULL,
  quote      TEXT NOT NULL, -- the words of the source
  speaker    TEXT NOT NULL, -- who said them: user or assistant
  topic      TEXT NOT NULL, -- what there can be only one of, or ''
  value      TEXT NOT NULL,
  instead    TEXT NOT NULL, -- what it says is over, or ''
  made_by    TEXT NOT NULL, -- rules or model
  successor  TEXT NOT NULL, -- id of the record that supersedes it, or ''
  sum        INTEGER NOT NULL DEFAULT 0 -- checksum of the row, see sumOfFact
) STRICT;
-- extractions: up to where the facts of a session were extracted
CREATE TABLE IF NOT EXISTS extractions (
  runtime  TEXT    NOT NULL,
  agent    TEXT    NOT NULL,
  session  TEXT    NOT NULL,
  at       INTEGER NOT NULL, -- epoch milliseconds
  bytes    INTEGER NOT NULL, -- of the log then
  modified INTEGER NOT NULL, -- epoch nanoseconds, of the log then
  last     INTEGER NOT NULL, -- epoch milliseconds of the last message
  said     INTEGER NOT NULL, -- messages
  made_by  TEXT    NOT NULL, -- version of the rules, and the model
  degraded INTEGER NOT NULL, -- a model was to do it and did not
  PRIMARY KEY (runtime, agent, session)
) STRICT, WITHOUT ROWID;
`

// Fact is a record of the category fact and what it says.
type Fact struct {
	Record
	Kind       string  // preference, background, pattern, project, contact, decision, environment or deadline
	Confidence float64 // 0 to 1
	Quote      string  // the words of the source that say so
	Speaker    string  // who said them: user or assistant, or tool_result of what a call proved
	Topic      string  // what there can be only one of, or ""
	Value      string
	Instead    string // what it says is over, or ""
	MadeBy     string // rules or model that made it
	Successor  string // id of the fact that supersedes it, or ""
	Damaged    bool   // what is stored of it, or of its record, is not what was stored
}

// Extraction says how far the facts of a session have been extracted.
type Extraction struct {
	Runtime, Agent, Session string
	At                      int64 // epoch milliseconds
	Bytes                   int64 // of the log then
	Modified                int64 // epoch nanoseconds, of the log then
	Last                    int64 // epoch milliseconds of the last message
	Said                    int   // messages that people and the agent had said
	MadeBy                  string
	Degraded                bool // a model was to do it and did not
}

// PutFacts stores the facts of one extraction, that it took place, and which
// facts are superseded (the id of each by the id of what supersedes it), in one
// transaction. What supersedes need not be stored: a fact that was forgotten
// supersedes nothing.
func (s factStore) PutFacts(ctx context.Context, x Extraction, facts []Fact, superseded map[string]string) (PutResult, error) {
	var result PutResult
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, factTables); err != nil {
			return fmt.Errorf("make the tables of facts: %w", err)
		}
		w, err := newWriter(ctx, tx, &result)
		if err != nil {
			return err
		}
		defer w.close()
		for _, f := range facts {
			f.Category = CategoryFact
			if err := (factWriter{w}).putFact(f); err != nil {
				return fmt.Errorf("store fact %s of %s: %w", f.ID, f.Session, err)
			}
		}
		for id, successor := range superseded {
			if err := (factWriter{w}).supersede(id, successor); err != nil {
				return fmt.Errorf("supersede fact %s: %w", id, err)
			}
		}
		_, err = w.exec("INSERT OR REPLACE INTO extractions (runtime, agent, session, at, bytes, modified, last, said, made_by, degraded) VALUES (?,?,?,?,?,?,?,?,?,?)",
			x.Runtime, x.Agent, x.Session, x.At, x.Bytes, x.Modified, x.Last, x.Said, x.MadeBy, x.Degraded)
		if err != nil {
			return err
		}
		return w.finish()
	})
	if err != nil {
		return PutResult{}, err
	}
	return result, nil
}

const insertFact = `INSERT INTO facts (record, kind, confidence, quote, speaker, topic, value, instead, made_by, successor, sum)
	SELECT rowid, ?, ?, ?, ?, ?, ?, ?, ?, '', ? FROM records WHERE id=?
	ON CONFLICT (record) DO UPDATE SET kind=excluded.kind, confidence=excluded.confidence, quote=excluded.quote, speaker=excluded.speaker,
	topic=excluded.topic, value=excluded.value, instead=excluded.instead, made_by=excluded.made_by, successor='', sum=excluded.sum`

// factWriter is a writer of facts.
type factWriter struct{ *writer }

func (w factWriter) putFact(f Fact) error {
	if err := w.put(f.Record); err != nil {
		return err
	}
	f.Successor = ""
	_, err := w.exec(insertFact, f.Kind, f.Confidence, f.Quote, f.Speaker, f.Topic, f.Value, f.Instead, f.MadeBy, sumOfFact(f), f.ID)
	return err
}

const selectFact = "SELECT r.id, f.kind, f.confidence, f.quote, f.speaker, f.topic, f.value, f.instead, f.made_by, f.successor, f.sum FROM facts f JOIN records r ON r.rowid=f.record"

// fields are where selectFact is read to.
func (f *Fact) fields(sum *int64) []any {
	return []any{&f.ID, &f.Kind, &f.Confidence, &f.Quote, &f.Speaker, &f.Topic, &f.Value, &f.Instead, &f.MadeBy, &f.Successor, sum}
}

// supersede notes what supersedes a fact. The checksum of one that is damaged
// stays as it is: another would hide that.
func (w factWriter) supersede(id, successor string) error {
	s, err := w.statement(selectFact + " WHERE r.id=?")
	if err != nil {
		return err
	}
	var f Fact
	var sum int64
	err = s.QueryRowContext(w.ctx, id).Scan(f.fields(&sum)...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // it was forgotten
	}
	if err != nil {
		return err
	}
	if sum == sumOfFact(f) {
		f.Successor = successor
		sum = sumOfFact(f)
	}
	_, err = w.exec("UPDATE facts SET successor=?, sum=? WHERE record=(SELECT rowid FROM records WHERE id=?)", successor, sum, id)
	return err
}

// hasFacts tells whether the memory ever had a fact.
func (s *connection) hasFacts(ctx context.Context) (has bool, err error) {
	err = s.reads().QueryRowContext(ctx, "SELECT count(*)=2 FROM sqlite_schema WHERE type='table' AND name IN ('facts', 'extractions')").Scan(&has)
	return has, database.Classify(err)
}

// FactFilter says which facts to list. Empty fields match everything.
type FactFilter struct {
	Agent                  agentset.Set
	Runtime, Session, Kind string
	Superseded             bool     // also those that are
	IDs                    []string // of these records; of all if nil
}

// live is the condition under which a fact f is not superseded. What
// supersedes it may have been forgotten since.
const live = "(f.successor='' OR NOT EXISTS (SELECT 1 FROM records n WHERE n.id=f.successor))"

// Facts lists facts, oldest first.
func (s factStore) Facts(ctx context.Context, o FactFilter) ([]Fact, error) {
	has, err := s.hasFacts(ctx)
	if err != nil || !has {
		return nil, err
	}
	condition, args := Query{Runtime: o.Runtime, Agent: o.Agent, Session: o.Session}.filter()
	if o.Kind != "" {
		condition, args = condition+" AND f.kind=?", append(args, o.Kind)
	}
	if o.IDs != nil {
		condition, args = condition+" AND r.id IN ("+database.Marks(o.IDs)+")", append(args, database.Args(o.IDs)...)
	}
	if !o.Superseded {
		condition += " AND " + live
	}
	var facts []Fact
	err = database.Each(ctx, database.For(s.db, "list facts"), func(scan database.Scan) error {
		var f Fact
		var successor string
		var recordSum, factSum sql.NullInt64
		err := scan(&f.ID, (*keptText)(&f.Text), &f.Category, &f.Importance, &f.CreatedAt, &f.Runtime, &f.Agent, &f.Session, &f.Key, &f.Archive, &f.ArchivePath,
			&f.FirstLine, &f.LastLine, &f.FirstByte, &f.EndByte, &f.Branch, &f.Position, &f.Kind, &f.Confidence, &f.Quote, &f.Speaker, &f.Topic, &f.Value, &f.Instead, &f.MadeBy,
			&f.Successor, &successor, &recordSum, &factSum)
		f.Damaged = !f.sound(successor, recordSum, factSum)
		facts = append(facts, f)
		return err
	}, `SELECT r.id, t.text, r.category, r.importance, r.created_at, r.runtime, r.agent, r.session, r.key, r.archive, r.archive_path,
		r.first_line, r.last_line, r.first_byte, r.end_byte, r.branch, r.position, f.kind, f.confidence, f.quote, f.speaker, f.topic, f.value, f.instead, f.made_by,
		iif(`+live+`, '', f.successor), f.successor, r.sum, f.sum
		FROM facts f JOIN records r ON r.rowid=f.record JOIN texts t ON t.record=r.rowid WHERE `+condition+" ORDER BY r.created_at, r.first_line, r.rowid", args...)
	return facts, err
}

// sound says whether a fact and its record are what was stored.
func (f Fact) sound(successor string, recordSum, factSum sql.NullInt64) bool {
	f.Successor = successor
	record := stored{f.Record, recordSum}
	return record.sound() && (!factSum.Valid || factSum.Int64 == sumOfFact(f))
}

// Extraction returns up to where the facts of a session were extracted; false
// if they never were.
func (s factStore) Extraction(ctx context.Context, source Source) (Extraction, bool, error) {
	x := Extraction{Runtime: source.Runtime, Agent: source.Agent, Session: source.Session}
	has, err := s.hasFacts(ctx)
	if err != nil || !has {
		return x, false, err
	}
	err = s.db.QueryRowContext(ctx, "SELECT at, bytes, modified, last, said, made_by, degraded FROM extractions WHERE runtime=? AND agent=? AND session=?", x.Runtime, x.Agent, x.Session).
		Scan(&x.At, &x.Bytes, &x.Modified, &x.Last, &x.Said, &x.MadeBy, &x.Degraded)
	if errors.Is(err, sql.ErrNoRows) {
		return x, false, nil
	}
	return x, err == nil, database.Classify(err)
}

// LinkFacts notes that the log of a session is in an archive now (source names
// both; ArchivePath is the archive's), so that facts of it have a source that
// stays. appended says that such a log is only ever appended to: then the facts
// of its first size bytes are linked. Facts of another log are linked only if
// it is as long as it was when they were extracted. log is its path. It returns
// how many facts were linked.
func (s factStore) LinkFacts(ctx context.Context, source Source, log string, size int64, appended bool) (linked int, err error) {
	has, err := s.hasFacts(ctx)
	if err != nil || !has || source.Archive == "" {
		return 0, err
	}
	const condition = `r.runtime=? AND r.agent=? AND r.session=? AND r.category=? AND r.archive='' AND r.archive_path=? AND r.end_byte<=?
		AND (? OR EXISTS (SELECT 1 FROM extractions x WHERE x.runtime=r.runtime AND x.agent=r.agent AND x.session=r.session AND x.bytes=?))`
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		w, err := newWriter(ctx, tx, &PutResult{})
		if err != nil {
			return err
		}
		defer w.close()
		rows, err := readRows(ctx, tx, condition, source.Runtime, source.Agent, source.Session, CategoryFact, log, size, appended, size)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := (factWriter{w}).link(row, source); err != nil {
				return err
			}
		}
		linked = len(rows)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("link facts to their archive: %w", err)
	}
	return linked, nil
}

// link notes the archive of a record. The checksum of one that is damaged stays
// as it is: it would hide that.
func (w factWriter) link(row int64, source Source) error {
	known, err := w.read(row)
	if err != nil {
		return err
	}
	linked := known.Record
	linked.Archive, linked.ArchivePath = source.Archive, source.ArchivePath
	at, err := w.sourceOf(linked)
	if err != nil {
		return err
	}
	if _, err := w.exec("UPDATE record_rows SET source=? WHERE record=?", at, row); err != nil || !known.sound() {
		return err
	}
	return w.sum(row)
}

// readRows lists the rows of the records r that meet a condition.
func readRows(ctx context.Context, q database.Querier, condition string, args ...any) ([]int64, error) {
	list, err := database.Numbers(ctx, q, "SELECT r.rowid FROM records r WHERE "+condition, args...)
	if err != nil {
		return nil, fmt.Errorf("list records: %w", err)
	}
	return list, nil
}
