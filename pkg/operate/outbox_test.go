package operate_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
)

var outboxNoon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// TestOutboxPutTwice: the same id is one event, the first that was put.
func TestOutboxPutTwice(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "outbox")
	box, err := outbox.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	id := outbox.DeriveID(outboxNoon, "the run")
	for _, data := range []string{`{"n":1}`, `{"n":2}`} {
		if err := box.Put(t.Context(), outbox.Event{ID: id, Type: outbox.RunFinished, Time: outboxNoon, Subject: "nightly", Data: json.RawMessage(data)}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "done", id+".json"))
	if err != nil || !strings.Contains(string(text), `"n": 1`) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestOutboxPutRefuses what could not be read back.
func TestOutboxPutRefuses(t *testing.T) {
	box, err := outbox.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	good := outbox.Event{ID: outbox.NewID(), Type: outbox.RunFailed, Time: outboxNoon, Data: json.RawMessage(`{}`)}
	for says, change := range map[string]func(*outbox.Event){
		"no ULID": func(e *outbox.Event) { e.ID = "../etc" },
		"no type": func(e *outbox.Event) { e.Type = "" },
		"no time": func(e *outbox.Event) { e.Time = time.Time{} },
		"no JSON": func(e *outbox.Event) { e.Data = json.RawMessage(`{`) },
		"262144":  func(e *outbox.Event) { e.Data = json.RawMessage(`"` + strings.Repeat("x", 256<<10) + `"`) },
	} {
		e := good
		change(&e)
		if err := box.Put(t.Context(), e); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// TestOutboxDeriveID: the same from the same, another from another, in the order of
// time.
func TestOutboxDeriveID(t *testing.T) {
	one, later := outbox.DeriveID(outboxNoon, "a"), outbox.DeriveID(outboxNoon.Add(time.Second), "a")
	if one != outbox.DeriveID(outboxNoon, "a") || one == outbox.DeriveID(outboxNoon, "b") || one >= later {
		t.Errorf("%s, %s", one, later)
	}
	box, err := outbox.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Put(t.Context(), outbox.Event{ID: one, Type: outbox.RunFailed, Time: outboxNoon, Data: json.RawMessage(`{}`)}); err != nil {
		t.Errorf("%s is not taken for an id: %v", one, err)
	}
}

// TestLinkInThePlaceOfTheOutbox: a link that takes the place of the directory
// during a run leads nowhere.
func TestLinkInThePlaceOfTheOutbox(t *testing.T) {
	dir, elsewhere := filepath.Join(t.TempDir(), "outbox"), t.TempDir()
	box, err := outbox.Open(dir, outbox.Target{Name: "a", Types: []string{outbox.RunFailed}, Sender: deaf{}})
	if err != nil {
		t.Fatal(err)
	}
	box.Pins = &durable.Pins{}
	box.Pins.Hold()
	defer box.Pins.End()
	put := func() {
		t.Helper()
		if err := box.Put(t.Context(), outbox.Event{ID: outbox.NewID(), Type: outbox.RunFailed, Time: outboxNoon, Subject: "nightly", Data: json.RawMessage(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	put()
	if err := errors.Join(os.Rename(dir, dir+".real"), os.Symlink(elsewhere, dir)); err != nil {
		t.Fatal(err)
	}
	put()
	if _, err := box.Deliver(t.Context()); err != nil {
		t.Fatal(err)
	}
	if waiting, _, err := box.Count(); waiting != 2 || err != nil {
		t.Errorf("%d wait, %v", waiting, err)
	}
	if found, err := os.ReadDir(elsewhere); len(found) > 0 || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}

// deaf takes no event.
type deaf struct{}

func (deaf) Send(context.Context, outbox.Event) error { return &outbox.Failure{Reason: "deaf"} }
