package adapters_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

const (
	oldText       = "{\"a\":1}\n{\"b\":2}\n"
	newText       = "{\"summary\":true}\n{\"b\":2}\n"
	logfileRecord = "{\"compaction\":3}\n"
)

var errStop = errors.New("the run ended here")

// logfileHome is a directory with one log and the plan of a change of it.
type logfileHome struct {
	t    *testing.T
	dir  string
	root *os.Root
	plan session.Shortening
	// system is what the changes do without.
	system durable.System
}

// systems are what there is on Linux, on macOS, and on a network file system.
var systems = map[string]durable.System{
	"everything": {}, "no leases": {NoLeases: true}, "nothing": {NoLeases: true, NoExchange: true, NoReplace: true},
}

func newHome(t *testing.T) *logfileHome {
	t.Helper()
	dir := t.TempDir()
	h := &logfileHome{t: t, dir: dir}
	h.write("log.jsonl", oldText)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	after, err := logfile.Proof(func(w io.Writer) error { _, err := io.WriteString(w, newText); return err })
	if err != nil {
		t.Fatal(err)
	}
	h.root = root
	h.plan = session.Shortening{
		Rotation: session.Rotation{Live: h.at("log.jsonl"), Kept: h.at("log.jsonl.kept"), Snapshot: h.snapshot()},
		Record:   logfileRecord, After: after,
	}
	return h
}

func (h *logfileHome) at(name string) string { return filepath.Join(h.dir, name) }

func (h *logfileHome) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(h.at(name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *logfileHome) read(name string) string {
	b, err := os.ReadFile(h.at(name))
	if errors.Is(err, os.ErrNotExist) {
		return "nothing"
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return string(b)
}

func (h *logfileHome) snapshot() session.Snapshot {
	h.t.Helper()
	f, err := os.Open(h.at("log.jsonl"))
	if err != nil {
		h.t.Fatal(err)
	}
	defer f.Close()
	snap, err := session.TakeSnapshot(h.t.Context(), f, h.at("log.jsonl"))
	if err != nil {
		h.t.Fatal(err)
	}
	return snap
}

// change stops after the step with this name.
func (h *logfileHome) change(stop string) *logfile.Change {
	return &logfile.Change{Dir: &logfile.Dir{Root: h.root, Path: h.dir}, Plan: h.plan, System: h.system, Step: func(name string) error {
		if name == stop {
			return errStop
		}
		return nil
	}}
}

func (h *logfileHome) replace(stop string) error {
	return h.change(stop).Replace(h.t.Context(), func(w io.Writer, _ *os.File) error {
		_, err := io.WriteString(w, newText)
		return err
	})
}

func (h *logfileHome) wantBusy(err error) {
	h.t.Helper()
	if !errors.Is(err, session.ErrBusy) {
		h.t.Fatalf("error %v, want busy", err)
	}
}

func (h *logfileHome) want(name, text string) {
	h.t.Helper()
	if got := h.read(name); got != text {
		h.t.Fatalf("%s holds %q, want %q", name, got, text)
	}
}

func TestLogfileAppend(t *testing.T) {
	h := newHome(t)
	for range 2 { // the second time finds it done
		if err := h.change("").Append(); err != nil {
			t.Fatal(err)
		}
		h.want("log.jsonl", oldText+logfileRecord)
	}
	h.write("log.jsonl", oldText+logfileRecord+"{\"next\":1}\n")
	if err := h.change("").Append(); err != nil {
		t.Fatal(err)
	}
	h.want("log.jsonl", oldText+logfileRecord+"{\"next\":1}\n")
}

func TestLogfileAppendGoesOnAfterATornWrite(t *testing.T) {
	for cut := range len(logfileRecord) {
		h := newHome(t)
		h.write("log.jsonl", oldText+logfileRecord[:cut])
		if cut == 0 { // the same bytes, but written again
			h.wantBusy(h.change("").Append())
			continue
		}
		if err := h.change("").Append(); err != nil {
			t.Fatalf("after %d bytes: %v", cut, err)
		}
		h.want("log.jsonl", oldText+logfileRecord)
	}
}

func TestLogfileAppendLeavesAChangedLogAlone(t *testing.T) {
	for name, text := range map[string]string{
		"grown": oldText + "{\"c\":3}\n", "shorter": "{\"a\":1}\n", "rewritten": strings.ToUpper(oldText),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.write("log.jsonl", text)
			h.wantBusy(h.change("").Append())
			h.want("log.jsonl", text)
		})
	}
	h := newHome(t)
	h.write("other", oldText)
	if err := os.Rename(h.at("other"), h.at("log.jsonl")); err != nil {
		t.Fatal(err)
	}
	h.wantBusy(h.change("").Append())
	h.want("log.jsonl", oldText)
}

func TestLogfileReplace(t *testing.T) {
	for name, system := range systems {
		for _, stop := range []string{"", "lease", "check", "stage", "exchange", "keep", "move", "place"} {
			t.Run(name+", stopped after "+stop, func(t *testing.T) {
				h := newHome(t)
				h.system = system
				exchanging, moving := stop == "exchange" || stop == "keep", stop == "move" || stop == "place"
				if exchanging && system.NoExchange || moving && !system.NoExchange {
					t.Skip("there is no such step")
				}
				h.replacedInTwoRuns(stop)
			})
		}
	}
}

// replacedInTwoRuns stops the first run after a step.
func (h *logfileHome) replacedInTwoRuns(stop string) {
	if err := h.replace(stop); stop != "" && !errors.Is(err, errStop) || stop == "" && err != nil {
		h.t.Fatalf("first run: %v", err)
	}
	if got := h.read("log.jsonl"); got != oldText && got != newText && stop != "move" {
		h.t.Fatalf("after the first run the log holds %q", got)
	}
	for range 2 {
		if err := h.replace(""); err != nil {
			h.t.Fatalf("next run: %v", err)
		}
		h.want("log.jsonl", newText)
		h.want("log.jsonl.kept", oldText)
		h.want("log.jsonl.kept.next", "nothing")
	}
}

// An agent that wants to append in the middle of it gets the log back: where
// there are leases its open is noticed, elsewhere what it wrote is.
func TestLogfileReplaceGivesWayToAWriter(t *testing.T) {
	for _, when := range []string{"lease", "stage"} {
		for _, system := range systems {
			newHome(t).givesWay(when, system)
		}
	}
}

func (h *logfileHome) givesWay(when string, system durable.System) {
	h.system = system
	c := h.change("")
	written := false
	c.Step = func(name string) error {
		if name == when {
			written = h.appendNow() == nil
		}
		return nil
	}
	h.wantBusy(c.Replace(h.t.Context(), writesNew))
	if written != system.NoLeases {
		h.t.Fatalf("written %v, with leases %v", written, !system.NoLeases)
	}
	if !written {
		if err := h.appendNow(); err != nil {
			h.t.Fatalf("after the run the log cannot be opened: %v", err)
		}
	}
	h.want("log.jsonl", oldText+"late\n")
	h.want("log.jsonl.kept", "nothing")
	h.want("log.jsonl.kept.next", "nothing")
}

// appendNow appends without waiting for a lease.
func (h *logfileHome) appendNow() error {
	f, err := os.OpenFile(h.at("log.jsonl"), os.O_APPEND|os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString("late\n")
	return err
}

func TestLogfileReplaceRefusesOtherBytesThanPlanned(t *testing.T) {
	h := newHome(t)
	err := h.change("").Replace(t.Context(), func(w io.Writer, _ *os.File) error {
		_, err := fmt.Fprint(w, "something else\n")
		return err
	})
	if err == nil || errors.Is(err, session.ErrBusy) {
		t.Fatalf("error %v, want a failure", err)
	}
	h.want("log.jsonl", oldText)
	h.want("log.jsonl.kept.next", "nothing")
}

func TestLogfileHeldLogIsBusy(t *testing.T) {
	h := newHome(t)
	f, err := os.OpenFile(h.at("log.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if errors.Is(h.change("").Append(), session.ErrBusy) && errors.Is(h.replace(""), session.ErrBusy) {
		h.want("log.jsonl", oldText)
		return
	}
	t.Skip("the system has no file leases")
}

// Without an exchange the path has no log for a moment. One that is begun then
// stays, and the old one is kept.
func TestLogfileReplaceYieldsToANewLog(t *testing.T) {
	h := newHome(t)
	h.system = systems["nothing"]
	c := h.change("")
	c.Step = func(name string) error {
		if name == "move" {
			h.write("log.jsonl", "begun\n")
		}
		return nil
	}
	var busy *session.BusyError
	if err := c.Replace(t.Context(), writesNew); !errors.As(err, &busy) || !busy.Begun {
		t.Fatalf("error %v", err)
	}
	for range 2 {
		h.want("log.jsonl", "begun\n")
		h.want("log.jsonl.kept", oldText)
		h.want("log.jsonl.kept.next", "nothing")
		if err := h.replace(""); err != nil {
			t.Fatalf("next run: %v", err)
		}
	}
}

// Without leases a line that is written between the last look and the switch
// gives the log its place back.
func TestLogfileWrittenInTheLastInstant(t *testing.T) {
	for name, system := range systems {
		for _, move := range []bool{false, true} {
			if !system.NoLeases {
				continue
			}
			t.Run(fmt.Sprint(name, ", moved aside ", move), func(t *testing.T) {
				h := newHome(t)
				h.system = system
				c, checks := h.change(""), 0
				c.Step = func(name string) error {
					if name != "check" {
						return nil
					}
					if checks++; checks == 2 || move {
						return h.appendNow()
					}
					return nil
				}
				if move {
					h.wantBusy(c.MoveAside(t.Context()))
				} else {
					h.wantBusy(c.Replace(t.Context(), writesNew))
				}
				h.want("log.jsonl", oldText+"late\n")
				h.want("log.jsonl.kept", "nothing")
				h.want("log.jsonl.kept.next", "nothing")
			})
		}
	}
}

func writesNew(w io.Writer, _ *os.File) error {
	_, err := io.WriteString(w, newText)
	return err
}
