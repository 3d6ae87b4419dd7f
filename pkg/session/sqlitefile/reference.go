package sqlitefile

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
)

// StoredMark stands between the path of a database and the id of a session in it, in
// the path of a reference. No id has it.
const StoredMark = "#"

// CutPath returns the database and the id that the path of a reference names; the
// whole path and no id if it is of no session in a database.
func CutPath(path string) (database, id string) {
	i := strings.LastIndex(path, StoredMark)
	if i < 0 {
		return path, ""
	}
	return path[:i], path[i+len(StoredMark):]
}

// FileOf is the database that a reference to a session begins with.
func FileOf(ref session.Ref) string {
	database, _ := CutPath(ref.Path)
	return database
}

// Listed returns the database f of a session, as [Cache.Known] does, and the
// session's id. It returns an error for a reference to anything else.
func (s *Cache[D]) Listed(ctx context.Context, f File, ref session.Ref) (db D, id string, release func(), err error) {
	path, id := CutPath(ref.Path)
	if path != f.Path() || !session.SafeID(id) {
		return db, "", nil, fmt.Errorf("%s is not a session of the store %s", ref.Path, f.Base)
	}
	db, release, err = s.Known(ctx, f)
	return db, id, release, err
}

// Lend is a log of a database that a [Cache] has lent, with the error of opening it:
// release is called when it is closed, at once after an error.
func Lend[Log io.Reader](log Log, err error, release func()) (io.ReadCloser, error) {
	if err != nil {
		release()
		return nil, err
	}
	return &Lent{Reader: log, Release: release}, nil
}
