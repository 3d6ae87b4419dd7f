package memory

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/embed"
)

// Vector is the embedding of a record.
type Vector struct {
	ID     string
	Values []float32 // as many as the model's dimension; brought to unit length
}

// Failure is a record that could not be embedded, and why. It stays text.
type Failure struct {
	ID     string
	Reason string
	// Nothing is true when the text has nothing to embed: it is not pending.
	Nothing bool
}

// PutVectors adds vectors to the agent's file and then names them in one
// transaction, with what failed. Vectors that are not finite, not of the
// model's dimension or zero are refused, and with them all of the call (the
// errors of embed.Check). A vector whose record is gone, or is another
// agent's, gets no name.
func (s *Store) PutVectors(ctx context.Context, model embed.Model, agent string, vectors []Vector, failed []Failure) error {
	values := make([][]float32, len(vectors))
	for i, v := range vectors {
		values[i] = v.Values
	}
	if err := embed.Check(values, len(values), model.Dim); err != nil {
		return fmt.Errorf("store vectors: %w", err)
	}
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		if err := registerIn(ctx, tx, model); err != nil {
			return err
		}
		f, err := s.fileOf(ctx, tx, model, agent)
		if err != nil {
			return err
		}
		if err := f.append(ctx, tx, vectors); err != nil {
			return err
		}
		return noteFailures(ctx, tx, model, failed)
	})
}

// vectorFile is the file of one agent and model, and what the database knows
// of it.
type vectorFile struct {
	number      int64  // 0 if the database does not know it yet
	fingerprint string // of the model
	dim         int
	agent       string
	base        string // in the agent's directory
	path        string
	pins        *durable.Pins
	slots       int64 // where the rows end that may have a name
	rows        int64 // how many there are
	stamp       string
	checked     int64 // epoch milliseconds
}

// vectorPath is where a vector file of an agent lies.
func (s *Store) vectorPath(agent, name string) string {
	return filepath.Join(s.dir, "vectors", safeName(agent), name)
}

func (s *Store) fileOf(ctx context.Context, q querier, model embed.Model, agent string) (*vectorFile, error) {
	f := &vectorFile{fingerprint: model.Fingerprint(), dim: model.Dim, agent: agent, pins: s.pins}
	err := q.QueryRowContext(ctx, "SELECT file, name, slots, rows, stamp, checked FROM files WHERE model=? AND agent=?", model.Fingerprint(), agent).Scan(&f.number, &f.base, &f.slots, &f.rows, &f.stamp, &f.checked)
	if errors.Is(err, sql.ErrNoRows) {
		f.base, err = freeName(ctx, q, f.fingerprint, agent)
	}
	if err != nil {
		return nil, fmt.Errorf("look up vector file: %w", classifyError(err))
	}
	f.path = s.vectorPath(agent, f.base)
	return f, nil
}

// freeName names a new vector file: after its model, and with a number if a
// file that is in use has that name. A file that nobody names is overwritten.
func freeName(ctx context.Context, q querier, fingerprint, agent string) (string, error) {
	for n := 1; ; n++ {
		name := fingerprint + packedSuffix
		if n > 1 {
			name = fmt.Sprintf("%s.%d"+packedSuffix, fingerprint, n)
		}
		var taken bool
		err := q.QueryRowContext(ctx, "SELECT count(*)>0 FROM files WHERE agent=? AND name=?", agent, name).Scan(&taken)
		if err != nil || !taken {
			return name, err
		}
	}
}

func (f *vectorFile) save(ctx context.Context, tx *sql.Tx) error {
	f.stamp = stampOf(f.pins, f.path)
	_, err := tx.ExecContext(ctx, "UPDATE files SET name=?, slots=?, rows=?, stamp=?, checked=? WHERE file=?", f.base, f.slots, f.rows, f.stamp, f.checked, f.number)
	return err
}

// register makes the file known to the database, if it is not.
func (f *vectorFile) register(ctx context.Context, tx *sql.Tx) error {
	if f.number != 0 {
		return nil
	}
	result, err := tx.ExecContext(ctx, "INSERT INTO files (model, agent, name, slots, rows, stamp, checked) VALUES (?,?,?,?,?,?,?)", f.fingerprint, f.agent, f.base, f.slots, f.rows, f.stamp, f.checked)
	if err != nil {
		return fmt.Errorf("register vector file: %w", err)
	}
	f.number, err = result.LastInsertId()
	return err
}

// stampOf is what shows that anybody else has changed a file: its size, times
// and identity. It is empty for a file that is not there.
func stampOf(pins *durable.Pins, path string) string {
	info, err := pins.Lstat(path)
	if err != nil {
		return ""
	}
	id := durable.Identify(info)
	return fmt.Sprintf("%d %d %d %d", info.Size(), info.ModTime().UnixNano(), id.Inode, id.Changed.UnixNano())
}

// checkEvery is how often every row of an untouched vector file is checked.
const checkEvery = 7 * 24 * time.Hour

// untouched says whether the file is as it was left, and was checked lately.
func (f *vectorFile) untouched() bool {
	since := time.Since(time.UnixMilli(f.checked))
	return f.stamp == stampOf(f.pins, f.path) && since >= 0 && since < checkEvery
}

// Reclaim makes records pending again whose vector the file does not have: it
// is missing, shorter, or the row's checksum differs. It returns how many. A
// file that nobody touched is not read again for a week.
func (s *Store) Reclaim(ctx context.Context, model embed.Model, agent string) (int, error) {
	if err := s.register(ctx, model); err != nil {
		return 0, err
	}
	f, err := s.fileOf(ctx, s.db, model, agent)
	if err != nil || f.slots == 0 || f.untouched() {
		return 0, err
	}
	lost := 0
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		f, err := s.fileOf(ctx, tx, model, agent)
		if err != nil {
			return err
		}
		lost, err = f.check(ctx, tx, true)
		return err
	})
	return lost, err
}

// check makes the records of lost rows pending, unless the file is untouched.
func (f *vectorFile) check(ctx context.Context, tx *sql.Tx, save bool) (int, error) {
	if f.slots == 0 {
		f.checked = time.Now().UnixMilli() // there is nothing to check
		return 0, nil
	}
	if f.untouched() {
		return 0, nil
	}
	lost, kept, err := f.lost(ctx, tx)
	if err != nil {
		return 0, err
	}
	for _, p := range lost {
		if err := f.unname(ctx, tx, p); err != nil {
			return 0, fmt.Errorf("make records pending: %w", err)
		}
	}
	f.slots, f.rows, f.checked = kept.end, kept.rows, time.Now().UnixMilli()
	if !save {
		return len(lost), nil
	}
	return len(lost), f.save(ctx, tx)
}

func (f *vectorFile) unname(ctx context.Context, tx *sql.Tx, p place) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM vector_rows WHERE file=? AND slot=?", f.number, p.slot); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO pending (model, agent, record, tries, reason) VALUES (?,?,?,0,'')", f.fingerprint, f.agent, p.record)
	return err
}

// extent is how many rows there are, and where the last of them ends.
type extent struct{ rows, end int64 }

// lost returns the rows that do not verify, and the extent of the others.
func (f *vectorFile) lost(ctx context.Context, q querier) (lost []place, kept extent, err error) {
	rows, err := q.QueryContext(ctx, "SELECT record, slot, crc FROM vectors WHERE model=? AND agent=?", f.fingerprint, f.agent)
	if err != nil {
		return nil, kept, fmt.Errorf("list vectors: %w", classifyError(err))
	}
	defer rows.Close()
	named := map[int64]place{}
	var places []place
	for rows.Next() {
		p := place{file: f.path}
		if err := rows.Scan(&p.record, &p.slot, &p.crc); err != nil {
			return nil, kept, fmt.Errorf("list vectors: %w", classifyError(err))
		}
		named[p.slot] = p
		places = append(places, p)
	}
	if err := rows.Err(); err != nil {
		return nil, kept, classifyError(err)
	}
	reader := rowReader{dim: f.dim, pins: f.pins}
	err = reader.each(ctx, places, func(b block) error {
		for i, p := range b.places {
			delete(named, p.slot)
			kept.rows, kept.end = kept.rows+1, max(kept.end, b.ends[i])
		}
		return nil
	})
	for _, p := range named {
		lost = append(lost, p)
	}
	return lost, kept, err
}

// append writes rows behind those that may have a name, and names them.
func (f *vectorFile) append(ctx context.Context, tx *sql.Tx, vectors []Vector) error {
	if len(vectors) == 0 {
		return nil
	}
	if _, err := f.check(ctx, tx, false); err != nil {
		return err
	}
	rows, places, err := encodeRows(vectors, f.dim)
	if err != nil {
		return err
	}
	if err := f.pins.AppendRows(f.path, f.slots*slotBytes, rows, 0o600); err != nil {
		return fmt.Errorf("write vectors: %w", err)
	}
	n, err := f.newNamer(ctx, tx)
	if err != nil {
		return fmt.Errorf("name vectors: %w", err)
	}
	defer n.close()
	short := context.WithoutCancel(ctx) // a cancel costs every statement a goroutine
	for i, v := range vectors {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := n.name(short, v.ID, row{f.slots + places[i].slot, places[i].crc}); err != nil {
			return fmt.Errorf("name vectors: %w", err)
		}
	}
	f.slots, f.rows = f.slots+int64(len(rows)/slotBytes), f.rows+int64(len(vectors))
	return f.save(ctx, tx)
}

// row is one row of a vector file and what it must hold.
type row struct {
	slot int64
	crc  uint32
}

// namer says which records the rows of a file belong to. Its statements are
// prepared once: there are many rows.
type namer struct {
	file         *vectorFile
	named, ended *sql.Stmt // of a record by its id
	insert, done *sql.Stmt // by its row
}

func (f *vectorFile) newNamer(ctx context.Context, tx *sql.Tx) (*namer, error) {
	if err := f.register(ctx, tx); err != nil {
		return nil, err
	}
	n := &namer{file: f}
	for text, statement := range map[string]**sql.Stmt{
		"INSERT OR REPLACE INTO vector_rows (file, slot, record, crc) SELECT ?, ?, rowid, ? FROM records WHERE id=? AND agent=?": &n.named,
		"DELETE FROM pending WHERE model=? AND agent=? AND record=(SELECT record FROM record_rows WHERE id=?)":                   &n.ended,
		"INSERT OR REPLACE INTO vector_rows (file, slot, record, crc) VALUES (?, ?, ?, ?)":                                       &n.insert,
		"DELETE FROM pending WHERE model=? AND agent=? AND record=?":                                                             &n.done,
	} {
		s, err := tx.PrepareContext(ctx, text)
		if err != nil {
			n.close()
			return nil, err
		}
		*statement = s
	}
	return n, nil
}

func (n *namer) close() {
	for _, s := range []*sql.Stmt{n.named, n.ended, n.insert, n.done} {
		if s != nil {
			_ = s.Close() // the transaction decides
		}
	}
}

// name records which record a row belongs to. The row that the record had
// before loses its name; a record that is gone, or is another agent's, gets
// none.
func (n *namer) name(ctx context.Context, id string, at row) error {
	result, err := n.named.ExecContext(ctx, n.file.number, at.slot, int32(at.crc), id, n.file.agent)
	if err != nil {
		return err
	}
	if named, err := result.RowsAffected(); err != nil || named == 0 {
		return err
	}
	_, err = n.ended.ExecContext(ctx, n.file.fingerprint, n.file.agent, id)
	return err
}

// give notes that a row belongs to a record.
func (n *namer) give(ctx context.Context, record int64, at row) error {
	if _, err := n.insert.ExecContext(ctx, n.file.number, at.slot, record, int32(at.crc)); err != nil {
		return err
	}
	_, err := n.done.ExecContext(ctx, n.file.fingerprint, n.file.agent, record)
	return err
}

// toUnit returns the vector scaled to unit length.
func toUnit(v []float32) []float32 { return appendUnit(make([]float32, 0, len(v)), v) }

// appendUnit appends the vector scaled to unit length.
func appendUnit(unit, v []float32) []float32 {
	scale := 1 / norm(v)
	for _, x := range v {
		unit = append(unit, float32(float64(x)*scale))
	}
	return unit
}

func norm(v []float32) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// blockRows is how many rows are in memory at a time, and blockBytes how much of
// a file, at most. What nobody wants is read along if it is no more than
// gapBytes in a row: another call costs about as much.
const (
	blockRows  = 1024
	blockBytes = 1 << 20
	gapBytes   = 1 << 16
)

// place names one vector: the record it belongs to, its file and row.
type place struct {
	record     int64
	file       string
	slot       int64
	crc        uint32
	importance float64
}

// block is a run of rows of one file. rows[i] is the vector of places[i], and
// ends[i] the slot where its row ends; all rows are slices of one buffer and
// valid until the next block.
type block struct {
	places []place
	rows   [][]float32
	ends   []int64
}

// rowReader reads vectors in blocks: its memory does not grow with the files.
type rowReader struct {
	dim     int
	pins    *durable.Pins
	raw     []byte
	buffer  []float32
	damaged int // rows passed over because they are lost or do not verify
}

// errVectorsUnopened is returned for a file that is there and cannot be opened.
var errVectorsUnopened = errors.New("open vectors")

// each hands out the rows of places that verify, file by file in the order of
// slots. A row that does not verify is passed over and counted: its record is
// found by its text.
func (r *rowReader) each(ctx context.Context, places []place, fn func(b block) error) error {
	places = slices.Clone(places)
	slices.SortFunc(places, func(x, y place) int { return cmp.Or(cmp.Compare(x.file, y.file), cmp.Compare(x.slot, y.slot)) })
	for len(places) > 0 {
		n := 1
		for n < len(places) && places[n].file == places[0].file {
			n++
		}
		if err := r.file(ctx, places[:n], fn); err != nil {
			return err
		}
		places = places[n:]
	}
	return nil
}

// file reads the rows of one file.
func (r *rowReader) file(ctx context.Context, places []place, fn func(b block) error) error {
	f, err := r.pins.OpenRegular(places[0].file)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, durable.ErrNotRegular) {
		r.damaged += len(places)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errVectorsUnopened, err)
	}
	defer f.Close()
	format := formatOf(places[0].file, r.dim)
	gap, span := gapBytes/format.unit(), blockBytes/format.unit()
	for len(places) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := 1
		for n < len(places) && n < blockRows && places[n].slot < places[0].slot+span && places[n].slot <= places[n-1].slot+gap {
			n++
		}
		if err := fn(r.read(f, format, places[:n])); err != nil {
			return err
		}
		places = places[n:]
	}
	return nil
}

// read reads the part of the file that holds places.
func (r *rowReader) read(f *os.File, format rowFormat, places []place) block {
	first, unit := places[0].slot, format.unit()
	need := (places[len(places)-1].slot-first)*unit + format.most()
	if int64(len(r.raw)) < need {
		r.raw = make([]byte, need)
	}
	if floats := len(places) * r.dim; len(r.buffer) < floats {
		r.buffer = make([]float32, floats)
	}
	got, _ := f.ReadAt(r.raw[:need], first*unit) // what is missing does not verify
	b := block{places: make([]place, 0, len(places)), rows: make([][]float32, 0, len(places)), ends: make([]int64, 0, len(places))}
	for i, p := range places {
		at := (p.slot - first) * unit
		row := format.cut(r.raw[min(at, int64(got)):got])
		vector := r.buffer[i*r.dim:][:r.dim]
		if row == nil || crc32.Checksum(row, castagnoli()) != p.crc || !format.decode(row, vector) {
			r.damaged++
			continue
		}
		b.places, b.rows, b.ends = append(b.places, p), append(b.rows, vector), append(b.ends, p.slot+int64(len(row))/unit)
	}
	return b
}
