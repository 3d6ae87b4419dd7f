package memory

import (
	"context"
	"fmt"
	"strconv"

	"github.com/sessctl/sessctl/pkg/memory/database"
)

// Waiting counts the records of an agent that wait for an embedding.
type Waiting struct {
	Runtime, Agent string
	Records        int
}

// Brief is what can be counted at once, however much the memory holds.
type Brief struct {
	Records int
	Bytes   int64 // of all files
	Waiting []Waiting
}

// Brief counts the records, and those that wait for an embedding, by agent.
// [Store.Stats] counts more, and looks at every record for it. While no embedder
// has ever answered all records wait.
func (s reading) Brief(ctx context.Context) (b Brief, err error) {
	b.Bytes = treeBytes(s.dir)
	var models int
	err = s.db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM models)").Scan(&b.Records, &models)
	if err != nil {
		return b, fmt.Errorf("count records: %w", database.Classify(err))
	}
	query := "SELECT r.runtime, r.agent, count(DISTINCT p.record) FROM pending p JOIN records r ON r.rowid=p.record WHERE p.tries<" + strconv.Itoa(nothingTries) + " GROUP BY 1, 2 ORDER BY 2, 1"
	if models == 0 {
		query = "SELECT runtime, agent, count(*) FROM records GROUP BY 1, 2 ORDER BY 2, 1"
	}
	b.Waiting, err = database.All(ctx, database.For(s.db, "count what waits for an embedding"), func(w *Waiting) []any { return []any{&w.Runtime, &w.Agent, &w.Records} },
		query)
	return b, err
}
