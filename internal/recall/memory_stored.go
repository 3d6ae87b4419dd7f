package recall

import (
	"fmt"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
)

// Rank is what own words have less than a quotation that fits as well.
func Rank(s *audit.StoredBy) int {
	if s == nil {
		return 0
	}
	return 1
}

// Line says what the text is, where a quotation has its lines.
func Line(s *audit.StoredBy) string {
	return fmt.Sprintf("stored by agent %s at %s: its own words, not a quotation", wording.Visible(s.By), s.At)
}

// StoredDocument is `memory stored --json`.
type StoredDocument struct {
	Schema int              `json:"schema"`
	Stored []StoredRow      `json:"stored"`
	Notes  []workspace.Note `json:"notes"`
}

// StoredRow is a text that an agent has stored, as JSON.
type StoredRow struct {
	ID         string  `json:"id"`
	Category   string  `json:"category"`
	Importance float64 `json:"importance"`
	CreatedAt  string  `json:"created_at"`
	Runtime    string  `json:"runtime"`
	Agent      string  `json:"agent"`
	Session    string  `json:"session"`
	Text       string  `json:"text"`
}
