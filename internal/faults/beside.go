//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// besides are commands that write beside what they are about: a word about the
// clock, a second name in a place that others use as well, a runtime's lock that
// nobody holds any more.
func besides() []Command {
	return []Command{
		{
			Name: "doctor --trust-clock", Runtime: "openclaw", Args: []string{"doctor", "--trust-clock"},
			Prepare: clockWasAhead, Done: clockTrusted,
		},
		{
			Name: "archive, shared session_archive", Runtime: "openclaw", Args: []string{"archive", "--agent", "a"},
			Prepare: archivedByOthers, Done: sharesArchive, Sessions: true,
		},
		{
			Name: "compact, forgotten lock of the index", Runtime: "openclaw", Sessions: true, Intends: true,
			Args:    strings.Fields("compact --runtime openclaw --force --agent a --strategy rotate"),
			Prepare: forgotLock, Done: rotatedUnlocked, Settled: remembers(Chunks),
		},
	}
}

// clockWasAhead is a home in which something was recorded while the clock was
// years ahead.
func clockWasAhead(h *Home) error {
	if err := compacted(h); err != nil {
		return err
	}
	ahead := time.Now().UTC().AddDate(3, 0, 0).Format(time.RFC3339)
	line := fmt.Sprintf(`{"time":%q,"action":"purge","kind":"session","path":"/x","sha256":"","size_bytes":0,"archive":"","rule":"clean"}`, ahead)
	if err := os.WriteFile(filepath.Join(h.Data(), "audit.jsonl"), []byte(line+"\n"), 0o600); err != nil {
		return err
	}
	if err := clockTrusted(h); err == nil {
		return errors.New("clean does not mind what was recorded in the future")
	}
	return nil
}

// clockTrusted checks that clean goes on.
func clockTrusted(h *Home) error { return h.must([]int{0}, "clean", "--max-age", "90d", "--dry-run") }

// archivedByOthers is a home whose session another data directory has archived
// into the place that the runtime's own layout has for archives.
func archivedByOthers(h *Home) error {
	return h.must([]int{0}, "--data-dir", h.Data()+".other", "archive", "--agent", "a")
}

// sharesArchive checks that the catalogues of both data directories name archives
// that verify, and that the bytes are in the shared place once: a run that was
// killed may have left one more name of them, which takes no room.
func sharesArchive(h *Home) error {
	names, err := filepath.Glob(filepath.Join(h.store(), "..", "session_archive", "a", "*.jsonl"))
	if err != nil || len(names) == 0 {
		return fmt.Errorf("no name in the shared place (%v)", err)
	}
	for _, name := range names {
		first, errFirst := os.Stat(names[0])
		other, errOther := os.Stat(name)
		if err := errors.Join(errFirst, errOther); err != nil {
			return err
		}
		if !os.SameFile(first, other) {
			return fmt.Errorf("the bytes are there twice: %v", names)
		}
	}
	return errors.Join(archived(h), h.must([]int{0}, "archives", "verify"), h.must([]int{0}, "--data-dir", h.Data()+".other", "archives", "verify"))
}

// forgotLock is a home in which a runtime has ended without giving the lock of its
// index back.
func forgotLock(h *Home) error { return writeAged(h.index()+".lock", forgottenLock) }

const forgottenLock = `{"pid":4194303,"createdAt":"2026-01-01T00:00:00.000Z","maxHoldMs":30000}`

// isForgottenLock reports the lock of a runtime that has ended: not ours, and
// nobody's business where no session is left to change. [rotatedUnlocked] holds
// that it goes where one is.
func isForgottenLock(path string) bool {
	text, err := os.ReadFile(path)
	return err == nil && string(text) == forgottenLock
}

// rotatedUnlocked is rotated, and the lock is gone.
func rotatedUnlocked(h *Home) error {
	left, err := filepath.Glob(filepath.Join(h.Sessions(), "*sessions.json.lock*"))
	hidden, errHidden := filepath.Glob(filepath.Join(h.Sessions(), ".sessions.json.lock*"))
	if left = append(left, hidden...); len(left) > 0 {
		err = fmt.Errorf("locks are left: %v", left)
	}
	return errors.Join(err, errHidden, rotated(h))
}
