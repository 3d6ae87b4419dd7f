//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/fakehubdb"
)

// hub is the directory of the databases of Cline's hub, and originalHub one of
// copies of them as they were, which no command finds.
func (h *Home) hub() string         { return filepath.Join(h.Dir, "home/.cline/data/db") }
func (h *Home) originalHub() string { return filepath.Join(h.Dir, "home/original/db") }

// hubLock is the lock of a hub, which stays when that has ended.
const hubLock = "production.json.instance.lock"

// withHub is a home in which Cline has deleted two sessions, and left their rows. A
// hub has run in it: its lock is still there, which a shrink holds.
func withHub(h *Home) error {
	lock := filepath.Join(filepath.Dir(h.hub()), "locks/hub", hubLock)
	err := errors.Join(os.MkdirAll(filepath.Dir(lock), 0o700), os.WriteFile(lock, nil, 0o600), os.MkdirAll(filepath.Join(filepath.Dir(h.hub()), "sessions", fakehubdb.There), 0o700), fakehubdb.Fill(h.hub()), fakehubdb.Fill(h.originalHub()))
	files, globErr := filepath.Glob(filepath.Join(h.hub(), "*"))
	err = errors.Join(err, globErr)
	for _, path := range files {
		err = errors.Join(err, age(path))
	}
	return err
}

func hubRows(dir string) ([]string, error) { return scratched(dir, fakehubdb.Rows) }

// noHubRowLost is promise 1: every row stands in a database or in an archive.
func noHubRowLost(h *Home) error {
	err := h.noneLost(hubRows, h.originalHub(), h.hub(), func(line string) []string {
		if row, ok := fakehubdb.Archived(line); ok {
			return []string{row}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return h.hubKeeps(fakehubdb.There, fakehubdb.Listed)
}

// hubKeeps checks that every row of sessions stands in the databases.
func (h *Home) hubKeeps(ids ...string) error {
	want, err := hubRows(h.originalHub())
	if err != nil {
		return err
	}
	have, err := hubRows(h.hub())
	for _, row := range want {
		if err == nil && slices.ContainsFunc(ids, func(id string) bool { return strings.Contains(row, fakehubdb.Said(id)) }) && !slices.Contains(have, row) {
			err = fmt.Errorf("removed: %.200s", row)
		}
	}
	return err
}

// deletedRemoved checks that what deleted sessions had left is gone, and told of.
func deletedRemoved(h *Home) error {
	have, err := hubRows(h.hub())
	for _, row := range have {
		if err == nil && strings.Contains(row, fakehubdb.Deleted) {
			err = fmt.Errorf("left: %.200s", row)
		}
	}
	return errors.Join(err, noHubRowLost(h), told(h, 3))
}

// hubRowsGone is that home after these rows were removed.
func hubRowsGone(h *Home) error {
	return errors.Join(withHub(h), h.must([]int{0}, "shrink", "deleted", "vacuum", "--runtime", "cline"))
}

// hubRowsBack checks that the events of the deleted session are there as they were.
func hubRowsBack(h *Home) error {
	want, err := hubRows(h.originalHub())
	if err != nil {
		return err
	}
	have, err := hubRows(h.hub())
	for _, row := range want {
		back := strings.HasPrefix(row, "event|") && strings.Contains(row, `"sessionId":"`+fakehubdb.Deleted+`"`)
		if err == nil && back && !slices.Contains(have, row) {
			err = fmt.Errorf("not back: %.200s", row)
		}
	}
	return errors.Join(err, noHubRowLost(h))
}
