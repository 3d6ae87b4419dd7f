package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/viterin/vek/vek32"
)

// sweepRows is how many rows are read at a time: at 1,024 dimensions they fill
// 256 KiB, which the processor's cache still holds when they are compared.
const sweepRows = 64

// A sweep compares the query with every row of vector files and only then asks
// which records the best rows belong to. Listing the owner of every row and
// checking every checksum costs more than comparing them all
// (docs/performance.md).
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
	scores []float32 // of all rows, file by file: their cosines in float32
}

// sweptFile is a vector file and which of the scores are those of its rows.
type sweptFile struct {
	agent, path string
	first, rows int
}

// errSweepMore is returned when most of the best rows belong to no record: then
// it is cheaper to list those that belong to records.
var errSweepMore = errors.New("too few of the rows belong to a record")

// newSweep returns nil if the query is not one for a sweep: it has filters that
// most records may not pass, or so few vectors that it does not matter, or a
// file was touched.
func (r *recall) newSweep(ctx context.Context, m embed.Model) (*sweep, error) {
	if !r.unfiltered() {
		return nil, nil
	}
	w := &sweep{store: r.store, query: r.query, model: m.Fingerprint()}
	rows, err := r.store.db.QueryContext(ctx, `SELECT agent, name, slots, stamp FROM files f WHERE model=?1 AND (?2='' OR agent=?2)
		AND EXISTS (SELECT 1 FROM vectors v WHERE v.model=f.model AND v.agent=f.agent) ORDER BY agent`, w.model, r.query.Agent)
	if err != nil {
		return nil, fmt.Errorf("list vector files: %w", classifyError(err))
	}
	defer rows.Close()
	total := 0
	for rows.Next() {
		f := sweptFile{first: total}
		var name, stamp string
		if err := rows.Scan(&f.agent, &name, &f.rows, &stamp); err != nil {
			return nil, fmt.Errorf("list vector files: %w", classifyError(err))
		}
		f.path = r.store.vectorPath(f.agent, name)
		if stamp != stampOf(f.path) {
			return nil, nil
		}
		total += f.rows
		w.files = append(w.files, f)
	}
	if total <= chromemLimit {
		return nil, classifyError(rows.Err())
	}
	w.scores = make([]float32, total)
	return w, classifyError(rows.Err())
}

// compare compares the query with all rows.
func (w *sweep) compare(ctx context.Context, vector []float32) error {
	w.vector = vector
	buffer := make([]float32, sweepRows*len(vector))
	for _, f := range w.files {
		if err := w.compareFile(ctx, f, buffer); err != nil {
			return err
		}
	}
	return nil
}

func (w *sweep) compareFile(ctx context.Context, f sweptFile, buffer []float32) error {
	file, err := durable.OpenRegular(f.path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, durable.ErrNotRegular) {
		return nil // gone this moment: its rows do not verify
	}
	if err != nil {
		return fmt.Errorf("open vectors: %w", err)
	}
	defer file.Close()
	dim := len(w.vector)
	for row := 0; row < f.rows; row += sweepRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		scores := w.scores[f.first+row : f.first+min(row+sweepRows, f.rows)]
		raw := bytesOf(buffer)[:4*dim*len(scores)]
		got, _ := file.ReadAt(raw, int64(row)*rowBytes(dim)) // what is missing has no checksum that holds
		clear(raw[got:])
		fromLittleEndian(buffer[:dim*len(scores)])
		for i := range scores {
			scores[i] = vek32.Dot(w.vector, buffer[i*dim:][:dim])
		}
	}
	return nil
}

// nearest returns the n records whose vectors are nearest to the query, best
// first, equal ones by record: what function nearest returns of all vectors
// that are named. A row below floor cannot be among them once n others are
// above it by more than rounding.
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
		if err != nil || best.full && best.floor > float64(floor)+rounding {
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

// cosines gives candidates the cosines of their vectors.
func (w *sweep) cosines(ctx context.Context, wanted map[int64]*candidate, reader *rowReader) error {
	if len(wanted) == 0 {
		return nil
	}
	rows, err := w.store.db.QueryContext(ctx, "SELECT record, slot<<32 | crc, agent FROM vectors WHERE model=? AND record IN "+listed(wanted), w.model)
	if err != nil {
		return fmt.Errorf("look up vectors: %w", classifyError(err))
	}
	places, err := w.readPlaces(nil, rows)
	if err != nil {
		return fmt.Errorf("look up vectors: %w", classifyError(err))
	}
	return giveCosines(ctx, reader, vectorQuery{vector: w.vector, places: places}, wanted)
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
				slots[int64(row-f.first)] = true
			}
		}
		if len(slots) == 0 {
			continue
		}
		found, err := w.store.db.QueryContext(ctx, "SELECT record, slot<<32 | crc, agent FROM vectors WHERE model=? AND agent=? AND slot IN "+listed(slots)+condition, w.model, f.agent)
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
