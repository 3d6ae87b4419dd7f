//go:build linux && amd64

package faults

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// witnessings are what brings archives back that the ledger knows.
func witnessings() []Command {
	return []Command{
		{
			Name: "archives adopt", Runtime: "pi", Args: []string{"archives", "adopt"}, Slow: true,
			Prepare: entryLost, Done: enteredAgain, Settled: enteredAgain,
		},
		{
			Name: "archives prune --undelete", Runtime: "pi", Args: []string{"archives", "prune", "--undelete", "$ARCHIVE"}, Slow: true,
			Prepare: archivePruned, Done: enteredAgain, Settled: enteredAgain, Refusals: []string{"not in the trash"},
		},
	}
}

// entryLost is a home whose one archive is there, and its entry is not.
func entryLost(h *Home) error {
	if err := h.must([]int{0}, "archive", "--runtime", "pi", "--agent", "work-a"); err != nil {
		return err
	}
	return os.Remove(filepath.Join(h.Data(), "archives", newest(filepath.Join(h.Data(), "archives"))+".json"))
}

// archivePruned is a home whose one archive is in the trash: its log has the bytes.
func archivePruned(h *Home) error {
	return errors.Join(h.must([]int{0}, "archive", "--runtime", "pi", "--agent", "work-a"),
		h.must([]int{0}, strings.Fields("archives prune --max-age 0s --keep 0 --force --yes")...))
}

// enteredAgain checks that the archive is entered, and that nobody misses anything.
func enteredAgain(h *Home) error {
	return errors.Join(archived(h), h.must([]int{0}, "archives", "verify"))
}
