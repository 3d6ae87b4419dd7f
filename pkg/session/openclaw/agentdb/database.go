package agentdb

import (
	"context"
	"database/sql"

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
// [*VersionError] for a schema that is not known.
func Open(ctx context.Context, f File) (*Database, error) {
	d := &Database{}
	var err error
	d.Database, err = sqlitefile.Open(ctx, f, func(ctx context.Context, conn *sql.Conn) error {
		d.conn = conn
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
