package logfile

import (
	"errors"
	"io"
	"os"
	"testing"
)

// A program that replaces the log by renaming, in the last instant, keeps what
// it put there: at once, or by the next run if this one dies in between.
func TestReplaceGivesBackALogThatWasPutThere(t *testing.T) {
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
