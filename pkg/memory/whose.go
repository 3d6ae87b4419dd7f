package memory

import (
	"encoding/json"

	"github.com/sessctl/sessctl/pkg/agentset"
)

// whose is the SQL condition under which a row is of one of these agents, with its
// arguments; "" for everybody's. table is the name of the table with its dot, or "".
func whose(agents agentset.Set, table string) (string, []any) {
	pairs := agents.Pairs()
	switch {
	case agents == "":
		return "", nil
	case pairs == nil:
		return table + "agent=?", []any{string(agents)}
	}
	names, _ := json.Marshal(agents.Names()) // strings are always JSON
	list, _ := json.Marshal(pairs)
	const among = " IN (SELECT value FROM json_each(?))"
	return table + "agent" + among + " AND " + table + "runtime||'/'||" + table + "agent" + among, []any{string(names), string(list)}
}

// oneName is the name of the agents that are asked about, "" if they have several or are
// everybody.
func (q Query) oneName() string {
	if names := q.Agent.Names(); len(names) == 1 {
		return names[0]
	}
	return ""
}
