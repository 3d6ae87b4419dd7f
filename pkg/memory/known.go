package memory

import (
	"context"
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
)

// Known returns the model of the vectors that a server made which cannot be
// asked now: what is in memory and differs from expected in nothing but what
// only the server knows (embed.Model.Recognise). Of several it is the one with
// the most vectors. It reports false if there is none.
func (s *Store) Known(ctx context.Context, expected embed.Model) (embed.Model, bool, error) {
	names, err := readStrings(ctx, s.db, "SELECT name FROM models ORDER BY (SELECT count(*) FROM vectors v WHERE v.model=fingerprint) DESC, name")
	if err != nil {
		return embed.Model{}, false, fmt.Errorf("list models: %w", judged(err))
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
func (s *Store) OtherModels(ctx context.Context, agent string, m embed.Model) ([]string, error) {
	others, own, err := s.modelsOf(ctx, agent, m)
	if err != nil || own {
		return nil, err
	}
	return others, nil
}

// CountRecords returns how many records an agent has.
func (s *Store) CountRecords(ctx context.Context, agent string) (n int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT count(*) FROM records WHERE agent=?", agent).Scan(&n)
	return n, judged(err)
}

// isBeside says whether an identity is one that beside makes.
func isBeside(name string) bool { return strings.HasSuffix(name, stagedMark) }

// noteOthers says which agents have vectors of other models only, if the
// search is not for one agent: those are found by their words.
func (r *recall) noteOthers(ctx context.Context, m embed.Model) error {
	if r.query.Agent != "" {
		return nil
	}
	agents, err := readStrings(ctx, r.store.db, `SELECT DISTINCT f.agent FROM files f JOIN models o ON o.fingerprint=f.model
		WHERE f.model<>?1 AND o.name NOT LIKE '%`+stagedMark+`'
		AND NOT EXISTS (SELECT 1 FROM files own WHERE own.model=?1 AND own.agent=f.agent) ORDER BY f.agent`, m.Fingerprint())
	if err != nil || len(agents) == 0 {
		return judged(err)
	}
	r.notice = fmt.Sprintf("memory has no vectors of %s of %s; found by words only until sessctl memory reindex", m, strings.Join(agents, ", "))
	return nil
}
