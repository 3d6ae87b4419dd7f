package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/facts"
	"github.com/sessctl/sessctl/pkg/memory"
)

// factsDocument is `extract-facts --json` (docs/json.md).
type factsDocument struct {
	Schema   int            `json:"schema"`
	DryRun   bool           `json:"dry_run"`
	Sessions []factsSession `json:"sessions"`
	Notes    []note         `json:"notes"`
}

// factsSession is what became of one session.
type factsSession struct {
	Runtime   string         `json:"runtime"`
	Agent     string         `json:"agent"`
	Session   string         `json:"session"`
	Path      string         `json:"path"`
	Outcome   string         `json:"outcome"`
	Reason    string         `json:"reason"`
	Messages  int            `json:"messages"` // that people and the agent said, in all
	MadeBy    string         `json:"made_by"`  // rules, or provider and model; "" if nothing was looked at
	Degraded  bool           `json:"degraded"`
	Stored    int            `json:"stored"`    // new in memory
	Repeated  int            `json:"repeated"`  // known already
	LeftOut   int            `json:"left_out"`  // new, and not stored because of --max
	Forgotten int            `json:"forgotten"` // forgotten on purpose: not stored again
	Refused   []factsRefusal `json:"refused"`   // looked like a fact and were not made one
	Calls     int            `json:"llm_calls"`
	Tokens    int64          `json:"llm_tokens"`
	Facts     []factRow      `json:"facts"`
	Receipt   string         `json:"receipt"` // path, "" if nothing changed

	damaged bool // it failed because an archive, or the memory, is damaged
}

type factsRefusal struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// factRow is one fact.
type factRow struct {
	ID         string       `json:"id"`
	Kind       string       `json:"kind"`
	Text       string       `json:"text"`
	Confidence float64      `json:"confidence"`
	Quote      string       `json:"quote"`
	Speaker    string       `json:"speaker"`
	SaidAt     string       `json:"said_at"` // RFC 3339, UTC
	Runtime    string       `json:"runtime"`
	Agent      string       `json:"agent"`
	Session    string       `json:"session"`
	MadeBy     string       `json:"made_by"`
	Source     recallSource `json:"source"`
	// Supersedes are known facts that are not true any more, SupersededBy is
	// the id of what says so of this one, or "".
	Supersedes   []supersededFact `json:"supersedes"`
	SupersededBy string           `json:"superseded_by"`
}

type supersededFact struct {
	ID      string `json:"id"`
	Text    string `json:"text"`
	Session string `json:"session"`
	Line    int    `json:"line"` // of that session's log
}

// place is where a fact was said, seen from a fact of some session.
func (s supersededFact) place(from string) string {
	if s.Session == from {
		return fmt.Sprintf("line %d", s.Line)
	}
	return fmt.Sprintf("session %s, line %d", visible(s.Session), s.Line)
}

func newFactsSession(t found) factsSession {
	return factsSession{Runtime: t.Runtime, Agent: t.Agent, Session: t.ID, Path: t.Path, Refused: []factsRefusal{}, Facts: []factRow{}}
}

func refusals(all []facts.Refusal) []factsRefusal {
	rows := []factsRefusal{}
	for _, r := range all {
		rows = append(rows, factsRefusal{Line: r.Line, Reason: r.Reason})
	}
	return rows
}

// rounded is a confidence as it is shown: with two digits.
func rounded(confidence float64) float64 { return math.Round(confidence*100) / 100 }

func newFactRow(f memory.Fact) factRow {
	return factRow{
		ID: f.ID, Kind: f.Kind, Text: f.Text, Confidence: rounded(f.Confidence), Quote: f.Quote, Speaker: f.Speaker, SaidAt: timeOf(f.CreatedAt),
		Runtime: f.Runtime, Agent: f.Agent, Session: f.Session, MadeBy: f.MadeBy, SupersededBy: f.Successor, Supersedes: []supersededFact{},
		Source: recallSource{Archive: f.Archive, Path: f.ArchivePath, FirstLine: f.FirstLine, LastLine: f.LastLine},
	}
}

// list puts the new facts, and what they supersede, into the session's row.
func (s *factsSession) list(records []memory.Fact, over map[string]string, known []facts.Known) {
	for _, f := range records {
		f.Successor = over[f.ID]
		row := newFactRow(f)
		for _, k := range known {
			if over[k.ID] == f.ID {
				row.Supersedes = append(row.Supersedes, supersededFact{k.ID, k.Text, k.Session, k.Line})
			}
		}
		for _, earlier := range records {
			if over[earlier.ID] == f.ID {
				row.Supersedes = append(row.Supersedes, supersededFact{earlier.ID, earlier.Text, earlier.Session, earlier.FirstLine})
			}
		}
		s.Facts = append(s.Facts, row)
	}
}

func (a *app) renderFacts(o factsOptions, doc factsDocument) error {
	doc.Notes = a.notes
	if o.Lines {
		for _, s := range doc.Sessions {
			if err := a.printFactLines(s.Facts); err != nil {
				return err
			}
		}
		return nil
	}
	if a.JSON {
		return a.printJSON(doc)
	}
	for _, s := range doc.Sessions {
		if err := a.renderFactsSession(s); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printFactLines(rows []factRow) error {
	for _, f := range rows {
		if err := writeJSON(a.Out, "", f); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) renderFactsSession(s factsSession) error {
	what := s.Outcome
	if s.Outcome == factsExtracted || s.Outcome == factsPlanned {
		what = fmt.Sprintf("%s: %s, %d known before", s.Outcome, plural(len(s.Facts), "new fact"), s.Repeated)
		if s.LeftOut > 0 {
			what += fmt.Sprintf(", %d left out by --max (--max 0 --force stores all)", s.LeftOut)
		}
	}
	if s.Reason != "" && s.Outcome != factsFailed {
		if s.Degraded {
			what += "; degraded"
		}
		what += " (" + s.Reason + ")"
	}
	whose := strings.TrimSpace(s.Agent + " " + s.Session) // the agent of a file may not be known
	if _, err := fmt.Fprintf(a.Out, "%s: %s\n", visible(whose), visible(what)); err != nil {
		return err
	}
	return a.renderFactRows(s.Facts)
}

func (a *app) renderFactRows(rows []factRow) error {
	for _, f := range rows {
		_, err := fmt.Fprintf(a.Out, "  %-10s %.2f  %s\n%sline %d, %s: \"%s\"\n", f.Kind, f.Confidence, visible(f.Text), factIndent, f.Source.FirstLine, visible(f.Speaker), visible(f.Quote))
		for _, k := range f.Supersedes {
			_, err = fmt.Fprintf(a.Out, "%ssupersedes: %s (%s)\n", factIndent, visible(k.Text), k.place(f.Session))
		}
		if f.SupersededBy != "" {
			_, err = fmt.Fprintf(a.Out, "%ssuperseded by %s\n", factIndent, f.SupersededBy)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const factIndent = "                   "

// factsList is `extract-facts --list --json`.
type factsList struct {
	Schema int       `json:"schema"`
	Facts  []factRow `json:"facts"`
	Notes  []note    `json:"notes"`
}

func runListFacts(ctx context.Context, a *app, o factsOptions) error {
	list := factsList{Schema: 1, Facts: []factRow{}}
	store, err := memory.Open(ctx, a.memoryDir(), memory.Options{ReadOnly: true, Pins: a.pins})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open memory: %w", err)
	}
	if err == nil {
		defer store.Close()
		if err := a.checkAgent(ctx, store, o.Agent); err != nil {
			return err
		}
		if o.Session, err = a.sessionID(ctx, store, o.Session, scope{a.global.Runtime, o.Agent}); err != nil {
			return err
		}
		known, err := store.Facts(ctx, memory.FactFilter{Runtime: a.global.Runtime, Agent: o.Agent, Session: o.Session, Kind: o.Kind, Superseded: o.Superseded})
		if err != nil {
			return err
		}
		replaced, err := replacedFacts(ctx, store, memory.FactFilter{Runtime: a.global.Runtime, Agent: o.Agent})
		if err != nil {
			return err
		}
		for _, f := range known {
			if f.Damaged {
				a.notice(note{Message: "fact " + f.ID + " is damaged and not shown", Hint: "sessctl memory verify says more"})
				continue
			}
			f.ArchivePath = a.moves().Path(f.ArchivePath)
			row := newFactRow(f)
			row.Supersedes = append(row.Supersedes, replaced[f.ID]...)
			list.Facts = append(list.Facts, row)
		}
	}
	list.Notes = a.notes
	switch {
	case o.Lines:
		return a.printFactLines(list.Facts)
	case a.JSON:
		return a.printJSON(list)
	case len(list.Facts) == 0:
		a.notice(note{Message: "no facts are known", Hint: "sessctl extract-facts --all looks for them"})
	}
	return a.renderFactRows(list.Facts)
}

// replacedFacts are the facts that newer ones have superseded, under the id of
// what superseded them.
func replacedFacts(ctx context.Context, store *memory.Store, of memory.FactFilter) (map[string][]supersededFact, error) {
	of.Superseded = true
	all, err := store.Facts(ctx, of)
	replaced := map[string][]supersededFact{}
	for _, f := range all {
		if f.Successor != "" && !f.Damaged {
			replaced[f.Successor] = append(replaced[f.Successor], supersededFact{f.ID, f.Text, f.Session, f.FirstLine})
		}
	}
	return replaced, err
}

// factsReceipt is what is written for each extraction that changed something.
// It has no text of a fact: what is forgotten is to be gone.
type factsReceipt struct {
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
	Facts    []provenFact `json:"facts"`
}

type provenFact struct {
	ID         string   `json:"id"`
	Kind       string   `json:"kind"`
	Line       int      `json:"line"`
	Confidence float64  `json:"confidence"`
	Supersedes []string `json:"supersedes"`
}

func (a *settings) factsReceiptsDir() string { return filepath.Join(a.dataDir(), "facts") }

func (r *factsRun) writeFactsReceipt(t found, row *factsSession, id string) error {
	receipt := factsReceipt{
		Schema: 1, ID: id, Version: r.version, At: r.now().UTC(), Runtime: t.Runtime, Agent: t.Agent, Session: row.Session, Path: t.Path,
		Bytes: t.Bytes, Messages: row.Messages, Rules: facts.Version, MadeBy: row.MadeBy, Degraded: row.Degraded, Reason: row.Reason,
		Calls: row.Calls, Tokens: row.Tokens, Stored: row.Stored, Repeated: row.Repeated, Refused: len(row.Refused), Facts: []provenFact{},
	}
	for _, f := range row.Facts {
		p := provenFact{ID: f.ID, Kind: f.Kind, Line: f.Source.FirstLine, Confidence: f.Confidence, Supersedes: []string{}}
		for _, s := range f.Supersedes {
			p.Supersedes = append(p.Supersedes, s.ID)
		}
		receipt.Facts = append(receipt.Facts, p)
	}
	if err := r.pins.MakeDir(r.factsReceiptsDir(), 0o700); err != nil {
		return fmt.Errorf("make receipts directory: %w", err)
	}
	path := filepath.Join(r.factsReceiptsDir(), id+".json")
	if err := r.pins.ReplaceFile(path, 0o600, func(w io.Writer) error { return writeJSON(w, "  ", receipt) }); err != nil {
		return fmt.Errorf("write the receipt: %w", err)
	}
	row.Receipt = path
	return nil
}

// outcomeOfFacts decides the exit code of a run.
func outcomeOfFacts(doc factsDocument) error {
	failed, damaged := 0, false
	for _, s := range doc.Sessions {
		if s.Outcome == factsFailed {
			failed++
			damaged = damaged || s.damaged
		}
	}
	switch {
	case damaged:
		return &outcomeError{exit: exitIntegrity}
	case failed > 0 && failed < len(doc.Sessions):
		return &outcomeError{exit: exitPartly}
	case failed > 0:
		return &outcomeError{exit: exitFailed}
	}
	return nil
}
