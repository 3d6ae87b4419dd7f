//go:build linux && amd64

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/ledger"
)

// ledgers are commands that write in the ledger what most others do not: other rules, the
// end of a file of leaves, what could not be read before, another ledger.
func ledgers() []Command {
	return []Command{
		{
			Name: "pin, other rules", Runtime: "openclaw", Args: []string{"pin", "agent:a:main"}, Prepare: otherRules,
			Done: both(isPinned, rulesEntered), Settled: both(isPinned, rulesEntered, nothingTwice), Below: "ledger", Slow: true,
		},
		{
			Name: "pin, a full file of leaves", Runtime: "openclaw", Args: []string{"pin", "agent:a:main"}, Prepare: fullLeaves,
			Done: isPinned, Settled: both(isPinned, nothingTwice), Below: "ledger", Slow: true,
		},
		{
			Name: "pin, archives to adopt", Runtime: "openclaw", Args: []string{"pin", "agent:a:main"}, Prepare: unadopted,
			Done: both(isPinned, adopted), Settled: both(isPinned, adopted, nothingTwice), Slow: true,
		},
		{
			Name: "doctor --new-ledger", Runtime: "openclaw", Args: []string{"doctor", "--new-ledger", "the disk was lost"}, Prepare: compacted,
			Done: begunAnew, Settled: both(anyLedger, nothingTwice), Slow: true,
		},
		{
			Name: "doctor --fix, directories in the places of records", Runtime: "openclaw", Args: []string{"doctor", "--fix"}, Prepare: directories,
			Done: recordsAgain, Settled: asideIsWhole, Whole: asideIsWhole, Slow: true,
		},
	}
}

// directories is a home with a directory that holds a file in the place of the pins and
// of the entry of an archive.
func directories(h *Home) error {
	if err := errors.Join(compacted(h), h.must([]int{0}, "pin", "agent:a:main")); err != nil {
		return err
	}
	archives := filepath.Join(h.Data(), "archives")
	for _, path := range []string{filepath.Join(h.Data(), "pinned.json"), filepath.Join(archives, newest(archives)+".json")} {
		if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700), os.WriteFile(filepath.Join(path, "kept"), []byte("x"), 0o600)); err != nil {
			return err
		}
	}
	return nil
}

// recordsAgain checks that the directories are aside and the records are there again.
func recordsAgain(h *Home) error {
	for _, pattern := range []string{"pinned.json", "archives/*.json"} {
		paths, err := filepath.Glob(filepath.Join(h.Data(), pattern))
		if err != nil || len(paths) == 0 {
			return errors.Join(fmt.Errorf("nothing is in the place of %s", pattern), err)
		}
		for _, p := range paths {
			if info, err := os.Lstat(p); err != nil || !info.Mode().IsRegular() {
				return errors.Join(fmt.Errorf("%s is no file", p), err)
			}
		}
	}
	return asideIsWhole(h)
}

// asideIsWhole checks that what the directories held is there, wherever they are.
func asideIsWhole(h *Home) error {
	found := 0
	err := filepath.WalkDir(h.Data(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "kept" {
			found++
		}
		return err
	})
	if err == nil && found != 2 {
		err = fmt.Errorf("%d of the 2 files in the directories are left", found)
	}
	return err
}

// witnessed are the leaves of the ledger of a home.
func (h *Home) witnessed() (leaves []ledger.Leaf, err error) {
	err = ledger.Open(filepath.Join(h.Data(), "ledger"), nil).Leaves(context.Background(), 0, func(_ int64, f ledger.Leaf) error {
		leaves = append(leaves, f)
		return nil
	})
	return leaves, err
}

// otherRules is a home whose configuration has changed since the last run.
func otherRules(h *Home) error {
	if err := compacted(h); err != nil {
		return err
	}
	config := filepath.Join(h.Dir, "home", ".config", "sessctl", "config.yaml")
	return errors.Join(os.MkdirAll(filepath.Dir(config), 0o700), os.WriteFile(config, []byte("clean:\n  max_age: 90d\n"), 0o600))
}

// rulesEntered checks that the last rules in the ledger are those of the configuration.
func rulesEntered(h *Home) error {
	leaves, err := h.witnessed()
	if err != nil {
		return err
	}
	why := ""
	for _, f := range leaves {
		if f.Kind == ledger.Settings {
			why = f.Why
		}
	}
	if !strings.Contains(why, "clean.max_age=90d ") {
		return fmt.Errorf("the rules in the ledger are %q", why)
	}
	return nil
}

// fullLeaves is a home whose ledger has one leaf less than two full files of them have:
// the command fills one, and begins the next.
func fullLeaves(h *Home) error {
	if err := compacted(h); err != nil {
		return err
	}
	log := ledger.Open(filepath.Join(h.Data(), "ledger"), nil)
	size, err := log.Size()
	if err != nil {
		return err
	}
	var more []ledger.Leaf
	for n := size; n < 2*4096; n++ {
		more = append(more, ledger.Leaf{Kind: ledger.Verified, At: time.Now().UnixMilli(), Count: int(n)})
	}
	if err := log.Append(context.Background(), more...); err != nil {
		return err
	}
	_, err = log.Seal(context.Background())
	return err
}

// unadopted is a home whose ledger was begun while the archives could not be listed.
func unadopted(h *Home) error {
	if err := compacted(h); err != nil {
		return err
	}
	archives := filepath.Join(h.Data(), "archives")
	for _, step := range []func() error{
		func() error { return os.RemoveAll(filepath.Join(h.Data(), "ledger")) },
		func() error { return os.RemoveAll(filepath.Join(h.Dir, "home", ".local", "state")) },
		func() error { return os.Rename(archives, archives+".away") },
		func() error { return os.WriteFile(archives, nil, 0o600) },
		func() error { return h.must([]int{1, 3}, "archive", "--agent", "a") },
		func() error { return os.Remove(archives) },
		func() error { return os.Rename(archives+".away", archives) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if _, err := os.Stat(filepath.Join(h.Data(), "ledger", "unadopted")); err != nil {
		return fmt.Errorf("nothing is to be adopted: %w", err)
	}
	return nil
}

// adopted checks that the ledger has every archive, and that nothing waits.
func adopted(h *Home) error {
	leaves, err := h.witnessed()
	if err != nil {
		return err
	}
	entries, err := filepath.Glob(filepath.Join(h.Data(), "archives", "*.json"))
	if err != nil {
		return err
	}
	for _, e := range entries {
		id := strings.TrimSuffix(filepath.Base(e), ".json")
		if !slices.ContainsFunc(leaves, func(f ledger.Leaf) bool { return f.ID == id }) {
			return fmt.Errorf("archive %s is not in the ledger", id)
		}
	}
	if _, err := os.Stat(filepath.Join(h.Data(), "ledger", "unadopted")); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("archives wait to be adopted: %w", err)
	}
	return nil
}

// begunAnew checks that the ledger says so, and keeps the one before.
func begunAnew(h *Home) error {
	leaves, err := h.witnessed()
	if err == nil && (len(leaves) == 0 || leaves[0].Kind != ledger.Begun || leaves[0].Why != "the disk was lost" || leaves[0].Count == 0) {
		err = fmt.Errorf("the ledger was not begun anew: %+v", leaves[:min(len(leaves), 1)])
	}
	if before, _ := filepath.Glob(filepath.Join(h.Data(), "ledger.before-*")); err == nil && len(before) == 0 {
		err = errors.New("the ledger before is gone")
	}
	return errors.Join(err, adopted(h))
}

// anyLedger checks that there is one ledger, that before or the new one, and nothing that
// was begun and left.
func anyLedger(h *Home) error {
	if _, err := os.Stat(filepath.Join(h.Data(), "ledger.next")); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("half of a ledger is left: %w", err)
	}
	if before, _ := filepath.Glob(filepath.Join(h.Data(), "ledger.before-*")); len(before) == 0 {
		return adopted(h)
	}
	return begunAnew(h)
}

// nothingTwice checks that no leaf is in the ledger twice, but for the time at which it
// was added.
func nothingTwice(h *Home) error {
	leaves, err := h.witnessed()
	if err != nil {
		return err
	}
	var before []byte
	for _, f := range leaves {
		if f.Kind != ledger.Settings && f.Kind != ledger.Made && f.Kind != ledger.Adopted && f.Kind != ledger.Superseded {
			continue
		}
		f.At = 0
		text, err := json.Marshal(f)
		if err != nil {
			return err
		}
		if bytes.Contains(before, text) {
			return fmt.Errorf("it is in the ledger twice: %s", text)
		}
		before = append(append(before, text...), '\n')
	}
	return nil
}
