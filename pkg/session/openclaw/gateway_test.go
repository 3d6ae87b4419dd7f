package openclaw_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/internal/fakegateway"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
)

// Every change of files is refused while a gateway runs, and Busy says that
// nothing else is in the way.
func TestServedSessionIsBusy(t *testing.T) {
	s := newServed(t)
	ctx := context.Background()
	ref := s.ref(mainID + ".jsonl")
	r := s.plan(ref)
	before := s.tree()
	changes := map[string]func() error{
		"busy":    func() error { return s.Busy(ctx, session.BusyQuestion{Ref: ref, Now: time.Now(), Quiet: quiet}) },
		"rotate":  func() error { return s.Rotate(ctx, r) },
		"restore": func() error { return s.Unused(ctx, ref.Path, time.Now(), quiet) },
		"begin":   func() error { _, err := s.PlanBegin(ctx, carriedHere()); return err },
		"overlay": func() error { return s.Shorten(ctx, session.Shortening{Rotation: r, Record: "{}\n"}) },
	}
	for name, change := range changes {
		var busy *session.BusyError
		if err := change(); !errors.As(err, &busy) || !busy.Served || !strings.Contains(busy.Reason, "gateway") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(before) != len(s.tree()) {
		t.Error("something changed")
	}
	s.age(ref.Path, time.Second)
	var busy *session.BusyError
	if err := s.Busy(ctx, session.BusyQuestion{Ref: ref, Now: time.Now(), Quiet: quiet}); !errors.As(err, &busy) || busy.Served {
		t.Errorf("a log that just changed: %v", err)
	}
	if err := s.gateway.Stop(); err != nil {
		t.Fatal(err)
	}
	s.age(ref.Path, time.Hour)
	if err := s.Busy(ctx, session.BusyQuestion{Ref: ref, Now: time.Now(), Quiet: quiet}); err != nil {
		t.Errorf("without a gateway: %v", err)
	}
}

// Which locks mean a gateway of this store.
func TestGatewayLocks(t *testing.T) {
	self := os.Getpid()
	start, _ := openclaw.StartTime(self)
	for name, test := range map[string]struct {
		lock   func(root string) any
		served bool
	}{
		"its own":              {func(root string) any { return lockOf(self, root, start) }, true},
		"no start time":        {func(root string) any { return lockOf(self, root, 0) }, true},
		"another state":        {func(string) any { return lockOf(self, t.TempDir(), start) }, false},
		"no such directory":    {func(string) any { return lockOf(self, "/nowhere", start) }, false},
		"a process that ended": {func(root string) any { return lockOf(1<<22+1, root, 0) }, false},
		"no process":           {func(root string) any { return map[string]any{"configPath": root + "/openclaw.json"} }, false},
		"not an object":        {func(string) any { return "gateway" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMain(t)
			temporary := t.TempDir()
			text, err := json.Marshal(test.lock(s.root))
			if err != nil {
				t.Fatal(err)
			}
			s.write(filepath.Join(temporary, "openclaw-1000", "gateway.0a1b2c3d.lock"), string(text))
			s.Store = openclaw.Open(s.root, openclaw.Options{LockDirs: []string{temporary}})
			err = s.Busy(context.Background(), session.BusyQuestion{Ref: s.ref(mainID + ".jsonl"), Now: time.Now(), Quiet: quiet})
			if errors.Is(err, session.ErrBusy) != test.served {
				t.Errorf("%v, want served %v", err, test.served)
			}
		})
	}
}

func lockOf(pid int, root string, start uint64) map[string]any {
	lock := map[string]any{"pid": pid, "createdAt": time.Now().UTC().Format(time.RFC3339Nano), "configPath": filepath.Join(root, "openclaw.json"), "port": 18789}
	if start != 0 {
		lock["startTime"] = start
	}
	return lock
}

// The number of a process that ended may belong to another one by now.
func TestGatewayOfReusedProcess(t *testing.T) {
	start, known := openclaw.StartTime(os.Getpid())
	if !known {
		t.Skip("this system does not tell when a process was started")
	}
	s := newMain(t)
	temporary := t.TempDir()
	text, err := json.Marshal(lockOf(os.Getpid(), s.root, start+1))
	if err != nil {
		t.Fatal(err)
	}
	s.write(filepath.Join(temporary, "openclaw-1000", "gateway.0a1b2c3d.lock"), string(text))
	s.Store = openclaw.Open(s.root, openclaw.Options{LockDirs: []string{temporary}})
	if err := s.Busy(context.Background(), session.BusyQuestion{Ref: s.ref(mainID + ".jsonl"), Now: time.Now(), Quiet: quiet}); err != nil {
		t.Error(err)
	}
}

// The program is started so that it reaches this gateway and no other.
func TestCallEnvironment(t *testing.T) {
	s := newServed(t)
	s.open(openclaw.Options{
		Command: os.Args[0], LockDirs: s.lockDirs(), Run: s.run,
		Environment: []string{"PATH=/usr/bin", "OPENCLAW_STATE_DIR=/elsewhere", "OPENCLAW_GATEWAY_PORT=1", "OPENCLAW_GATEWAY_TOKEN=t"},
	})
	if _, err := s.Reset(context.Background(), s.planReset()); err != nil {
		t.Fatal(err)
	}
	get := variable(s.calls[0].Environment)
	for name, want := range map[string]string{
		"OPENCLAW_STATE_DIR":     s.root,
		"OPENCLAW_CONFIG_PATH":   filepath.Join(s.root, "openclaw.json"),
		"OPENCLAW_GATEWAY_PORT":  strconv.Itoa(s.gateway.Port),
		"OPENCLAW_GATEWAY_TOKEN": "t",
		"PATH":                   filepath.Dir(os.Args[0]) + string(os.PathListSeparator) + "/usr/bin",
	} {
		if got := get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	seen := map[string]bool{}
	for _, v := range s.calls[0].Environment {
		name, _, _ := strings.Cut(v, "=")
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
	}
}

// served is a state whose gateway runs.
type served struct {
	*state
	gateway *fakegateway.Gateway
	calls   []openclaw.Call
}

func newServed(t *testing.T) *served {
	t.Helper()
	s := &served{state: newMain(t)}
	temporary := t.TempDir()
	var err error
	if s.gateway, err = fakegateway.Start(s.root, temporary); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.gateway.Stop() })
	s.open(openclaw.Options{Command: os.Args[0], LockDirs: []string{temporary}, Run: s.run})
	return s
}

func (s *served) open(o openclaw.Options) {
	s.Store = openclaw.Open(s.root, o)
	s.SetPause(func() {})
}

// run is the runtime's program in this process.
func (s *served) run(ctx context.Context, c openclaw.Call) ([]byte, error) {
	s.calls = append(s.calls, c)
	type answer struct {
		text []byte
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		r, err := fakegateway.Call(c.Arguments, variable(c.Environment))
		if err == nil && r.Exit != 0 {
			err = errors.New("exit status 1")
		}
		done <- answer{[]byte(r.Output), err}
	}()
	select {
	case a := <-done:
		return a.text, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func variable(environment []string) func(string) string {
	return func(name string) string {
		for _, v := range environment {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// asked are the methods that were called for the session: by its socket the
// gateway is also asked whether it is at work at all.
func (s *served) asked() []string {
	return slices.DeleteFunc(s.gateway.Asked(), func(method string) bool { return method == "gateway.restart.preflight" })
}

// planReset makes the plan of a reset of the main session.
func (s *served) planReset() session.Rotation {
	s.t.Helper()
	ref := s.ref(mainID + ".jsonl")
	r, err := s.PlanReset(context.Background(), ref, s.snapshot(ref), time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func TestReset(t *testing.T) {
	eachWay(t, testReset)
}

// eachWay lets a test ask the gateway by the runtime's program, and by the
// gateway's socket: then the program is never run.
func eachWay(t *testing.T, test func(t *testing.T, s *served)) {
	t.Run("program", func(t *testing.T) {
		s := newServed(t)
		test(t, s)
		if len(s.gateway.Asked()) > 0 && len(s.calls) == 0 {
			t.Error("the program was not run")
		}
	})
	t.Run("socket", func(t *testing.T) {
		s := newServed(t)
		if err := s.gateway.Configure(); err != nil {
			t.Fatal(err)
		}
		test(t, s)
		if len(s.calls) > 0 {
			t.Errorf("the program was run: %+v", s.calls)
		}
	})
}

func testReset(t *testing.T, s *served) {
	before := s.read(mainID + ".jsonl")
	r := s.planReset()
	if r.Kept != "" || r.NewSession != "" {
		t.Errorf("the plan chooses what the gateway chooses: %+v", r)
	}
	done, err := s.Reset(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.read(filepath.Base(done.Kept)); got != before {
		t.Errorf("the closed log is %q, want %q", got, before)
	}
	if fresh := s.read(done.NewSession + ".jsonl"); !strings.HasPrefix(fresh, `{"type":"session"`) {
		t.Errorf("the new session's log: %q", fresh)
	}
	want := []string{"sessions.list", "sessions.reset"}
	if len(s.calls) == 0 { // by its socket it is asked whether the fresh session is in force
		want = append(want, "sessions.list")
	}
	if got := s.asked(); !slices.Equal(got, want) {
		t.Errorf("the gateway was asked for %q", got)
	}
	again, err := s.Reset(context.Background(), r)
	if diff := cmp.Diff(done, again); err != nil || diff != "" {
		t.Errorf("a reset that is done: %v, %s", err, diff)
	}
	if len(s.asked()) != len(want) {
		t.Error("the gateway was asked again")
	}
}

// What a gateway may do instead, and what is left then.
func TestResetOfOtherGateways(t *testing.T) {
	for _, test := range []struct {
		behaviour fakegateway.Behaviour
		done      bool
		busy      bool
		err       string
		asked     int
		confirms  bool // by its socket it is asked once more
	}{
		{behaviour: fakegateway.Active, busy: true, err: "a turn is going on", asked: 1},
		{behaviour: fakegateway.MovedOn, busy: true, err: "moved on", asked: 1},
		{behaviour: fakegateway.Elsewhere, err: "another store", asked: 1},
		{behaviour: fakegateway.Refuses, err: "busy with something else", asked: 2},
		{behaviour: fakegateway.Junk, err: "is not ", asked: 2},
		{behaviour: fakegateway.OtherKey, err: "do not show it", asked: 2},
		{behaviour: fakegateway.Lies, err: "do not show it", asked: 2},
		{behaviour: fakegateway.NoRename, err: "do not show it", asked: 2},
		{behaviour: fakegateway.Hangs, err: "no answer within 3s", asked: 2},
		{behaviour: fakegateway.JunkDone, done: true, asked: 2, confirms: true},
		{behaviour: fakegateway.Dies, done: true, asked: 2},
		{behaviour: fakegateway.Appends, done: true, asked: 2, confirms: true},
	} {
		t.Run(string(test.behaviour), func(t *testing.T) {
			eachWay(t, func(t *testing.T, s *served) {
				if test.behaviour == fakegateway.Hangs {
					s.SetDeadline(3 * time.Second) // by far longer than the first answer takes
				}
				before := s.read(mainID + ".jsonl")
				r := s.planReset()
				s.gateway.Behave(test.behaviour)
				done, err := s.Reset(context.Background(), r)
				want := test.asked
				if test.confirms && len(s.calls) == 0 {
					want++
				}
				if got := len(s.asked()); got != want {
					t.Errorf("asked %q, want %d calls", s.gateway.Asked(), want)
				}
				if test.done {
					if err != nil || !strings.HasPrefix(s.read(filepath.Base(done.Kept)), before) {
						t.Errorf("%+v, %v", done, err)
					}
					return
				}
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("%v, want %q", err, test.err)
				}
				if errors.Is(err, session.ErrBusy) != test.busy {
					t.Errorf("busy: %v", err)
				}
				var asked *session.GatewayError
				if !test.busy && !errors.As(err, &asked) {
					t.Errorf("not a GatewayError: %v", err)
				}
				if got := s.read(mainID + ".jsonl"); got != before {
					t.Errorf("the log is %q", got)
				}
				if _, ok, err := s.FindReset(context.Background(), r); ok || err != nil {
					t.Errorf("a reset is found that was none: %v", err)
				}
			})
		})
	}
}

// A log that changes between the snapshot and the question is not reset.
func TestResetOfChangedLog(t *testing.T) {
	s := newServed(t)
	r := s.planReset()
	s.log(mainID+".jsonl", transcript(mainID)+question)
	_, err := s.Reset(context.Background(), r)
	wantBusy(t, err, "bytes were added")
	if slices.Contains(s.gateway.Asked(), "sessions.reset") {
		t.Error("it was reset all the same")
	}
}

// A stop before the call leaves everything; a stop after it is recognised.
func TestResetStopped(t *testing.T) {
	s := newServed(t)
	r := s.planReset()
	stop := errors.New("stopped")
	s.SetStep(func(string) error { return stop })
	before := s.tree()
	if _, err := s.Reset(context.Background(), r); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, s.tree()); diff != "" {
		t.Error("something changed:", diff)
	}
	if _, ok, err := s.FindReset(context.Background(), r); ok || err != nil {
		t.Errorf("found: %v, %v", ok, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.open(openclaw.Options{Command: os.Args[0], LockDirs: s.lockDirs(), Run: func(c context.Context, call openclaw.Call) ([]byte, error) {
		out, err := s.run(c, call)
		if slices.Contains(call.Arguments, "sessions.reset") {
			cancel()
		}
		return out, err
	}})
	if _, err := s.Reset(ctx, r); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	done, ok, err := s.FindReset(context.Background(), r)
	if !ok || err != nil || done.Kept == "" || done.NewSession == "" {
		t.Errorf("not found: %+v, %v, %v", done, ok, err)
	}
}

func (s *served) lockDirs() []string {
	return []string{filepath.Dir(filepath.Dir(s.gateway.Lock()))}
}

// Only the closing of this log, after the plan, is a reset.
func TestFindResetOfOtherChanges(t *testing.T) {
	another := `{"` + mainKey + `": {"sessionId": "00000000-0000-4000-8000-000000000009"}}`
	for name, change := range map[string]func(*served){
		"nothing happened":           func(*served) {},
		"a new session, no old name": func(s *served) { s.index(another) },
		"an earlier reset of the same id": func(s *served) {
			s.index(another)
			s.log(mainID+".jsonl.reset.2020-01-01T00-00-00.000Z", "old\n")
		},
		"an earlier reset, and the log was taken away": func(s *served) {
			s.index(another)
			s.log(mainID+".jsonl.reset.2020-01-01T00-00-00.000Z", "old\n")
			if err := os.Remove(s.path(mainID + ".jsonl")); err != nil {
				s.t.Fatal(err)
			}
		},
		"another log closed, this one still there": func(s *served) {
			s.index(another)
			s.log(mainID+".jsonl.reset."+time.Now().UTC().Add(time.Second).Format("2006-01-02T15-04-05.000Z"), "other\n")
		},
		"renamed, but the index is as it was": func(s *served) {
			name := s.path(mainID + ".jsonl")
			if err := os.Rename(name, name+".reset."+time.Now().UTC().Format("2006-01-02T15-04-05.000Z")); err != nil {
				s.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServed(t)
			r := s.planReset()
			change(s)
			if done, ok, err := s.FindReset(context.Background(), r); ok || err != nil {
				t.Errorf("%+v, %v, %v", done, ok, err)
			}
		})
	}
}

func TestPlanReset(t *testing.T) {
	s := newServed(t)
	s.index(`{"` + mainKey + `": {"sessionId": "` + mainID + `"}, "agent:coordinator:cron:x": {"sessionId": "` + mainID + `"}}`)
	ref := s.ref(mainID + ".jsonl")
	_, err := s.PlanReset(context.Background(), ref, s.snapshot(ref), time.Now())
	wantBusy(t, err, "only one of the 2 entries")

	s.log("00000000-0000-4000-8000-00000000000a.jsonl", transcript("00000000-0000-4000-8000-00000000000a"))
	orphan := s.ref("00000000-0000-4000-8000-00000000000a.jsonl")
	_, err = s.PlanReset(context.Background(), orphan, s.snapshot(orphan), time.Now())
	wantBusy(t, err, "does not know this log")

	s = newServed(t)
	s.open(openclaw.Options{Command: "no-such-program", LockDirs: s.lockDirs()})
	ref = s.ref(mainID + ".jsonl")
	_, err = s.PlanReset(context.Background(), ref, s.snapshot(ref), time.Now())
	wantBusy(t, err, "openclaw.command")
}
