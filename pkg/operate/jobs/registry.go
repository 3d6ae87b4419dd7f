package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
)

var (
	// ErrUnknown is returned for an id that no job has, or none any more.
	ErrUnknown = errors.New("no such job")
	// ErrFull is returned when too many jobs wait.
	ErrFull = errors.New("too many jobs wait")
)

// Options say how a registry works. A zero Now or NewID is not allowed; a zero
// number is its default.
type Options struct {
	Now   func() time.Time
	NewID func() string
	// Accept is called with a new job before it is written. An error refuses the
	// job and is returned by Submit. It may be nil.
	Accept func(Job) error
	// Report is told what went wrong with a job's file; nothing that was promised
	// depends on it. It may be nil.
	Report func(error)
	// Keep is how many jobs that have ended are kept. 0 is 500.
	Keep int
	// Waiting is how many jobs may wait. 0 is 100.
	Waiting int
	// MaxAge is how old a job may be that waited for the server to start again:
	// an older one is interrupted. 0 is 24 hours.
	MaxAge time.Duration
	// Pins hold the directory open for as long as the jobs are; nil for none.
	Pins *durable.Pins
}

const (
	defaultKeep    = 500
	defaultWaiting = 100
	defaultMaxAge  = 24 * time.Hour
	// maxAttempts is how often a job is begun that ends with the server: once more,
	// lest one that kills the server does so for ever.
	maxAttempts = 2
)

// Registry has the jobs of a directory. It may be used by several goroutines.
type Registry struct {
	dir  directory
	o    Options
	lock *durable.FileLock
	wake chan struct{} // holds a token when there may be something to do

	mu   sync.Mutex
	jobs []Job // oldest first, without the documents of results

	unreadable []error // files that were no jobs when the directory was opened
}

// Open opens the jobs of a directory, which it makes. [durable.ErrLocked] is
// returned while another process has them open. What an earlier process left
// undone waits again, or is told to be interrupted.
func Open(dir string, o Options) (*Registry, error) {
	o.Keep, o.Waiting, o.MaxAge = cmp.Or(o.Keep, defaultKeep), cmp.Or(o.Waiting, defaultWaiting), cmp.Or(o.MaxAge, defaultMaxAge)
	if o.Report == nil {
		o.Report = func(error) {}
	}
	if err := o.Pins.MakeDir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open jobs: %w", err)
	}
	lock, err := o.Pins.Lock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("open jobs: %w", err)
	}
	r := &Registry{dir: directory{dir, o.Pins}, o: o, lock: lock, wake: make(chan struct{}, 1)}
	if err := r.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("open jobs: %w", err), lock.Unlock())
	}
	r.wakeUp()
	return r, nil
}

// Close gives the directory back. What waits is left to the next Open.
func (r *Registry) Close() error { return r.lock.Unlock() }

func (r *Registry) load() error {
	if err := r.o.Pins.Sweep(r.dir.path, 0); err != nil {
		return err
	}
	all, damaged, err := r.dir.readAll()
	if err != nil {
		return err
	}
	for _, err := range damaged {
		r.o.Report(err)
	}
	r.unreadable = damaged
	for _, j := range all {
		if again := r.revive(j); again.State != j.State || again.Reason != j.Reason {
			j = again
			if err := r.dir.write(j); err != nil {
				return err // what cannot be told may not be begun
			}
		}
		r.jobs = append(r.jobs, listed(j))
	}
	r.trim()
	return nil
}

// revive says what becomes of a job that an earlier process left behind.
func (r *Registry) revive(j Job) Job {
	now := r.o.Now().UTC()
	switch {
	case j.State.ended():
		return j
	case j.State == Running && j.Attempts >= maxAttempts:
		return ended(j, Interrupted, fmt.Sprintf("the server ended %d times while it was worked on", j.Attempts), now)
	case now.Sub(j.Created) > r.o.MaxAge:
		return ended(j, Interrupted, "the server was not there for "+r.o.MaxAge.String(), now)
	case j.State == Running:
		j.State, j.Reason = Queued, "the server ended while it was worked on; it is begun again"
	}
	return j
}

func ended(j Job, s State, reason string, at time.Time) Job {
	j.State, j.Reason, j.Ended = s, reason, &at
	return j
}

// listed is a job as the registry has it in memory and lists it.
func listed(j Job) Job {
	if j.Result != nil {
		short := *j.Result
		short.Document = nil
		j.Result = &short
	}
	return j
}

// Submit accepts a request: when it returns without an error the job is on disk.
// It returns the job that there is already, and false, if one of the same kind
// and subject waits or is worked on, or if the request's id is that of any job.
// [ErrFull] is returned when too many wait, a [*durable.SpaceError] on a full
// disk.
func (r *Registry) Submit(q Request) (j Job, isNew bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.same(q); i >= 0 {
		return r.jobs[i], false, nil
	}
	if r.count(Queued) >= r.o.Waiting {
		return Job{}, false, fmt.Errorf("%w: %d", ErrFull, r.o.Waiting)
	}
	if q.ID == "" {
		q.ID = r.o.NewID()
	}
	if !safeID(q.ID) {
		return Job{}, false, fmt.Errorf("job id %q cannot be the name of a file", q.ID)
	}
	if len(q.Options) == 0 {
		q.Options = json.RawMessage("{}")
	}
	j = Job{ID: q.ID, Kind: q.Kind, Subject: q.Subject, Caller: q.Caller, Options: q.Options, State: Queued, Created: r.o.Now().UTC()}
	if r.o.Accept != nil {
		if err := r.o.Accept(j); err != nil {
			return Job{}, false, err
		}
	}
	if err := r.dir.write(j); err != nil {
		return Job{}, false, err
	}
	r.jobs = append(r.jobs, j)
	r.wakeUp()
	return j, true, nil
}

// same is the index of the job that a request means already, -1 for none.
func (r *Registry) same(q Request) int {
	return slices.IndexFunc(r.jobs, func(j Job) bool {
		return j.ID == q.ID || !j.State.ended() && j.Kind == q.Kind && j.Subject == q.Subject
	})
}

func (r *Registry) count(s State) (n int) {
	for _, j := range r.jobs {
		if j.State == s {
			n++
		}
	}
	return n
}

// Get returns a job with its result's document, or [ErrUnknown].
func (r *Registry) Get(id string) (Job, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.index(id)
	if i < 0 {
		return Job{}, fmt.Errorf("job %q: %w", id, ErrUnknown)
	}
	known := r.jobs[i]
	if known.State != Finished {
		return known, nil
	}
	j, err := r.dir.read(r.dir.pathOf(id))
	if err == nil && j.State != known.State {
		return known, nil // its end could not be written
	}
	return j, err
}

func (r *Registry) index(id string) int {
	return slices.IndexFunc(r.jobs, func(j Job) bool { return j.ID == id })
}

// List returns the jobs, the newest first, without documents.
func (r *Registry) List() []Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := append([]Job{}, r.jobs...)
	slices.Reverse(all)
	return all
}

// Unreadable says of each file that was no job when the directory was opened why not:
// what was accepted there is not done.
func (r *Registry) Unreadable() []error { return r.unreadable }

// Unreadable is [Registry.Unreadable] of the jobs of a directory, as they are now. It
// changes nothing. Without the directory there are none.
func Unreadable(pins *durable.Pins, dir string) ([]error, error) {
	_, damaged, err := directory{dir, pins}.readAll()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return damaged, err
}

// Run works on jobs, one at a time, until ctx is done. work gets a context that
// ends with ctx. If work returns an error then, the job waits for the next Open;
// any other error of work is a defect of the caller's, and interrupts the job:
// how a command ended is its result.
func (r *Registry) Run(ctx context.Context, work func(context.Context, Job) (Result, error)) {
	for ctx.Err() == nil {
		j, found := r.next()
		if !found {
			select {
			case <-ctx.Done():
			case <-r.wake:
			}
			continue
		}
		result, err := work(ctx, j)
		r.finish(ctx, j, result, err)
	}
}

// next begins the job that has waited longest.
func (r *Registry) next() (Job, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.jobs, func(j Job) bool { return j.State == Queued })
	if i < 0 {
		return Job{}, false
	}
	j, now := r.jobs[i], r.o.Now().UTC()
	j.State, j.Reason, j.Started, j.Attempts = Running, "", &now, j.Attempts+1
	r.store(i, j)
	return j, true
}

// store changes a job in memory and on disk. A job that cannot be written is
// worked on all the same: the next Open sees it as it was, and begins it again.
func (r *Registry) store(i int, j Job) {
	r.jobs[i] = listed(j)
	if err := r.dir.write(j); err != nil {
		r.o.Report(err)
	}
}

func (r *Registry) finish(ctx context.Context, j Job, result Result, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.o.Now().UTC()
	switch {
	case err == nil:
		j = ended(j, Finished, "", now)
		j.Result = &result
	case ctx.Err() != nil:
		j.State, j.Reason, j.Attempts = Queued, "the server was stopped; the next one goes on with it", j.Attempts-1
	default:
		j = ended(j, Interrupted, err.Error(), now)
	}
	if i := r.index(j.ID); i >= 0 {
		r.store(i, j)
	}
	r.trim()
}

// trim forgets the oldest jobs that have ended, but for those that are kept.
func (r *Registry) trim() {
	over := r.count(Finished) + r.count(Interrupted) - r.o.Keep
	r.jobs = slices.DeleteFunc(r.jobs, func(j Job) bool {
		if over <= 0 || !j.State.ended() {
			return false
		}
		over--
		if err := r.o.Pins.RemoveFile(r.dir.pathOf(j.ID)); err != nil {
			r.o.Report(err)
		}
		return true
	})
}

func (r *Registry) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
