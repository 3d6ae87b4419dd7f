package fakehubdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sessctl/sessctl/internal/copieddb"
)

// Rows are those of the events and of the index, read from copies in scratch. An
// error for a database that SQLite finds damaged.
func Rows(dir, scratch string) (rows []string, err error) {
	for name, queries := range map[string][]string{
		Events: {"SELECT 'event|' || sequence || '|' || envelope_json FROM hub_events"},
		Search: {
			"SELECT 'text|' || document_id || '|' || content FROM session_search",
			"SELECT 'indexed|' || session_id || '|' || document_count FROM indexed_sessions",
		},
	} {
		found, readErr := copieddb.Rows(filepath.Join(dir, name), filepath.Join(scratch, name), queries...)
		rows, err = append(rows, found...), errors.Join(err, readErr)
	}
	return rows, err
}

// Archived is the row that a line of a log holds.
func Archived(line string) (row string, ok bool) {
	var l struct {
		Table string
		Row   struct {
			Sequence   int64
			Envelope   string `json:"envelope_json"`
			DocumentID string `json:"document_id"`
			Content    string
			SessionID  string `json:"session_id"`
			Count      int64  `json:"document_count"`
		}
	}
	if json.Unmarshal([]byte(line), &l) != nil {
		return "", false
	}
	switch r := l.Row; l.Table {
	case "hub_events":
		return fmt.Sprintf("event|%d|%s", r.Sequence, r.Envelope), true
	case "session_search":
		return "text|" + r.DocumentID + "|" + r.Content, true
	case "indexed_sessions":
		return fmt.Sprintf("indexed|%s|%d", r.SessionID, r.Count), true
	}
	return "", false
}
