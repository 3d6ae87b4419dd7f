package audit

import (
	"time"

	"github.com/sessctl/sessctl/pkg/memory"
)

// StoredBy marks what an agent stored in its own words (memory_store): no log
// has it, so there are no lines to read.
type StoredBy struct {
	By string `json:"by"` // the agent
	At string `json:"at"` // RFC 3339, UTC
}

// NewStoredBy is who stored a text, as JSON.
func NewStoredBy(r memory.Record) *StoredBy {
	if !r.OwnWords() {
		return nil
	}
	return &StoredBy{By: r.Agent, At: time.UnixMilli(r.CreatedAt).UTC().Format(time.RFC3339)}
}
