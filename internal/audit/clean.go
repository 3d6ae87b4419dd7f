package audit

import (
	"path/filepath"

	"github.com/oklog/ulid/v2"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/retention"
)

// Clock is what the deletions of before say about the time.
func Clock(run *workspace.Run) retention.Clock {
	return retention.Clock{Path: filepath.Join(run.DataDir(), "clock.json"), Pins: run.Pins}
}

// Recorded are the times of everything that was deleted, and of every run.
func Recorded(run *workspace.Run) ([]retention.Recorded, error) {
	all, err := run.Audit().Recorded()
	if err != nil {
		return nil, err
	}
	receipts := run.Receipts()
	ids, err := receipts.IDs()
	for _, text := range ids {
		if id, err := ulid.ParseStrict(text); err == nil {
			all = append(all, retention.Recorded{At: ulid.Time(id.Time()), Path: receipts.Path(text), What: "the last run"})
		}
	}
	return all, err
}
