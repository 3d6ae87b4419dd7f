package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
)

// embedding is how the texts of an agent get their vectors while they are stored.
type embedding struct {
	embedder *embed.Builtin
	model    embed.Model
	agent    string
}

// vectorWriter adds the vectors of new records to the file of an agent, in the
// transaction that stores the records. Rows are in the file, and synced, before
// the transaction ends; without it nothing names them. Where the file cannot be
// written the records are pending: who embeds them then says why.
type vectorWriter struct {
	ctx         context.Context
	tx          *sql.Tx
	store       *Store
	embedding   *embedding
	fingerprint string      // of the model
	file        *vectorFile // nil until there is a vector
	rows        []byte      // that are not in the file yet
	written     int64       // bytes that are, behind those before
	count       int64       // of all rows
	unnamed     []namedRow  // rows that are not named yet
	failed      bool        // the file cannot be written
	insert      func(text string, args ...any) (sql.Result, error)
}

// namedRow is a row and the record that it belongs to.
type namedRow struct {
	row
	record int64
}

const (
	// heldRows is how many bytes of rows are held before they are written: those
	// of thousands of records. Until the transaction ends, who asks the memory finds
	// the file touched and checks all of it, so it is written late.
	heldRows = 1 << 20
	// namedTogether is how many rows get their names in one statement.
	namedTogether = 64
)

func newVectorWriter(ctx context.Context, tx *sql.Tx, s *Store, e *embedding) (*vectorWriter, error) {
	if err := registerIn(ctx, tx, e.model); err != nil {
		return nil, err
	}
	return &vectorWriter{ctx: ctx, tx: tx, store: s, embedding: e, fingerprint: e.model.Fingerprint()}, nil
}

// add adds the vector of a new record. It returns false where the file cannot be
// written.
func (v *vectorWriter) add(record int64, encoded []byte, crc uint32) (added bool, err error) {
	if v.file == nil {
		if err := v.open(); err != nil {
			return false, err
		}
	}
	if v.failed {
		return false, nil
	}
	slot := v.file.slots + (v.written+int64(len(v.rows)))/slotBytes
	v.rows = append(v.rows, encoded...)
	v.unnamed = append(v.unnamed, namedRow{row{slot, crc}, record})
	if len(v.rows) >= heldRows {
		return true, v.write()
	}
	return true, nil
}

// drop takes back the vector of a record whose text changed, unless it is named.
func (v *vectorWriter) drop(record int64) {
	v.unnamed = slices.DeleteFunc(v.unnamed, func(r namedRow) bool { return r.record == record })
}

// open looks the file up. What it has lost is pending again. An error is one of the
// database, which may have undone the transaction.
func (v *vectorWriter) open() (err error) {
	if v.file, err = v.store.fileOf(v.ctx, v.tx, v.embedding.model, v.embedding.agent); err != nil {
		return err
	}
	if _, err = v.file.check(v.ctx, v.tx, false); errors.Is(err, errVectorsUnopened) {
		v.failed = true
		return nil
	}
	if err != nil {
		return err
	}
	return v.file.register(v.ctx, v.tx)
}

// write writes the rows that are held, syncs and names them.
func (v *vectorWriter) write() error {
	if len(v.rows) == 0 {
		return nil
	}
	if err := v.file.pins.AppendRows(v.file.path, v.file.slots*slotBytes+v.written, v.rows, 0o600); err != nil {
		return v.giveUp()
	}
	v.written += int64(len(v.rows))
	v.count += int64(len(v.unnamed))
	v.rows = v.rows[:0]
	return v.name()
}

// giveUp makes the records pending whose rows could not be written.
func (v *vectorWriter) giveUp() error {
	v.failed = true
	for _, r := range v.unnamed {
		if _, err := v.insert(insertPending, v.fingerprint, v.embedding.agent, r.record, 0, ""); err != nil {
			return err
		}
	}
	v.rows, v.unnamed = v.rows[:0], v.unnamed[:0]
	return nil
}

// nameVectors is the statement that names n rows.
func nameVectors(n int) string {
	return "INSERT OR REPLACE INTO vector_rows (file, slot, record, crc) VALUES " + strings.Repeat("(?,?,?,?),", n-1) + "(?,?,?,?)"
}

// name says which records the rows belong to that are not named yet. That is done
// for many at once: before a statement of several rows SQLite makes the full-text
// index write down what it has gathered.
func (v *vectorWriter) name() error {
	args := make([]any, 0, 4*namedTogether)
	for some := range slices.Chunk(v.unnamed, namedTogether) {
		args = args[:0]
		for _, r := range some {
			args = append(args, v.file.number, r.slot, r.record, int32(r.crc))
		}
		if _, err := v.insert(nameVectors(len(some)), args...); err != nil {
			return fmt.Errorf("name vectors: %w", err)
		}
	}
	v.unnamed = v.unnamed[:0]
	return nil
}

// finish writes what is still held.
func (v *vectorWriter) finish() error {
	if v.file == nil {
		return nil
	}
	if err := v.write(); err != nil || v.written == 0 {
		return err
	}
	v.file.slots, v.file.rows = v.file.slots+v.written/slotBytes, v.file.rows+v.count
	v.written, v.count = 0, 0
	return v.file.save(v.ctx, v.tx)
}
