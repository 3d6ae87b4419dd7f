package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Extraction returns up to where the facts of a session were extracted; false
// if they never were.
func (s *Store) Extraction(ctx context.Context, source Source) (Extraction, bool, error) {
	x := Extraction{Runtime: source.Runtime, Agent: source.Agent, Session: source.Session}
	has, err := s.hasFacts(ctx)
	if err != nil || !has {
		return x, false, err
	}
	err = s.db.QueryRowContext(ctx, "SELECT at, bytes, modified, last, said, made_by, degraded FROM extractions WHERE runtime=? AND agent=? AND session=?", x.Runtime, x.Agent, x.Session).
		Scan(&x.At, &x.Bytes, &x.Modified, &x.Last, &x.Said, &x.MadeBy, &x.Degraded)
	if errors.Is(err, sql.ErrNoRows) {
		return x, false, nil
	}
	return x, err == nil, judged(err)
}

// LinkFacts notes that the log of a session is in an archive now (source names
// both; ArchivePath is the archive's), so that facts of it have a source that
// stays. appended says that such a log is only ever appended to: then facts of
// its first size bytes are meant. Of another log they are meant only if it is
// as long as it was when they were extracted. log is its path. It returns how
// many facts were linked.
func (s *Store) LinkFacts(ctx context.Context, source Source, log string, size int64, appended bool) (linked int, err error) {
	has, err := s.hasFacts(ctx)
	if err != nil || !has || source.Archive == "" {
		return 0, err
	}
	result, err := s.db.ExecContext(ctx, `UPDATE records SET archive=?, archive_path=? WHERE runtime=? AND agent=? AND session=? AND category=? AND archive='' AND archive_path=? AND end_byte<=?
		AND (? OR EXISTS (SELECT 1 FROM extractions x WHERE x.runtime=records.runtime AND x.agent=records.agent AND x.session=records.session AND x.bytes=?))`,
		source.Archive, source.ArchivePath, source.Runtime, source.Agent, source.Session, CategoryFact, log, size, appended, size)
	if err != nil {
		return 0, fmt.Errorf("link facts to their archive: %w", judged(err))
	}
	n, err := result.RowsAffected()
	return int(n), err
}
