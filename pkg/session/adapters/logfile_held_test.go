package adapters_test

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// hold takes the log of the home and checks it.
func (h *logfileHome) hold(c *logfile.Change) *logfile.Held {
	h.t.Helper()
	held, err := c.Hold()
	if err == nil {
		err = held.Check()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(held.Close)
	return held
}

// Between the check and the move an adapter has steps of its own. Until it has
// switched, a log that was put at the name meanwhile goes back; from then on the
// inode is kept, whatever is in it.
func TestLogfileMoveAsideAfterAStepOfTheAdapter(t *testing.T) {
	for name, system := range systems {
		for _, switched := range []bool{false, true} {
			h := newHome(t)
			h.system = system
			c := h.change("")
			held := h.hold(c)
			h.write("other", "theirs\n")
			logfileHeldMust(t, os.Rename(h.at("other"), h.at("log.jsonl")))
			h.wantBusy(held.InPlace())
			c.Switched = switched
			err := held.MoveAside()
			held.Close() // who reads it waits else
			if switched {
				logfileHeldMust(t, err)
				h.want("log.jsonl.kept", "theirs\n")
				h.want("log.jsonl", "nothing")
				continue
			}
			if !errors.Is(err, session.ErrBusy) {
				t.Fatalf("%s: error %v, want busy", name, err)
			}
			h.want("log.jsonl", "theirs\n")
			h.want("log.jsonl.kept", "nothing")
		}
	}
}

// A log that has switched may have grown since its snapshot.
func TestLogfileCheckAfterTheSwitch(t *testing.T) {
	h := newHome(t)
	h.write("log.jsonl", oldText+"late\n")
	c := h.change("")
	held, err := c.Hold()
	logfileHeldMust(t, err)
	defer held.Close()
	h.wantBusy(held.Check())
	c.Switched = true
	logfileHeldMust(t, held.Check())
	logfileHeldMust(t, held.MoveAside())
	held.Close()
	h.want("log.jsonl.kept", oldText+"late\n")
}

// A second name of a log is a doubt; of a file that only moves it is none.
func TestLogfileLinked(t *testing.T) {
	h := newHome(t)
	logfileHeldMust(t, os.Link(h.at("log.jsonl"), h.at("second")))
	h.plan.Snapshot = h.snapshot()
	c := h.change("")
	h.wantBusy(c.MoveAside(t.Context()))
	c.Linked = true
	logfileHeldMust(t, c.MoveAside(t.Context()))
	h.want("log.jsonl.kept", oldText)
	h.want("second", oldText)
}

// A restore exchanges a log with one that is complete beside it, and says where
// the old one is then.
func TestLogfileExchange(t *testing.T) {
	for name, system := range systems {
		h := newHome(t)
		h.system = system
		h.write("next", newText)
		held := h.hold(h.change(""))
		old, err := held.Exchange(t.Context(), h.at("next"))
		logfileHeldMust(t, err)
		held.Close()
		want := "next"
		if system.NoExchange {
			want = "log.jsonl.kept"
		}
		if old != h.at(want) {
			t.Errorf("%s: the old log is at %s", name, old)
		}
		h.want(want, oldText)
		h.want("log.jsonl", newText)
	}
}

// A log that comes to the place in the last instant stays there, also when the
// run is about to end, and the new one waits where it was.
func TestLogfileExchangeGivesBack(t *testing.T) {
	for name, system := range systems {
		h := newHome(t)
		h.system = system
		h.write("next", newText)
		held := h.hold(h.change(""))
		h.write("other", "theirs\n")
		logfileHeldMust(t, os.Rename(h.at("other"), h.at("log.jsonl")))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := held.Exchange(ctx, h.at("next")); !errors.Is(err, session.ErrBusy) {
			t.Fatalf("%s: error %v, want busy", name, err)
		}
		held.Close()
		h.want("log.jsonl", "theirs\n")
		h.want("next", newText)
		h.want("log.jsonl.kept", "nothing")
	}
}

// A file that waits in another directory is moved there and looked at again.
func TestLogfileChangeOf(t *testing.T) {
	for _, system := range systems {
		h := newHome(t)
		logfileHeldMust(t, os.Mkdir(h.at("trash"), 0o700))
		c, err := logfile.ChangeOf(nil, h.plan.Snapshot, h.at("trash/log.jsonl"))
		logfileHeldMust(t, err)
		defer c.Dir.Close()
		c.System = system
		held := h.hold(c)
		if system.NoLeases {
			logfileHeldMust(t, h.appendNow())
			h.wantBusy(held.MoveAside())
			h.want("log.jsonl", oldText+"late\n")
			h.want("trash/log.jsonl", "nothing")
			continue
		}
		logfileHeldMust(t, held.MoveAside())
		held.Close()
		h.want("trash/log.jsonl", oldText)
		h.want("log.jsonl", "nothing")
	}
}

func TestLogfileUnheld(t *testing.T) {
	h := newHome(t)
	log, err := os.Open(h.at("log.jsonl"))
	logfileHeldMust(t, err)
	defer log.Close()
	if _, err := logfile.Unheld(durable.System{NoLeases: true}, log); !errors.Is(err, durable.ErrUnsupported) {
		t.Errorf("without leases: %v", err)
	}
	release, err := logfile.Unheld(durable.System{}, log)
	if errors.Is(err, durable.ErrUnsupported) {
		t.Skip("the system has no file leases")
	}
	logfileHeldMust(t, err)
	release()
	other, err := os.Open(h.at("log.jsonl"))
	logfileHeldMust(t, err)
	defer other.Close()
	if _, err := logfile.Unheld(durable.System{}, log); !errors.Is(err, durable.ErrHeld) {
		t.Errorf("held by another: %v", err)
	}
}

func TestLogfileDirOf(t *testing.T) {
	h := newHome(t)
	logfileHeldMust(t, os.MkdirAll(h.at("store/a/b"), 0o700))
	logfileHeldMust(t, os.Symlink(t.TempDir(), h.at("store/out")))
	for name, c := range map[string]struct {
		base, path string
		fails      bool
	}{
		"in the base":      {"store", "store/x", false},
		"deeper":           {"store", "store/a/b/x", false},
		"elsewhere":        {"store", "x", false},
		"no base":          {"", "store/out/x", false},
		"through a link":   {"store", "store/out/x", true},
		"not there":        {"store", "store/c/x", true},
		"the base is gone": {"none", "none/x", true},
	} {
		base := ""
		if c.base != "" {
			base = h.at(c.base)
		}
		d, err := logfile.DirOf(nil, base, h.at(c.path))
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			d.Close()
		}
	}
}

func logfileHeldMust(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// source is where the old log of the home comes back from.
func (h *logfileHome) source(from string) logfile.Source {
	return logfile.Source{
		From:     from,
		Archived: func(w io.Writer) error { _, err := io.WriteString(w, oldText); return err },
		Like:     func() (os.FileInfo, error) { return os.Stat(h.dir) },
	}
}

func TestLogfilePutBack(t *testing.T) {
	for name, system := range systems {
		for _, gone := range []bool{false, true} { // the kept inode
			h := newHome(t)
			h.system = system
			logfileHeldMust(t, h.change("").MoveAside(t.Context()))
			source := h.source(h.plan.Kept)
			if gone {
				logfileHeldMust(t, os.Remove(h.plan.Kept))
			}
			if err := h.change("back").PutBack(t.Context(), source); !errors.Is(err, errStop) {
				t.Fatalf("%s: %v", name, err)
			}
			logfileHeldMust(t, h.change("").PutBack(t.Context(), source)) // it is done
			h.want("log.jsonl", oldText)
			h.want("log.jsonl.kept", "nothing")
		}
	}
}

func TestLogfilePutBackYields(t *testing.T) {
	h := newHome(t)
	logfileHeldMust(t, h.change("").MoveAside(t.Context()))
	h.write("log.jsonl", "begun\n")
	h.wantBusy(h.change("").PutBack(t.Context(), h.source(h.plan.Kept)))
	h.want("log.jsonl", "begun\n")
	h.want("log.jsonl.kept", oldText)
	logfileHeldMust(t, os.Remove(h.at("log.jsonl")))
	logfileHeldMust(t, os.Remove(h.plan.Kept))
	source := h.source("")
	source.Archived = func(w io.Writer) error { _, err := io.WriteString(w, "damaged\n"); return err }
	if err := h.change("").PutBack(t.Context(), source); err == nil || errors.Is(err, session.ErrBusy) {
		t.Fatalf("error %v, want a failure", err)
	}
	h.want("log.jsonl", "nothing")
}

// What PutBack has done is undone: the inode lies where it lay, and a log that
// was made of bytes is gone, but for one that somebody goes on with.
func TestLogfileTakeBack(t *testing.T) {
	for _, c := range []struct {
		kept     bool // there was an inode
		grown    bool
		wantKept string
	}{
		{kept: true, wantKept: oldText},
		{kept: true, grown: true, wantKept: oldText + "late\n"},
		{wantKept: "nothing"},
		{grown: true, wantKept: oldText + "late\n"},
	} {
		h := newHome(t)
		logfileHeldMust(t, h.change("").MoveAside(t.Context()))
		source := h.source(h.plan.Kept)
		if !c.kept {
			source.From = ""
			logfileHeldMust(t, os.Remove(h.plan.Kept))
		}
		logfileHeldMust(t, h.change("").PutBack(t.Context(), source))
		if c.grown {
			logfileHeldMust(t, h.appendNow())
		}
		for range 2 {
			logfileHeldMust(t, h.change("").TakeBack(t.Context(), source))
			h.want("log.jsonl", "nothing")
			h.want("log.jsonl.kept", c.wantKept)
		}
	}
}

func TestLogfileOldLog(t *testing.T) {
	h := newHome(t)
	look := func(from string, other bool) {
		t.Helper()
		gotFrom, gotOther, err := h.change("").OldLog(t.Context())
		if err != nil || gotFrom != from || gotOther != other {
			t.Errorf("from %q, other %v, error %v; want %q, %v", gotFrom, gotOther, err, from, other)
		}
	}
	look(h.plan.Live, false)
	logfileHeldMust(t, h.change("").MoveAside(t.Context()))
	look(h.plan.Kept, false)
	h.write("log.jsonl", "begun\n")
	look("", true)
	logfileHeldMust(t, os.Remove(h.at("log.jsonl")))
	h.write("log.jsonl.kept", "rewritten by somebody\n")
	look("", false)
}
