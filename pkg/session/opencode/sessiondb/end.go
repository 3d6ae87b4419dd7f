package sessiondb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// end of a message's data, as far as it tells where the context begins.
type endData struct {
	Role     string          `json:"role"`
	ParentID string          `json:"parentID"`
	Summary  json.RawMessage `json:"summary"`
	Finish   string          `json:"finish"`
	Error    json.RawMessage `json:"error"`
	Tokens   struct {
		Input  int64 `json:"input"`
		Output int64 `json:"output"`
		Cache  struct {
			Read  int64 `json:"read"`
			Write int64 `json:"write"`
		} `json:"cache"`
	} `json:"tokens"`
}

func (d endData) counted() bool {
	return d.Tokens.Input+d.Tokens.Output+d.Tokens.Cache.Read+d.Tokens.Cache.Write > 0
}

// Recent returns the message of a session from which on its log tells the size
// of its context: that of the person before the last answer whose tokens the
// model has counted, or, if a compaction came after that, the first one that it
// kept. It is "" for a session that must be read as a whole: one that was taken
// back to an earlier message, say.
func (d *Database) Recent(ctx context.Context, session string) (string, error) {
	var reverted bool
	err := d.conn.QueryRowContext(ctx, "SELECT "+d.tables[sessionTable].Text("revert")+" <> '' FROM session WHERE id = ?", session).Scan(&reverted)
	if sqlitefile.IsDamaged(err) {
		return "", nil // what can be read of it is read as a whole
	}
	if err != nil || reverted {
		return "", ignoreNoRows(err)
	}
	rows, err := d.conn.QueryContext(ctx, "SELECT id, CAST(data AS BLOB) FROM message WHERE "+d.tables[messageTable].Of("session_id", "?")+" ORDER BY time_created DESC, id DESC", session)
	if sqlitefile.IsDamaged(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read session %s: %w", session, err)
	}
	defer rows.Close()
	counted := false
	for rows.Next() {
		var id string
		var raw sql.RawBytes
		if err := rows.Scan(&id, &raw); err != nil {
			return "", fmt.Errorf("read session %s: %w", session, err)
		}
		var m endData
		if json.Unmarshal(raw, &m) != nil {
			continue
		}
		switch {
		case m.Role == "user" && counted:
			return id, nil
		case m.Role == "assistant" && string(m.Summary) == "true":
			if counted {
				return id, nil
			}
			return "", nil // its kept part may begin anywhere
		case m.Role == "assistant" && m.counted():
			counted = true
		}
	}
	if sqlitefile.IsDamaged(rows.Err()) {
		return "", nil
	}
	return "", rows.Err()
}

func ignoreNoRows(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// CountMessages returns the number of messages of a session.
func (d *Database) CountMessages(ctx context.Context, session string) (n int, err error) {
	return d.tables[messageTable].CountMessages(ctx, d.conn, session)
}

// Changed returns when a session was changed last. The error wraps
// fs.ErrNotExist if there is none.
func (d *Database) Changed(ctx context.Context, session string) (time.Time, error) {
	var changed int64
	err := d.conn.QueryRowContext(ctx, "SELECT max(s.time_updated, coalesce((SELECT max(time_created) FROM message WHERE "+d.tables[messageTable].Of("session_id", "s.id")+"), 0)) FROM session s WHERE s.id = ?", session).Scan(&changed)
	if sqlitefile.IsDamaged(err) || d.tables[sessionTable].IsOrphan(session) {
		return d.lastMessage(ctx, session), nil
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("read session %s: %w", session, err)
	}
	return time.UnixMilli(changed), nil
}
