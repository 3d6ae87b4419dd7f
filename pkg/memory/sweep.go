package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

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
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
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
	return giveCosines(ctx, reader, question{vector: w.vector, places: places}, wanted)
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

// prepareVectors embeds the query and lists the vectors to compare it with. If
// that cannot be, the words alone decide and the notice says why.
func (r *recall) prepareVectors(ctx context.Context, e embed.QueryEmbedder, m embed.Model) error {
	if r.query.Rank == RankText {
		return nil
	}
	if e == nil {
		r.goByWords("there is no embedder; found by words only")
		return nil
	}
	if err := r.findVectors(ctx, m); err != nil {
		return err
	}
	if r.sweep == nil && len(r.places) == 0 {
		return r.explainNone(ctx, m)
	}
	vector, err := e.EmbedQuery(ctx, r.query.Text)
	if err == nil {
		err = embed.Check([][]float32{vector}, 1, m.Dim)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, embed.ErrNoVector):
		r.goByWords("") // there is nothing in it to compare
	case err != nil:
		r.goByWords("the query could not be embedded (" + err.Error() + "); found by words only")
	default:
		r.vector = toUnit(vector)
		if r.sweep != nil {
			err = r.sweep.compare(ctx, r.vector)
		}
		return errors.Join(err, r.noteOthers(ctx, m))
	}
	return nil
}

// findVectors prepares a sweep, or lists the vectors.
func (r *recall) findVectors(ctx context.Context, m embed.Model) (err error) {
	if r.sweep, err = r.newSweep(ctx, m); err == nil && r.sweep == nil {
		r.places, err = r.listPlaces(ctx, m)
	}
	return err
}

func (r *recall) goByWords(notice string) {
	r.query.Rank, r.notice = RankText, notice
}

func (r *recall) notices() string {
	if r.rows.damaged == 0 {
		return r.notice
	}
	damaged := fmt.Sprintf("%d vectors are lost or damaged, those records were found by words only; the next compaction makes them again", r.rows.damaged)
	return strings.TrimPrefix(r.notice+"; "+damaged, "; ")
}

// listPlaces lists the vectors of the model that pass the filters.
func (r *recall) listPlaces(ctx context.Context, m embed.Model) ([]place, error) {
	files, err := r.store.filesOf(ctx, m)
	if err != nil {
		return nil, err
	}
	if r.unfiltered() && (!r.query.facts || r.query.Superseded) {
		return r.allPlaces(ctx, m, files)
	}
	condition, args := r.query.filter()
	rows, err := r.store.db.QueryContext(ctx, `SELECT v.record, v.agent, v.slot, v.crc, r.importance FROM records r JOIN vectors v ON v.record=r.rowid AND v.model=?
		WHERE `+condition, append([]any{m.Fingerprint()}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("list vectors: %w", classifyError(err))
	}
	defer rows.Close()
	var places []place
	for rows.Next() {
		var p place
		var agent string
		if err := rows.Scan(&p.record, &agent, &p.slot, &p.crc, &p.importance); err != nil {
			return nil, fmt.Errorf("list vectors: %w", classifyError(err))
		}
		p.file = files[agent]
		places = append(places, p)
	}
	return places, classifyError(rows.Err())
}

// unfiltered reports whether there is no filter but the agent, and that for
// superseded facts.
func (r *recall) unfiltered() bool {
	q := r.query
	bare := Query{Text: q.Text, Agent: q.Agent, Limit: q.Limit, MinScore: q.MinScore, Rank: q.Rank, Superseded: q.Superseded, Now: q.Now, facts: q.facts}
	return bare == q && q.Rank != RankSeed
}

// allPlaces lists the vectors of the model, those of one agent if the query
// names it. Listing them was once more than half of a recall: every value
// that goes through database/sql costs as much as comparing a tenth of a
// vector, so a row has two. A slot has 31 bits: 8 TB of vectors.
func (r *recall) allPlaces(ctx context.Context, m embed.Model, files map[string]string) ([]place, error) {
	var places []place
	for _, agent := range slices.Sorted(maps.Keys(files)) {
		if r.query.Agent != "" && r.query.Agent != agent {
			continue
		}
		rows, err := r.store.db.QueryContext(ctx, "SELECT record, slot<<32 | crc FROM vectors WHERE model=? AND agent=?", m.Fingerprint(), agent)
		if err != nil {
			return nil, fmt.Errorf("list vectors: %w", classifyError(err))
		}
		places, err = appendPlaces(places, rows, files[agent])
		if err != nil {
			return nil, fmt.Errorf("list vectors: %w", classifyError(err))
		}
	}
	return places, nil
}

// appendPlaces takes the rows of one file. Values are taken as they come,
// which database/sql does without looking at their types.
func appendPlaces(places []place, rows *sql.Rows, file string) ([]place, error) {
	defer rows.Close()
	var record, packed any
	for rows.Next() {
		if err := rows.Scan(&record, &packed); err != nil {
			return nil, err
		}
		id, ok := record.(int64)
		at, fits := packed.(int64)
		if !ok || !fits {
			return nil, fmt.Errorf("%w: a vector's place is %v, %v", ErrCorrupt, record, packed)
		}
		places = append(places, place{record: id, file: file, slot: at >> 32, crc: uint32(at)})
	}
	return places, rows.Err()
}

// filesOf returns the paths of a model's files, by agent.
func (s *Store) filesOf(ctx context.Context, m embed.Model) (map[string]string, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT agent, name FROM files WHERE model=?", m.Fingerprint())
	if err != nil {
		return nil, fmt.Errorf("list vector files: %w", classifyError(err))
	}
	defer rows.Close()
	files := map[string]string{}
	for rows.Next() {
		var agent, name string
		if err := rows.Scan(&agent, &name); err != nil {
			return nil, fmt.Errorf("list vector files: %w", classifyError(err))
		}
		files[agent] = s.vectorPath(agent, name)
	}
	return files, classifyError(rows.Err())
}

// explainNone says why no vector of the model passes the filters: the agent has
// some that do not, or there are none yet, or another model made them.
func (r *recall) explainNone(ctx context.Context, m embed.Model) error {
	names, own, err := r.store.modelsOf(ctx, r.query.Agent, m)
	if err != nil {
		return err
	}
	others := strings.Join(names, ", ")
	asked := r.query.Rank
	switch {
	case own:
		r.goByWords("")
	case others == "":
		r.goByWords("nothing has a vector yet; found by words only")
	case asked == RankHybrid:
		r.goByWords(fmt.Sprintf("memory has vectors of %s, not of %s; found by words only until sessctl memory reindex", others, m))
	default:
		return fmt.Errorf("%w: %s, and the query would be embedded by %s; sessctl memory reindex makes them the same", ErrOtherModel, others, m)
	}
	return nil
}

// modelsOf lists the models, other than m, that made vectors of an agent ("" is
// any), and whether m did too.
func (s *Store) modelsOf(ctx context.Context, agent string, m embed.Model) (others []string, own bool, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT fingerprint, name FROM models
		WHERE EXISTS (SELECT 1 FROM vectors v WHERE v.model=fingerprint AND (?1='' OR v.agent=?1)) ORDER BY name`, agent)
	if err != nil {
		return nil, false, fmt.Errorf("list models: %w", classifyError(err))
	}
	defer rows.Close()
	for rows.Next() {
		var fingerprint, name string
		if err := rows.Scan(&fingerprint, &name); err != nil {
			return nil, false, fmt.Errorf("list models: %w", classifyError(err))
		}
		if fingerprint == m.Fingerprint() {
			own = true
			continue
		}
		if isBeside(name) {
			continue
		}
		others = append(others, name)
	}
	return others, own, classifyError(rows.Err())
}

// toUnit returns the vector scaled to unit length.
func toUnit(v []float32) []float32 {
	scale := 1 / norm(v)
	unit := make([]float32, len(v))
	for i, x := range v {
		unit[i] = float32(float64(x) * scale)
	}
	return unit
}
