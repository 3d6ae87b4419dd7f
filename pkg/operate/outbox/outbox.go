package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/durable"
)

// Outbox is a directory of events. Several processes may put and deliver at the
// same time.
type Outbox struct {
	dir string
}

// Open returns the outbox at dir. Nothing is read or made until it is used.
func Open(dir string) (*Outbox, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("open the outbox: %q is no absolute path", dir)
	}
	return &Outbox{dir: dir}, nil
}

// stored is the file of an event.
type stored struct {
	Schema int `json:"schema"` // 1
	Event
}

// Put makes an event durable. An id that the outbox has is that event, whatever
// else is in it. A full disk is a *durable.SpaceError.
func (o *Outbox) Put(ctx context.Context, e Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := e.check(); err != nil {
		return fmt.Errorf("keep the event %s: %w", e.Type, err)
	}
	e.Time = e.Time.UTC()
	if o.has(e.ID) {
		return nil
	}
	if err := o.create(stored{Schema: 1, Event: e}); err != nil && !errors.Is(err, durable.ErrExists) {
		return fmt.Errorf("keep the event %s: %w", e.Type, err)
	}
	return nil
}

// has says whether an event with this id is kept.
func (o *Outbox) has(id string) bool {
	for _, dir := range o.places() {
		if _, err := os.Lstat(filepath.Join(dir, id+".json")); err == nil {
			return true
		}
	}
	return false
}

// places are the directories that an event can be in, in the order in which it
// goes through them: what is looked for in this order is not missed when it
// moves.
func (o *Outbox) places() []string { return []string{o.dir, o.doneDir()} }

func (o *Outbox) doneDir() string { return filepath.Join(o.dir, "done") }

// create writes a new event where it belongs.
func (o *Outbox) create(s stored) error {
	dir := o.doneDir() // nobody is to be told
	if err := durable.MakeDir(dir, 0o700); err != nil {
		return err
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return durable.CreateFile(filepath.Join(dir, s.ID+".json"), 0o600, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}
