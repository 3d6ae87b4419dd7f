package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
)

// Report is what a Deliver did.
type Report struct {
	Attempts []Attempt
	Waiting  int          // events that are still to be told to somebody
	SetAside []Unreadable // files that were no events, where they are now
	// Busy says that another process was delivering all the while.
	Busy bool
}

// Attempt is one try to tell one target of one event.
type Attempt struct {
	Event   string // id
	Type    string
	Subject string
	Delivery
	Unreachable bool // the other events of this target wait with this one
}

// A lock that another process holds is asked for so often, and for so long unless
// LockWait is set.
const (
	lockPoll = 20 * time.Millisecond
	lockWait = 10 * time.Second
)

// Deliver tells the targets of all events that are due, those that are put
// meanwhile too. It ends when ctx does; a receiver that has not answered by a
// deadline of ctx has failed, and one that was interrupted by ctx is asked again.
// What a receiver did not take is no error but an attempt of the report. Another
// process that delivers is waited for, for LockWait.
func (o *Outbox) Deliver(ctx context.Context) (Report, error) {
	events, others, err := o.names(o.dir.path)
	if err != nil || len(events)+len(others) == 0 && !o.crowded() {
		return Report{}, err
	}
	lock, err := o.lock(ctx)
	if errors.Is(err, durable.ErrLocked) {
		return Report{Busy: true, Waiting: len(events)}, nil
	}
	if err != nil {
		return Report{}, fmt.Errorf("deliver events: %w", err)
	}
	defer lock.Unlock()
	d := &delivery{Outbox: o, silent: o.readSilence(), seen: map[string]bool{}}
	err = d.deliver(ctx)
	return d.report, err
}

// lock waits for the lock for a while, or until ctx is done.
func (o *Outbox) lock(ctx context.Context) (*durable.FileLock, error) {
	ctx, cancel := context.WithTimeout(ctx, o.LockWait)
	defer cancel()
	for {
		lock, err := o.Pins.Lock(o.dir.lock())
		if err == nil || !errors.Is(err, durable.ErrLocked) {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(lockPoll):
		}
	}
}

// delivery is one Deliver. Targets are told side by side; the mutex guards what
// they share.
type delivery struct {
	*Outbox
	seen map[string]bool // names that were read

	mu     sync.Mutex
	events []*stored
	silent map[string]silence
	report Report
	err    error // the first that kept a file from being written
}

func (d *delivery) deliver(ctx context.Context) error {
	for _, dir := range append(d.dir.places(), d.dir.aside()) {
		if err := d.Pins.Sweep(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("sweep %s: %w", dir, err)
		}
	}
	for ctx.Err() == nil && d.err == nil {
		found, err := d.load()
		if err != nil {
			return err
		}
		if found == 0 {
			break
		}
		d.tellAll(ctx)
	}
	if d.err == nil {
		d.err = d.prune()
	}
	events, _, _ := d.names(d.dir.path)
	d.report.Waiting = len(events)
	return d.err
}

// load reads the files that were not read yet, and returns how many there are.
func (d *delivery) load() (found int, err error) {
	events, others, err := d.names(d.dir.path)
	if err != nil {
		return 0, fmt.Errorf("list the outbox: %w", err)
	}
	for _, name := range others {
		d.setAside(name, errors.New("it is no event"))
	}
	d.events = nil
	for _, name := range events {
		if d.seen[name] {
			continue
		}
		d.seen[name] = true
		s, err := d.read(filepath.Join(d.dir.path, name))
		switch {
		case errors.Is(err, errNewer):
			d.report.SetAside = append(d.report.SetAside, Unreadable{filepath.Join(d.dir.path, name), err.Error()})
		case err != nil:
			d.setAside(name, err)
		case s.state() != Waiting: // it was told, and the run was killed before it moved the file
			d.move(&s)
		default:
			found++
			d.events = append(d.events, &s)
		}
	}
	slices.SortFunc(d.events, byTime) // an id may be derived from what began earlier
	return found, nil
}

func byTime(x, y *stored) int { return cmp.Or(x.Time.Compare(y.Time), cmp.Compare(x.ID, y.ID)) }

// setAside moves what is no event out of the way. A directory, and what cannot
// be moved, stays and is told all the same.
func (d *delivery) setAside(name string, why error) {
	path := filepath.Join(d.dir.path, name)
	if slices.ContainsFunc(d.report.SetAside, func(u Unreadable) bool { return filepath.Base(u.Path) == name }) {
		return
	}
	if aside := d.freeName(name); d.Pins.MakeDir(d.dir.aside(), 0o700) == nil && d.Pins.MoveFile(path, aside) == nil {
		path = aside
	}
	d.report.SetAside = append(d.report.SetAside, Unreadable{path, why.Error()})
}

// freeName is a path that nothing has yet among what was set aside.
func (d *delivery) freeName(name string) string {
	path := filepath.Join(d.dir.aside(), name)
	for n := 2; ; n++ {
		if !d.isThere(path) {
			return path
		}
		path = filepath.Join(d.dir.aside(), fmt.Sprintf("%s.%d", name, n))
	}
}

// tellAll tells every target what of the loaded events is its own.
func (d *delivery) tellAll(ctx context.Context) {
	var targets sync.WaitGroup
	for _, t := range d.targets {
		targets.Go(func() { d.tell(ctx, t) })
	}
	targets.Wait()
	d.giveUpUnknown()
}

// tell tells one target, the oldest event first, until it does not answer.
func (d *delivery) tell(ctx context.Context, t Target) {
	for _, s := range d.events {
		if ctx.Err() != nil || !d.answers(t) {
			return
		}
		if !d.wantsNow(t, s) {
			continue
		}
		err := t.Sender.Send(ctx, s.Event)
		if err != nil && errors.Is(ctx.Err(), context.Canceled) {
			return // nobody knows what the receiver has; it is sent again
		}
		if failed := d.settle(t, s, err); failed {
			return
		}
	}
}

// answers says whether a target is to be tried now: it answers, or it is time to
// see whether it does again.
func (d *delivery) answers(t Target) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, silent := d.silent[t.Name]
	return d.err == nil && (!silent || due(d.Now(), s.Last, s.Next))
}

// wantsNow says whether an event is to be sent to a target now. One that has
// been superseded is marked.
func (d *delivery) wantsNow(t Target, s *stored) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	own := s.deliveryTo(t.Name)
	if own == nil || own.State != Waiting {
		return false
	}
	if t.Latest && d.superseded(t, s) {
		own.State, own.Error = Superseded, ""
		d.save(s)
		return false
	}
	return due(d.Now(), own.Last, own.Next)
}

// superseded says whether a later event says what matters of the same subject.
// That a run has started says nothing of how the one before ended.
func (d *delivery) superseded(t Target, s *stored) bool {
	return slices.ContainsFunc(d.events, func(later *stored) bool {
		own := later.deliveryTo(t.Name)
		return byTime(later, s) > 0 && later.Subject == s.Subject && later.Type != RunStarted && own != nil && own.State == Waiting
	})
}

func (s *stored) deliveryTo(target string) *Delivery {
	for i := range s.Deliveries {
		if s.Deliveries[i].Target == target {
			return &s.Deliveries[i]
		}
	}
	return nil
}

// settle notes how a try ended, and returns whether the target is to be left
// alone.
func (d *delivery) settle(t Target, s *stored, sent error) (leave bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.Now().UTC()
	own := s.deliveryTo(t.Name)
	own.Tries, own.Last, own.Next = own.Tries+1, now, time.Time{}
	if own.First.IsZero() || now.Before(own.First) {
		own.First = now
	}
	failure := failureOf(sent)
	switch {
	case failure == nil:
		own.State, own.Error = Sent, ""
		d.heard(t)
	case failure.Unreachable:
		own.Error = failure.Reason
		d.silence(t, failure, now)
		if d.silent[t.Name].spent(now) {
			d.giveUp(t, now, s)
		}
	default:
		own.Error = failure.Reason
		own.Next = now.Add(pause(own.Tries, failure.After, d.Jitter()))
		if spent(now, own.First, own.Tries) {
			own.State = Dead
		}
		d.heard(t) // it answers
	}
	attempt := Attempt{Event: s.ID, Type: s.Type, Subject: s.Subject, Delivery: *own, Unreachable: failure != nil && failure.Unreachable}
	if attempt.Unreachable && own.State == Waiting {
		attempt.Next = d.silent[t.Name].Next
	}
	d.report.Attempts = append(d.report.Attempts, attempt)
	d.save(s)
	return attempt.Unreachable || d.err != nil
}

func failureOf(err error) *Failure {
	var f *Failure
	if err == nil || errors.As(err, &f) {
		return f
	}
	return &Failure{Reason: err.Error()}
}

// silence notes that a target did not answer.
func (d *delivery) silence(t Target, f *Failure, now time.Time) {
	s := d.silent[t.Name]
	if s.Since.IsZero() || now.Before(s.Since) {
		s.Since = now
	}
	s.Tries++
	s.Last, s.Next, s.Error = now, now.Add(pause(s.Tries, f.After, d.Jitter())), f.Reason
	d.silent[t.Name] = s
	d.saveSilence()
}

// heard notes that a target answers.
func (d *delivery) heard(t Target) {
	if _, silent := d.silent[t.Name]; silent {
		delete(d.silent, t.Name)
		d.saveSilence()
	}
}

// giveUp makes dead letters of the events that have waited for a day for a
// target that was silent all the while. The caller saves the one under way.
func (d *delivery) giveUp(t Target, now time.Time, underWay *stored) {
	for _, s := range d.events {
		own := s.deliveryTo(t.Name)
		if own == nil || own.State != Waiting || now.Sub(s.Time) < tryFor {
			continue
		}
		own.State, own.Error = Dead, d.silent[t.Name].Error
		if s != underWay {
			d.save(s)
		}
	}
}

// giveUpUnknown makes dead letters of what has waited for a day for a target
// that is not configured: it may be that only this run has another configuration.
func (d *delivery) giveUpUnknown() {
	for _, s := range d.events {
		changed := false
		for i := range s.Deliveries {
			own := &s.Deliveries[i]
			known := slices.ContainsFunc(d.targets, func(t Target) bool { return t.Name == own.Target })
			if known || own.State != Waiting || d.Now().Sub(s.Time) < tryFor {
				continue
			}
			own.State, own.Error, changed = Dead, "no target of this name is configured", true
		}
		if changed && d.err == nil {
			d.save(s)
		}
	}
}

// save writes an event that has changed, and moves it where it belongs now.
func (d *delivery) save(s *stored) {
	if err := d.replace(filepath.Join(d.dir.path, s.ID+".json"), *s); err != nil {
		d.err = fmt.Errorf("note that an event was told: %w", err)
		return
	}
	d.move(s)
}

func (d *delivery) move(s *stored) {
	dir := d.dir.placeOf(s.state())
	if dir == d.dir.path {
		return
	}
	from, to := filepath.Join(d.dir.path, s.ID+".json"), filepath.Join(dir, s.ID+".json")
	err := d.Pins.MakeDir(dir, 0o700)
	if err == nil {
		err = d.Pins.MoveFile(from, to)
	}
	if errors.Is(err, durable.ErrExists) { // the same event, told before
		err = d.Pins.RemoveFile(from)
	}
	if err != nil {
		d.err = fmt.Errorf("note that an event was told: %w", err)
	}
}

func (d *delivery) saveSilence() {
	write, err := writing(d.silent)
	if err == nil {
		err = d.Pins.ReplaceFile(d.dir.silence(), 0o600, write)
	}
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("note which targets do not answer: %w", err)
	}
}
