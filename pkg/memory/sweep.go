package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/sessctl/sessctl/pkg/durable"
)

// sweepBytes is how much of a file is read at a time: the processor's cache
// still holds it when it is compared.
const sweepBytes = 256 << 10

// A sweep compares the query with every row of vector files and only then asks
// which records the best rows belong to. Listing the owner of every row and
// checking every checksum costs more than comparing them all
// (docs/dev/performance.md).
//
// What a row says is still never believed unread: a row is proposed only if the
// database names it and its checksum holds. Damage elsewhere in a file is not
// looked for, so a file is swept only while it is as the program has left it;
// one that anybody has touched since is read row by row, and each is checked.
type sweep struct {
	store  *Store
	query  Query
	model  string // fingerprint
	vector []float32
	files  []sweptFile
	scores []float32 // of all rows, file by file: their cosines, to within slack
	slots  []uint32  // where those rows lie
	slack  float64
}

// sweptFile is a vector file, and which of the scores are those of its rows.
type sweptFile struct {
	agent, path string
	end         int64 // bytes of the rows that may have a name
	first, rows int
}

// errSweepMore is returned when most of the best rows belong to no record, or
// what is no row stands among them: then those that belong to records are
// listed.
var errSweepMore = errors.New("too few of the rows belong to a record")

// newSweep returns nil if the query is not one for a sweep: it has filters that
// most records may not pass, or so few vectors that it does not matter, or a
// file was touched.
func (x *embeddedIndex) newSweep(ctx context.Context) (*sweep, error) {
	if !x.unfiltered() || !x.store.hasPackedRows() {
		return nil, nil
	}
	w := &sweep{store: x.store, query: x.query, model: x.model.Fingerprint()}
	rows, err := x.store.reads().QueryContext(ctx, `SELECT agent, name, slots, rows, stamp FROM files f WHERE model=?1 AND (?2='' OR agent=?2)
		AND EXISTS (SELECT 1 FROM vectors v WHERE v.model=f.model AND v.agent=f.agent) ORDER BY agent`, w.model, x.query.Agent)
	if err != nil {
		return nil, fmt.Errorf("list vector files: %w", classifyError(err))
	}
	defer rows.Close()
	total := 0
	for rows.Next() {
		var f sweptFile
		var name, stamp string
		if err := rows.Scan(&f.agent, &name, &f.end, &f.rows, &stamp); err != nil {
			return nil, fmt.Errorf("list vector files: %w", classifyError(err))
		}
		f.path, f.end = x.store.vectorPath(f.agent, name), f.end*slotBytes
		if stamp != stampOf(w.store.pins, f.path) {
			return nil, nil
		}
		total += f.rows
		w.files = append(w.files, f)
	}
	if total <= chromemLimit {
		return nil, classifyError(rows.Err())
	}
	w.scores, w.slots = make([]float32, 0, total), make([]uint32, 0, total)
	return w, classifyError(rows.Err())
}

// compare compares the query with all rows. errSweepMore is returned when a
// file has what is no row.
func (w *sweep) compare(ctx context.Context, vector []float32) error {
	w.vector = vector
	c := newComparer(vector)
	w.slack = c.slack
	buffer := make([]byte, sweepBytes)
	for i := range w.files {
		f := &w.files[i]
		f.first = len(w.scores)
		if err := w.compareFile(ctx, f, c, buffer); err != nil {
			return err
		}
		f.rows = len(w.scores) - f.first
	}
	return nil
}

func (w *sweep) compareFile(ctx context.Context, f *sweptFile, c *comparer, buffer []byte) error {
	file, err := w.store.pins.OpenRegular(f.path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, durable.ErrNotRegular) {
		return errSweepMore // gone this moment: whoever lists its rows counts them as lost
	}
	if err != nil {
		return fmt.Errorf("open vectors: %w", err)
	}
	defer file.Close()
	format := rowFormat{dim: len(w.vector), packed: true}
	for at := int64(0); at < f.end; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if most := format.most(); int64(len(buffer)) < most {
			buffer = make([]byte, most)
		}
		got, _ := file.ReadAt(buffer[:min(int64(len(buffer)), f.end-at)], at) // what is missing is no row
		done := w.compareRows(format, c, buffer[:got], at)
		if done == 0 {
			return errSweepMore
		}
		at += done
	}
	return nil
}

// compareRows compares the query with the rows in a part of a file, which lies
// at an offset. It returns how many bytes it went through.
func (w *sweep) compareRows(format rowFormat, c *comparer, part []byte, at int64) (done int64) {
	for {
		row := format.cut(part[done:])
		if row == nil {
			return done
		}
		w.scores = append(w.scores, c.cosine(row))
		w.slots = append(w.slots, uint32((at+done)/slotBytes))
		done += int64(len(row))
	}
}

// nearest returns the n records whose vectors are nearest to the query, best
// first, equal ones by record: what function nearest returns of all vectors
// that are named. A row below floor cannot be among them once n others are
// above it by more than slack.
func (w *sweep) nearest(ctx context.Context, n int, reader *rowReader) ([]scored, error) {
	for k := 2*n + tieRoom; ; k *= 4 {
		floor, rows := w.best(k)
		if 8*len(rows) > len(w.scores) {
			return nil, errSweepMore
		}
		places, err := w.placesOf(ctx, rows)
		if err != nil {
			return nil, err
		}
		best := &shortlist{n: n}
		err = reader.each(ctx, places, func(b block) error {
			for i, row := range b.rows {
				cosine := dot(w.vector, row)
				best.add(scored{b.places[i].record, cosine, cosine})
			}
			return nil
		})
		found := best.take()
		if err != nil || best.full && best.floor > float64(floor)+w.slack {
			return found, err
		}
		reader.damaged = 0
	}
}

// best returns the k rows with the highest scores, more if several have the
// lowest of these, in order, and that score.
func (w *sweep) best(k int) (floor float32, rows []int) {
	k = min(k, len(w.scores))
	var top []float32
	floor = -2
	cut := func() {
		slices.Sort(top)
		top = top[len(top)-k:]
		floor = top[0]
	}
	for _, score := range w.scores {
		if score > floor {
			if top = append(top, score); len(top) >= 2*k+64 {
				cut()
			}
		}
	}
	if len(top) >= k {
		cut()
	}
	for row, score := range w.scores {
		if score >= floor {
			rows = append(rows, row)
		}
	}
	return floor, rows
}

// cosines are those of records that have a vector.
func (w *sweep) cosines(ctx context.Context, keys []int64, reader *rowReader) (map[int64]float64, error) {
	rows, err := w.store.reads().QueryContext(ctx, "SELECT record, slot<<32 | crc, agent FROM vectors WHERE model=? AND record IN "+listed(keySet(keys)), w.model)
	if err != nil {
		return nil, fmt.Errorf("look up vectors: %w", classifyError(err))
	}
	places, err := w.readPlaces(nil, rows)
	if err != nil {
		return nil, fmt.Errorf("look up vectors: %w", classifyError(err))
	}
	return cosinesOf(ctx, reader, vectorQuery{vector: w.vector, places: places})
}

// placesOf returns the records that rows belong to, as far as the query may
// find them.
func (w *sweep) placesOf(ctx context.Context, rows []int) (places []place, err error) {
	condition := ""
	if w.query.facts && !w.query.Superseded {
		condition = " AND record NOT IN (SELECT f.record FROM facts f WHERE NOT " + live + ")"
	}
	for _, f := range w.files {
		slots := map[int64]bool{}
		for _, row := range rows {
			if row >= f.first && row < f.first+f.rows {
				slots[int64(w.slots[row])] = true
			}
		}
		if len(slots) == 0 {
			continue
		}
		found, err := w.store.reads().QueryContext(ctx, "SELECT record, slot<<32 | crc, agent FROM vectors WHERE model=? AND agent=? AND slot IN "+listed(slots)+condition, w.model, f.agent)
		if err != nil {
			return nil, fmt.Errorf("look up vectors: %w", classifyError(err))
		}
		if places, err = w.readPlaces(places, found); err != nil {
			return nil, fmt.Errorf("look up vectors: %w", classifyError(err))
		}
	}
	return places, nil
}

// readPlaces takes rows of record, packed place and agent. Those of an agent
// whose file is not swept are not asked for.
func (w *sweep) readPlaces(places []place, rows *sql.Rows) ([]place, error) {
	defer rows.Close()
	for rows.Next() {
		var record, packed int64
		var agent string
		if err := rows.Scan(&record, &packed, &agent); err != nil {
			return nil, err
		}
		for _, f := range w.files {
			if f.agent == agent {
				places = append(places, place{record: record, file: f.path, slot: packed >> 32, crc: uint32(packed)})
			}
		}
	}
	return places, rows.Err()
}
