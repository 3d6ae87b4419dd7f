package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
)

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
		return nil, fmt.Errorf("list vectors: %w", judged(err))
	}
	defer rows.Close()
	var places []place
	for rows.Next() {
		var p place
		var agent string
		if err := rows.Scan(&p.record, &agent, &p.slot, &p.crc, &p.importance); err != nil {
			return nil, fmt.Errorf("list vectors: %w", judged(err))
		}
		p.file = files[agent]
		places = append(places, p)
	}
	return places, judged(rows.Err())
}

// unfiltered reports whether there is no filter but the agent, and that for
// superseded facts.
func (r *recall) unfiltered() bool {
	q := r.query
	bare := Query{Text: q.Text, Agent: q.Agent, Limit: q.Limit, MinScore: q.MinScore, Rank: q.Rank, Superseded: q.Superseded, Now: q.Now, facts: q.facts}
	return bare == q && q.Rank != RankSeed
}

// allPlaces lists the vectors of the model, those of one agent if the query
// names it. To list them was once the greater half of a recall: every value
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
			return nil, fmt.Errorf("list vectors: %w", judged(err))
		}
		places, err = appendPlaces(places, rows, files[agent])
		if err != nil {
			return nil, fmt.Errorf("list vectors: %w", judged(err))
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
		return nil, fmt.Errorf("list vector files: %w", judged(err))
	}
	defer rows.Close()
	files := map[string]string{}
	for rows.Next() {
		var agent, name string
		if err := rows.Scan(&agent, &name); err != nil {
			return nil, fmt.Errorf("list vector files: %w", judged(err))
		}
		files[agent] = s.vectorPath(agent, name)
	}
	return files, judged(rows.Err())
}

// explainNone decides what it means that no vector of the model passes the
// filters: nothing, if the agent has some that do not; or there are none yet;
// or another model made them.
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
		return nil, false, fmt.Errorf("list models: %w", judged(err))
	}
	defer rows.Close()
	for rows.Next() {
		var fingerprint, name string
		if err := rows.Scan(&fingerprint, &name); err != nil {
			return nil, false, fmt.Errorf("list models: %w", judged(err))
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
	return others, own, judged(rows.Err())
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
