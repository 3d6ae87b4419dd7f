//go:build linux && amd64

package faults

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// witnessings are what brings something back that the ledger knows, and the giving of
// heads to places that are files.
func witnessings() []Command {
	heads := func(name, place string, prepare func(*Home) error, have func(*Home) ([]byte, error)) Command {
		return Command{
			Name: "archive, head to " + name, Runtime: "pi", Args: []string{"archive", "--runtime", "pi", "--agent", "work-a"}, Slow: true,
			Env:     []string{"SESSCTL_LEDGER_HEADS=" + place, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org"},
			Prepare: prepare, Done: archived, Whole: func(h *Home) error { return headIsWhole(h, have) }, Settled: func(h *Home) error { return headIsKept(h, have) },
		}
	}
	return []Command{
		{
			Name: "archives adopt", Runtime: "pi", Args: []string{"archives", "adopt"}, Slow: true,
			Prepare: entryLost, Done: adopted, Settled: adopted,
		},
		{
			Name: "archives prune --undelete", Runtime: "pi", Args: []string{"archives", "prune", "--undelete", "$ARCHIVE"}, Slow: true,
			Prepare: archivePruned, Done: adopted, Settled: adopted, Refusals: []string{"not in the trash"},
		},
		heads("a file", "$DIR/disk/laptop.head", func(h *Home) error { return os.Mkdir(filepath.Join(h.Dir, "disk"), 0o700) }, func(h *Home) ([]byte, error) {
			return os.ReadFile(filepath.Join(h.Dir, "disk/laptop.head"))
		}),
		heads("a repository", "git:$DIR/repository", func(h *Home) error {
			return exec.Command("git", "init", "-q", filepath.Join(h.Dir, "repository")).Run()
		}, headInRepository),
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

// adopted checks that the archive is entered, and that nobody misses anything.
func adopted(h *Home) error { return errors.Join(archived(h), h.must([]int{0}, "archives", "verify")) }

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

// headInRepository is the head that was committed last.
func headInRepository(h *Home) ([]byte, error) {
	names, err := filepath.Glob(filepath.Join(h.Dir, "repository", "*.head"))
	if err == nil && len(names) != 1 {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("git", "-C", filepath.Join(h.Dir, "repository"), "show", "HEAD:"+filepath.Base(names[0]))
	text, err := cmd.Output()
	if err != nil {
		return nil, fs.ErrNotExist // nothing is committed yet
	}
	return text, nil
}
