package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/durable"
)

// Runs is the directory of run records.
type Runs struct {
	Dir  string
	Pins *durable.Pins // hold the directory open during a run; nil for none
}

// OpenRuns returns the records of a directory, which need not exist: Write makes
// it.
func OpenRuns(dir string) Runs { return Runs{Dir: dir} }

// path returns where the record with this id is or would be.
func (r Runs) path(id string) string { return filepath.Join(r.Dir, id+".json") }

// Write makes a record durable, private to the user. It takes the place of the
// record with the same id.
func (r Runs) Write(record RunRecord) error {
	if err := r.Pins.MakeDir(r.Dir, 0o700); err != nil {
		return fmt.Errorf("make directory of runs: %w", err)
	}
	record.Schema = 1
	text, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the record of a run: %w", err)
	}
	return r.Pins.ReplaceFile(r.path(record.ID), 0o600, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// List returns the records that can be read, the newest first. A directory that
// does not exist is empty.
func (r Runs) List(ctx context.Context) ([]RunRecord, error) {
	records, _, err := r.Examine(ctx)
	return records, err
}

// Unreadable is a record that cannot be used, and why.
type Unreadable struct {
	Path string
	Err  error
}

// Examine is List with the records that cannot be read: damaged ones, and those
// of a newer version.
func (r Runs) Examine(ctx context.Context) (records []RunRecord, bad []Unreadable, err error) {
	ids, err := r.ids()
	if err != nil {
		return nil, nil, err
	}
	for _, id := range slices.Backward(ids) {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		record, err := r.read(id)
		switch {
		case errors.Is(err, fs.ErrNotExist): // pruned since it was listed
		case err != nil:
			bad = append(bad, Unreadable{r.path(id), err})
		default:
			records = append(records, record)
		}
	}
	records, err = r.addUnrecorded(records)
	return records, bad, err
}

// ids are the ids of all records, oldest first.
func (r Runs) ids() ([]string, error) {
	entries, err := r.Pins.ReadDir(r.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".json"); ok && !strings.HasPrefix(id, ".") {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// maxRecord bounds, in bytes, what is read of a record. One has a few thousand.
const maxRecord = 4 << 20

func (r Runs) read(id string) (record RunRecord, err error) {
	text, err := r.Pins.ReadSmall(r.path(id), maxRecord)
	if err != nil {
		return record, err
	}
	if err := json.Unmarshal(text, &record); err != nil {
		return record, fmt.Errorf("the record of a run is damaged: %w", err)
	}
	if record.Schema != 1 || record.ID != id {
		return record, fmt.Errorf("no record of a run that this version knows (schema %d, id %q)", record.Schema, record.ID)
	}
	return record, nil
}

// What Prune keeps: so many records, and of each profile so many whatever their
// age, so that a profile that runs every minute does not push out what is known
// of one that runs at night.
const (
	keptRuns       = 1000
	keptOfAProfile = 50
)

// Prune removes the oldest records beyond keptRuns, but for the newest
// keptOfAProfile of each profile, and counts them for [Runs.Totals]. Records that
// cannot be read stay.
func (r Runs) Prune(ctx context.Context) error {
	ids, err := r.ids()
	if err == nil {
		err = r.dropMarks(ids)
	}
	if err != nil || len(ids) <= keptRuns {
		return err
	}
	records, err := r.List(ctx)
	if err != nil {
		return err
	}
	var going []RunRecord
	of := map[string]int{}
	for i, record := range records {
		of[record.Profile]++
		if i >= keptRuns && of[record.Profile] > keptOfAProfile {
			going = append(going, record)
		}
	}
	if len(going) == 0 {
		return nil
	}
	if err := r.countPruned(going); err != nil {
		return err
	}
	for _, record := range going {
		if err := r.Pins.RemoveFile(r.path(record.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove an old record of a run: %w", err)
		}
	}
	return nil
}
