//go:build linux && amd64

package faults

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// witnessings are what brings something back that the ledger knows, and the giving of
// heads to places that are files.
func witnessings() []Command {
	heads := func(name, place string, prepare func(*Home) error, have func(*Home) ([]byte, error)) Command {
		return Command{
			Name: "archive, head to " + name, Runtime: "pi", Args: []string{"archive", "--runtime", "pi", "--agent", "work-a"}, Slow: true,
			Env:     []string{"SESSCTL_LEDGER_HEADS=" + place},
			Prepare: prepare, Done: archived, Whole: func(h *Home) error { return headIsWhole(h, have) }, Settled: func(h *Home) error { return headIsKept(h, have) },
		}
	}
	return []Command{
		{
			Name: "archives adopt", Runtime: "pi", Args: []string{"archives", "adopt"}, Slow: true,
			Prepare: entryLost, Done: enteredAgain, Settled: enteredAgain,
		},
		{
			Name: "archives prune --undelete", Runtime: "pi", Args: []string{"archives", "prune", "--undelete", "$ARCHIVE"}, Slow: true,
			Prepare: archivePruned, Done: enteredAgain, Settled: enteredAgain, Refusals: []string{"not in the trash"},
		},
		heads("a file", "$DIR/"+headsDisk+"/laptop.head", func(h *Home) error { return os.MkdirAll(filepath.Join(h.Dir, headsDisk), 0o700) }, func(h *Home) ([]byte, error) {
			return os.ReadFile(filepath.Join(h.Dir, headsDisk, "laptop.head"))
		}),
	}
}

// headsDisk is the directory of a place of heads.
const headsDisk = "data/disk"

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

// headIsWhole checks that a place has no head, or all of one.
func headIsWhole(h *Home, have func(*Home) ([]byte, error)) error {
	text, err := have(h)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && (!bytes.HasPrefix(text, []byte("sessctl-ledger-")) || !bytes.Contains(text, []byte("\n\n\u2014 sessctl-ledger-")) || !bytes.HasSuffix(text, []byte("\n"))) {
		err = fmt.Errorf("the place has a part of a head: %q", text)
	}
	return err
}

// headIsKept checks that a place has the head that the ledger has.
func headIsKept(h *Home, have func(*Home) ([]byte, error)) error {
	text, err := have(h)
	if err != nil {
		return fmt.Errorf("the place has no head: %w", err)
	}
	signed, err := os.ReadFile(filepath.Join(h.Data(), "ledger/checkpoint"))
	if err == nil && !bytes.Equal(text, signed) {
		err = fmt.Errorf("the place has the head %q, and the ledger %q", text, signed)
	}
	return err
}
