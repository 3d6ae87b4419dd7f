package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/operate/outbox"
)

func (a *app) outboxDir() string { return filepath.Join(a.dataDir(), "outbox") }

func (a *app) openOutbox() (*outbox.Outbox, error) { return outbox.Open(a.outboxDir()) }

// emit keeps an event that is told to whoever the configuration names, at the
// end of the command or later. It is on disk when emit returns. An error was
// told already: the caller goes on with what it does, and does not take the
// event for told.
func (a *app) emit(ctx context.Context, eventType, subject string, data any) error {
	return a.emitOnce(ctx, outbox.NewID(), eventType, subject, data)
}

// emitOnce is emit for an event that a later run would make again if this one
// were killed before it has noted that it did: the id is derived from what the
// event is about (outbox.DeriveID, or a receipt's), and the second is dropped.
func (a *app) emitOnce(ctx context.Context, id, eventType, subject string, data any) error {
	err := a.putEvent(ctx, outbox.Event{ID: id, Type: eventType, Time: a.now().UTC().Truncate(time.Millisecond), Subject: subject}, data)
	if err != nil {
		a.tell(note{Path: a.outboxDir(), Message: err.Error()})
	}
	return err
}

func (a *app) putEvent(ctx context.Context, e outbox.Event, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("write the event %s: %w", e.Type, err)
	}
	box, err := a.openOutbox()
	if err != nil {
		return err
	}
	e.Data = text
	return box.Put(context.WithoutCancel(ctx), e) // what happened is told after an interrupt too
}
