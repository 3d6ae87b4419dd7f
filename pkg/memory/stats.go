package memory

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// AgentStats counts what memory has of one agent.
type AgentStats struct {
	Runtime  string         `json:"runtime"`
	Agent    string         `json:"agent"`
	Sessions int            `json:"sessions"`
	Records  int            `json:"records"`
	Category map[string]int `json:"by_category"`
	Vectors  map[string]int `json:"vectors_by_model"`
	Pending  map[string]int `json:"pending_by_model"` // without a vector, those that cannot be embedded included
}

// ModelStats counts what memory has of one embedding model.
type ModelStats struct {
	Name        string `json:"name"` // embed.Model.String
	Fingerprint string `json:"fingerprint"`
	Dimensions  int    `json:"dimensions"`
	Vectors     int    `json:"vectors"`
	Unnamed     int    `json:"unnamed"` // rows of its files that belong to no record; Reindex takes their room back
	Bytes       int64  `json:"bytes"`   // of its files
}

// Stats counts what memory has.
type Stats struct {
	Agents    []AgentStats `json:"agents"`
	Models    []ModelStats `json:"models"`
	Forgotten int          `json:"forgotten"` // records that must not come back
	Bytes     int64        `json:"bytes"`     // of all files
}

// Stats returns counts per agent and model, in their order.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	stats := Stats{Agents: []AgentStats{}, Models: []ModelStats{}, Bytes: treeBytes(s.dir)}
	var err error
	if stats.Forgotten, err = s.countGraves(ctx); err != nil {
		return Stats{}, err
	}
	if err := s.countModels(ctx, &stats); err != nil {
		return Stats{}, err
	}
	return stats, s.countAgents(ctx, &stats)
}

// countModels counts the vectors of each model, and the rows of its files.
func (s *Store) countModels(ctx context.Context, stats *Stats) error {
	rows, err := s.db.QueryContext(ctx, `SELECT fingerprint, name, dim, (SELECT count(*) FROM vectors v WHERE v.model=fingerprint),
		(SELECT coalesce(sum(slots), 0) FROM files f WHERE f.model=fingerprint) FROM models ORDER BY name`)
	if err != nil {
		return fmt.Errorf("count vectors: %w", judged(err))
	}
	defer rows.Close()
	for rows.Next() {
		var m ModelStats
		var slots int
		if err := rows.Scan(&m.Fingerprint, &m.Name, &m.Dimensions, &m.Vectors, &slots); err != nil {
			return fmt.Errorf("count vectors: %w", judged(err))
		}
		m.Unnamed = slots - m.Vectors
		stats.Models = append(stats.Models, m)
	}
	if err := rows.Err(); err != nil {
		return judged(err)
	}
	files, err := s.files(ctx)
	for _, f := range files {
		for i := range stats.Models {
			if info, err := os.Lstat(f.path); err == nil && stats.Models[i].Fingerprint == f.fingerprint {
				stats.Models[i].Bytes += info.Size()
			}
		}
	}
	return err
}

func (s *Store) countAgents(ctx context.Context, stats *Stats) error {
	for _, step := range []struct {
		query string
		take  func(a *AgentStats, name string, count, sessions int)
	}{
		{"SELECT runtime, agent, '', count(*), count(DISTINCT session) FROM records GROUP BY agent, runtime ORDER BY agent, runtime",
			func(a *AgentStats, _ string, count, sessions int) { a.Records, a.Sessions = count, sessions }},
		{"SELECT runtime, agent, category, count(*), 0 FROM records GROUP BY 1, 2, 3",
			func(a *AgentStats, name string, count, _ int) { a.Category[name] = count }},
		{"SELECT r.runtime, r.agent, m.name, count(*), 0 FROM vectors v JOIN records r ON r.rowid=v.record JOIN models m ON m.fingerprint=v.model GROUP BY 1, 2, 3",
			func(a *AgentStats, name string, count, _ int) { a.Vectors[name] = count }},
		{"SELECT r.runtime, r.agent, m.name, count(*), 0 FROM pending p JOIN records r ON r.rowid=p.record JOIN models m ON m.fingerprint=p.model WHERE p.tries<" + strconv.Itoa(nothingTries) + " GROUP BY 1, 2, 3",
			func(a *AgentStats, name string, count, _ int) { a.Pending[name] = count }},
	} {
		if err := s.count(ctx, stats, step.query, step.take); err != nil {
			return err
		}
	}
	return nil
}

// count hands the rows of a query (runtime, agent, name, two counts) to the
// agents they belong to.
func (s *Store) count(ctx context.Context, stats *Stats, query string, take func(a *AgentStats, name string, count, sessions int)) error {
	rows, err := s.db.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("count records: %w", judged(err))
	}
	defer rows.Close()
	for rows.Next() {
		var runtime, agent, name string
		var count, sessions int
		if err := rows.Scan(&runtime, &agent, &name, &count, &sessions); err != nil {
			return fmt.Errorf("count records: %w", judged(err))
		}
		take(stats.of(runtime, agent), name, count, sessions)
	}
	return judged(rows.Err())
}

// of returns the counts of an agent.
func (s *Stats) of(runtime, agent string) *AgentStats {
	for i := range s.Agents {
		if a := &s.Agents[i]; a.Runtime == runtime && a.Agent == agent {
			return a
		}
	}
	s.Agents = append(s.Agents, AgentStats{Runtime: runtime, Agent: agent, Category: map[string]int{}, Vectors: map[string]int{}, Pending: map[string]int{}})
	return &s.Agents[len(s.Agents)-1]
}

func treeBytes(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // what vanishes while it is counted is not counted
		}
		if info, err := d.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}
