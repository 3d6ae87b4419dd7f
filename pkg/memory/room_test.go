package memory_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory"
)

// perSession is how many records a session has: a chat has few.
const perSession = 6

// roomOf is how many bytes a memory of texts takes.
func roomOf(t *testing.T, texts []string) (database int64) {
	t.Helper()
	s, dir := newStore(t)
	var records []memory.Record
	for i, text := range texts {
		r := record(i, text)
		r.ID = memory.RecordID(r.Agent, r.Session, i, "room", text)
		r.Session = fmt.Sprintf("0b8bc0b2-0000-4000-8000-%012d", i/perSession)
		r.Key, r.Archive = "agent:main:chat:direct:"+r.Session[24:], fmt.Sprintf("%016x", i/perSession)
		r.ArchivePath = "/home/somebody/.openclaw/session_archive/main/" + r.Session + ".20260102T030405Z.deadbeef.jsonl"
		records = append(records, r)
	}
	put(t, s, records...)
	embedAll(t, s, "a")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			database += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return database
}

// A record takes less room than the log that it comes from: 4,700 bytes for one
// of a coding session, and 1,475 for four messages of a chat (docs/dev/decisions.md
// D27). The texts are the pages of the documentation, in pieces as long as the
// longest chunk and as four messages. Of chat there is less than a megabyte, and
// what an empty memory takes counts.
func TestRoom(t *testing.T) {
	pages, err := documentation()
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	empty := roomOf(t, []string{"one"})
	for name, c := range map[string]struct {
		characters, records int
		most                int64 // bytes a record
		apart               int64 // what an empty memory takes, where it does not count
	}{"coding": {3500, 80, 4200, empty}, "chat": {600, 530, 1475, 0}} {
		var texts []string
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for ; len(text) >= c.characters && len(texts) < c.records; text = text[c.characters:] {
				texts = append(texts, string(text[:c.characters]))
			}
		}
		database := roomOf(t, texts)
		n := int64(len(texts))
		t.Logf("%s: %d records, %d bytes each", name, n, (database-c.apart)/n)
		if got := (database - c.apart) / n; len(texts) < c.records || got > c.most {
			t.Errorf("%s: a record takes %d bytes, want at most %d", name, got, c.most)
		}
	}
}

// documentation names the pages for users and for builders.
func documentation() (pages []string, err error) {
	for _, pattern := range []string{"*.md", "dev/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", "docs", pattern))
		if err != nil {
			return nil, err
		}
		pages = append(pages, found...)
	}
	return pages, nil
}
