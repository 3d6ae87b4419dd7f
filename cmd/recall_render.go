package cmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

// recallDocument is `recall --json` (docs/json.md).
type recallDocument struct {
	Schema int         `json:"schema"`
	Quoted string      `json:"quoted"` // session.RecallStamp
	Query  string      `json:"query"`
	Rank   string      `json:"rank"`
	Notice string      `json:"notice"`
	Hits   []recallHit `json:"hits"`
}

type recallHit struct {
	ID         string       `json:"id"`
	Score      float64      `json:"score"`
	Relevance  float64      `json:"relevance"`
	Importance float64      `json:"importance"`
	Category   string       `json:"category"`
	Runtime    string       `json:"runtime"`
	Agent      string       `json:"agent"`
	Session    string       `json:"session"`
	CreatedAt  string       `json:"created_at"` // RFC 3339, UTC
	Branch     string       `json:"branch"`
	Duplicates int          `json:"duplicates"` // others with the same text, or nearly so beside it, and a summary that says no more
	Text       string       `json:"text"`
	Matched    []string     `json:"matched"` // words of text that the query has too, each once
	Source     recallSource `json:"source"`
	Fact       *recallFact  `json:"fact"` // of facts, else null
	// Before and After are of --neighbors, in the order of the session.
	Before []recallNeighbor `json:"before"`
	After  []recallNeighbor `json:"after"`
}

// recallFact is what is known of a fact.
type recallFact struct {
	Kind         string  `json:"kind"`
	Confidence   float64 `json:"confidence"`
	Quote        string  `json:"quote"`
	SupersededBy string  `json:"superseded_by"`
}

type recallNeighbor struct {
	ID     string       `json:"id"`
	Text   string       `json:"text"`
	Source recallSource `json:"source"`
}

type recallSource struct {
	Archive   string `json:"archive"` // id for archive show, "" if it was only remembered
	Path      string `json:"path"`
	FirstLine int    `json:"first_line"`
	LastLine  int    `json:"last_line"`
}

func newRecallDocument(query string, r memory.Result) recallDocument {
	p := passagePrinter{terms: queryTerms(query)}
	doc := recallDocument{Schema: 1, Quoted: session.RecallStamp, Query: query, Rank: r.Rank, Notice: r.Notice, Hits: []recallHit{}}
	for _, h := range r.Hits {
		doc.Hits = append(doc.Hits, recallHit{
			ID: h.ID, Score: h.Score, Relevance: h.Relevance, Importance: h.Importance, Category: h.Category,
			Runtime: h.Runtime, Agent: h.Agent, Session: h.Session, Branch: h.Branch, Text: h.Text, Matched: p.matched(h.Text), Duplicates: h.Duplicates,
			CreatedAt: time.UnixMilli(h.CreatedAt).UTC().Format(time.RFC3339),
			Source:    newRecallSource(h.Record), Before: []recallNeighbor{}, After: []recallNeighbor{},
		})
	}
	return doc
}

func newRecallSource(r memory.Record) recallSource {
	return recallSource{Archive: r.Archive, Path: r.ArchivePath, FirstLine: r.FirstLine, LastLine: r.LastLine}
}

// addNeighbors puts what stood before and after each hit beside it. What is
// shown already is not shown again.
func (d *recallDocument) addNeighbors(ctx context.Context, store *memory.Store, r memory.Result, n int) error {
	if n == 0 {
		return nil
	}
	shown := map[string]bool{}
	for _, h := range d.Hits {
		shown[h.ID] = true
	}
	add := func(list []recallNeighbor, records []memory.Record) []recallNeighbor {
		for _, x := range records {
			if !shown[x.ID] {
				shown[x.ID] = true
				list = append(list, recallNeighbor{x.ID, x.Text, newRecallSource(x)})
			}
		}
		return list
	}
	for i, h := range r.Hits {
		before, after, err := store.Neighbors(ctx, h.Record, n)
		if err != nil {
			return err
		}
		d.Hits[i].Before, d.Hits[i].After = add(d.Hits[i].Before, before), add(d.Hits[i].After, after)
	}
	return nil
}

// renderRecall prints hits for people and for models. Whatever a session said
// stands behind "   | ", so that no line of it can be taken for one of ours, and
// between two lines that say what it is.
func renderRecall(a *app, o recallOptions, doc recallDocument) error {
	if a.global.JSON {
		return a.printJSON(doc)
	}
	if doc.Notice != "" {
		a.notice(note{Message: doc.Notice})
	}
	if len(doc.Hits) == 0 {
		a.notice(note{Message: fmt.Sprintf("nothing found for %q", doc.Query)})
		return nil
	}
	p := newPassagePrinter(a, doc.Query, o.Full)
	var b strings.Builder
	b.WriteString(session.RecallBegin + "\n\n")
	for i, h := range doc.Hits {
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, hitLine(h), source(h.Source))
		for _, n := range h.Before {
			p.beside(&b, "before", n)
		}
		if len(h.Before) > 0 {
			fmt.Fprintf(&b, "   the hit, lines %d-%d:\n", h.Source.FirstLine, h.Source.LastLine)
		}
		b.WriteString(indent(p.hit(h.Text)) + "\n")
		for _, n := range h.After {
			p.beside(&b, "after", n)
		}
		b.WriteByte('\n')
	}
	b.WriteString(session.RecallEnd + "\n")
	_, err := a.Out.Write([]byte(b.String()))
	return err
}

// hitLine says whose a hit is.
func hitLine(h recallHit) string {
	line := fmt.Sprintf("%s  %s  %s  score %.2f  %s session %s", visible(cmp.Or(h.Agent, "?")), h.CreatedAt[:10], visible(h.Category), h.Score,
		visible(h.Runtime), visible(h.Session))
	if h.Branch == session.Abandoned.String() {
		line += "  abandoned branch"
	}
	if h.Duplicates > 0 {
		line += fmt.Sprintf("  and %d the same", h.Duplicates)
	}
	return line
}

func source(s recallSource) string {
	if s.Archive == "" {
		if s.Path == "" {
			return "not archived"
		}
		return fmt.Sprintf("line %d of %s (not archived)", s.FirstLine, visible(s.Path))
	}
	return fmt.Sprintf("sessctl archive show %s --lines %d-%d", visible(s.Archive), s.FirstLine, s.LastLine)
}

func indent(text string) string {
	return "   | " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n   | ")
}
