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

// Stats counts what memory has.
type Stats struct {
	Agents []AgentStats `json:"agents"`
	Bytes  int64        `json:"size_bytes"` // of all files
}

// Stats returns counts per agent, in the order of agents.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	stats := Stats{Bytes: treeBytes(s.dir)}
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
		if err := s.count(ctx, &stats, step.query, step.take); err != nil {
			return Stats{}, err
		}
	}
	return stats, nil
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
