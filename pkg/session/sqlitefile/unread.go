package sqlitefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// MissingTable is the error that a database lacks a table which a program gives it,
// and says which.
type MissingTable string

// Error implements error.
func (m MissingTable) Error() string { return string(m) }

// UnknownSchema is the error that a database has a schema that is not known, and says
// which: what its rows mean could have changed.
type UnknownSchema string

// Error implements error.
func (u UnknownSchema) Error() string { return string(u) }

// Unreadable is the notice that the sessions of a database cannot be read.
func Unreadable(database string, err error) session.Notice {
	n := session.Skipped(database, err)
	n.Message, n.Unread, n.Cause = "its sessions are not read: "+strings.TrimPrefix(err.Error(), "open "+database+": "), true, session.CauseRefused
	if info, statErr := os.Stat(database); statErr == nil {
		n.Bytes = info.Size()
	}
	head := headOf(database)
	missing, schema := MissingTable(""), UnknownSchema("")
	switch {
	case bytes.HasPrefix(head, []byte("version https://git-lfs")):
		n.Cause, n.Hint = session.CauseDamaged, "the file is a pointer of git-lfs in place of the database: git lfs pull"
	case errors.As(err, &missing) && withoutLog(database, head):
		n.Cause = session.CauseNoLog
	case errors.As(err, &missing):
		n.Cause = session.CauseTables
	case errors.As(err, &schema):
		n.Cause = session.CauseSchema
	case IsDamaged(err):
		n.Cause = session.CauseDamaged
	}
	if n.Hint == "" {
		n.Hint = n.Cause.Hint()
	}
	return n
}

// headOf is the beginning of a file, or what there is of it.
func headOf(path string) []byte {
	file, err := durable.OpenRegular(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	head, _ := io.ReadAll(io.LimitReader(file, headSize)) // what cannot be read tells nothing
	return head
}

// headSize is the size of the header of a database (SQLite's file format, section
// 1.3).
const headSize = 100

// withoutLog reports whether a database holds nothing but its first page, and would
// have all else in a write-ahead log that is not there: so it looks where a backup
// took the file alone.
func withoutLog(database string, head []byte) bool {
	const readVersion, pages, ahead = 19, 28, 2
	if len(head) < headSize || head[readVersion] != ahead || binary.BigEndian.Uint32(head[pages:]) > 1 {
		return false
	}
	_, err := os.Lstat(database + walEnd)
	return errors.Is(err, fs.ErrNotExist)
}

// DamagedError says that pages of a database are damaged, and that what lies on others
// was read.
type DamagedError struct{ Err error }

// Error implements error.
func (d *DamagedError) Error() string { return "pages of it are damaged: " + d.Err.Error() }

// Unwrap returns what was wrong with the first.
func (d *DamagedError) Unwrap() error { return d.Err }

// IsDamaged reports whether SQLite met what is no page of a database.
func IsDamaged(err error) bool {
	code := (*sqlite.Error)(nil)
	return errors.As(err, &code) && (code.Code()&0xff == sqlite3.SQLITE_CORRUPT || code.Code()&0xff == sqlite3.SQLITE_NOTADB)
}

// Damage is an error of reading what is not needed to list the sessions of a database: a
// [*DamagedError] if a page of it is damaged.
func Damage(err error) error {
	if IsDamaged(err) {
		return &DamagedError{Err: err}
	}
	return err
}

// Salvaged returns nil, and adds a notice, for a [DamagedError]: the sessions that were
// read are listed. Any other error is returned.
func (l *Listing) Salvaged(database string, err error) error {
	damaged := (*DamagedError)(nil)
	if !errors.As(err, &damaged) {
		return err
	}
	notice := Unreadable(database, err)
	notice.Message = "what lies on damaged pages of it is not read: " + damaged.Err.Error()
	l.Notices = append(l.Notices, notice)
	return nil
}
