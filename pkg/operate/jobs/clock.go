package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/adhocore/gronx"
	"github.com/sessctl/sessctl/pkg/durable"
)

// Schedule says when something is due: a cron expression of five fields, or
// @hourly, @daily, @weekly, @monthly or @yearly.
type Schedule struct {
	Name string
	Expr string
}

// Check is the error for an expression that is none, or that names no time that
// ever comes.
func (s Schedule) Check() error {
	named := slices.Contains([]string{"@yearly", "@monthly", "@weekly", "@daily", "@hourly"}, s.Expr)
	if !named && len(strings.Fields(s.Expr)) != 5 || !gronx.IsValid(s.Expr) {
		return fmt.Errorf("%q is no cron expression of five fields", s.Expr)
	}
	if _, err := gronx.NextTickAfter(s.Expr, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), true); err != nil {
		return fmt.Errorf("%q: no such date ever comes", s.Expr)
	}
	return nil
}

// Slot is one time at which a schedule is due, as the wall clock of its zone
// shows it: "2026-03-01T03:30".
type Slot string

const slotLayout = "2006-01-02T15:04"

// Time is the slot as if its zone were UTC, for ids.
func (s Slot) Time() time.Time {
	at, _ := time.Parse(slotLayout, string(s)) // a slot is made of that layout
	return at
}

// wall is the time that the clock on the wall shows, as if the wall stood in
// UTC: cron expressions are about that.
func wall(at time.Time, zone *time.Location) time.Time {
	at = at.In(zone)
	return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
}

// maxAhead is how far in the future the last slot may be for the clock to be one
// that was set back. Further, it had been wrong when the slot was begun.
const maxAhead = 25 * time.Hour

// Clock remembers which slots were begun.
type Clock struct {
	pins *durable.Pins
	path string
	zone *time.Location
	last map[string]Slot // of each schedule by its name
}

// clockFile is what a Clock keeps.
type clockFile struct {
	Schema int             `json:"schema"` // 1
	Last   map[string]Slot `json:"last"`
}

// OpenClock opens the clock that is kept at path; the schedules are meant in the
// time of zone. A file that cannot be read is an error: without it a slot might
// be begun twice. pins, which may be nil, hold its directory open.
func OpenClock(pins *durable.Pins, path string, zone *time.Location) (*Clock, error) {
	f := clockFile{Last: map[string]Slot{}}
	text, err := pins.ReadSmall(path, 1<<20)
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if f.Last == nil {
		f.Last = map[string]Slot{}
	}
	return &Clock{pins: pins, path: path, zone: zone, last: f.Last}, nil
}

// Due returns the slot that is to be begun now, "" for none: the last one that
// has come, unless that or a later one was begun. However many were missed, it
// is one. A schedule that the clock has not seen before begins with the next
// slot after now.
func (c *Clock) Due(s Schedule, now time.Time) (Slot, error) {
	shown := wall(now, c.zone)
	last, err := time.Parse(slotLayout, string(c.last[s.key()]))
	if err != nil || last.Sub(shown) > maxAhead {
		return "", c.Begun(s, Slot(shown.Format(slotLayout)))
	}
	due, err := gronx.PrevTickBefore(s.Expr, shown.Truncate(time.Minute), true)
	if err != nil || !due.After(last) {
		return "", err
	}
	return Slot(due.Format(slotLayout)), nil
}

// Begun makes it durable that a slot was begun.
func (c *Clock) Begun(s Schedule, slot Slot) error {
	c.last[s.key()] = slot
	text, err := json.Marshal(clockFile{Schema: 1, Last: c.last})
	if err != nil {
		return fmt.Errorf("write %s: %w", c.path, err)
	}
	return c.pins.ReplaceFile(c.path, 0o600, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// key tells schedules apart: one whose expression was changed is another.
func (s Schedule) key() string { return s.Name + " " + s.Expr }
