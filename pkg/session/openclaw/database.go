package openclaw

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
)

// DatabaseName is the file in which the runtime keeps sessions from 2026.8.1 on. A file of
// this name without a table of transcripts exists from 2026.5.30 on; it holds
// only credentials (research/formats.md section 5).
const DatabaseName = "openclaw-agent.sqlite"

const (
	sqliteMagic = "SQLite format 3\x00"
	// schemaHead is how much of the database is searched for the schema
	// before its pages are followed, and schemaLog how much of its log: a
	// schema is written when the database is young, and SQLite starts the
	// log over after about 4 MiB.
	schemaHead = 1 << 20
	schemaLog  = 64 << 20
	// schemaPages bounds how many pages of the schema are followed.
	schemaPages = 4096
)

// database is an agent's session database.
type database struct {
	path    string
	size    int64
	modTime time.Time // the later of the database's and its log's
}

// era says where an agent keeps its sessions: db is its database, nil in the
// file era. frozen says why no file in its sessions directory may be changed,
// "" in the file era; with an error it is not known where the sessions are.
func (s *Store) era(root *os.Root, agent string) (db *database, frozen string, err error) {
	db, err = findDatabase(root, s.root, agent)
	switch {
	case err != nil:
		return nil, "it cannot be told whether this agent's sessions are in the runtime's database", err
	case db != nil:
		return db, "a leftover of the migration to the runtime's database; the runtime's own doctor handles it (openclaw doctor)", nil
	}
	return nil, "", nil
}

// eraOf is era for one agent of a store that is not open. Not to know where the
// sessions are freezes them like a database does.
func (s *Store) eraOf(agent string) (frozen string, err error) {
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return "", fmt.Errorf("open store: %w", err)
	}
	defer root.Close()
	_, frozen, _ = s.era(root, agent)
	return frozen, nil
}

// findDatabase looks for the session database of an agent; nil if there is
// none. It is never opened with SQLite: that leaves files behind and may wait.
// Its bytes are searched for the table of transcripts, those of the log too,
// which alone may have it.
func findDatabase(store *os.Root, root, agent string) (*database, error) {
	name := filepath.Join(agentsName, agent, "agent", DatabaseName)
	f, err := durable.OpenRegularIn(store, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	found, err := hasTranscripts(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(root, name), err)
	}
	inLog, logTime, err := searchLog(store, name+"-wal")
	if err != nil || !found && !inLog {
		return nil, err
	}
	db := &database{path: filepath.Join(root, name), size: info.Size(), modTime: info.ModTime()}
	if logTime.After(db.modTime) {
		db.modTime = logTime
	}
	return db, nil
}

// searchLog searches the write-ahead log, if there is one.
func searchLog(store *os.Root, name string) (found bool, modTime time.Time, err error) {
	f, err := durable.OpenRegularIn(store, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, time.Time{}, nil
	}
	if err != nil {
		return false, time.Time{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, time.Time{}, err
	}
	found, err = searchBytes(f, schemaLog)
	return found, info.ModTime(), err
}

// hasTranscripts reports whether the schema of a SQLite database has the table
// of transcripts.
func hasTranscripts(f io.ReaderAt) (bool, error) {
	head := make([]byte, 100)
	if _, err := f.ReadAt(head, 0); err != nil {
		return false, ignoreEOF(err)
	}
	if string(head[:len(sqliteMagic)]) != sqliteMagic {
		return false, nil
	}
	if found, err := searchBytes(f, schemaHead); found || err != nil {
		return found, err
	}
	size := int(binary.BigEndian.Uint16(head[16:]))
	if size == 1 {
		size = 1 << 16
	}
	if size < 512 {
		return false, nil
	}
	return searchSchema(f, size)
}

// searchBytes searches the first limit bytes.
func searchBytes(f io.ReaderAt, limit int64) (bool, error) {
	const overlap = 64
	buffer := make([]byte, 256<<10)
	kept := 0
	for at := int64(0); at < limit; {
		n, err := f.ReadAt(buffer[kept:], at)
		if hasTable(buffer[:kept+n]) {
			return true, nil
		}
		if err != nil {
			return false, ignoreEOF(err)
		}
		at += int64(n)
		kept = copy(buffer, buffer[kept+n-overlap:kept+n])
	}
	return false, nil
}

// hasTable recognises the statement as SQLite keeps it.
func hasTable(b []byte) bool {
	return bytes.Contains(b, []byte("CREATE TABLE transcript_events")) ||
		bytes.Contains(b, []byte(`CREATE TABLE "transcript_events"`))
}

// searchSchema searches the pages of the schema table, wherever they lie: its
// root is the first page, whose inner pages name the others (SQLite's file
// format, "B-tree Pages").
func searchSchema(f io.ReaderAt, size int) (bool, error) {
	const leaf, inner = 0x0d, 0x05
	page := make([]byte, size)
	pending := []uint32{1}
	for seen := 0; len(pending) > 0 && seen < schemaPages; seen++ {
		number := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if _, err := f.ReadAt(page, int64(number-1)*int64(size)); err != nil {
			if ignoreEOF(err) == nil {
				continue // the rest is still in the log
			}
			return false, err
		}
		start := 0
		if number == 1 {
			start = 100 // the file's header
		}
		switch page[start] {
		case leaf:
			if hasTable(page) {
				return true, nil
			}
		case inner:
			pending = append(pending, children(page, start)...)
		}
	}
	return false, nil
}

// children returns the pages below an inner page.
func children(page []byte, start int) []uint32 {
	found := []uint32{binary.BigEndian.Uint32(page[start+8:])}
	cells := int(binary.BigEndian.Uint16(page[start+3:]))
	for i := range cells {
		at := start + 12 + 2*i
		if at+2 > len(page) {
			break
		}
		if cell := int(binary.BigEndian.Uint16(page[at:])); cell+4 <= len(page) {
			found = append(found, binary.BigEndian.Uint32(page[cell:]))
		}
	}
	return slices.DeleteFunc(found, func(number uint32) bool { return number == 0 })
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
