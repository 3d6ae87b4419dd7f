package outbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
)

// Outbox is a directory of events. Several processes may put and deliver at the
// same time.
type Outbox struct {
	Now    func() time.Time // time.Now, unless it is set
	Jitter func() float64   // 0 to 1; random, unless it is set
	// LockWait is how long another process that delivers is waited for; 10
	// seconds, unless it is set.
	LockWait time.Duration
	// Pins hold its directory open during a run; nil for none.
	Pins *durable.Pins

	dir     directory
	targets []Target
}

// Open returns the outbox at dir, and tells these targets. Nothing is read or
// made until it is used.
func Open(dir string, targets ...Target) (*Outbox, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("open the outbox: %q is no absolute path", dir)
	}
	if err := checkTargets(targets); err != nil {
		return nil, err
	}
	return &Outbox{Now: time.Now, Jitter: rand.Float64, LockWait: lockWait, dir: directory{dir}, targets: targets}, nil
}

// directory is where an outbox keeps what.
type directory struct{ path string }

// places are the directories that an event can be in, in the order in which it
// goes through them: what is looked for in this order is not missed when it
// moves.
func (d directory) places() []string { return []string{d.path, d.done(), d.dead()} }

func (d directory) done() string { return filepath.Join(d.path, "done") }

func (d directory) dead() string { return filepath.Join(d.path, "dead") }

func (d directory) aside() string { return filepath.Join(d.path, "set-aside") }

func (d directory) lock() string { return filepath.Join(d.path, "lock") }

func (d directory) silence() string { return filepath.Join(d.path, "targets.json") }

// told is the list of the receipts whose events are kept.
func (d directory) told() string { return filepath.Join(d.path, "receipts.told") }

// placeOf is the directory in which an event in this state belongs.
func (d directory) placeOf(s State) string {
	switch s {
	case Waiting:
		return d.path
	case Dead:
		return d.dead()
	}
	return d.done()
}

// stored is the file of an event.
type stored struct {
	Schema int `json:"schema"` // 1
	Event
	Deliveries []Delivery `json:"deliveries"`
}

// state is that of the event as a whole: what is still to be done, else the
// worst end.
func (s *stored) state() State {
	found := map[State]bool{}
	for _, d := range s.Deliveries {
		found[d.State] = true
	}
	for _, state := range []State{Waiting, Dead, Sent, Superseded} {
		if found[state] {
			return state
		}
	}
	return Unaddressed
}

// Put makes an event durable for the targets that ask for its type. An id that
// the outbox has is that event, whatever else is in it. A full disk is a
// *durable.SpaceError.
func (o *Outbox) Put(ctx context.Context, e Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := e.check(); err != nil {
		return fmt.Errorf("keep the event %s: %w", e.Type, err)
	}
	s := stored{Schema: 1, Event: e, Deliveries: []Delivery{}}
	s.Time = e.Time.UTC()
	for _, t := range o.targets {
		if t.Wants(e) {
			s.Deliveries = append(s.Deliveries, Delivery{Target: t.Name, State: Waiting})
		}
	}
	if e.Type == RunStarted && len(s.Deliveries) == 0 || o.find(e.ID) != "" {
		return nil
	}
	if err := o.create(s); err != nil && !errors.Is(err, durable.ErrExists) {
		return fmt.Errorf("keep the event %s: %w", e.Type, err)
	}
	return nil
}

// find returns the file of an event, "" if there is none.
func (o *Outbox) find(id string) string {
	for _, dir := range o.dir.places() {
		path := filepath.Join(dir, id+".json")
		if _, err := o.Pins.Lstat(path); err == nil {
			return path
		}
	}
	return ""
}

// create writes a new event where it belongs. One that may not last is taken back: who
// tries again must not find it.
func (o *Outbox) create(s stored) error {
	dir := o.dir.placeOf(s.state())
	if err := o.Pins.MakeDir(dir, 0o700); err != nil {
		return err
	}
	write, err := writing(s)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, s.ID+".json")
	err = o.Pins.CreateFile(path, 0o600, write)
	if err != nil && !errors.Is(err, durable.ErrExists) {
		_ = o.Pins.RemoveFile(path) // mostly it is not there
	}
	return err
}

// replace writes an event that is there.
func (o *Outbox) replace(path string, s stored) error {
	write, err := writing(s)
	if err != nil {
		return err
	}
	return o.Pins.ReplaceFile(path, 0o600, write)
}

// writing returns what writes a value as a file.
func writing(value any) (func(io.Writer) error, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	return func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	}, err
}

// errNewer is a file that a later version has written: it is left to that.
var errNewer = errors.New("it is of a later version of sessctl")

// read returns the event of a file. errNewer is returned for a schema that is
// not known; any other error is one of the file itself.
func (o *Outbox) read(path string) (s stored, err error) {
	f, err := o.Pins.OpenRegular(path)
	if err != nil {
		return s, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4*maxData))
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("it is cut or overwritten: %w", err)
	}
	if s.Schema > 1 {
		return s, errNewer
	}
	if err := s.check(); err != nil || s.Schema != 1 || s.ID+".json" != filepath.Base(path) {
		return s, errors.Join(errors.New("it is no event"), err)
	}
	return s, nil
}

// names lists the files of a directory that can be events, oldest first, and
// those that cannot.
func (o *Outbox) names(dir string) (events, others []string, err error) {
	entries, err := o.Pins.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	for _, e := range entries {
		id, isJSON := strings.CutSuffix(e.Name(), ".json")
		switch {
		case isJSON && isID(id):
			events = append(events, e.Name())
		case dir == o.dir.path && slices.Contains([]string{"lock", "targets.json", "receipts.told", "done", "dead", "set-aside"}, e.Name()),
			strings.HasPrefix(e.Name(), "."): // a temporary file of a Put that is under way, or was killed
		default:
			others = append(others, e.Name())
		}
	}
	return events, others, err
}

// Kept is an event of the outbox.
type Kept struct {
	Event
	State State
	// Dead says that a target did not take it for a day, also while the event
	// still waits for another one and is Waiting as a whole.
	Dead       bool
	Deliveries []Delivery
	Path       string // of its file
}

func (s *stored) kept(path string) Kept {
	return Kept{Event: s.Event, State: s.state(), Dead: s.dead(), Deliveries: s.Deliveries, Path: path}
}

// dead says whether a target was given up, whatever the others do.
func (s *stored) dead() bool {
	return slices.ContainsFunc(s.Deliveries, func(d Delivery) bool { return d.State == Dead })
}

// Unreadable is a file of the outbox that is no event, and why.
type Unreadable struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Content is what an outbox holds.
type Content struct {
	Events     []Kept // the newest first
	Unreadable []Unreadable
	Silent     []Silent // targets that do not answer
}

// List returns what the outbox holds. It changes nothing; a directory that is
// not there is empty.
func (o *Outbox) List(ctx context.Context) (c Content, err error) {
	seen := map[string]bool{}
	for _, dir := range o.dir.places() {
		events, others, err := o.names(dir)
		if err != nil {
			return c, fmt.Errorf("list the outbox: %w", err)
		}
		for _, name := range others {
			c.Unreadable = append(c.Unreadable, Unreadable{filepath.Join(dir, name), "it is no event"})
		}
		for _, name := range events {
			if ctx.Err() != nil {
				return c, ctx.Err()
			}
			if !seen[name] {
				seen[name] = c.add(o, filepath.Join(dir, name))
			}
		}
	}
	aside, others, err := o.names(o.dir.aside())
	for _, name := range append(aside, others...) {
		c.Unreadable = append(c.Unreadable, Unreadable{filepath.Join(o.dir.aside(), name), "it is no event, and was set aside"})
	}
	slices.SortFunc(c.Events, func(x, y Kept) int { return cmp.Or(y.Time.Compare(x.Time), cmp.Compare(y.ID, x.ID)) })
	for _, name := range sortedKeys(o.readSilence()) {
		s := o.readSilence()[name]
		c.Silent = append(c.Silent, Silent{Target: name, Since: s.Since, Tries: s.Tries, Next: s.Next, Error: s.Error})
	}
	return c, err
}

// Count returns how many events wait to be delivered, and how many a target has
// not taken for a day. An event can be both; one that cannot be read only waits.
func (o *Outbox) Count() (waiting, dead int, err error) {
	events, _, err := o.names(o.dir.path)
	if err != nil {
		return 0, 0, fmt.Errorf("count the outbox: %w", err)
	}
	given, _, err := o.names(o.dir.dead())
	if err != nil {
		return 0, 0, fmt.Errorf("count the outbox: %w", err)
	}
	dead = len(given)
	for _, name := range events {
		if s, err := o.read(filepath.Join(o.dir.path, name)); err == nil && s.dead() {
			dead++
		}
	}
	return len(events), dead, nil
}

// add reads a file. One that has gone meanwhile is found where it went.
func (c *Content) add(o *Outbox, path string) bool {
	s, err := o.read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false
	case err != nil:
		c.Unreadable = append(c.Unreadable, Unreadable{path, err.Error()})
	default:
		c.Events = append(c.Events, s.kept(path))
	}
	return true
}

// Get returns the event with this id; fs.ErrNotExist is returned if there is none.
func (o *Outbox) Get(id string) (Kept, error) {
	path := o.find(id)
	if path == "" {
		return Kept{}, fs.ErrNotExist
	}
	s, err := o.read(path)
	return s.kept(path), err
}

func sortedKeys(m map[string]silence) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// readSilence reads which targets do not answer. A file that cannot be read
// only makes the next try early.
func (o *Outbox) readSilence() map[string]silence {
	all := map[string]silence{}
	if text, err := o.Pins.ReadSmall(o.dir.silence(), 1<<20); err == nil && json.Unmarshal(text, &all) != nil {
		return map[string]silence{}
	}
	return all
}
