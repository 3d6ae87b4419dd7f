package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"iter"
	"strconv"
)

// Record is one piece of a session as memory keeps it.
type Record struct {
	ID                  string // see RecordID
	Text                string
	Category            string  // session_history, session_summary, fact or lesson
	Importance          float64 // 0 to 1
	CreatedAt           int64   // epoch milliseconds of the message
	Runtime             string
	Agent               string
	Session             string
	Key                 string // the runtime's routing key, or ""
	Archive             string // id of the archive that holds the source, or ""
	ArchivePath         string // of that archive, or of the log itself
	FirstLine, LastLine int    // in the source, 1-based, both included
	FirstByte, EndByte  int64
	Branch              string // active or abandoned
	Position            int    // of the chunk in its session; -1 for a summary
}

// Source names the session that records come from.
type Source struct {
	Runtime, Agent, Session, Key string
	Archive, ArchivePath         string
}

// RecordID is the identity of a record: the same piece of the same session,
// cut by the same chunker, has the same id in every run.
func RecordID(agent, session string, position int, chunker, text string) string {
	h := sha256.New()
	for _, part := range []string{agent, session, strconv.Itoa(position), chunker, text} {
		fmt.Fprintf(h, "%d:%s,", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// PutResult counts what Put did.
type PutResult struct {
	Stored   int // new
	Existing int // there already; text and source were brought up to date
	Buried   int // not stored: they were forgotten on purpose
}

// Put stores the records of one session in one transaction; an error from the
// sequence undoes all of it. What a record does not say of its origin (runtime,
// agent, session, key, archive), the source says. Records that are there
// already keep their vector unless their text changed; a record that was
// forgotten is not stored again. Records without a vector are pending.
func (s *Store) Put(ctx context.Context, source Source, records iter.Seq2[Record, error]) (PutResult, error) {
	var result PutResult
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		w, err := newWriter(ctx, tx, &result)
		if err != nil {
			return err
		}
		defer w.close()
		for r, err := range records {
			if err != nil {
				return err
			}
			if err := w.put(source.complete(r)); err != nil {
				return fmt.Errorf("store record %s of %s: %w", r.ID, source.Session, err)
			}
		}
		return nil
	})
	if err != nil {
		return PutResult{}, err
	}
	return result, nil
}

// complete fills in what a record does not say of its origin.
func (s Source) complete(r Record) Record {
	r.Runtime = cmp.Or(r.Runtime, s.Runtime)
	r.Agent = cmp.Or(r.Agent, s.Agent)
	r.Session = cmp.Or(r.Session, s.Session)
	r.Key = cmp.Or(r.Key, s.Key)
	if r.Archive == "" && r.ArchivePath == "" {
		r.Archive, r.ArchivePath = s.Archive, s.ArchivePath
	}
	return r
}

// CountSession returns how many records a session has and how many of them
// have no vector of any model.
func (s *Store) CountSession(ctx context.Context, runtime, agent, session string) (records, pending int, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.record=r.rowid))
		FROM records r WHERE runtime=? AND agent=? AND session=?`, runtime, agent, session).Scan(&records, &pending)
	return records, pending, judged(err)
}
