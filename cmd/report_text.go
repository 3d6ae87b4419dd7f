package cmd

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/front/pages"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/report"
)

// printReport prints a report for people, section by section.
func printReport(a *app, d report.Document) error {
	p := reportPrinter{app: a, doc: &d}
	host := ""
	if d.Host != "" {
		host = " on " + d.Host
	}
	p.line("What sessctl sees%s, %s", host, wording.ShownTime(d.MadeAt))
	p.line("%s", d.Sentence)
	for _, section := range []func(){p.person, p.context, p.disk, p.growth, p.purges, p.saved, p.proof, p.runs, p.records} {
		section()
	}
	return p.err
}

// reportPrinter prints sections until one cannot be printed.
type reportPrinter struct {
	*app
	doc *report.Document
	err error
}

// mostTextRows is how many rows of a list the text has; the page and the JSON
// have more.
const mostTextRows = 10

func (p *reportPrinter) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.Out, wording.Visible(fmt.Sprintf(format, args...)))
	}
}

func (p *reportPrinter) heading(text string) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.Out, "\n%s\n", p.renderer().NewStyle().Bold(true).Render(text))
	}
}

// table prints the first rows of a list.
func (p *reportPrinter) table(t table) {
	if more := len(t.rows) - mostTextRows; more > 0 {
		t.rows, t.footer = t.rows[:mostTextRows], fmt.Sprintf("and %s more", wording.Count(int64(more)))
	}
	if p.err == nil {
		p.err = p.printTable(t)
	}
}

func (p *reportPrinter) person() {
	p.heading("What needs a person")
	t := table{empty: "nothing", columns: []column{{name: "WHAT"}, {name: "SINCE", drop: 1}, {name: "WHERE", least: 16}, {name: "MESSAGE", least: 30}}}
	for _, x := range p.doc.Alerts {
		t.rows = append(t.rows, []string{x.Kind, wording.ShownTime(x.Since), x.Subject, x.Message})
	}
	p.table(t)
	p.heading("What waits")
	t = table{empty: "nothing", columns: []column{{name: "COUNT", right: true}, {name: "WHAT", least: 30}, {name: "WHAT DOES IT", least: 20}}}
	for _, x := range p.doc.Pending {
		t.rows = append(t.rows, []string{wording.Count(int64(x.Count)), x.What, x.Advice})
	}
	p.table(t)
}

func (p *reportPrinter) context() {
	c := &p.doc.Context
	p.heading("What fills context")
	p.line("%s%s with %s tokens, %s at or over %s", wording.Plural(c.Sessions, "session"), c.Copies(), wording.Count(c.Tokens), wording.Count(int64(c.Over)), wording.Threshold(p.doc.Threshold, p.doc.Share))
	shares := func(name string, all []report.Share, of func(report.Share) string) {
		t := table{columns: []column{{name: name, least: 10}, {name: "SESSIONS", right: true, drop: 2}, {name: "TOKENS", right: true}, {name: "OF ALL", drop: 1}, {name: "SIZE", right: true}, {name: "OVER", right: true, drop: 3}}}
		for _, s := range all {
			t.rows = append(t.rows, []string{of(s), wording.Count(int64(s.Sessions)), wording.Count(s.Tokens), selection.Bar(s.Tokens, c.Tokens), wording.Bytes(s.Bytes), wording.Count(int64(s.Over))})
		}
		if len(t.rows) > 0 {
			p.table(t)
		}
	}
	shares("RUNTIME", c.Runtimes, func(s report.Share) string { return s.Runtime })
	agents := c.Projects()
	shares("AGENT", agents, func(s report.Share) string {
		if same := func(x report.Share) bool { return x.Name() == s.Name() && x.Runtime != s.Runtime }; slices.ContainsFunc(agents, same) {
			return s.Name() + " (" + s.Runtime + ")"
		}
		return s.Name()
	})
	t := table{empty: "no sessions", columns: []column{{name: "SESSION", least: 12, middle: true}, {name: "TITLE", least: 12, drop: 3}, {name: "AGENT", least: 8, middle: true}, {name: "TOKENS", right: true}, {name: "CONTEXT", drop: 1}, {name: "SIZE", right: true, drop: 2}, {name: "STATE", drop: 4}}}
	for _, s := range c.List {
		tokens, context := wording.Count(s.Tokens), selection.UnknownFigure
		if s.Unreadable {
			tokens = selection.UnknownFigure
		} else if s.Window > 0 {
			context = selection.Bar(s.Tokens, s.Window)
		}
		t.rows = append(t.rows, []string{s.Session, s.Title, cmp.Or(s.ProjectName, s.Agent), tokens, context, wording.Bytes(s.Bytes), s.Standing()})
	}
	p.table(t)
}

func (p *reportPrinter) disk() {
	p.heading("What fills the disk")
	t := table{columns: []column{{name: "WHAT"}, {name: "FILES", right: true, drop: 1}, {name: "SIZE", right: true}, {name: "OF ALL"}}}
	for _, part := range p.doc.Disk.Parts {
		t.rows = append(t.rows, []string{part.What, wording.Count(int64(part.Files)), wording.Bytes(part.Bytes), selection.Bar(part.Bytes, p.doc.Disk.Bytes)})
	}
	p.table(t)
	for _, f := range p.doc.Disk.Free {
		p.line("%s free at %s", wording.Bytes(f.Bytes), f.Path)
	}
}

func (p *reportPrinter) growth() {
	p.heading("Growth by day")
	t := table{empty: "not known: no run of a profile was recorded yet", columns: []column{{name: "DAY"}, {name: "LOGS", right: true}, {name: "ARCHIVES", right: true}, {name: "MEMORY", right: true, drop: 2}, {name: "PUT AWAY", right: true, drop: 1}, {name: "FREED", right: true, drop: 1}}}
	for _, d := range slices.Backward(p.doc.Growth.Days) {
		logs, archives, memory := selection.UnknownFigure, selection.UnknownFigure, selection.UnknownFigure
		if d.Known {
			logs, archives, memory = wording.Bytes(d.Logs), wording.Bytes(d.Archives), wording.Bytes(d.Memory)
		}
		t.rows = append(t.rows, []string{d.Date, logs, archives, memory, audit.Figure(d.PutAway, wording.Bytes), audit.Figure(d.Freed, wording.Bytes)})
	}
	p.table(t)
}

func (p *reportPrinter) purges() {
	p.heading("What runtimes will delete, and when")
	t := table{empty: "no runtime that was found deletes logs by itself, as far as its settings are known", columns: []column{
		{name: "AGENT", least: 10}, {name: "RUNTIME", drop: 2}, {name: "LOGS", right: true}, {name: "FIRST"}, {name: "LAST", drop: 1}, {name: "WITHOUT ARCHIVE", right: true}, {name: "WITHIN A WEEK", right: true},
	}}
	for _, x := range p.doc.Purges {
		t.rows = append(t.rows, []string{cmp.Or(x.ProjectName, x.Agent), x.Runtime, wording.Count(int64(x.Sessions)), pages.GoesOn(x.First, p.Now()), pages.GoesOn(x.Last, p.Now()), wording.Count(int64(x.Unarchived)), wording.Count(int64(x.Soon))})
	}
	t.warn = func(row, column int) bool { return column == 6 && p.doc.Purges[row].Soon > 0 }
	p.table(t)
}

func (p *reportPrinter) saved() {
	s := &p.doc.Saved
	p.heading("What was put away, and what it saved")
	p.line("%s took %s tokens out of contexts and %s out of logs", wording.Plural(s.Compactions, "compaction"), wording.Count(s.Tokens), wording.Bytes(s.LogBytes))
	p.line("%s of %s take %s on the disk", wording.Plural(s.Archives, "archive"), wording.Bytes(s.Bytes), wording.Bytes(s.Stored))
}

func (p *reportPrinter) proof() {
	proof := &p.doc.Proof
	p.heading("Proof")
	if w := proof.Whole; w != nil {
		p.line("all %s read back %s: %s; %s made since", wording.Plural(w.Archives, "archive"), wording.ShownTime(w.At), wording.Plural(w.Problems, "problem"), wording.Plural(proof.Since, "archive"))
	} else {
		p.line("no run of sessctl archives verify that read all archives is recorded; each was read back when it was made")
	}
	switch {
	case !proof.Looked:
		p.line("another sessctl was running: sessctl did not check for missing files")
	case len(proof.Damaged) == 0:
		p.line("every archive of the catalogue is in its place with its length")
	}
	t := table{columns: []column{{name: "DAMAGED"}, {name: "PATH", least: 16}, {name: "WHAT IS WRONG", least: 20}}}
	for _, d := range proof.Damaged {
		t.rows = append(t.rows, []string{d.ID, d.Path, d.Message})
	}
	if len(t.rows) > 0 {
		p.table(t)
	}
}

func (p *reportPrinter) runs() {
	runs := &p.doc.Runs
	p.heading("Runs")
	if len(runs.Outcomes) > 0 {
		var parts []string
		for _, outcome := range slices.Sorted(maps.Keys(runs.Outcomes)) {
			parts = append(parts, outcome+" "+strconv.Itoa(runs.Outcomes[outcome]))
		}
		p.line("in the last 30 days: %s", strings.Join(parts, ", "))
	}
	t := table{empty: cmp.Or(map[bool]string{false: "the records of runs could not be read"}[runs.Known], "no profile was run yet"), columns: []column{{name: "WHEN"}, {name: "PROFILE", least: 8}, {name: "OUTCOME"}, {name: "TOOK", right: true, drop: 1}, {name: "WHY", least: 16}}}
	for _, r := range runs.List {
		t.rows = append(t.rows, []string{wording.ShownTime(r.Started), r.Profile, r.Outcome, steps.Took(r.Seconds), r.Why})
	}
	p.table(t)
}

func (p *reportPrinter) records() {
	r := &p.doc.Records
	p.heading("The largest records, and what they are")
	if !r.Read {
		p.line("the logs were not read (--quick)")
		return
	}
	p.line("%s in %s: base64 %s (%.1f%%), repeated text %s (%.1f%%)", wording.Bytes(r.Bytes), wording.Plural(r.Logs, "log"),
		wording.Bytes(r.Base64), selection.PercentOf(r.Base64, r.Bytes), wording.Bytes(r.Duplicate), selection.PercentOf(r.Duplicate, r.Bytes))
	t := table{empty: "no records", columns: []column{{name: "WHAT"}, {name: "SIZE", right: true}, {name: "TYPE", least: 10, drop: 2}, {name: "AGENT", least: 8, drop: 1}, {name: "WHERE", least: 20}}}
	for _, x := range r.Largest {
		t.rows = append(t.rows, []string{x.What, wording.Bytes(x.Bytes), x.Type, cmp.Or(x.ProjectName, x.Agent), fmt.Sprintf("line %d of %s", x.Line, x.Path)})
	}
	p.table(t)
}
