package cmd

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/sessctl/sessctl/pkg/retention"
)

// cleanDocument is `clean --json`.
type cleanDocument struct {
	Schema   int            `json:"schema"`
	DryRun   bool           `json:"dry_run"`
	MaxAge   string         `json:"max_age"`
	Sessions []cleanRow     `json:"sessions"`
	Bytes    int64          `json:"bytes"` // of the files that go
	Archives *pruneDocument `json:"archives"`
	Notes    []note         `json:"notes"`
}

// cleanRow is one session, or one file in the trash.
type cleanRow struct {
	Runtime string `json:"runtime"`
	Agent   string `json:"agent"`
	Session string `json:"session"`
	Kind    string `json:"kind"`
	Path    string `json:"path"`
	Files   int    `json:"files"` // with what belongs to it
	Bytes   int64  `json:"bytes"`
	LastUse string `json:"last_use"` // RFC 3339, UTC
	Outcome string `json:"outcome"`  // trash, purge, undelete or kept
	Reason  string `json:"reason"`
}

// fileID is a safe id for a file, different for different paths.
func fileID(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:6])
}

// makeRows shows what goes, and of what is old enough why it stays.
func (c *cleaner) makeRows() {
	c.rows = nil
	now := c.app.now()
	for _, p := range c.plans {
		if !p.verdict.Goes && now.Sub(p.lastUse) <= c.options.maxAge {
			continue
		}
		row := cleanRow{
			Runtime: p.Runtime, Agent: p.Agent, Session: p.ID, Kind: string(p.Kind), Path: p.Path, Files: len(p.files), Bytes: p.Bytes,
			LastUse: p.lastUse.UTC().Format(time.RFC3339), Outcome: pruneKept, Reason: p.verdict.Reason,
		}
		if p.shortOf != "" {
			row.Reason = p.shortOf
		}
		if p.verdict.Goes {
			row.Outcome, row.Reason, row.Bytes = retention.ActionTrash, "unused for "+days(now.Sub(p.lastUse)), p.bytes()
		}
		c.rows = append(c.rows, row)
	}
	for _, item := range c.purge {
		c.rows = append(c.rows, cleanRow{
			Path: item.From, Files: 1, Bytes: item.Bytes, Outcome: retention.ActionPurge,
			LastUse: item.At.UTC().Format(time.RFC3339), Reason: "in the trash since " + item.At.UTC().Format(time.RFC3339),
		})
	}
}

func (p *cleanPlan) bytes() (n int64) {
	for _, f := range p.files {
		n += f.seen.Size
	}
	return n
}

func days(d time.Duration) string { return plural(int(d/(24*time.Hour)), "day") }

func (c *cleaner) render() error {
	doc := cleanDocument{Schema: 1, DryRun: c.options.DryRun, MaxAge: c.options.MaxAge, Sessions: append([]cleanRow{}, c.rows...), Notes: c.app.notes}
	going := 0
	for _, r := range c.rows {
		if r.Outcome != pruneKept {
			going++
			doc.Bytes += r.Bytes
		}
	}
	if c.prune != nil {
		c.prune.doc.Notes = []note{}
		doc.Archives = &c.prune.doc
	}
	if c.app.global.JSON {
		return c.app.printJSON(doc)
	}
	if err := c.list(); err != nil {
		return err
	}
	what := "deleted"
	switch {
	case c.options.DryRun:
		what = "would be deleted"
	case c.options.MaxAge == "":
		what = "brought back"
	}
	if c.prune != nil {
		going += len(c.prune.going())
		doc.Bytes += c.prune.doc.Bytes
	}
	return c.app.printRows([][]string{{strconv.Itoa(going), what, formatBytes(doc.Bytes)}})
}

// list prints the plan.
func (c *cleaner) list() error {
	var rows [][]string
	for _, r := range c.rows {
		rows = append(rows, []string{r.Outcome, r.Runtime, visible(r.Agent), visible(r.Session), r.LastUse, formatBytes(r.Bytes), visible(r.Reason)})
	}
	if err := c.app.printRows(rows); err != nil || c.prune == nil {
		return err
	}
	return c.prune.list()
}

// outcome decides the exit code.
func (c *cleaner) outcome() error {
	done := 0
	for _, r := range c.rows {
		if r.Outcome != pruneKept {
			done++
		}
	}
	switch {
	case c.failed > 0 && done > 0:
		return &outcomeError{exit: exitPartly}
	case c.failed > 0:
		return &outcomeError{exit: exitFailed}
	case c.busy > 0:
		return &outcomeError{exit: exitBusy}
	}
	return nil
}
