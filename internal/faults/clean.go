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

// cleanings are deletions of a session that was rotated long ago.
func cleanings() []Command {
	const clean = "clean --max-age 7d --force --yes"
	return []Command{
		{Name: "clean", Runtime: "openclaw", Args: strings.Fields(clean), Prepare: closedLongAgo, Done: cleaned},
		{Name: "clean, purge", Runtime: "openclaw", Args: strings.Fields(clean + " --grace 0h"), Prepare: closedLongAgo, Done: cleaned},
		{Name: "clean, archives first", Runtime: "pi", Args: strings.Fields(clean), Prepare: oldBesideNew, Done: cleaned},
		{Name: "clean --undelete", Runtime: "pi", Args: []string{"clean", "--undelete", "all"}, Prepare: inTrash, Done: func(h *Home) error { return h.logIs(h.source()) }, Refusals: []string{"is not in the trash"}},
	}
}

// closedLongAgo is a home whose session was compacted, and whose closed log
// nobody has touched for weeks, beside a newer session.
func closedLongAgo(h *Home) error {
	if err := compacted(h); err != nil {
		return err
	}
	closed, err := filepath.Glob(h.Log() + ".reset.*")
	if err != nil || len(closed) != 1 {
		return fmt.Errorf("%d closed logs, want 1 (%v)", len(closed), err)
	}
	return errors.Join(weeksAgo(closed[0]), h.newer())
}

// oldBesideNew is a home with an old session that has no archive, and a newer
// one.
func oldBesideNew(h *Home) error {
	return errors.Join(weeksAgo(h.Log()), h.newer())
}

// inTrash is such a home after a clean.
func inTrash(h *Home) error {
	if err := oldBesideNew(h); err != nil {
		return err
	}
	return h.must([]int{0}, "clean", "--max-age", "7d", "--force", "--yes")
}

func weeksAgo(path string) error {
	old := time.Now().Add(-40 * 24 * time.Hour)
	return os.Chtimes(path, old, old)
}

// newer adds a session that was used a moment ago.
func (h *Home) newer() error {
	const other = "00000000-0000-4000-8000-00000000000f"
	name := other + ".jsonl"
	if strings.HasPrefix(filepath.Base(h.Log()), "20") { // pi puts a time before the id
		name = "2026-11-01T10-00-00-000Z_" + name
	}
	return writeAged(filepath.Join(filepath.Dir(h.Log()), name), strings.Replace(h.layout().header, `"id":"`, `"id":"0`, 1)+"\n")
}

// cleaned checks that the old log is not at its place, and that archives alone
// have every line.
func cleaned(h *Home) error {
	closed, err := filepath.Glob(h.Log() + "*")
	if err != nil || len(closed) > 0 {
		return fmt.Errorf("still there: %v (%v)", closed, err)
	}
	return h.inArchives(h.Lines)
}
