package vectors

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
)

// Register makes a model known: from now on every record has a vector of it or is
// pending. All that is there is pending.
func Register(ctx context.Context, tx *sql.Tx, model embed.Model) error {
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

// Any reports whether a model has vectors.
func Any(ctx context.Context, q database.Querier, m embed.Model) (some bool, err error) {
	err = q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM vector_spaces s WHERE s.model=? AND "+hasVectors+")", m.Fingerprint()).Scan(&some)
	return some, database.Classify(err)
}

// Models lists the models, other than m, that made vectors of an agent ("" is
// any), and whether m did too. Vectors that are made beside do not count.
func Models(ctx context.Context, q database.Querier, agent string, m embed.Model) (others []string, own bool, err error) {
	err = database.Each(ctx, database.For(q, "list models"), func(scan database.Scan) error {
		var fingerprint, name string
		err := scan(&fingerprint, &name)
		switch {
		case fingerprint == m.Fingerprint():
			own = true
		case !isBeside(name):
			others = append(others, name)
		}
		return err
	}, `SELECT fingerprint, name FROM models
		WHERE EXISTS (SELECT 1 FROM vector_spaces s WHERE s.model=fingerprint AND (?1='' OR s.agent=?1) AND `+hasVectors+`) ORDER BY name`, agent)
	return others, own, err
}

// AgentsWithout lists the agents that have vectors of other models only.
func AgentsWithout(ctx context.Context, q database.Querier, m embed.Model) ([]string, error) {
	return database.Strings(ctx, q, `SELECT DISTINCT f.agent FROM vector_spaces f JOIN models o ON o.fingerprint=f.model
		WHERE f.model<>?1 AND o.name NOT LIKE '%`+StagedMark+`'
		AND NOT EXISTS (SELECT 1 FROM vector_spaces own WHERE own.model=?1 AND own.agent=f.agent) ORDER BY f.agent`, m.Fingerprint())
}

// Count counts the vectors of a model that some agents have.
func Count(ctx context.Context, q database.Querier, model embed.Model, agents []string) (n int, err error) {
	err = q.QueryRowContext(ctx, "SELECT count(*) FROM vectors WHERE model=? AND agent IN ("+database.Marks(agents)+")", append([]any{model.Fingerprint()}, database.Args(agents)...)...).Scan(&n)
	return n, database.Classify(err)
}

// StagedMark ends the identity of vectors that are made while others are in use.
const StagedMark = "+anew"

// Beside is the identity under which the vectors of a model are made while
// others are in use.
func Beside(m embed.Model) embed.Model {
	m.Chunker += StagedMark
	return m
}

// isBeside says whether an identity is one that Beside makes.
func isBeside(name string) bool { return strings.HasSuffix(name, StagedMark) }

// ChangeOver puts the vectors that were made beside those of the model in the place of
// all that some agents have, and drops the models that made none of those that are
// left. It returns how many vectors the agents have now.
func ChangeOver(ctx context.Context, tx *sql.Tx, m embed.Model, agents []string) (int, error) {
	staged := Beside(m).Fingerprint()
	if err := Register(ctx, tx, m); err != nil {
		return 0, err
	}
	for _, agent := range agents {
		if err := replaceVectors(ctx, tx, staged, m.Fingerprint(), agent); err != nil {
			return 0, err
		}
	}
	if err := dropModel(ctx, tx, staged); err != nil {
		return 0, err
	}
	if err := dropUnused(ctx, tx, m.Fingerprint()); err != nil {
		return 0, err
	}
	if err := dropSpaces(ctx, tx, "NOT "+hasVectors); err != nil {
		return 0, err
	}
	return Count(ctx, tx, m, agents)
}

// replaceVectors drops what an agent has of every model but the staged one,
// and gives that to the model it is of. Of the models that are left the
// agent's records are pending.
func replaceVectors(ctx context.Context, tx *sql.Tx, staged, model, agent string) error {
	if err := dropSpaces(ctx, tx, "s.agent=? AND s.model<>?", agent, staged); err != nil {
		return err
	}
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{"DELETE FROM pending WHERE agent=? AND model=?", []any{agent, model}},
		{"UPDATE vector_spaces SET model=? WHERE agent=? AND model=?", []any{model, agent, staged}},
		{"UPDATE pending SET model=? WHERE agent=? AND model=?", []any{model, agent, staged}},
		{`INSERT OR IGNORE INTO pending (model, agent, record, tries, reason)
			SELECT fingerprint, agent, rowid, 0, '' FROM models, records WHERE agent=? AND fingerprint NOT IN (?, ?)`, []any{agent, staged, model}},
	} {
		if _, err := tx.ExecContext(ctx, step.sql, step.args...); err != nil {
			return err
		}
	}
	return nil
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
