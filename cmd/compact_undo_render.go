package cmd

import (
	"fmt"

	"github.com/sessctl/sessctl/pkg/compact"
)

// take notes what a plan says.
func (d *undoDocument) take(p *compact.UndoPlan) {
	r := p.Receipt
	d.Session = compact.Result{
		Runtime: r.Runtime, Agent: r.Agent, Session: r.Session, Key: r.Key, Path: r.Source.Path, Outcome: p.Outcome, Reason: p.Reason,
		Strategy: r.Strategy, TokensAfter: r.TokensBefore, TokenSource: r.TokenSource, Bytes: r.Source.Bytes, Archive: r.Archive,
	}
	d.Memory.Kept = p.KeepMemory
	switch {
	case p.Unrotation != nil && p.Unrotation.From != "":
		d.From = "kept"
	case p.Unrotation != nil || p.Restore != nil:
		d.From = "archive"
	}
	if p.First != nil && p.Outcome == compact.Planned {
		d.PutAway = append(d.PutAway, compact.Result{
			Runtime: r.Runtime, Agent: r.Agent, Session: p.First.Session, Path: p.First.Path, Outcome: compact.Planned, Messages: p.First.Messages,
		})
	}
}

// renderUndo prints the document, or a few lines.
func (a *app) renderUndo(d undoDocument) error {
	d.Notes = a.notes
	if a.global.JSON {
		return a.printJSON(d)
	}
	text := ""
	for _, r := range d.PutAway {
		text += fmt.Sprintf("%s: %s, because it is newer\n", visible(r.Session), map[bool]string{true: "would be compacted first", false: "compacted first"}[d.DryRun])
	}
	_, err := fmt.Fprint(a.Out, text+describeUndo(d))
	return err
}

func describeUndo(d undoDocument) string {
	name := d.Session.Key
	if name == "" {
		name = d.Session.Agent + " " + d.Session.Session
	}
	switch d.Session.Outcome {
	case compact.NothingToDo:
		return fmt.Sprintf("%s: nothing to do (%s)\n", visible(name), visible(d.Session.Reason))
	case compact.Planned:
		return fmt.Sprintf("%s: would be undone\n  log       %s, %s\n", visible(name), visible(d.Session.Path), formatBytes(d.Session.Bytes))
	}
	text := fmt.Sprintf("%s: undone\n  log       %s, %s, from the %s\n", visible(name), visible(d.Session.Path), formatBytes(d.Session.Bytes),
		map[string]string{"kept": "kept log", "archive": "archive", "": "archive"}[d.From])
	memory := plural(d.Memory.Withdrawn, "record") + " taken out"
	if d.Memory.Kept {
		memory = "left as it is"
	}
	return text + fmt.Sprintf("  memory    %s\n  receipt   %s\n", memory, visible(d.Session.Receipt))
}
