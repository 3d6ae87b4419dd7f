package sessiondb

import (
	"encoding/json"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/rowlog"
)

// Row is a row of a table.
type Row = rowlog.Row

// The types of lines in a log.
const (
	typeSession = "opencode.session"
	typeRow     = rowlog.TypeRow
	typeMessage = "message"
	typePart    = "part"
	typeEvent   = "opencode.event"
	typeJournal = "journal"
)

// lines are those of the log of a session.
func lines() rowlog.Format {
	return rowlog.Format{
		Session: typeSession, Version: 1, Silent: []string{typeJournal}, Data: "data",
		Tables: map[string]string{typeSession: sessionTable, typeMessage: messageTable, typePart: partTable, typeEvent: eventTable},
	}
}

// Belonging is what a line of a log names that belongs to its session: those that
// its agents have begun, or the end of its journal.
func Belonging(text []byte) session.Belonging {
	var end struct {
		Events int64  `json:"events"`
		LastID string `json:"last_id"`
	}
	if rowlog.IsType(text, typeJournal) && json.Unmarshal(text, &end) == nil {
		return session.Belonging{Events: end.Events, LastEvent: end.LastID}
	}
	return session.Belonging{Sessions: rowlog.Children(text)}
}

// ReadRow reads the row that a line holds; false for a line that holds none.
func ReadRow(text []byte) (r Row, ok bool, err error) { return lines().Read(text) }
