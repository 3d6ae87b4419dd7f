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
)

// pruned counts the runs whose records are gone, so that what is counted only
// grows. It is written before the records are removed, and names them: a prune
// that is killed in between counts none of them twice.
type pruned struct {
	Schema int               `json:"schema"` // 1
	Counts map[Outcome]int64 `json:"counts"`
	IDs    []string          `json:"ids"` // counted, and perhaps still there
}

func (r Runs) prunedPath() string { return filepath.Join(r.Dir, "pruned") }

func (r Runs) readPruned() (p pruned, err error) {
	text, err := r.Pins.ReadSmall(r.prunedPath(), maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return pruned{Counts: map[Outcome]int64{}}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return p, fmt.Errorf("read the count of pruned runs: %w", err)
	}
	if p.Counts == nil {
		p.Counts = map[Outcome]int64{}
	}
	return p, nil
}

// Totals counts by outcome the runs that there ever were, those included whose
// records were pruned. A run that atWork says is at work is counted when it has
// ended. A count of pruned runs that cannot be read is an error.
func (r Runs) Totals(ctx context.Context, atWork func(RunRecord) bool) (map[Outcome]int64, error) {
	p, err := r.readPruned()
	if err != nil {
		return nil, err
	}
	records, err := r.List(ctx)
	for _, record := range records {
		if !slices.Contains(p.IDs, record.ID) && (record.Ended() || !atWork(record)) {
			p.Counts[record.Outcome]++
		}
	}
	return p.Counts, err
}

// countPruned notes that the records are about to be removed. A count that is
// damaged begins anew: it is no reason to keep every record.
func (r Runs) countPruned(going []RunRecord) error {
	p, err := r.readPruned()
	if err != nil {
		p = pruned{Counts: map[Outcome]int64{}}
	}
	var ids []string
	for _, record := range going {
		ids = append(ids, record.ID)
		if !slices.Contains(p.IDs, record.ID) {
			p.Counts[record.Outcome]++
		}
	}
	p.Schema, p.IDs = 1, ids
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode the count of pruned runs: %w", err)
	}
	return r.Pins.ReplaceFile(r.prunedPath(), 0o600, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}
