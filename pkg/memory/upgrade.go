package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/pkg/durable"
	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

// Versions of the database: version 1 had no checksums; version 2 kept vectors
// as float32, texts as they are, and with every record where it comes from;
// version 3 named model and agent with every vector, had no dictionary, and knew
// nothing of what was done in a session; version 4 had its words in SQLite's
// full-text index; version 5, which was never released, in segments without
// checksums.
const (
	checksumVersion = 2
	packedVersion   = 3
	numberedVersion = 4
	workVersion     = 4
	fullTextVersion = 4 // and before
	segmentVersion  = 6
)

// Upgrade is what was done to a memory of an earlier version when it was
// opened.
type Upgrade struct {
	From    int // its version; 0 if it was of this one
	Summed  int // records that got a checksum
	Vectors int // that were written anew, shorter
	Before  int64
	After   int64 // bytes of all files, before and after
}

// Upgraded is what was done to a memory of an earlier version when it was
// opened.
func (s *Store) Upgraded() Upgrade { return s.upgraded }

// HasChecksums says whether records have checksums: those of a memory of an
// earlier version get them when it is opened to be changed.
func (s *Store) HasChecksums() bool { return s.schema >= checksumVersion }

// IsCurrent says whether the memory is of this version: one of an earlier
// version is brought up to date when it is opened to be changed.
func (s *Store) IsCurrent() bool { return s.schema == schemaVersion }

// hasPackedRows says whether vectors are kept as packed rows.
func (s *Store) hasPackedRows() bool { return s.schema >= packedVersion }

// hasNumberedFiles says whether vectors name their files by a number.
func (s *Store) hasNumberedFiles() bool { return s.schema >= numberedVersion }

// hasSegments says whether words are kept in segments.
func (s *Store) hasSegments() bool { return s.schema >= segmentVersion }

// hasFullText says whether words are in SQLite's full-text index. Those of version
// 5 are neither, and nobody reads them.
func (s *Store) hasFullText() bool { return s.schema <= fullTextVersion }

// rowCount is the column of files that has the number of rows.
func (s *Store) rowCount() string {
	if s.hasPackedRows() {
		return "rows"
	}
	return "slots"
}

// upgrade brings a database of an earlier version up to date, in one
// transaction: a run that is killed leaves it as it was, and files that nobody
// names, which the next one writes over. What was replaced is given back to the
// file system afterwards.
func (s *Store) upgrade(ctx context.Context) error {
	before := treeBytes(s.dir)
	if err := s.roomToUpgrade(before); err != nil {
		return err
	}
	var done Upgrade
	err := s.inTransaction(ctx, func(tx *sql.Tx) (err error) {
		done = Upgrade{Before: before}
		// Another process may have been faster.
		if s.schema, err = checkVersion(ctx, tx); err != nil || s.schema == schemaVersion {
			return err
		}
		done.From = s.schema
		if err := s.upgradeIn(ctx, tx, &done); err != nil {
			return fmt.Errorf("bring the memory up to date: %w", err)
		}
		s.schema = schemaVersion
		return nil
	})
	if err != nil || done.From == 0 {
		return err
	}
	if err := s.giveBack(ctx); err != nil {
		return err
	}
	done.After = treeBytes(s.dir)
	s.upgraded = done
	return nil
}

// roomToUpgrade refuses to begin what would fill the disk: new vectors take a
// third of the old ones, and the database is written twice.
func (s *Store) roomToUpgrade(size int64) error {
	free, err := durable.FreeSpace(s.dir)
	if err != nil || free >= uint64(2*size) {
		return err
	}
	return fmt.Errorf("bring the memory up to date: %w: it has %d bytes and needs %d more for a while, %d are free", ErrFull, size, 2*size, free)
}

// upgradeIn does what is to be done to the database.
func (s *Store) upgradeIn(ctx context.Context, tx *sql.Tx, done *Upgrade) error {
	if s.schema < workVersion {
		if err := s.upgradeOld(ctx, tx, done); err != nil {
			return err
		}
	}
	if err := s.moveWords(ctx, tx); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO state (name, value) VALUES ('"+roomDue+"', '');"+markVersion)
	return err
}

// moveWords reads the words of all texts into segments, in place of what they were
// in.
func (s *Store) moveWords(ctx context.Context, tx *sql.Tx) error {
	drop := "DROP TABLE words"
	if !s.hasFullText() {
		drop = "DROP TABLE word_segments; DROP TABLE word_pages; DROP TABLE word_index; DROP TABLE word_gone"
	}
	if _, err := tx.ExecContext(ctx, drop); err != nil {
		return fmt.Errorf("move the words: %w", damagedIndex(err))
	}
	if _, err := tx.ExecContext(ctx, wordTables); err != nil {
		return fmt.Errorf("move the words: %w", err)
	}
	return readWordsAnew(ctx, tx)
}

// damagedIndex marks the error by which SQLite says that it cannot open a
// full-text index to drop it: to SQLite that is no damage.
func damagedIndex(err error) error {
	var e *sqlite.Error
	if err = classifyError(err); errors.As(err, &e) && e.Code()&0xFF == sqlitelib.SQLITE_ERROR {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

// upgradeOld brings a database of version 3 and before to version 4, but for its
// mark.
func (s *Store) upgradeOld(ctx context.Context, tx *sql.Tx, done *Upgrade) (err error) {
	if s.schema < checksumVersion {
		if _, err := tx.ExecContext(ctx, stateTable+"ALTER TABLE records ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;"); err != nil {
			return err
		}
		if done.Summed, err = s.sumAll(ctx, tx); err != nil {
			return err
		}
	}
	if s.hasPackedRows() {
		return s.upgradePacked(ctx, tx)
	}
	facts, err := s.copyRows(ctx, tx)
	if err != nil {
		return err
	}
	var work counted
	if err := tx.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM old_texts) + (SELECT count(*) FROM old_vectors)").Scan(&work.total); err != nil {
		return err
	}
	work.tell = s.progress
	if err := s.packTexts(ctx, tx, &work); err != nil {
		return err
	}
	if done.Vectors, err = s.packVectors(ctx, tx, &work); err != nil {
		return err
	}
	if facts {
		if _, err := tx.ExecContext(ctx, "DROP TABLE old_facts"); err != nil {
			return err
		}
	}
	if _, err = tx.ExecContext(ctx, dropOld); err != nil {
		return err
	}
	return noteWorkDue(ctx, tx)
}

// workDue is the row of state that says that there are sessions of which nobody
// has looked what was done in them.
const workDue = "work"

// noteWorkDue notes that what was done in the sessions that are known stands in
// their archives: a rebuild finds it.
func noteWorkDue(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO state (name, value) SELECT '"+workDue+"', '' WHERE EXISTS (SELECT 1 FROM sources WHERE archive<>'')")
	return err
}

// upgradePacked brings a database of version 3 up to date: its texts were
// compressed without the dictionary.
func (s *Store) upgradePacked(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, "ALTER TABLE texts RENAME TO old_texts;"+textTable+numberFiles); err != nil {
		return err
	}
	work := counted{tell: s.progress}
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM old_texts").Scan(&work.total); err != nil {
		return err
	}
	if err := s.packTexts(ctx, tx, &work); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "DROP TABLE old_texts"); err != nil {
		return err
	}
	return noteWorkDue(ctx, tx)
}

// numberFiles gives vector files their numbers, and names them by those. A record
// whose vector is in no file is pending. There is room to give back then.
const numberFiles = `
DROP INDEX vectors_by_record;
ALTER TABLE vectors RENAME TO old_vectors;
ALTER TABLE files RENAME TO old_files;
` + vectorTables + `
INSERT INTO files (model, agent, name, slots, rows, stamp, checked)
  SELECT model, agent, name, slots, rows, stamp, checked FROM old_files ORDER BY model, agent;
INSERT INTO vector_rows (file, slot, record, crc)
  SELECT f.file, o.slot, o.record, o.crc << 32 >> 32 FROM files f CROSS JOIN old_vectors o ON o.model=f.model AND o.agent=f.agent;
INSERT OR IGNORE INTO pending (model, agent, record, tries, reason)
  SELECT o.model, o.agent, o.record, 0, '' FROM old_vectors o WHERE NOT EXISTS (SELECT 1 FROM files f WHERE f.model=o.model AND f.agent=o.agent);
DROP TABLE old_vectors;
DROP TABLE old_files;
INSERT OR REPLACE INTO state (name, value) VALUES ('` + roomDue + `', '');
`

// WorkIsDue says whether the memory knows sessions of an earlier version, of
// which it does not know what was done in them: Rebuild of all archives, see
// EndRebuild, adds that.
func (s *Store) WorkIsDue(ctx context.Context) (due bool, err error) {
	if s.schema < workVersion {
		err = s.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM records WHERE archive<>'')").Scan(&due)
		return due, classifyError(err)
	}
	err = s.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM state WHERE name=?)", workDue).Scan(&due)
	return due, classifyError(err)
}

// counted is work that is told about as it is done.
type counted struct {
	done, total int64
	tell        func(done, total int64)
}

func (c *counted) add(n int) {
	if c.done += int64(n); c.tell != nil {
		c.tell(c.done, c.total)
	}
}

// oldTables are those that are made anew, those that others refer to last.
func oldTables() []string {
	return []string{"facts", "pending", "vectors", "files", "texts", "records"}
}

// dropOld removes what was copied, and says that there is room to give back.
const dropOld = `
DROP TABLE old_pending;
DROP TABLE old_vectors;
DROP TABLE old_files;
DROP TABLE old_texts;
DROP TABLE old_records;
INSERT OR REPLACE INTO state (name, value) VALUES ('` + roomDue + `', '');
`

// copyOld copies the rows of records. What waits for a vector is read from the
// old tables, whose rows stay.
const copyOld = `
INSERT INTO sources (category, runtime, agent, session, key, archive, archive_path, branch)
  SELECT DISTINCT category, runtime, agent, session, key, archive, archive_path, branch FROM old_records;
CREATE TEMP TABLE source_of AS SELECT o.rowid AS record, s.source FROM old_records o JOIN sources s
  ON s.agent=o.agent AND s.runtime=o.runtime AND s.session=o.session AND s.category=o.category
  AND s.key=o.key AND s.archive=o.archive AND s.archive_path=o.archive_path AND s.branch=o.branch ORDER BY o.rowid;
INSERT INTO record_rows (record, id, source, importance, created_at, first_line, last_line, first_byte, end_byte, position, sum)
  SELECT o.rowid, o.id, s.source, o.importance, o.created_at, o.first_line, o.last_line, o.first_byte, o.end_byte, o.position, o.sum
  FROM temp.source_of s JOIN old_records o ON o.rowid=s.record ORDER BY s.rowid;
DROP TABLE temp.source_of;
INSERT INTO pending SELECT * FROM old_pending;
`

// copyRows puts the old tables aside, makes new ones and copies the rows of
// records. It reports whether there are facts.
func (s *Store) copyRows(ctx context.Context, tx *sql.Tx) (facts bool, err error) {
	if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type='table' AND name='facts')").Scan(&facts); err != nil {
		return false, err
	}
	indexes, err := readStrings(ctx, tx, "SELECT name FROM sqlite_schema WHERE type='index' AND sql IS NOT NULL AND tbl_name IN ('facts', 'pending', 'vectors', 'files', 'texts', 'records')")
	if err != nil {
		return false, err
	}
	statements := ""
	for _, name := range indexes {
		statements += "DROP INDEX " + name + ";"
	}
	for _, table := range oldTables() {
		if table != "facts" || facts {
			statements += "ALTER TABLE " + table + " RENAME TO old_" + table + ";"
		}
	}
	statements += recordTables + copyOld
	if facts {
		statements += factTables + "INSERT INTO facts SELECT * FROM old_facts;"
	}
	_, err = tx.ExecContext(ctx, statements)
	return facts, err
}

// packTexts compresses all texts. What cannot be read stays as it is: the
// checksum of its record does not hold.
func (s *Store) packTexts(ctx context.Context, tx *sql.Tx, work *counted) error {
	w, err := newTextWriter()
	if err != nil {
		return err
	}
	insert, err := tx.PrepareContext(ctx, "INSERT INTO texts (record, text) VALUES (?, ?)")
	if err != nil {
		return err
	}
	defer insert.Close()
	rows, err := tx.QueryContext(ctx, "SELECT record, text FROM old_texts ORDER BY record")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var record int64
		var kept any
		if err := rows.Scan(&record, &kept); err != nil {
			return err
		}
		if packed, ok := kept.([]byte); ok {
			if text, ok := unpackText(packed); ok {
				kept = text
			}
		}
		if text, ok := kept.(string); ok {
			kept = w.kept(text)
		}
		if _, err := insert.ExecContext(ctx, record, kept); err != nil {
			return fmt.Errorf("compress texts: %w", err)
		}
		work.add(1)
	}
	return rows.Err()
}

// sumAll gives all records and facts their checksums. It returns how many
// records there are.
func (s *Store) sumAll(ctx context.Context, tx *sql.Tx) (int, error) {
	n, err := s.sumRecords(ctx, tx)
	if err != nil {
		return 0, err
	}
	var facts bool
	if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type='table' AND name='facts')").Scan(&facts); err != nil || !facts {
		return n, err
	}
	if _, err := tx.ExecContext(ctx, "ALTER TABLE facts ADD COLUMN sum INTEGER NOT NULL DEFAULT 0"); err != nil {
		return 0, err
	}
	return n, sumFacts(ctx, tx)
}

// packVectors writes all vectors as packed rows, into new files beside those in
// use. Records whose vector is lost are pending.
func (s *Store) packVectors(ctx context.Context, tx *sql.Tx, work *counted) (n int, err error) {
	files, err := s.filesIn(ctx, tx, "old_files")
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		done, err := s.packFile(ctx, tx, f, work)
		if err != nil {
			return n, fmt.Errorf("write %s anew: %w", f.path, err)
		}
		n += done
	}
	return n, nil
}

// packFile writes the vectors of one file as packed rows, and names them.
func (s *Store) packFile(ctx context.Context, tx *sql.Tx, old *vectorFile, work *counted) (n int, err error) {
	places, err := listAll(ctx, tx, old, "old_vectors")
	if err != nil {
		return 0, err
	}
	f := *old
	f.number, f.base, f.slots, f.rows = 0, old.fingerprint+packedSuffix, 0, 0
	f.path = s.vectorPath(f.agent, f.base)
	if _, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO pending (model, agent, record, tries, reason)
		SELECT model, agent, record, 0, '' FROM old_vectors WHERE model=? AND agent=?`, f.fingerprint, f.agent); err != nil {
		return 0, err
	}
	name, err := f.newNamer(ctx, tx)
	if err != nil {
		return 0, err
	}
	defer name.close()
	reader := rowReader{dim: f.dim, pins: f.pins}
	err = reader.each(ctx, places, func(b block) error {
		n += len(b.rows)
		work.add(len(b.rows))
		return f.appendBlock(ctx, name, b)
	})
	if err != nil {
		return n, err
	}
	return n, f.save(ctx, tx)
}

// listAll lists the vectors of a file, as a table has them.
func listAll(ctx context.Context, q querier, f *vectorFile, table string) ([]place, error) {
	rows, err := q.QueryContext(ctx, "SELECT record, slot<<32 | crc FROM "+table+" WHERE model=? AND agent=?", f.fingerprint, f.agent)
	if err != nil {
		return nil, err
	}
	return appendPlaces(nil, rows, f.path)
}

// appendBlock writes vectors that are in another file behind those of this one,
// and names them.
func (f *vectorFile) appendBlock(ctx context.Context, name *namer, b block) error {
	vectors := make([]Vector, len(b.rows))
	for i, row := range b.rows {
		vectors[i].Values = row
	}
	rows, places, err := encodeRows(vectors, f.dim)
	if err != nil {
		return err
	}
	if err := f.pins.AppendRows(f.path, f.slots*slotBytes, rows, 0o600); err != nil {
		return fmt.Errorf("write vectors: %w", err)
	}
	for i, p := range b.places {
		if err := name.give(ctx, p.record, row{f.slots + places[i].slot, places[i].crc}); err != nil {
			return fmt.Errorf("name vectors: %w", err)
		}
	}
	f.slots, f.rows = f.slots+int64(len(rows)/slotBytes), f.rows+int64(len(b.rows))
	return nil
}

// roomDue is the row of state that says that the database has room to give
// back.
const roomDue = "room"

// giveBack removes the files that nobody names any more, and writes the database
// anew, so that it gets shorter. If there is no room for that, or somebody reads
// the memory, a later run does it.
func (s *Store) giveBack(ctx context.Context) error {
	var due bool
	if err := s.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM state WHERE name=?)", roomDue).Scan(&due); err != nil || !due {
		return classifyError(err)
	}
	err := s.removeUnnamed(ctx)
	if err == nil {
		err = classifyError(s.overwriting(ctx, s.wipeDatabase))
	}
	if err == nil {
		_, err = s.db.ExecContext(ctx, "DELETE FROM state WHERE name=?", roomDue)
	}
	if s.roomLeft = errors.Is(err, ErrFull) || errors.Is(err, ErrBusy); s.roomLeft {
		return nil
	}
	return err
}

// RoomLeft reports whether the database takes more room than it needs, because
// there was no room to write it anew or somebody was reading. The next run that
// changes the memory tries again.
func (s *Store) RoomLeft() bool { return s.roomLeft }
