package fakestatedb

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/sessctl/sessctl/internal/copieddb"
)

// Remove removes sessions as Hermes' own prune does.
func (d *Database) Remove(ids ...string) {
	for _, id := range ids {
		d.Do("UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = ?", id)
		d.Do("DELETE FROM messages WHERE session_id = ?", id)
		d.Do("DELETE FROM sessions WHERE id = ?", id)
	}
}

// Open opens a database to change it.
func Open(path string) *Database {
	d := &Database{}
	if d.db, d.err = sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?_pragma=foreign_keys(1)"); d.err == nil {
		d.db.SetMaxOpenConns(1)
	}
	return d
}

// Rows are the sessions and messages of a database, read from a copy in scratch. An
// error for one that SQLite finds damaged.
func Rows(path, scratch string) (rows []string, err error) {
	return copieddb.Rows(path, filepath.Join(scratch, "rows.db"),
		"SELECT 'session|' || id || '|' || model_config FROM sessions UNION ALL SELECT 'message|' || id || '|' || role || '|' || session_id FROM messages")
}

// Archived is the row that a line of a log holds.
func Archived(line string) (row string, ok bool) {
	var l struct {
		Type string
		Row  struct {
			ID      any
			Config  string `json:"model_config"`
			Role    string
			Session string `json:"session_id"`
		}
	}
	if json.Unmarshal([]byte(line), &l) != nil {
		return "", false
	}
	switch l.Type {
	case "hermes.session":
		return fmt.Sprintf("session|%v|%s", l.Row.ID, l.Row.Config), true
	case "message":
		return fmt.Sprintf("message|%v|%s|%s", l.Row.ID, l.Row.Role, l.Row.Session), true
	}
	return "", false
}
