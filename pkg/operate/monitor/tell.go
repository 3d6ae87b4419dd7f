package monitor

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/sessctl/sessctl/pkg/operate/outbox"
)

// told is an observation that an event tells of.
type told struct {
	observation
	alert int // its index
}

// maxItems bounds how many of a gathered kind an event names.
const maxItems = 20

// alertData are the fields that the data of every event has. What else there is
// depends on the type (docs/monitor.md).
type alertData struct {
	Message string    `json:"message"`
	Advice  string    `json:"advice"`
	Since   time.Time `json:"since"`
	// Over says that it ended while the event was held back.
	Over bool `json:"over"`
}

// gatheredData is the data of an event about several of one kind.
type gatheredData struct {
	alertData
	Count int   `json:"count"`
	Items []any `json:"items"` // the first 20
}

// tell makes the events of one kind.
func (s *State) tell(kind Kind, all []told, alerts []Alert, now time.Time, o Options) {
	if !kind.gathers() {
		for i, t := range all {
			data := merge(t.data, alertData{Message: t.message, Advice: t.advice, Since: alerts[t.alert].Since.UTC()})
			s.emit(all[i:i+1], alerts, newEvent(kind, t.subject, data, now, o), o)
		}
		return
	}
	data := gatheredData{Count: len(all), alertData: alertData{Message: all[0].message, Advice: all[0].advice, Since: now.UTC()}}
	for _, t := range all[:min(len(all), maxItems)] {
		data.Items = append(data.Items, t.data)
	}
	subject := all[0].subject
	if len(all) > 1 {
		subject += " and " + strconv.Itoa(len(all)-1) + " more"
		data.Message += " (and " + strconv.Itoa(len(all)-1) + " more)"
	}
	s.emit(all, alerts, newEvent(kind, subject, encode(data), now, o), o)
}

func newEvent(kind Kind, subject string, data json.RawMessage, now time.Time, o Options) outbox.Event {
	return outbox.Event{ID: o.NewID(), Type: kind.event(), Time: now.UTC(), Subject: subject, Data: data}
}

// emit puts an event where it waits: for the outbox, or for the end of quiet
// hours. There one event waits for a condition, however often it begins anew.
func (s *State) emit(about []told, alerts []Alert, e outbox.Event, o Options) {
	key, hold := about[0].key(), about[0].kind.waits() && o.Quiet.Hold(e.Time)
	earlier := slices.IndexFunc(s.Held, func(h HeldEvent) bool { return h.Key == key })
	switch {
	case !hold:
		s.Ready = append(s.Ready, e)
	case earlier >= 0 && !about[0].kind.gathers():
		e = s.Held[earlier].Event
	default:
		s.Held = append(s.Held, HeldEvent{Key: key, Event: e})
	}
	for _, t := range about {
		alerts[t.alert].Event, alerts[t.alert].Held = e.ID, hold
	}
}

// endQuiet releases what was held, once the quiet hours are over. What has ended
// meanwhile is told all the same, and says so.
func (s *State) endQuiet(now time.Time, quiet *QuietHours) {
	if quiet.Hold(now) {
		return
	}
	for _, h := range s.Held {
		if c := s.Conditions[h.Key]; c == nil || !c.Raised {
			h.Event.Data = merge(h.Event.Data, map[string]bool{"over": true})
		}
		s.Ready = append(s.Ready, h.Event)
	}
	s.Held = nil
}

// merge returns the fields of two objects of JSON as one; those of the second
// count where both have one.
func merge(first, second any) json.RawMessage {
	fields := map[string]json.RawMessage{}
	for _, part := range []any{first, second} {
		_ = json.Unmarshal(encode(part), &fields) // what has no fields adds none
	}
	return encode(fields)
}

// encode is the JSON of a value of this package; there is none that has none.
func encode(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage("{}")
	}
	return text
}
