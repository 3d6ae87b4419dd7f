package agentdb

import (
	"context"
	"database/sql"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// File is where a database lies.
type File = sqlitefile.File

// Database is an agent's database as it was at one moment. It may be used by
// several goroutines at once.
type Database struct {
	*sqlitefile.Database
	conn    *sql.Conn
	columns columns
}

// Open opens a database for reading. Nothing of it is changed and nothing is
// left beside it. It returns the errors of [sqlitefile.Open], and a
// [sqlitefile.UnknownSchema] for a schema that is not known.
func Open(ctx context.Context, f File) (*Database, error) {
	d := &Database{}
	var err error
	d.Database, err = sqlitefile.Open(ctx, f, func(ctx context.Context, db *sqlitefile.Database) error {
		d.Database, d.conn = db, db.Conn()
		return d.checkSchema(ctx)
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Databases are the open databases of a store.
type Databases = sqlitefile.Cache[*Database]

// NewDatabases returns a cache in which none is open.
func NewDatabases() *Databases { return &Databases{Open: Open} }

// Parts says what the database is made of, the largest part first. Every page is
// looked at.
func (d *Database) Parts(ctx context.Context) ([]session.DatabasePart, error) {
	return d.Database.Parts(ctx, partOf)
}

// partOf names what a table or an index is for.
func partOf(table, name string) string {
	switch {
	case strings.Contains(table, "_fts"):
		return "search index"
	case table != name:
		return "other indexes"
	case table == "transcript_events":
		return "records of sessions"
	case strings.HasPrefix(table, "session_transcript_"):
		return "archived transcripts"
	case strings.HasPrefix(table, "session_"):
		return "index of sessions"
	}
	return "other tables"
}
