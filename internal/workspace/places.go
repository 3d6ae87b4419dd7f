package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/relocate"
)

// places is places.json in the data directory: where the directory has been.
// What was recorded while it was elsewhere is found by that.
type places struct {
	Schema int      `json:"schema"` // 1
	Data   []string `json:"data"`   // every place of the directory, oldest first
}

func (s *Settings) placesFile() string { return filepath.Join(s.DataDir(), "places.json") }

// CatalogueDir is the directory of the archive's catalogue.
func (s *Settings) CatalogueDir() string { return filepath.Join(s.DataDir(), "archives") }

// ReceiptsDir is the directory of receipts.
func (s *Settings) ReceiptsDir() string { return filepath.Join(s.DataDir(), "receipts") }

// Moves says what was recorded under another path than it has now, because the
// home or the data directory was moved. It is found out once.
func (run *Run) Moves() relocate.Moves {
	if run.moved == nil {
		moves := relocate.Of(run.DataDir(), formerPlaces(&run.Settings)...)
		run.moved = &moves
	}
	return *run.moved
}

// formerPlaces is where the data directory has been.
func formerPlaces(a *Settings) []string {
	if known, err := readPlaces(a); err == nil {
		return known.Data
	}
	return recordedPlaces(a) // an earlier version kept no such file
}

func readPlaces(a *Settings) (known places, err error) {
	f, err := durable.OpenRegular(a.placesFile())
	if err != nil {
		return known, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	if err == nil && known.Schema != 1 {
		err = fmt.Errorf("%s has schema %d, this version knows 1", a.placesFile(), known.Schema)
	}
	return known, err
}

// recordedPlaces gathers where the data directory was from what it holds: a
// receipt names its own file, and an archive below the directory its path.
func recordedPlaces(a *Settings) (all []string) {
	note := func(place string) {
		if filepath.IsAbs(place) && !slices.Contains(all, place) {
			all = append(all, place)
		}
	}
	receipts, _, _ := compact.Receipts{Dir: a.ReceiptsDir()}.Examine()
	for _, r := range receipts {
		if r.Receipt != "" {
			note(filepath.Dir(filepath.Dir(r.Receipt)))
		}
	}
	catalogue, err := archive.Open(a.CatalogueDir(), archive.Options{Dir: a.ArchiveDir})
	if err != nil {
		return all
	}
	entries, _ := catalogue.List(context.Background(), archive.Filter{})
	for _, e := range entries {
		agent := filepath.Dir(e.Path)
		if base, ok := strings.CutSuffix(filepath.Dir(agent), filepath.Join("", "archive", e.Runtime)); ok {
			note(filepath.Clean(base))
		}
	}
	return all
}

// notePlace adds the place of the data directory to those that it has had. The
// caller holds the lock.
func notePlace(run *Run) error {
	known, err := readPlaces(&run.Settings)
	switch now := filepath.Clean(run.DataDir()); {
	case err == nil && len(known.Data) > 0 && slices.Contains(known.Data, now):
		return nil
	case err != nil:
		known = places{Schema: 1, Data: recordedPlaces(&run.Settings)} // missing, or damaged
		fallthrough
	default:
		if !slices.Contains(known.Data, now) {
			known.Data = append(known.Data, now)
		}
	}
	text, err := json.MarshalIndent(known, "", "  ")
	if err != nil {
		return err
	}
	if err := run.Pins.ReplaceFile(run.placesFile(), 0o600, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	}); err != nil {
		return fmt.Errorf("note where the data directory is: %w", err)
	}
	return nil
}

// findArchive returns where the file of an archive is. One that is not where its
// entry says is looked for where archives of its session go now, and in the
// stores of its runtime: a store, or a directory of archives, can be moved alone.
func findArchive(run *Run, e archive.Entry) string {
	if _, err := os.Lstat(e.Path); !errors.Is(err, fs.ErrNotExist) {
		return e.Path
	}
	agent := filepath.Base(filepath.Dir(e.Path))
	for _, dir := range archiveDirs(run, e.Meta) {
		if path := filepath.Join(dir, agent, filepath.Base(e.Path)); Exists(path) {
			return path
		}
	}
	return e.Path
}

// archiveDirs are the directories in which archives of a session may be now.
func archiveDirs(run *Run, m archive.Meta) []string {
	dirs := []string{run.ArchiveDir(m)}
	own := TraitsOf(m.Runtime).ArchiveDir
	stores, err := run.OpenStores()
	if own == nil || err != nil {
		return dirs
	}
	for _, s := range stores {
		if s.Runtime() != m.Runtime {
			continue
		}
		for rest := filepath.ToSlash(m.Source); rest != ""; _, rest, _ = strings.Cut(rest, "/") {
			if dir := own(filepath.Join(s.Root(), filepath.FromSlash(rest))); dir != "" && Below(s.Root(), dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// Below reports whether a path is in a directory.
func Below(dir, path string) bool {
	rest, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rest)
}
