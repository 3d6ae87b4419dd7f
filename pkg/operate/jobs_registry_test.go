package operate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/operate/jobs"
)

// place is a directory of jobs and a clock that a test sets.
type place struct {
	*testing.T
	dir string
	now time.Time
	ids int
}

func newPlace(t *testing.T) *place {
	return &place{T: t, dir: filepath.Join(t.TempDir(), "jobs"), now: time.Date(2026, 3, 1, 3, 30, 0, 0, time.UTC)}
}

func (p *place) open(o jobs.Options) *jobs.Registry {
	p.Helper()
	o.Now = func() time.Time { p.now = p.now.Add(time.Second); return p.now }
	o.NewID = func() string { p.ids++; return fmt.Sprintf("job%d", p.ids) }
	o.Report = func(err error) { p.Log("reported:", err) }
	r, err := jobs.Open(p.dir, o)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { r.Close() })
	return r
}

func (p *place) submit(r *jobs.Registry, subject string) jobs.Job {
	p.Helper()
	j, _, err := r.Submit(jobs.Request{Kind: "compact", Subject: subject, Caller: "n8n"})
	if err != nil {
		p.Fatal(err)
	}
	return j
}

// kill leaves the directory as a killed process does, in another place: only
// the end of a process gives up its lock.
func (p *place) kill() {
	p.Helper()
	next := filepath.Join(p.TempDir(), "jobs")
	if err := os.CopyFS(next, os.DirFS(p.dir)); err != nil {
		p.Fatal(err)
	}
	p.dir = next
}

func (p *place) want(r *jobs.Registry, id string, state jobs.State) jobs.Job {
	p.Helper()
	j, err := r.Get(id)
	if err != nil || j.State != state {
		p.Fatalf("job %s: %s %q (%v), want %s", id, j.State, j.Reason, err, state)
	}
	return j
}

// work runs the registry until so many jobs have been begun and ended.
func work(r *jobs.Registry, n int, do func(context.Context, jobs.Job) (jobs.Result, error)) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.Run(ctx, func(ctx context.Context, j jobs.Job) (jobs.Result, error) {
		result, err := do(ctx, j)
		if n--; n == 0 {
			cancel()
		}
		return result, err
	})
}

func done(context.Context, jobs.Job) (jobs.Result, error) {
	return jobs.Result{Outcome: "ok", Document: json.RawMessage(`{"schema":1}`)}, nil
}

func TestJobsSubmitAndRun(t *testing.T) {
	p := newPlace(t)
	r := p.open(jobs.Options{})
	a, b := p.submit(r, "coordinator"), p.submit(r, "writer")
	if again := p.submit(r, "coordinator"); again.ID != a.ID {
		t.Errorf("a second request for an agent is job %s, not %s", again.ID, a.ID)
	}
	var order []string
	work(r, 2, func(ctx context.Context, j jobs.Job) (jobs.Result, error) {
		if again := p.submit(r, j.Subject); again.ID != j.ID || again.State != jobs.Running {
			t.Errorf("a request while %s runs is job %s, %s", j.ID, again.ID, again.State)
		}
		order = append(order, j.ID)
		return done(ctx, j)
	})
	if fmt.Sprint(order) != fmt.Sprint([]string{a.ID, b.ID}) {
		t.Errorf("worked on %q", order)
	}
	if j := p.want(r, a.ID, jobs.Finished); string(j.Result.Document) != `{"schema":1}` || j.Caller != "n8n" || j.Ended == nil {
		t.Errorf("%+v", j)
	}
	if all := r.List(); len(all) != 2 || all[0].ID != b.ID || all[0].Result.Document != nil {
		t.Errorf("listed %+v", all)
	}
	if next := p.submit(r, "coordinator"); next.ID == a.ID {
		t.Error("a request after the end is the old job")
	}
}

// What was accepted is told of after a kill: what waited is done, what ran is
// begun once more, and then told to be interrupted.
func TestJobsKilled(t *testing.T) {
	p := newPlace(t)
	r := p.open(jobs.Options{})
	first, second := p.submit(r, "coordinator"), p.submit(r, "writer")
	work(r, 1, func(ctx context.Context, j jobs.Job) (jobs.Result, error) {
		p.kill()
		return done(ctx, j)
	})

	r = p.open(jobs.Options{})
	if j := p.want(r, first.ID, jobs.Queued); j.Reason == "" {
		t.Error("nothing says why it waits again")
	}
	p.want(r, second.ID, jobs.Queued)
	work(r, 1, func(ctx context.Context, j jobs.Job) (jobs.Result, error) {
		p.kill()
		return done(ctx, j)
	})

	r = p.open(jobs.Options{})
	if j := p.want(r, first.ID, jobs.Interrupted); j.Reason == "" || j.Ended == nil {
		t.Errorf("%+v", j)
	}
	work(r, 1, done)
	p.want(r, second.ID, jobs.Finished)
}

// A server that is stopped leaves its job to the next start, however often.
func TestJobsStopped(t *testing.T) {
	p := newPlace(t)
	var id string
	for range 4 {
		r := p.open(jobs.Options{})
		id = p.submit(r, "coordinator").ID
		ctx, cancel := context.WithCancel(context.Background())
		r.Run(ctx, func(ctx context.Context, _ jobs.Job) (jobs.Result, error) {
			cancel()
			return jobs.Result{}, ctx.Err()
		})
		p.want(r, id, jobs.Queued)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r := p.open(jobs.Options{})
	work(r, 1, done)
	p.want(r, id, jobs.Finished)
}

func TestJobsTooOld(t *testing.T) {
	p := newPlace(t)
	r := p.open(jobs.Options{})
	id := p.submit(r, "coordinator").ID
	p.kill()
	p.now = p.now.Add(25 * time.Hour)
	p.want(p.open(jobs.Options{}), id, jobs.Interrupted)
}

func TestJobsLimits(t *testing.T) {
	p := newPlace(t)
	r := p.open(jobs.Options{Keep: 3, Waiting: 5})
	for i := range 5 {
		p.submit(r, fmt.Sprint("agent", i))
	}
	if _, _, err := r.Submit(jobs.Request{Kind: "compact", Subject: "one more"}); !errors.Is(err, jobs.ErrFull) {
		t.Errorf("one too many: %v", err)
	}
	work(r, 5, done)
	files, err := filepath.Glob(filepath.Join(p.dir, "*.json"))
	if all := r.List(); err != nil || len(all) != 3 || len(files) != 3 || all[2].Subject != "agent2" {
		t.Errorf("kept %d jobs in %d files: %+v", len(all), len(files), all)
	}
	if _, err := r.Get("job1"); !errors.Is(err, jobs.ErrUnknown) {
		t.Errorf("a job that was forgotten: %v", err)
	}
}

// The same id is the same job, also when that has ended and the process as well.
func TestJobsSameID(t *testing.T) {
	p := newPlace(t)
	r := p.open(jobs.Options{})
	q := jobs.Request{ID: "nightly-20260301-0330", Kind: "run", Subject: "nightly"}
	if _, isNew, err := r.Submit(q); err != nil || !isNew {
		t.Fatal(isNew, err)
	}
	work(r, 1, done)
	p.kill()
	r = p.open(jobs.Options{})
	if j, isNew, err := r.Submit(q); err != nil || isNew || j.State != jobs.Finished {
		t.Errorf("%+v, new %v, %v", j, isNew, err)
	}
	for _, id := range []string{"../x", "a/b", ".hidden", "x\x00"} {
		if _, _, err := r.Submit(jobs.Request{ID: id, Kind: "run", Subject: id}); err == nil {
			t.Errorf("id %q is accepted", id)
		}
	}
}

func TestJobsRefused(t *testing.T) {
	p := newPlace(t)
	no := errors.New("no")
	r := p.open(jobs.Options{Accept: func(jobs.Job) error { return no }})
	if _, _, err := r.Submit(jobs.Request{Kind: "compact", Subject: "coordinator"}); !errors.Is(err, no) {
		t.Error(err)
	}
	if all := r.List(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	if _, err := jobs.Open(p.dir, jobs.Options{Now: time.Now}); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("a second one on the same directory: %v", err)
	}
}

// A file that is no job is told of and left alone.
func TestJobsDamagedFile(t *testing.T) {
	p := newPlace(t)
	id := p.submit(p.open(jobs.Options{}), "coordinator").ID
	p.kill()
	for name, text := range map[string]string{"half.json": `{"id":"ha`, "other.json": `{"schema":1,"id":"else"}`, "note.txt": "x"} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := p.open(jobs.Options{})
	if all := r.List(); len(all) != 1 || all[0].ID != id {
		t.Errorf("%+v", all)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "half.json")); err != nil {
		t.Error(err)
	}
	now, err := jobs.Unreadable(nil, p.dir)
	if then := r.Unreadable(); len(then) != 2 || len(now) != 2 || err != nil {
		t.Errorf("told when it was opened %v, now %v, %v; want two of each", then, now, err)
	}
}

// TestLinkInThePlaceOfTheJobs: a link that takes the place of the directory while
// the jobs are open leads nowhere.
func TestLinkInThePlaceOfTheJobs(t *testing.T) {
	p, pins := newPlace(t), &durable.Pins{}
	pins.Hold()
	defer pins.End()
	r := p.open(jobs.Options{Pins: pins})
	p.submit(r, "a")
	elsewhere := t.TempDir()
	if err := errors.Join(os.Rename(p.dir, p.dir+".real"), os.Symlink(elsewhere, p.dir)); err != nil {
		t.Fatal(err)
	}
	j := p.submit(r, "b")
	if _, err := os.Stat(filepath.Join(p.dir+".real", j.ID+".json")); err != nil {
		t.Error(err)
	}
	if found, err := os.ReadDir(elsewhere); len(found) > 0 || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}
