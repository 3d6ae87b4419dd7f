package openclaw_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

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
		"busy":    func() error { return s.Busy(ctx, ref, time.Now(), quiet) },
		"rotate":  func() error { return s.Rotate(ctx, r) },
		"restore": func() error { return s.Unused(ctx, ref.Path, time.Now(), quiet) },
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
	if err := s.Busy(ctx, ref, time.Now(), quiet); !errors.As(err, &busy) || busy.Served {
		t.Errorf("a log that just changed: %v", err)
	}
	if err := s.gateway.Stop(); err != nil {
		t.Fatal(err)
	}
	s.age(ref.Path, time.Hour)
	if err := s.Busy(ctx, ref, time.Now(), quiet); err != nil {
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
			s.Store = openclaw.OpenWith(s.root, openclaw.Options{LockDirs: []string{temporary}})
			err = s.Busy(context.Background(), s.ref(mainID+".jsonl"), time.Now(), quiet)
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
	s.Store = openclaw.OpenWith(s.root, openclaw.Options{LockDirs: []string{temporary}})
	if err := s.Busy(context.Background(), s.ref(mainID+".jsonl"), time.Now(), quiet); err != nil {
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
