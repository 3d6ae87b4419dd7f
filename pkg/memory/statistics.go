package memory

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/vectors"
)

// AgentStats counts what memory has of one agent.
type AgentStats struct {
	Runtime  string         `json:"runtime"`
	Agent    string         `json:"agent"`
	Sessions int            `json:"sessions"`
	Records  int            `json:"records"`
	Stored   int            `json:"stored"` // of them, what the agent stored in its own words
	Category map[string]int `json:"by_category"`
	Vectors  map[string]int `json:"vectors_by_model"`
	Pending  map[string]int `json:"pending_by_model"` // without a vector, those that cannot be embedded included
	Actions  map[string]int `json:"actions_by_kind"`  // what was done: commands, files, searches
	// Unembedded counts the records that have no vector of any model, and could
	// have one: also while no embedder has ever answered.
	Unembedded int `json:"without_vector"`
}

// ModelStats counts what memory has of one embedding model.
type ModelStats struct {
	Name        string `json:"name"` // embed.Model.String
	Fingerprint string `json:"fingerprint"`
	Dimensions  int    `json:"dimensions"`
	Vectors     int    `json:"vectors"`
	Bytes       int64  `json:"bytes"` // of its vectors
}

// Stats counts what memory has.
type Stats struct {
	Agents    []AgentStats `json:"agents"`
	Models    []ModelStats `json:"models"`
	Forgotten int          `json:"forgotten"` // records that must not come back
	Bytes     int64        `json:"bytes"`     // of all files
}

// Stats returns counts per agent and model, in their order.
func (s statistics) Stats(ctx context.Context) (Stats, error) {
	stats := Stats{Agents: []AgentStats{}, Models: []ModelStats{}, Bytes: treeBytes(s.dir)}
	var err error
	if stats.Forgotten, err = forgetting(s).countTombstones(ctx); err != nil {
		return Stats{}, err
	}
	if err := s.countModels(ctx, &stats); err != nil {
		return Stats{}, err
	}
	return stats, s.countAgents(ctx, &stats)
}

// countModels counts the vectors of each model.
func (s statistics) countModels(ctx context.Context, stats *Stats) error {
	list, err := database.All(ctx, database.For(s.db, "count vectors"), func(m *ModelStats) []any {
		return []any{&m.Fingerprint, &m.Name, &m.Dimensions, &m.Vectors, &m.Bytes}
	}, `SELECT fingerprint, name, dim, (SELECT count(*) FROM vectors v WHERE v.model=fingerprint),
		(SELECT coalesce(sum(length(b.records)+length(b.rows)), 0) FROM vector_spaces s JOIN vector_blocks b ON `+vectors.InSpace+` WHERE s.model=fingerprint) FROM models ORDER BY name`)
	stats.Models = append(stats.Models, list...)
	return err
}

func (s statistics) countAgents(ctx context.Context, stats *Stats) error {
	if err := s.countRecords(ctx, stats); err != nil {
		return err
	}
	has, err := hasActions(ctx, s.db)
	if err != nil || !has {
		return err
	}
	return s.count(ctx, stats, "SELECT s.runtime, s.agent, a.kind, count(*), 0 FROM actions a JOIN sources s ON s.source=a.source GROUP BY 1, 2, 3",
		func(a *AgentStats, name string, count, _ int) { a.Actions[name] = count })
}

func (s statistics) countRecords(ctx context.Context, stats *Stats) error {
	for _, step := range []struct {
		query string
		take  func(a *AgentStats, name string, count, sessions int)
	}{
		{"SELECT runtime, agent, '', count(*), count(DISTINCT nullif(session, '')) FROM records GROUP BY agent, runtime ORDER BY agent, runtime",
			func(a *AgentStats, _ string, count, sessions int) { a.Records, a.Sessions = count, sessions }},
		{"SELECT runtime, agent, '', count(*), 0 FROM records WHERE branch='" + BranchStored + "' GROUP BY 1, 2",
			func(a *AgentStats, _ string, count, _ int) { a.Stored = count }},
		{"SELECT runtime, agent, category, count(*), 0 FROM records GROUP BY 1, 2, 3",
			func(a *AgentStats, name string, count, _ int) { a.Category[name] = count }},
		{"SELECT r.runtime, r.agent, m.name, count(*), 0 FROM vectors v JOIN records r ON r.rowid=v.record JOIN models m ON m.fingerprint=v.model GROUP BY 1, 2, 3",
			func(a *AgentStats, name string, count, _ int) { a.Vectors[name] = count }},
		{"SELECT r.runtime, r.agent, m.name, count(*), 0 FROM pending p JOIN records r ON r.rowid=p.record JOIN models m ON m.fingerprint=p.model WHERE p.tries<" + strconv.Itoa(nothingTries) + " GROUP BY 1, 2, 3",
			func(a *AgentStats, name string, count, _ int) { a.Pending[name] = count }},
		{"SELECT runtime, agent, '', count(*), 0 FROM records r WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.record=r.rowid)" +
			" AND NOT EXISTS (SELECT 1 FROM pending p WHERE p.record=r.rowid AND p.tries>=" + strconv.Itoa(nothingTries) + ") GROUP BY 1, 2",
			func(a *AgentStats, _ string, count, _ int) { a.Unembedded = count }},
	} {
		if err := s.count(ctx, stats, step.query, step.take); err != nil {
			return err
		}
	}
	return nil
}

// count hands the rows of a query (runtime, agent, name, two counts) to the
// agents they belong to.
func (s statistics) count(ctx context.Context, stats *Stats, query string, take func(a *AgentStats, name string, count, sessions int)) error {
	return database.Each(ctx, database.For(s.db, "count records"), func(scan database.Scan) error {
		var runtime, agent, name string
		var count, sessions int
		if err := scan(&runtime, &agent, &name, &count, &sessions); err != nil {
			return err
		}
		take(stats.of(runtime, agent), name, count, sessions)
		return nil
	}, query)
}

// of returns the counts of an agent.
func (s *Stats) of(runtime, agent string) *AgentStats {
	for i := range s.Agents {
		if a := &s.Agents[i]; a.Runtime == runtime && a.Agent == agent {
			return a
		}
	}
	s.Agents = append(s.Agents, AgentStats{Runtime: runtime, Agent: agent, Category: map[string]int{}, Vectors: map[string]int{}, Pending: map[string]int{}, Actions: map[string]int{}})
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

// Agents returns the names of the agents that memory has records of, in order, filtered
// by runtime and agent where those are not empty.
func (s statistics) Agents(ctx context.Context, runtime string, of agentset.Set) ([]string, error) {
	condition, args := Query{Runtime: runtime, Agent: of}.filter()
	return database.Strings(ctx, s.db, "SELECT DISTINCT agent FROM records r WHERE "+condition+" ORDER BY agent", args...)
}

// Owners returns the agents that memory has something of, in order. The runtime of one
// is "" where it stored its own words before it had a session.
func (s statistics) Owners(ctx context.Context) ([]agentset.ID, error) {
	return database.All(ctx, database.For(s.db, "list agents"), func(id *agentset.ID) []any { return []any{&id.Runtime, &id.Agent} },
		"SELECT DISTINCT runtime, agent FROM sources ORDER BY agent, runtime")
}

// Runtimes returns the runtimes in which memory has records of an agent, in order. One
// is "" where an agent stored its own words before it had a session.
func (s statistics) Runtimes(ctx context.Context, agent string) ([]string, error) {
	return database.Strings(ctx, s.db, "SELECT DISTINCT runtime FROM sources WHERE agent=? ORDER BY runtime", agent)
}

// CountRecords returns how many records an agent has.
func (s statistics) CountRecords(ctx context.Context, agent string) (n int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT count(*) FROM records WHERE agent=?", agent).Scan(&n)
	return n, database.Classify(err)
}
