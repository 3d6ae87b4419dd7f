package memory

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/vectors"
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

// PutVectors stores vectors, with what failed, in one transaction. Vectors that are
// not finite, not of the model's dimension or zero are refused, and with them all of
// the call (the errors of embed.Check). A vector whose record is gone, or is another
// agent's, is not stored.
func (s embeddings) PutVectors(ctx context.Context, model embed.Model, agent string, list []Vector, failed []Failure) error {
	values := make([][]float32, len(list))
	for i, v := range list {
		values[i] = v.Values
	}
	if err := embed.Check(values, len(values), model.Dim); err != nil {
		return fmt.Errorf("store vectors: %w", err)
	}
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		w, err := vectors.NewWriter(ctx, tx, model, agent)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			records, err := recordsOf(ctx, tx, agent, list)
			if err != nil {
				return err
			}
			if err := w.PutAll(records, values); err != nil {
				return err
			}
		}
		return noteFailures(ctx, tx, model, failed)
	})
}

// recordsOf are the records of vectors. One that is gone, or is another agent's, is 0.
func recordsOf(ctx context.Context, tx *sql.Tx, agent string, list []Vector) ([]int64, error) {
	s, err := tx.PrepareContext(ctx, "SELECT coalesce((SELECT rowid FROM records WHERE id=? AND agent=?), 0)")
	if err != nil {
		return nil, fmt.Errorf("look up records: %w", database.Classify(err))
	}
	defer s.Close()
	records := make([]int64, len(list))
	for i, x := range list {
		if err := s.QueryRowContext(ctx, x.ID, agent).Scan(&records[i]); err != nil {
			return nil, fmt.Errorf("look up records: %w", database.Classify(err))
		}
	}
	return records, nil
}

// checkEvery is how often every vector is checked by who embeds.
const checkEvery = 7 * 24 * time.Hour

// Reclaim makes records pending again whose vector is not what was stored, and those
// beside it in its block. It returns how many.
func (s embeddings) Reclaim(ctx context.Context, model embed.Model, agent string) (int, error) {
	return s.reclaim(ctx, model, agent, time.Time{})
}

// reclaim is Reclaim if the last check was before a moment; zero is always.
func (s embeddings) reclaim(ctx context.Context, model embed.Model, agent string, before time.Time) (lost int, err error) {
	if err := s.register(ctx, model); err != nil {
		return 0, err
	}
	space, err := vectors.SpaceOf(ctx, s.db, model, agent)
	if err != nil || space == nil || !before.IsZero() && !space.Checked().Before(before) {
		return 0, err
	}
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		lost, err = space.Mend(ctx, tx)
		return err
	})
	return lost, err
}

// Known returns the model of the vectors that a server made which cannot be
// asked now: what is in memory and differs from expected in nothing but what
// only the server knows (embed.Model.Recognise). Of several it is the one with
// the most vectors. It reports false if there is none.
func (s embeddings) Known(ctx context.Context, expected embed.Model) (embed.Model, bool, error) {
	names, err := database.Strings(ctx, s.db, "SELECT name FROM models ORDER BY (SELECT count(*) FROM vectors v WHERE v.model=fingerprint) DESC, name")
	if err != nil {
		return embed.Model{}, false, fmt.Errorf("list models: %w", database.Classify(err))
	}
	for _, name := range names {
		if m, ok := expected.Recognise(name); ok {
			return m, true, nil
		}
	}
	return embed.Model{}, false, nil
}

// OtherModels names the models that made the vectors of an agent, if the model
// m made none of them. Vectors that a Reindex is making beside do not count.
func (s embeddings) OtherModels(ctx context.Context, agent string, m embed.Model) ([]string, error) {
	others, own, err := vectors.Models(ctx, s.reads(), agent, m)
	if err != nil || own {
		return nil, err
	}
	return others, nil
}

// register makes a model known: from now on every record has a vector of it or
// is pending. All that is there is pending.
func (s embeddings) register(ctx context.Context, model embed.Model) error {
	var known bool
	err := s.db.QueryRowContext(ctx, "SELECT count(*)>0 FROM models WHERE fingerprint=?", model.Fingerprint()).Scan(&known)
	if err != nil || known {
		return database.Classify(err)
	}
	return s.inTransaction(ctx, func(tx *sql.Tx) error { return vectors.Register(ctx, tx, model) })
}
