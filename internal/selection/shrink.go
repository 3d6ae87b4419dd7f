package selection

import "github.com/sessctl/sessctl/pkg/session/sqlitefile"

// SpaceRow is what a database takes up.
type SpaceRow struct {
	Disk        int64 `json:"disk_bytes"` // file and logs
	Live        int64 `json:"live_bytes"`
	Free        int64 `json:"free_bytes"` // of pages that nothing uses
	FreePages   int64 `json:"free_pages"`
	Log         int64 `json:"wal_bytes"`
	Reclaimable int64 `json:"reclaimable_bytes"` // by VACUUM and a checkpoint, at least
}

// NewSpaceRow is the room that a database takes, as JSON.
func NewSpaceRow(s sqlitefile.Space) SpaceRow {
	return SpaceRow{Disk: s.Disk(), Live: s.Live(), Free: s.Unused(), FreePages: s.Free, Log: s.Log, Reclaimable: s.Reclaimable()}
}
