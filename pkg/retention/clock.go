package retention

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
)

// ErrClock is returned when the clock is behind something that was recorded:
// ages cannot be told then.
var ErrClock = errors.New("the clock runs behind")

// clockSlack is how far clocks of two machines on one file system may differ.
const clockSlack = time.Minute

// Recorded is a time at which something was done.
type Recorded struct {
	At   time.Time
	Path string // where it stands
	What string // "the audit log", "the last run"
}

// Clock tells whether the clock can be trusted with ages: not while it is behind
// a time that was recorded. A person can say that it is right and what was
// recorded is not; that is kept in the file at Path.
type Clock struct {
	Path string
	Pins *durable.Pins // hold its directory open during a run; nil for none
}

// trust is the content of that file.
type trust struct {
	Schema int       `json:"schema"` // 1
	At     time.Time `json:"at"`     // when it was said
	Until  time.Time `json:"until"`  // the latest time that was recorded then, and is wrong
}

// Check returns the first time that lies in the future and an error that wraps
// [ErrClock], nil if there is none. Times that a person has declared wrong do
// not count.
func (c Clock) Check(now time.Time, all []Recorded) (*Recorded, error) {
	known, err := c.read()
	if err != nil {
		return nil, err
	}
	if !known.At.IsZero() {
		all = append(all[:len(all):len(all)], Recorded{At: known.At, Path: c.Path, What: "what was said of it"})
	}
	for _, r := range all {
		if r.At.After(now.Add(clockSlack)) && (r.At.After(known.Until) || r.Path == c.Path) {
			return &r, fmt.Errorf("%w %s: it is %s, and that is of %s", ErrClock, r.What, now.UTC().Format(time.RFC3339), r.At.UTC().Format(time.RFC3339))
		}
	}
	return nil, nil
}

// Trust keeps that the clock is right and every recorded time in the future is
// wrong, an earlier declaration among them. It returns how many there are; if
// there is none, nothing is kept.
func (c Clock) Trust(now time.Time, all []Recorded) (wrong int, err error) {
	said := trust{Schema: 1, At: now.UTC()}
	for _, r := range all {
		if !r.At.After(now.Add(clockSlack)) {
			continue
		}
		wrong++
		if r.At.After(said.Until) {
			said.Until = r.At.UTC()
		}
	}
	if before, err := c.read(); err != nil || before.At.After(now.Add(clockSlack)) {
		wrong++ // it was said while the clock was ahead, or cannot be read: this takes its place
	}
	if wrong == 0 {
		return 0, nil
	}
	text, err := json.Marshal(said)
	if err != nil {
		return 0, fmt.Errorf("keep what was said of the clock: %w", err)
	}
	err = c.Pins.ReplaceFile(c.Path, 0o600, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("keep what was said of the clock: %w", err)
	}
	return wrong, nil
}

// Wrong reports whether a person has declared a recorded time wrong: it lay in the
// future then.
func (c Clock) Wrong(recorded time.Time) (bool, error) {
	known, err := c.read()
	return recorded.After(known.At) && !recorded.After(known.Until), err
}

// read returns what was said last, the zero value if nothing was.
func (c Clock) read() (said trust, err error) {
	text, err := durable.ReadSmall(c.Path, 4<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return said, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	if err != nil {
		return trust{}, fmt.Errorf("read %s: %w", c.Path, err)
	}
	return said, nil
}

// Recorded are the times of the log.
func (a Audit) Recorded() ([]Recorded, error) {
	lines, err := a.Lines()
	if err != nil {
		return nil, err
	}
	all := make([]Recorded, 0, len(lines))
	for _, l := range lines {
		all = append(all, Recorded{At: l.Time, Path: a.Path, What: "the audit log"})
	}
	return all, nil
}
