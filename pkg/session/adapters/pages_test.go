package adapters_test

import (
	"bytes"
	"database/sql"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/storetest"
	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/goose"
	"github.com/sessctl/sessctl/pkg/session/hermes"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
	"github.com/sessctl/sessctl/pkg/session/opencode"
	"github.com/sessctl/sessctl/pkg/session/rowlog"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// pagedStore opens the store of a database that [storetest.Paged] has written.
func pagedStore(runtime, database string) session.Store {
	dir := filepath.Dir(database)
	switch runtime {
	case session.RuntimeHermes:
		return hermes.Open(dir)
	case session.RuntimeGoose:
		return goose.Open(dir)
	case session.RuntimeOpenClaw:
		return openclaw.Open(filepath.Join(dir, "..", "..", ".."), openclaw.Options{})
	}
	return opencode.Open(runtime, dir)
}

// page is a page of a database: what it belongs to, and whether it is a leaf.
type page struct {
	number int
	of     string
	leaf   bool
}

// pagesOf are the pages of a database.
func pagesOf(t *testing.T, path string) []page {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	gooseMust(t, err)
	defer db.Close()
	all, err := rowlog.All(t.Context(), rowlog.For(db, "list pages"), func(p *page) []any { return []any{&p.number, &p.of, &p.leaf} },
		"SELECT pageno, name, pagetype = 'leaf' FROM dbstat ORDER BY pageno")
	gooseMust(t, err)
	return all
}

// readPaged reads the logs of all sessions. told says that something could not be read,
// as who archives everything learns it.
func readPaged(t *testing.T, runtime, path string) (logs map[string][]byte, told bool) {
	t.Helper()
	storetest.Age(t, filepath.Dir(path))
	s := pagedStore(runtime, path)
	defer s.Capabilities().Closer.Close()
	listing, err := s.List(t.Context())
	gooseMust(t, err)
	for _, n := range listing.Notices {
		told = told || n.Cause == session.CauseDamaged
	}
	logs = map[string][]byte{}
	for _, ref := range listing.Refs {
		if ref.Kind != session.KindStored {
			continue
		}
		log, err := s.Capabilities().Source.OpenLog(t.Context(), ref)
		var text []byte
		if err == nil {
			text, err = io.ReadAll(log)
			log.Close()
		}
		if err != nil && !sqlitefile.IsDamaged(err) {
			t.Errorf("%s: %v", ref.ID, err)
		}
		if told = told || err != nil; err == nil {
			logs[ref.ID] = text
			looksWell(t, s, ref)
		}
	}
	return logs, told
}

// looksWell fails where a session whose log can be read cannot be looked at.
func looksWell(t *testing.T, s session.Store, ref session.Ref) {
	t.Helper()
	_, err := s.Tail(t.Context(), ref)
	if err == nil {
		err = s.Capabilities().Liveness.Busy(t.Context(), session.BusyQuestion{Ref: ref, Now: time.Now()})
	}
	if sqlitefile.IsDamaged(err) {
		t.Errorf("%s: %v", ref.ID, err)
	}
}

// saysAll reports whether a log has every message that another one has.
func saysAll(log, whole []byte) bool {
	for line := range bytes.Lines(whole) {
		said := bytes.HasPrefix(line, []byte(`{"type":"message"`)) || bytes.HasPrefix(line, []byte(`{"type":"part"`))
		if said && !bytes.Contains(log, line) {
			return false
		}
	}
	return true
}

// withoutJournal is a log without its last line, which tells of OpenCode's journal. The
// journal says nothing that the log does not.
func withoutJournal(log []byte) []byte {
	if i := bytes.LastIndex(log, []byte(`{"type":"journal"`)); i >= 0 {
		return log[:i]
	}
	return log
}

// hidesAtMost is how many sessions may not be read where the page is damaged: those of
// which something lies on it, and all where it is by that page that others are found.
func (p page) hidesAtMost(all int) int {
	const onLeaf = 8
	switch p.of {
	case "sqlite_schema":
		return all
	case "message", "messages", "part", "todo", "transcript_events":
		if p.leaf {
			return onLeaf
		}
		return all
	}
	return 0
}

// TestEveryPage overwrites every page of a database once. A session of which nothing
// lies there is read, one whose own row does with its messages; all else is told.
func TestEveryPage(t *testing.T) {
	tier.SkipSmoke(t, "it reads some thousand databases")
	for _, runtime := range storetest.PagedRuntimes() {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			path, err := storetest.Paged{Sessions: 40, Messages: 4}.Write(runtime, t.TempDir())
			gooseMust(t, err)
			everyPage(t, runtime, path, page.hidesAtMost)
		})
	}
}

// TestEveryPageUnindexed: also where no index says whose rows lie on which page.
func TestEveryPageUnindexed(t *testing.T) {
	tier.SkipSmoke(t, "it reads some thousand databases")
	for _, runtime := range []string{session.RuntimeHermes, session.RuntimeOpenCode, session.RuntimeGoose} {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			path, err := storetest.Paged{Sessions: 40, Messages: 4}.Write(runtime, t.TempDir())
			gooseMust(t, err)
			dropIndexes(t, path)
			everyPage(t, runtime, path, page.hidesAtMost)
		})
	}
}

// everyPage damages one page after the other; where only a share of the table of faults
// runs, every third one, of another commit others.
func everyPage(t *testing.T, runtime, path string, hides func(p page, all int) int) {
	t.Helper()
	sound, err := os.ReadFile(path)
	gooseMust(t, err)
	whole, told := readPaged(t, runtime, path)
	if told || len(whole) < 40 {
		t.Fatal("the database is not read")
	}
	turn := int(crc32.ChecksumIEEE([]byte(tier.Seed())) % 3)
	for _, p := range pagesOf(t, path) {
		if !tier.Long() && p.number%3 != turn {
			continue
		}
		const size = 4096
		damaged := bytes.Clone(sound)
		copy(damaged[(p.number-1)*size:p.number*size], bytes.Repeat([]byte{0xa5}, size))
		gooseMust(t, os.WriteFile(path, damaged, 0o600))
		logs, told := readPaged(t, runtime, path)
		gone := 0
		for id, log := range whole {
			left, there := logs[id]
			if !there {
				gone++
			}
			if !bytes.Equal(withoutJournal(left), withoutJournal(log)) && !told || there && !saysAll(left, log) && !bytes.Contains(left, []byte(`{"type":"lost"`)) {
				t.Errorf("%+v: %s says less, and nobody is told", p, id)
			}
		}
		if gone > hides(p, len(whole)) {
			t.Errorf("%+v: %d of %d sessions are not read", p, gone, len(whole))
		}
	}
}
