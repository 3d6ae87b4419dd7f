//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// rotated is what exit 0 of compact promises: the log is archived, it is not
// at its place any more, the runtime's index names another session, and one
// receipt says so.
func rotated(h *Home) error {
	if _, err := os.Lstat(h.Log()); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the log was not moved away: %v", err)
	}
	if h.Command.Runtime == "openclaw" {
		index, err := os.ReadFile(filepath.Join(h.Sessions(), "sessions.json"))
		if err != nil || strings.Contains(string(index), Session) {
			return fmt.Errorf("sessions.json still names the old session (%v): %s", err, index)
		}
	}
	if n, err := count(filepath.Join(h.Data(), "receipts")); err != nil || n != 1 {
		return fmt.Errorf("%d receipts, want 1 (%v)", n, err)
	}
	return errors.Join(h.inArchives(h.Lines), h.verifies())
}

// archived is what exit 0 of archive promises: one verified copy, and the log
// as it was.
func archived(h *Home) error {
	log, err := os.ReadFile(h.Log())
	if want := strings.Join(h.Lines, "\n") + "\n"; err != nil || string(log) != want {
		return fmt.Errorf("the log is not as it was (%v): %.80q", err, log)
	}
	if n, err := count(filepath.Join(h.Data(), "archives")); err != nil || n != 1 {
		return fmt.Errorf("%d archives, want 1 (%v)", n, err)
	}
	return errors.Join(h.inArchives(h.Lines), h.verifies())
}

// inArchives checks that archives alone hold these lines.
func (h *Home) inArchives(lines []string) error {
	have, err := h.linesIn(h.inArchive)
	if err != nil {
		return err
	}
	if err := missing(lines, have); err != nil {
		return fmt.Errorf("not in an archive: %w", err)
	}
	return nil
}

// count is the number of JSON documents in a directory.
func count(dir string) (int, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	return len(names), err
}
