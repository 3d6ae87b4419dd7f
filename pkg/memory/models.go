package memory

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
)

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
	others, own, err := s.modelsOf(ctx, agent, m)
	if err != nil || own {
		return nil, err
	}
	return others, nil
}

// modelsOf lists the models, other than m, that made vectors of an agent ("" is
// any), and whether m did too.
func (s embeddings) modelsOf(ctx context.Context, agent string, m embed.Model) (others []string, own bool, err error) {
	rows, err := s.reads().QueryContext(ctx, `SELECT fingerprint, name FROM models
		WHERE EXISTS (SELECT 1 FROM vector_spaces s WHERE s.model=fingerprint AND (?1='' OR s.agent=?1) AND `+hasVectors+`) ORDER BY name`, agent)
	if err != nil {
		return nil, false, fmt.Errorf("list models: %w", database.Classify(err))
	}
	defer rows.Close()
	for rows.Next() {
		var fingerprint, name string
		if err := rows.Scan(&fingerprint, &name); err != nil {
			return nil, false, fmt.Errorf("list models: %w", database.Classify(err))
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
	return others, own, database.Classify(rows.Err())
}

// explainNone says why no vector of the model passes the filters: the agent has
// some that do not, or there are none yet, or another model made them.
func (r *recall) explainNone(ctx context.Context) error {
	models, err := r.index.Models(ctx, r.query.Agent, r.model)
	if err != nil {
		return err
	}
	others := strings.Join(models.Others, ", ")
	asked := r.query.Rank
	switch {
	case models.Own:
		r.goByWords("")
	case others == "":
		r.goByWords("nothing has a vector yet; found by words only")
	case asked == RankHybrid:
		r.goByWords(fmt.Sprintf("memory has vectors of %s, not of %s; found by words only until sessctl memory reindex", others, r.model))
	default:
		return fmt.Errorf("%w: %s, and the query would be embedded by %s; sessctl memory reindex makes them the same", ErrOtherModel, others, r.model)
	}
	return nil
}

// noteOthers says which agents have vectors of other models only, if the
// search is not for one agent: those are found by their words.
func (r *recall) noteOthers(ctx context.Context) error {
	if r.query.Agent != "" {
		return nil
	}
	models, err := r.index.Models(ctx, "", r.model)
	if err != nil || len(models.Without) == 0 {
		return err
	}
	r.notice = fmt.Sprintf("memory has no vectors of %s of %s; found by words only until sessctl memory reindex", r.model, strings.Join(models.Without, ", "))
	return nil
}

// agentsWithout lists the agents that have vectors of other models only.
func (s embeddings) agentsWithout(ctx context.Context, m embed.Model) ([]string, error) {
	return database.Strings(ctx, s.reads(), `SELECT DISTINCT f.agent FROM vector_spaces f JOIN models o ON o.fingerprint=f.model
		WHERE f.model<>?1 AND o.name NOT LIKE '%`+stagedMark+`'
		AND NOT EXISTS (SELECT 1 FROM vector_spaces own WHERE own.model=?1 AND own.agent=f.agent) ORDER BY f.agent`, m.Fingerprint())
}

// register makes a model known: from now on every record has a vector of it or
// is pending. All that is there is pending.
func (s embeddings) register(ctx context.Context, model embed.Model) error {
	var known bool
	err := s.db.QueryRowContext(ctx, "SELECT count(*)>0 FROM models WHERE fingerprint=?", model.Fingerprint()).Scan(&known)
	if err != nil || known {
		return database.Classify(err)
	}
	return s.inTransaction(ctx, func(tx *sql.Tx) error { return registerIn(ctx, tx, model) })
}

func registerIn(ctx context.Context, tx *sql.Tx, model embed.Model) error {
	result, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO models (fingerprint, name, dim) VALUES (?, ?, ?)", model.Fingerprint(), model.String(), model.Dim)
	if err != nil {
		return fmt.Errorf("register model: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO pending (model, agent, record, tries, reason) SELECT ?, agent, rowid, 0, '' FROM records", model.Fingerprint())
	return err
}

// dropUnused drops the models, other than this one, that no vector is of.
func dropUnused(ctx context.Context, tx *sql.Tx, model string) error {
	names, err := database.Strings(ctx, tx, "SELECT fingerprint FROM models WHERE NOT EXISTS (SELECT 1 FROM vector_spaces s WHERE s.model=fingerprint AND "+hasVectors+")")
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == model {
			continue
		}
		if err := dropModel(ctx, tx, name); err != nil {
			return err
		}
	}
	return nil
}

func dropModel(ctx context.Context, tx *sql.Tx, fingerprint string) error {
	if err := dropSpaces(ctx, tx, "s.model=?", fingerprint); err != nil {
		return err
	}
	for _, table := range []string{"pending WHERE model", "models WHERE fingerprint"} {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+"=?", fingerprint); err != nil {
			return fmt.Errorf("drop model: %w", err)
		}
	}
	return nil
}
