package memory

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/embed"
)

// AgentStats counts what memory has of one agent.
type AgentStats struct {
	Runtime  string         `json:"runtime"`
	Agent    string         `json:"agent"`
	Sessions int            `json:"sessions"`
	Records  int            `json:"records"`
	Category map[string]int `json:"by_category"`
	Vectors  map[string]int `json:"vectors_by_model"`
}

// Stats counts what memory has.
type Stats struct {
	Agents []AgentStats `json:"agents"`
	Bytes  int64        `json:"size_bytes"` // of all files
}

// Stats returns counts per agent.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	var stats Stats
	rows, err := s.db.QueryContext(ctx, `SELECT runtime, agent, category, count(*), count(DISTINCT session),
		(SELECT count(DISTINCT session) FROM records x WHERE x.runtime=r.runtime AND x.agent=r.agent)
		FROM records r GROUP BY runtime, agent, category ORDER BY agent, runtime, category`)
	if err != nil {
		return stats, fmt.Errorf("count records: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var a AgentStats
		var category string
		var count, sessions int
		if err := rows.Scan(&a.Runtime, &a.Agent, &category, &count, &sessions, &a.Sessions); err != nil {
			return stats, fmt.Errorf("count records: %w", err)
		}
		stats.add(a, category, count)
	}
	if err := rows.Err(); err != nil {
		return stats, err
	}
	if err := s.countVectors(ctx, &stats); err != nil {
		return stats, err
	}
	stats.Bytes = treeBytes(s.dir)
	return stats, nil
}

func (s *Stats) add(a AgentStats, category string, count int) {
	if n := len(s.Agents); n == 0 || s.Agents[n-1].Agent != a.Agent || s.Agents[n-1].Runtime != a.Runtime {
		a.Category, a.Vectors = map[string]int{}, map[string]int{}
		s.Agents = append(s.Agents, a)
	}
	last := &s.Agents[len(s.Agents)-1]
	last.Category[category] += count
	last.Records += count
}

func (s *Store) countVectors(ctx context.Context, stats *Stats) error {
	rows, err := s.db.QueryContext(ctx, `SELECT r.runtime, r.agent, m.name, count(*) FROM vectors v JOIN records r ON r.rowid=v.record
		JOIN models m ON m.fingerprint=v.model GROUP BY 1, 2, 3`)
	if err != nil {
		return fmt.Errorf("count vectors: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var runtime, agent, model string
		var count int
		if err := rows.Scan(&runtime, &agent, &model, &count); err != nil {
			return fmt.Errorf("count vectors: %w", err)
		}
		for i := range stats.Agents {
			if a := &stats.Agents[i]; a.Runtime == runtime && a.Agent == agent {
				a.Vectors[model] = count
			}
		}
	}
	return rows.Err()
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

// Problem is something that Verify found.
type Problem struct {
	Path    string
	Message string
}

// Verify checks the database and every vector of a model against its file.
func (s *Store) Verify(ctx context.Context, model embed.Model) ([]Problem, error) {
	var problems []Problem
	path := filepath.Join(s.dir, "memory.db")
	var answer string
	if err := s.db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&answer); err != nil || answer != "ok" {
		return []Problem{{path, fmt.Sprintf("the database is damaged: %s %v", answer, err)}}, nil
	}
	agents, err := s.agents(ctx)
	if err != nil {
		return nil, err
	}
	for _, agent := range agents {
		lost, err := s.lostVectors(ctx, model, agent)
		if err != nil {
			return nil, err
		}
		if len(lost) > 0 {
			problems = append(problems, Problem{s.vectorFile(model, agent), fmt.Sprintf("%d vectors are lost or damaged; the next compaction makes them again", len(lost))})
		}
	}
	return problems, nil
}

func (s *Store) agents(ctx context.Context) ([]string, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT DISTINCT agent FROM records ORDER BY agent")
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	defer rows.Close()
	var agents []string
	for rows.Next() {
		var agent string
		if err := rows.Scan(&agent); err != nil {
			return nil, fmt.Errorf("list agents: %w", err)
		}
		agents = append(agents, agent)
	}
	return agents, rows.Err()
}
