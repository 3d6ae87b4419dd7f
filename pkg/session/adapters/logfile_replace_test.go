package adapters_test

import (
	"errors"
	"io"
	"os"
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
)

// A program that replaces the log by renaming, in the last instant, keeps what
// it put there: at once, or by the next run if this one dies in between.
func TestLogfileReplaceGivesBackALogThatWasPutThere(t *testing.T) {
	for _, dies := range []bool{false, true} {
		h := newHome(t)
		c := h.change("")
		checks := 0
		c.Step = func(name string) error {
			if name == "check" {
				if checks++; checks == 2 {
					h.write("other", "theirs\n")
					return os.Rename(h.at("other"), h.at("log.jsonl"))
				}
			}
			if name == "exchange" && dies {
				return errStop
			}
			return nil
		}
		write := func(w io.Writer, _ *os.File) error { _, err := io.WriteString(w, newText); return err }
		err := c.Replace(t.Context(), write)
		if dies {
			if !errors.Is(err, errStop) {
				t.Fatal(err)
			}
			h.want("log.jsonl", newText)
			err = h.change("").Replace(t.Context(), write)
		}
		h.wantBusy(err)
		h.want("log.jsonl", "theirs\n")
		if _, err := os.Lstat(c.Plan.Kept + ".next"); !os.IsNotExist(err) {
			t.Errorf("dies %v: the new log is still there: %v", dies, err)
		}
	}
}

// A file that somebody makes at the old log's new name, in the last instant,
// stays there; the log has its place again, and nothing is left beside it. That
// is so at once, or by the next run if this one dies in between.
func TestLogfileReplaceGivesBackWhereTheKeptNameIsTaken(t *testing.T) {
	for _, dies := range []bool{false, true} {
		for _, at := range []string{"stage", "exchange"} {
			h := newHome(t)
			if h.system.NoExchange {
				t.Skip("there is no exchange")
			}
			c := h.change("")
			c.Step = func(name string) error {
				if name == at {
					h.write("log.jsonl.kept", "a stranger\n")
				}
				if name == "exchange" && dies {
					return errStop
				}
				return nil
			}
			err := c.Replace(t.Context(), writesNew)
			if dies {
				if !errors.Is(err, errStop) {
					t.Fatal(err)
				}
				err = h.change("").Replace(t.Context(), writesNew)
			}
			h.wantBusy(err)
			h.want("log.jsonl", oldText)
			h.want("log.jsonl.kept", "a stranger\n")
			h.want("log.jsonl.kept.next", "nothing")
		}
	}
}

// If somebody has written to the new log by then, both stay, and the change is
// begun: the next run finishes it once the name is free.
func TestLogfileReplaceIsBegunWhereTheKeptNameIsTaken(t *testing.T) {
	h := newHome(t)
	c := h.change("")
	c.Step = func(name string) error {
		if name == "exchange" {
			h.write("log.jsonl.kept", "a stranger\n")
			h.write("log.jsonl", newText+"theirs\n")
		}
		return nil
	}
	var busy *session.BusyError
	if err := c.Replace(t.Context(), writesNew); !errors.As(err, &busy) || !busy.Begun {
		t.Fatalf("error %v", err)
	}
	h.want("log.jsonl.kept.next", oldText)
	if err := os.Remove(h.at("log.jsonl.kept")); err != nil {
		t.Fatal(err)
	}
	if err := h.replace(""); err != nil {
		t.Fatal(err)
	}
	h.want("log.jsonl", newText+"theirs\n")
	h.want("log.jsonl.kept", oldText)
}
