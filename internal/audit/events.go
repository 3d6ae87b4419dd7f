package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
)

// DeliverTimeout bounds `events deliver` and `events retry`.
const DeliverTimeout = 5 * time.Minute

// EventsOptions are the options of events list.
type EventsOptions struct {
	State string
	Type  string
	Limit int
}

// EventStates are the states of an event.
func EventStates() []string {
	return []string{string(outbox.Waiting), string(outbox.Sent), string(outbox.Dead), string(outbox.Superseded), string(outbox.Unaddressed)}
}

// EventsDocument is `events list --json` (docs/json.md).
type EventsDocument struct {
	Schema     int                 `json:"schema"`
	Events     []EventRow          `json:"events"` // the newest first
	Counts     map[string]int      `json:"counts"` // of all that are kept, by state
	Dead       int                 `json:"dead"`   // those that a target has not taken for a day, waiting for others or not
	Targets    []TargetRow         `json:"targets"`
	Unreadable []outbox.Unreadable `json:"unreadable"`
	Notes      []workspace.Note    `json:"notes"`
}

// EventRow is an event and how its targets took it ([outbox.Kept]).
type EventRow struct {
	ID         string          `json:"id"`
	Type       string          `json:"type"`
	Time       time.Time       `json:"time"`
	Subject    string          `json:"subject"`
	Data       json.RawMessage `json:"data"`
	State      outbox.State    `json:"state"`
	Dead       bool            `json:"dead"`
	Deliveries []DeliveryRow   `json:"deliveries"`
}

// DeliveryRow is one event for one target ([outbox.Delivery]).
type DeliveryRow struct {
	Target string       `json:"target"`
	State  outbox.State `json:"state"`
	Tries  int          `json:"tries"`
	First  time.Time    `json:"first_try,omitzero"`
	Last   time.Time    `json:"last_try,omitzero"`
	Next   time.Time    `json:"next_try,omitzero"`
	Error  string       `json:"error,omitempty"`
}

// NewEventRow is what is printed of an event.
func NewEventRow(e outbox.Kept) EventRow {
	row := EventRow{
		ID: e.ID, Type: e.Type, Time: e.Time, Subject: e.Subject, Data: e.Data,
		State: e.State, Dead: e.Dead, Deliveries: make([]DeliveryRow, 0, len(e.Deliveries)),
	}
	for _, d := range e.Deliveries {
		row.Deliveries = append(row.Deliveries, DeliveryRow(d))
	}
	return row
}

// Note says who is still to be told of the event, or was not, and why.
func (e EventRow) Note() string {
	var said []string
	for _, d := range e.Deliveries {
		switch {
		case d.State == outbox.Dead && e.State != outbox.Dead:
			said = append(said, fmt.Sprintf("%s: dead: %s", d.Target, d.Error))
		case d.State == outbox.Dead, d.State == outbox.Waiting && d.Error != "":
			said = append(said, fmt.Sprintf("%s: %s", d.Target, d.Error))
		case d.State == e.State:
			said = append(said, d.Target)
		}
	}
	return strings.Join(said, ", ")
}

// TargetRow is a target of the configuration, and whether it answers.
type TargetRow struct {
	Name   string         `json:"name"`
	Kind   string         `json:"kind"`  // webhook, command or healthchecks
	Where  string         `json:"where"` // host or program
	Types  []string       `json:"types"`
	Silent *outbox.Silent `json:"silent"` // null if it answers
}

// TargetRows are the targets of the configuration, and which do not answer.
func TargetRows(run *workspace.Run, silent []outbox.Silent) ([]TargetRow, error) {
	named, err := workspace.EventTargets(run)
	rows := make([]TargetRow, 0, len(named))
	for _, t := range named {
		row := TargetRow{Name: t.Name, Kind: t.Kind, Where: t.Where, Types: t.Types}
		for _, s := range silent {
			if s.Target == t.Name {
				row.Silent = &s
			}
		}
		rows = append(rows, row)
	}
	return rows, err
}

// Sum adds up events.
func Sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// AsksFor says whether events in the state of this one are wanted.
func (o EventsOptions) AsksFor(e outbox.Kept) bool {
	return o.State == "" || o.State == string(e.State) || o.State == string(outbox.Dead) && e.Dead
}

func eventIDs() selection.IdKind {
	return selection.IdKind{Noun: "event", List: "sessctl events list", Ends: true}
}

// EventID is the whole id of an event.
func EventID(ctx context.Context, a *workspace.Settings, box *outbox.Outbox, name string) (string, error) {
	content, err := box.List(ctx)
	if err != nil {
		return "", err
	}
	return eventIDs().Resolve(name, EventCandidates(content.Events))
}

// EventCandidates are the events that a typed id may mean.
func EventCandidates(events []outbox.Kept) (all []selection.Candidate) {
	for _, e := range events {
		all = append(all, selection.Candidate{ID: e.ID, What: e.Type + ", " + e.Subject})
	}
	return all
}

// ToldDocument is --json of `events deliver`, `retry` and `test` (docs/json.md).
type ToldDocument struct {
	Schema   int              `json:"schema"`
	Attempts []AttemptRow     `json:"attempts"`
	Sent     int              `json:"sent"`
	Failed   int              `json:"failed"`
	Waiting  int              `json:"waiting"` // events that are to be told later
	Busy     bool             `json:"busy"`    // another process was delivering
	Notes    []workspace.Note `json:"notes"`
}

// AttemptRow is one try to tell one target of one event.
type AttemptRow struct {
	Event   string `json:"event"`
	Type    string `json:"type"`
	Subject string `json:"subject"`
	DeliveryRow
}

// WhenAgain says when an event is tried again.
func WhenAgain(t outbox.Attempt, now time.Time) string {
	switch {
	case t.State == outbox.Dead:
		return "; given up, sessctl events retry sends it again"
	case t.Next.IsZero():
		return ""
	}
	return "; tried again in " + t.Next.Sub(now).Round(time.Second).String()
}

// ToldOutcome decides the exit code of events deliver.
func ToldOutcome(doc ToldDocument) error {
	switch {
	case doc.Busy:
		return &failure.Outcome{Exit: failure.ExitBusy}
	case doc.Failed > 0 && doc.Sent > 0:
		return &failure.Outcome{Exit: failure.ExitPartly}
	case doc.Failed > 0:
		return &failure.Outcome{Exit: failure.ExitFailed}
	}
	return nil
}
