package recall

import (
	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/pkg/memory"
)

// FactRow is one fact.
type FactRow struct {
	ID         string             `json:"id"`
	Kind       string             `json:"kind"`
	Text       string             `json:"text"`
	Confidence float64            `json:"confidence"`
	Quote      string             `json:"quote"`
	Speaker    string             `json:"speaker"`
	SaidAt     string             `json:"said_at"` // RFC 3339, UTC
	Runtime    string             `json:"runtime"`
	Agent      string             `json:"agent"`
	Session    string             `json:"session"`
	MadeBy     string             `json:"made_by"`
	Source     audit.RecallSource `json:"source"`
	// Supersedes are known facts that are not true any more, SupersededBy is
	// the id of what says so of this one, or "".
	Supersedes   []SupersededFact `json:"supersedes"`
	SupersededBy string           `json:"superseded_by"`
}

// SupersededFact is a fact that is no longer true.
type SupersededFact struct {
	ID      string `json:"id"`
	Text    string `json:"text"`
	Session string `json:"session"`
	Line    int    `json:"line"` // of that session's log
}

// NewFactRow is a fact as JSON.
func NewFactRow(f memory.Fact) FactRow {
	return FactRow{
		ID: f.ID, Kind: f.Kind, Text: f.Text, Confidence: audit.Rounded(f.Confidence), Quote: f.Quote, Speaker: f.Speaker, SaidAt: timeOf(f.CreatedAt),
		Runtime: f.Runtime, Agent: f.Agent, Session: f.Session, MadeBy: f.MadeBy, SupersededBy: f.Successor, Supersedes: []SupersededFact{},
		Source: audit.RecallSource{Archive: f.Archive, Path: f.ArchivePath, FirstLine: f.FirstLine, LastLine: f.LastLine},
	}
}
