package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
	"github.com/spf13/cobra"
)

func newEventsCommand(a *app) *cobra.Command {
	events := &cobra.Command{
		Use:   "events",
		Short: "List events and their deliveries to webhooks and commands; send them again",
		Long: `sessctl keeps what it does and sees as events: a session was compacted, a run
failed, the disk is low. The configuration says who gets them, under
events.webhooks, events.commands and events.healthchecks; docs/events.md shows
how. Events are sent at the end of the command that made them. What a receiver
does not accept is sent again by later commands for a day, with growing pauses,
and then becomes a dead letter, which retry sends again.`,
		Example: `  sessctl events list
  sessctl events test
  sessctl events retry`,
	}
	events.AddCommand(newEventsListCommand(a), newEventsShowCommand(a), newEventsDeliverCommand(a), newEventsRetryCommand(a), newEventsTestCommand(a))
	return events
}

func newEventsListCommand(a *app) *cobra.Command {
	var o audit.EventsOptions
	c := &cobra.Command{
		Use:   "list",
		Short: "List events and whether they were delivered",
		Long: `List the events that are kept, the newest first, with their state:

  waiting      a receiver does not have it yet; NOTE says what went wrong so far
  sent         every receiver has accepted it
  dead         a receiver did not accept it for a day: events retry sends it again;
               --state dead shows those too that still wait for another receiver
  superseded   a later one has said what matters (healthchecks only)
  unaddressed  no receiver has asked for it

Events that are done are kept for 7 days, at most 1,000; dead letters for 90 days.`,
		Example: `  sessctl events list
  sessctl events list --state dead
  sessctl events list --type session.compacted --json`,
		RunE: func(c *cobra.Command, _ []string) error { return runEventsList(c.Context(), a, o) },
	}
	c.Flags().StringVar(&o.State, "state", "", "only events in this `state`: "+strings.Join(audit.EventStates(), ", "))
	c.Flags().StringVar(&o.Type, "type", "", "only events of this `type`, such as session.compacted")
	c.Flags().IntVar(&o.Limit, "limit", 20, "show the last `n`, 0 for all")
	return c
}

func newEventsShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Print an event as receivers get it",
		Long: `Print the CloudEvents document of an event, byte for byte as it is posted and
signed. ID is what events list shows, or any start or end of the whole id.`,
		Example: "  sessctl events show cvt7w348",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE:    func(c *cobra.Command, args []string) error { return runEventsShow(c.Context(), a, args[0]) },
	}
}

func newEventsDeliverCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "deliver",
		Short: "Send the events that wait and are due",
		Long: `Send receivers the events that wait and are due. Every command that makes an
event does the same at its end, for at most 5 seconds; this one has no limit.
Put it into a timer if days pass between two commands.

Exit codes: 0 all were sent, 1 none was, 2 wrong usage, 3 some were not, 75
another process was delivering all the while.`,
		Example: "  sessctl events deliver",
		RunE:    func(c *cobra.Command, _ []string) error { return runEventsDeliver(c.Context(), a) },
	}
}

func newEventsRetryCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "retry [ID...]",
		Short: "Send undelivered events again: dead letters, and those that wait",
		Long: `Send again, and at once, what receivers did not accept: all dead letters and all
that waits for its next try, or the events with these ids. Receivers get them
with the ids they had.

Exit codes: 0 all was told, 1 none was, 2 wrong usage, 3 some was not, 75 another
process was delivering all the while.`,
		Example: `  sessctl events retry
  sessctl events retry cvt7w348`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error { return runEventsRetry(c.Context(), a, args) },
	}
}

func newEventsTestCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "test [TARGET...]",
		Short: "Send a test event, and say what each receiver answers",
		Long: `Send an event of the type sessctl.test to all targets of the configuration, or to
those with these names, whatever types they ask for. It is sent once and not
kept. A check of healthchecks.io gets a line in its log and keeps its state.

Exit codes: 0 all took it, 1 none did, 2 wrong usage or no target, 3 some did not.`,
		Example: `  sessctl events test
  sessctl events test n8n`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error { return runEventsTest(c.Context(), a, args) },
	}
}

func runEventsList(ctx context.Context, a *app, o audit.EventsOptions) error {
	switch {
	case o.Limit < 0:
		return failure.Usage("0 shows all", "--limit must not be negative")
	case o.State != "" && !slices.Contains(audit.EventStates(), o.State):
		return failure.Usage(wording.DidYouMean(o.State, audit.EventStates(), "states: "+strings.Join(audit.EventStates(), ", ")), "--state: unknown state %q", o.State)
	case o.Type != "" && !slices.Contains(append(outbox.Types(), outbox.RunStarted), o.Type):
		return failure.Usage(wording.DidYouMean(o.Type, outbox.Types(), "types: "+strings.Join(outbox.Types(), ", ")), "--type: unknown type of events %q", o.Type)
	}
	box, err := workspace.OpenOutbox(a.Run)
	if err != nil {
		return err
	}
	content, err := box.List(ctx)
	if err != nil {
		return err
	}
	targets, err := audit.TargetRows(a.Run, content.Silent)
	if err != nil {
		return err
	}
	doc := audit.EventsDocument{Schema: 1, Events: []audit.EventRow{}, Counts: map[string]int{}, Targets: targets, Unreadable: append([]outbox.Unreadable{}, content.Unreadable...), Notes: a.Notes}
	for _, e := range content.Events {
		doc.Counts[string(e.State)]++
		if e.Dead {
			doc.Dead++
		}
		if o.AsksFor(e) && (o.Type == "" || o.Type == e.Type) && (o.Limit == 0 || len(doc.Events) < o.Limit) {
			doc.Events = append(doc.Events, audit.NewEventRow(e))
		}
	}
	return renderEvents(a, doc)
}

func renderEvents(a *app, doc audit.EventsDocument) error {
	if a.JSON {
		return a.printJSON(doc)
	}
	t := table{empty: "no events are kept", columns: []column{
		{name: "WHEN"}, {name: "ID"}, {name: "TYPE", least: 17}, {name: "SUBJECT", least: 8, drop: 2}, {name: "STATE"}, {name: "NOTE", least: 12, drop: 1},
	}}
	var rows [][]string
	for _, e := range doc.Events {
		at := e.Time.UTC().Format(time.RFC3339)
		told := e.Note()
		rows = append(rows, []string{at, e.ID, e.Type, wording.Visible(e.Subject), string(e.State), wording.Visible(told)})
		t.rows = append(t.rows, []string{wording.ShownTime(at), selection.ShortReceipt(e.ID), e.Type, e.Subject, string(e.State), told})
	}
	t.warn = func(row, column int) bool { return column == 4 && doc.Events[row].Dead }
	t.footer = fmt.Sprintf("%d waiting, %d dead, of %d that are kept", doc.Counts[string(outbox.Waiting)], doc.Dead, audit.Sum(doc.Counts))
	for _, target := range doc.Targets {
		if target.Silent != nil {
			a.Notice(workspace.Note{Message: fmt.Sprintf("%s has taken nothing since %s: %s", target.Name, wording.ShownTime(target.Silent.Since.UTC().Format(time.RFC3339)), target.Silent.Error), Hint: "sessctl events test says how it is now"})
		}
	}
	for _, u := range doc.Unreadable {
		a.Notice(workspace.Note{Path: u.Path, Message: u.Reason})
	}
	if len(doc.Targets) == 0 {
		a.Notice(workspace.Note{Message: "no event was sent: no target is configured", Hint: workspace.EventsHint})
	}
	if len(rows) == 0 && !a.OutTTY {
		a.Notice(workspace.Note{Message: t.empty})
	}
	return a.printList(t, rows)
}

func completeEvents(a *app, c *cobra.Command) []selection.Candidate {
	box, err := workspace.OpenOutbox(a.Run)
	if err != nil {
		return nil
	}
	content, _ := box.List(c.Context())
	return audit.EventCandidates(content.Events)
}

func completeTargets(a *app, _ *cobra.Command) (all []selection.Candidate) {
	targets, _ := workspace.EventTargets(a.Run) // what cannot be read offers nothing
	for _, t := range targets {
		all = append(all, selection.Candidate{ID: t.Name, What: t.Kind})
	}
	return all
}

func runEventsShow(ctx context.Context, a *app, name string) error {
	box, err := workspace.OpenOutbox(a.Run)
	if err != nil {
		return err
	}
	id, err := audit.EventID(ctx, &a.Run.Settings, box, name)
	if err != nil {
		return err
	}
	e, err := box.Get(id)
	if err != nil {
		return err
	}
	document, err := e.Document(workspace.EventSource(&a.Run.Settings))
	if err != nil {
		return err
	}
	_, err = a.Out.Write(append(wording.VisibleJSON(document), '\n'))
	return err
}

func runEventsDeliver(ctx context.Context, a *app) error {
	report, err := workspace.DeliverEvents(ctx, a.Run, audit.DeliverTimeout)
	if err != nil {
		return err
	}
	return finishTold(a, report)
}

func runEventsRetry(ctx context.Context, a *app, names []string) error {
	box, err := workspace.OpenOutbox(a.Run)
	if err != nil {
		return err
	}
	var ids []string
	for _, name := range names {
		id, err := audit.EventID(ctx, &a.Run.Settings, box, name)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	waiting, cancel := context.WithTimeout(ctx, audit.DeliverTimeout)
	defer cancel()
	switch _, err = box.Retry(waiting, ids...); {
	case errors.Is(err, fs.ErrNotExist):
		return failure.Usage("sessctl events list shows how far each is", "%w: it was delivered, or no target asks for it", err)
	case err != nil:
		return err
	}
	return runEventsDeliver(ctx, a)
}

func runEventsTest(ctx context.Context, a *app, names []string) error {
	targets, err := workspace.EventTargets(a.Run)
	if err != nil {
		return err
	}
	known := make([]string, 0, len(targets))
	for _, t := range targets {
		known = append(known, t.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return failure.Usage(wording.DidYouMean(name, known, "targets: "+strings.Join(known, ", ")), "no target of events is called %q", name)
		}
	}
	if len(targets) == 0 {
		return failure.Usage(workspace.EventsHint, "no target of events is configured")
	}
	e := outbox.Event{ID: outbox.NewID(), Type: outbox.Test, Time: a.Now().UTC(), Subject: "test", Data: []byte(`{"message":"sessctl events test"}`)}
	var report outbox.Report
	for _, t := range targets {
		if len(names) > 0 && !slices.Contains(names, t.Name) {
			continue
		}
		attempt := outbox.Attempt{Event: e.ID, Type: e.Type, Subject: e.Subject, Delivery: outbox.Delivery{Target: t.Name, State: outbox.Sent, Tries: 1}}
		if err := t.Sender.Send(ctx, e); err != nil {
			attempt.State, attempt.Error = "failed", err.Error()
		}
		report.Attempts = append(report.Attempts, attempt)
	}
	return finishTold(a, report)
}

// finishTold prints a line a try and decides the exit code.
func finishTold(a *app, report outbox.Report) error {
	doc := audit.ToldDocument{Schema: 1, Attempts: []audit.AttemptRow{}, Waiting: report.Waiting, Busy: report.Busy}
	for _, u := range report.SetAside {
		a.Notice(workspace.Note{Path: u.Path, Message: "this file of the outbox cannot be used: " + u.Reason})
	}
	var text strings.Builder
	for _, t := range report.Attempts {
		doc.Attempts = append(doc.Attempts, audit.AttemptRow{Event: t.Event, Type: t.Type, Subject: t.Subject, DeliveryRow: audit.DeliveryRow(t.Delivery)})
		if t.State == outbox.Sent {
			doc.Sent++
			if !a.Quiet {
				fmt.Fprintf(&text, "%s: sent %s (%s)\n", wording.Visible(t.Target), t.Type, wording.Visible(t.Subject))
			}
			continue
		}
		doc.Failed++
		fmt.Fprintf(&text, "%s: did not accept %s (%s): %s%s\n", wording.Visible(t.Target), t.Type, wording.Visible(t.Subject), wording.Visible(t.Error), audit.WhenAgain(t, a.Now()))
	}
	doc.Notes = a.Notes
	if a.JSON {
		if err := a.printJSON(doc); err != nil {
			return err
		}
		return audit.ToldOutcome(doc)
	}
	if !a.Quiet || doc.Failed > 0 {
		fmt.Fprintf(&text, "%d sent, %d failed, %s waiting\n", doc.Sent, doc.Failed, wording.Plural(doc.Waiting, "event"))
	}
	if _, err := fmt.Fprint(a.Out, text.String()); err != nil {
		return err
	}
	return audit.ToldOutcome(doc)
}
