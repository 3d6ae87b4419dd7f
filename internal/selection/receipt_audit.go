package selection

import (
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/memory"
)

// SourceOf is the session of a receipt.
func SourceOf(r compact.Receipt) memory.Source {
	return memory.Source{Runtime: r.Runtime, Agent: r.Agent, Session: r.Session}
}
