package steps

import (
	"context"
	"fmt"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/facts"
	"github.com/sessctl/sessctl/pkg/memory"
)

// FactsDocument is `extract-facts --json` (docs/json.md).
type FactsDocument struct {
	Schema   int              `json:"schema"`
	DryRun   bool             `json:"dry_run"`
	Sessions []FactsSession   `json:"sessions"`
	Notes    []workspace.Note `json:"notes"`
}

// FactsSession is what became of one session.
type FactsSession struct {
	Runtime   string           `json:"runtime"`
	Agent     string           `json:"agent"`
	Session   string           `json:"session"`
	Path      string           `json:"path"`
	Outcome   string           `json:"outcome"`
	Reason    string           `json:"reason"`
	Messages  int              `json:"messages"` // that people and the agent said, in all
	MadeBy    string           `json:"made_by"`  // rules, or provider and model; "" if nothing was looked at
	Degraded  bool             `json:"degraded"`
	Stored    int              `json:"stored"`    // new in memory
	Repeated  int              `json:"repeated"`  // known already
	LeftOut   int              `json:"left_out"`  // new, and not stored because of --max
	Forgotten int              `json:"forgotten"` // forgotten on purpose: not stored again
	Refused   []FactsRefusal   `json:"refused"`   // looked like a fact and were not made one
	Calls     int              `json:"llm_calls"`
	Tokens    int64            `json:"llm_tokens"`
	Facts     []recall.FactRow `json:"facts"`
	Receipt   string           `json:"receipt"` // path, "" if nothing changed

	Damaged bool `json:"-"` // it failed because an archive, or the memory, is damaged
}

// FactsRefusal is why something was not made a fact. Line is of the log, or 0.
type FactsRefusal struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// PlaceOfSuperseded is where a fact was said, seen from a fact of some session.
func PlaceOfSuperseded(s recall.SupersededFact, from string) string {
	if s.Session == from {
		return fmt.Sprintf("line %d", s.Line)
	}
	return fmt.Sprintf("session %s, line %d", wording.Visible(s.Session), s.Line)
}

// NewFactsSession is a session without facts yet.
func NewFactsSession(t workspace.Found) FactsSession {
	return FactsSession{Runtime: t.Runtime, Agent: t.Agent, Session: t.ID, Path: t.Path, Refused: []FactsRefusal{}, Facts: []recall.FactRow{}}
}

// Refusals counts what was not stored, by the reason.
func Refusals(all []facts.Refusal) []FactsRefusal {
	rows := []FactsRefusal{}
	for _, r := range all {
		rows = append(rows, FactsRefusal{Line: r.Line, Reason: r.Reason})
	}
	return rows
}

// List puts the new facts, and what they supersede, into the session's row.
func (s *FactsSession) List(records []memory.Fact, over map[string]string, known []facts.Known) {
	for _, f := range records {
		f.Successor = over[f.ID]
		row := recall.NewFactRow(f)
		for _, k := range known {
			if over[k.ID] == f.ID {
				row.Supersedes = append(row.Supersedes, recall.SupersededFact{ID: k.ID, Text: k.Text, Session: k.Session, Line: k.Line})
			}
		}
		for _, earlier := range records {
			if over[earlier.ID] == f.ID {
				row.Supersedes = append(row.Supersedes, recall.SupersededFact{ID: earlier.ID, Text: earlier.Text, Session: earlier.Session, Line: earlier.FirstLine})
			}
		}
		s.Facts = append(s.Facts, row)
	}
}

// FactIndent is the room before what belongs to a fact.
const FactIndent = "                   "

// FactsList is `extract-facts --list --json`.
type FactsList struct {
	Schema int              `json:"schema"`
	Facts  []recall.FactRow `json:"facts"`
	Notes  []workspace.Note `json:"notes"`
}

// ReplacedFacts are the facts that newer ones have superseded, under the id of
// what superseded them.
func ReplacedFacts(ctx context.Context, store *memory.Store, of memory.FactFilter) (map[string][]recall.SupersededFact, error) {
	of.Superseded = true
	all, err := store.Facts(ctx, of)
	replaced := map[string][]recall.SupersededFact{}
	for _, f := range all {
		if f.Successor != "" && !f.Damaged {
			replaced[f.Successor] = append(replaced[f.Successor], recall.SupersededFact{ID: f.ID, Text: f.Text, Session: f.Session, Line: f.FirstLine})
		}
	}
	return replaced, err
}

// FactsReceipt is what is written for each extraction that changed something.
// It has no text of a fact: what is forgotten is to be gone.
type FactsReceipt struct {
	Schema   int          `json:"schema"` // 1
	ID       string       `json:"id"`     // ULID; the file is <id>.json
	Version  string       `json:"version"`
	At       time.Time    `json:"at"`
	Runtime  string       `json:"runtime"`
	Agent    string       `json:"agent"`
	Session  string       `json:"session"`
	Path     string       `json:"path"`
	Bytes    int64        `json:"size_bytes"`
	Messages int          `json:"messages"`
	Rules    string       `json:"rules"`
	MadeBy   string       `json:"made_by"`
	Degraded bool         `json:"degraded"`
	Reason   string       `json:"reason"`
	Calls    int          `json:"llm_calls"`
	Tokens   int64        `json:"llm_tokens"`
	Stored   int          `json:"stored"`
	Repeated int          `json:"repeated"`
	Refused  int          `json:"refused"`
	Facts    []ProvenFact `json:"facts"`
}

// ProvenFact is a fact that a call proves.
type ProvenFact struct {
	ID         string   `json:"id"`
	Kind       string   `json:"kind"`
	Line       int      `json:"line"`
	Confidence float64  `json:"confidence"`
	Supersedes []string `json:"supersedes"`
}

// OutcomeOfFacts decides the exit code of a run.
func OutcomeOfFacts(doc FactsDocument) error {
	failed, damaged := 0, false
	for _, s := range doc.Sessions {
		if s.Outcome == FactsFailed {
			failed++
			damaged = damaged || s.Damaged
		}
	}
	switch {
	case damaged:
		return &failure.Outcome{Exit: failure.ExitIntegrity}
	case failed > 0 && failed < len(doc.Sessions):
		return &failure.Outcome{Exit: failure.ExitPartly}
	case failed > 0:
		return &failure.Outcome{Exit: failure.ExitFailed}
	}
	return nil
}
