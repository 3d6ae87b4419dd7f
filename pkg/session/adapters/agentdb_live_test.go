package adapters_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/fakeagentdb"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw/agentdb"
)

// agentdbWriter appends records to a database, as a gateway does, and moves them from
// the log into the database every few records.
type agentdbWriter struct {
	db        *sql.DB
	committed atomic.Int64
	pause     atomic.Int64 // between two records, in nanoseconds
	failed    error
	stop      chan struct{}
	done      chan struct{}
}

func startWriter(t *testing.T, path string) *agentdbWriter {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=12"); err != nil {
		t.Fatal(err)
	}
	w := &agentdbWriter{db: db, stop: make(chan struct{}), done: make(chan struct{})}
	w.pause.Store(int64(4 * time.Millisecond))
	go w.run()
	t.Cleanup(func() {
		close(w.stop)
		<-w.done
		if err := errors.Join(w.failed, db.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *agentdbWriter) run() {
	defer close(w.done)
	for seq := int64(0); w.failed == nil; seq++ {
		select {
		case <-w.stop:
			return
		case <-time.After(time.Duration(w.pause.Load())):
		}
		_, w.failed = w.db.Exec("INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES ('s', ?, ?, 0)",
			seq, agentdbRecord(seq))
		if w.failed == nil {
			w.committed.Store(seq + 1)
		}
	}
}

func agentdbRecord(seq int64) string {
	return fmt.Sprintf(`{"n":%d,"text":%q}`, seq, strings.Repeat("x", int(seq%37)*40))
}

// A database that is written all the time is read as it was at one moment: all
// that was committed before, in order, and no row of later without those before
// it.
func TestAgentdbReadingWhileTheRuntimeWrites(t *testing.T) {
	f := agentdbWritten(t, fakeagentdb.Content{Version: 23})
	w := startWriter(t, f.Path())
	for reads, disturbed := 0, 0; reads < 8; {
		before := w.committed.Load()
		d, err := agentdb.Open(t.Context(), f)
		var busy *session.BusyError
		if errors.As(err, &busy) {
			if disturbed++; disturbed%20 == 0 { // this machine reads too slowly for that
				w.pause.Store(2 * w.pause.Load())
			}
			continue
		}
		if before == 0 && err == nil && d.Close() == nil {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(text(t, d, "s"), "\n")
		lines = lines[:len(lines)-1]
		for i, line := range lines {
			if line != agentdbRecord(int64(i))+"\n" {
				t.Fatalf("line %d is %q", i, line)
			}
		}
		if int64(len(lines)) < before {
			t.Fatalf("%d rows were read, %d were committed before", len(lines), before)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		reads++
	}
}

// What is read in place and changes then is not read on.
func TestAgentdbChangedWhileItIsRead(t *testing.T) {
	f := agentdbWritten(t, fakeagentdb.Story(false))
	d := opened(t, f)
	log, err := d.Log(t.Context(), fakeagentdb.Current)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.Path(), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := log.ReadAt(make([]byte, 10), 0); !errors.Is(err, session.ErrBusy) {
		t.Error(err)
	}
}

// The databases of a store: one copy for a listing and all that follows from
// it, a new one when the files have changed.
func TestAgentdbDatabases(t *testing.T) {
	f := agentdbWritten(t, fakeagentdb.Story(true))
	scratchless(t)
	all := agentdb.NewDatabases()
	fresh := func() *agentdb.Database {
		t.Helper()
		d, release, err := all.Fresh(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(release)
		return d
	}
	first := fresh()
	if again := fresh(); again != first {
		t.Error("nothing changed, and it was opened again")
	}
	if err := os.Chtimes(f.Path()+"-wal", time.Now(), time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	known, release, err := all.Known(t.Context(), f)
	if err != nil || known != first {
		t.Error("a listing's copy is not used any more", err)
	}
	release()
	release() // harmless
	if second := fresh(); second == first {
		t.Error("the log changed, and the old copy is used")
	}
	if err := all.Close(); err != nil {
		t.Error(err)
	}
	if got := text(t, first, fakeagentdb.Earlier); got == "" {
		t.Error("a database that is in use was closed")
	}
}
