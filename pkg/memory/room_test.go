package memory_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory"
)

// roomOf is how many bytes a memory of texts takes, in files of vectors and in
// the database.
func roomOf(t *testing.T, texts []string) (vectors, database int64) {
	t.Helper()
	s, dir := newStore(t)
	var records []memory.Record
	for i, text := range texts {
		records = append(records, record(i, text))
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
		if err == nil && filepath.Ext(path) == ".i8" {
			vectors += info.Size()
		} else if err == nil {
			database += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return vectors, database
}

// A record takes less room than the log that it comes from: 4,700 bytes for one
// of a coding session, and 1,475 for four messages of a chat (docs/decisions.md
// D27). The texts are the pages of the documentation, in pieces as long as the
// longest chunk and as four messages.
func TestRoom(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	_, empty := roomOf(t, []string{"one"})
	for name, c := range map[string]struct {
		characters int
		most       int64 // bytes a record
	}{"coding": {3500, 4200}, "chat": {600, 1475}} {
		var texts []string
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for ; len(text) >= c.characters && len(texts) < 300; text = text[c.characters:] {
				texts = append(texts, string(text[:c.characters]))
			}
		}
		vectors, database := roomOf(t, texts)
		n := int64(len(texts))
		t.Logf("%s: %d records, %d bytes of vectors and %d of database each", name, n, vectors/n, (database-empty)/n)
		if got := (vectors + database - empty) / n; got > c.most {
			t.Errorf("%s: a record takes %d bytes, want at most %d", name, got, c.most)
		}
	}
}
