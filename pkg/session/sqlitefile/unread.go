package sqlitefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
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
	case IsDamaged(err), errors.Is(err, ErrNotDatabase), errors.Is(err, errLog):
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
type DamagedError struct {
	Err     error    // what was wrong with the first
	Rowless []string // sessions whose own row cannot be read, and messages can
	Hidden  []string // sessions of which nothing can be read but that there is one
}

// Error implements error.
func (d *DamagedError) Error() string { return "pages of it are damaged: " + d.Err.Error() }

// Unwrap returns what was wrong with the first.
func (d *DamagedError) Unwrap() error { return d.Err }

// named says which sessions it is about, as far as that is known.
func (d *DamagedError) named() (text string) {
	if len(d.Rowless) > 0 {
		text += "; title, directory and what else only their rows say is not read of " + SomeOf(d.Rowless)
	}
	if len(d.Hidden) > 0 {
		text += "; nothing is read of " + SomeOf(d.Hidden)
	}
	return text
}

// namedMost is how many sessions a notice names.
const namedMost = 10

// SomeOf is a list for people that stays short.
func SomeOf(names []string) string {
	if more := len(names) - namedMost; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:namedMost], ", "), more)
	}
	return strings.Join(names, ", ")
}

// IsDamaged reports whether SQLite met what is no page of a database.
func IsDamaged(err error) bool {
	code := (*sqlite.Error)(nil)
	return errors.As(err, &code) && (code.Code()&0xff == sqlite3.SQLITE_CORRUPT || code.Code()&0xff == sqlite3.SQLITE_NOTADB)
}

// Spare returns nil, and notes that a page of the database is damaged, for an error that
// says so; any other error is returned. It is for what sessions can be listed without.
func (d *Database) Spare(err error) error {
	if !IsDamaged(err) {
		return err
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.damage == nil {
		d.damage = &DamagedError{Err: err}
	}
	return nil
}

// Listed is an error if a damaged page was met: a [*DamagedError] with the sessions
// that it is about; or if what is read has changed.
func (d *Database) Listed(rowless, hidden []string) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.damage == nil {
		return d.Unchanged()
	}
	return errors.Join(&DamagedError{d.damage.Err, rowless, hidden}, d.Unchanged())
}

// NotWhole is an error if a listing tells that pages of a database are damaged: nothing
// is taken out of it.
func NotWhole(notices []session.Notice, database string) error {
	for _, n := range notices {
		if n.Path == database && n.Cause == session.CauseDamaged {
			return errors.New("nothing is taken out of a damaged database: " + n.Message)
		}
	}
	return nil
}

// Salvaged returns nil, and adds a notice, for a [DamagedError]: the sessions that were
// read are listed. Any other error is returned.
func (l *Listing) Salvaged(database string, err error) error {
	damaged := (*DamagedError)(nil)
	if !errors.As(err, &damaged) || errors.Is(err, session.ErrBusy) {
		return err
	}
	notice := Unreadable(database, err)
	notice.Message = "what lies on damaged pages of it is not read: " + damaged.Err.Error() + damaged.named()
	l.Notices = append(l.Notices, notice)
	return nil
}
