package audit

import (
	"fmt"
	"time"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/memory"
)

// ParseTime reads a point in time as epoch milliseconds: a date, an RFC 3339
// time, or how long ago (30d, 2w, or any Go duration). Empty is 0.
func ParseTime(s string, now time.Time) (int64, error) {
	if s == "" {
		return 0, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t.UnixMilli(), nil
		}
	}
	ago, err := workspace.ParseAgo(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time", s)
	}
	return now.Add(-ago).UnixMilli(), nil
}

// RecallSource is where an answer was said.
type RecallSource struct {
	Archive   string `json:"archive"` // id for archives show, "" if it was only remembered
	Path      string `json:"path"`
	FirstLine int    `json:"first_line"`
	LastLine  int    `json:"last_line"`
	Page      string `json:"page,omitempty"` // address of the line on a page of the archive, where one is kept (archives show --html)
}

// NewRecallSource is the source of a record as JSON.
func NewRecallSource(r memory.Record) RecallSource {
	return RecallSource{Archive: r.Archive, Path: r.ArchivePath, FirstLine: r.FirstLine, LastLine: r.LastLine}
}
