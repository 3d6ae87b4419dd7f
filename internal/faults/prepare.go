//go:build linux && amd64

package faults

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// compacted is a home whose session was compacted and settled.
func compacted(h *Home) error {
	for range 2 {
		if err := errors.Join(h.dayLater(), h.must([]int{0}, "compact", "--agent", "a", "--force", "--strategy", "rotate")); err != nil {
			return err
		}
	}
	return h.nothingLeft(true)
}

// forgotten is such a home without its memory.
func forgotten(h *Home) error {
	if err := compacted(h); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(h.Data(), "memory"))
}

// damaged is such a home whose memory is no database.
func damaged(h *Home) error {
	if err := compacted(h); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(h.Data(), "memory/memory.db"), []byte(strings.Repeat("no database ", 1000)), 0o600)
}

// grown is a home whose session was archived when it was only a header.
func grown(h *Home) error {
	if err := writeAged(h.Log(), h.layout().header+"\n"); err != nil {
		return err
	}
	if err := h.must([]int{0}, "archive", "--runtime", "pi", "--agent", "work-a"); err != nil {
		return err
	}
	if err := writeAged(h.Log(), h.source()); err != nil {
		return err
	}
	if n, err := count(filepath.Join(h.Data(), "archives")); err != nil || n != 1 {
		return fmt.Errorf("%d archives, want 1 (%v)", n, err)
	}
	return nil
}

// oldArchives is a home with archives of the session as it grew, the older one
// made years ago.
func oldArchives(h *Home) error {
	for _, lines := range []int{len(h.Lines) / 2, len(h.Lines)} {
		if err := writeAged(h.Log(), strings.Join(h.Lines[:lines], "\n")+"\n"); err != nil {
			return err
		}
		if err := h.must([]int{0}, "archive", "--agent", "a"); err != nil {
			return err
		}
		if lines < len(h.Lines) {
			if err := h.backdate(); err != nil {
				return err
			}
		}
	}
	return nil
}

// backdate makes every archive of the catalogue one of the year 2020.
func (h *Home) backdate() error {
	names, err := filepath.Glob(filepath.Join(h.Data(), "archives", "*.json"))
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		const made = `"created_at": "`
		at := bytes.Index(text, []byte(made))
		if at < 0 {
			return fmt.Errorf("%s does not say when it was made: %s", name, text)
		}
		copy(text[at+len(made):], "2020")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// inUse makes a session look as if somebody had used it ten minutes ago.
func inUse(h *Home) error {
	now := time.Now().Add(-10 * time.Minute)
	return os.Chtimes(h.Log(), now, now)
}

// cameLate is a home whose session was rotated, whose old log a slow writer has
// added to since, and in which the session that follows has begun.
func cameLate(h *Home) error {
	agent := map[string]string{"openclaw": "a", "pi": "work-a", "agent": "agent"}[h.Command.Runtime]
	if err := h.must([]int{0}, "compact", "--runtime", h.Command.Runtime, "--force", "--strategy", "rotate", "--agent", agent); err != nil {
		return err
	}
	old, err := filepath.Glob(h.Log() + ".r*.20*") // .reset. or .rotated.
	if err != nil || len(old) != 1 {
		return fmt.Errorf("the old log is one of %v (%v)", old, err)
	}
	h.Lines = append(h.Lines, h.layout().late()...)
	if err := writeAged(old[0], h.source()); err != nil {
		return err
	}
	h.next, err = h.begins()
	return err
}
