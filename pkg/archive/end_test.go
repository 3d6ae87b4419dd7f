package archive_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/archive"
)

// An archive's name ends like the file that it is a copy of.
func TestEndOfTheName(t *testing.T) {
	for source, want := range map[string]string{
		"/a/s.jsonl": ".jsonl", "/a/s.jsonl.reset.2026-01-03T04-05-06.789Z": ".jsonl",
		"/a/s.jsonl.deleted.2026-01-03T04-05-06.789Z.zst": ".jsonl.zst", "/a/rollout-1.jsonl.zst": ".jsonl.zst",
		"/a/session-memory-1.md": ".md", "/a/s.md.rotated.2026-01-01T00-00-00.000Z": ".md", "/a/S.MD": ".md",
		"/a/session-1.json": ".json", "/a/toolu_1.txt": ".txt", "/a.md/s.json/rollout": ".jsonl",
		"/a/agent.sqlite#4f0c": ".jsonl", "/a/s.jsonnet": ".jsonl", "/a/s.md.jsonl": ".jsonl", "": ".jsonl",
	} {
		for compression, more := range map[string]string{"none": "", "zstd": ".zst"} {
			t.Run(source+" "+compression, func(t *testing.T) {
				root := t.TempDir()
				s := open(t, root, compression)
				e := putFrom(t, s, source)
				if got := e.Path[strings.Index(e.Path, e.SHA256[:8])+8:]; got != want+more {
					t.Errorf("%s ends in %s, want %s", e.Path, got, want+more)
				}
				readopted(t, root, source, compression, e)
				// of a time when all names ended like those of logs
				older := strings.TrimSuffix(e.Path, want+more) + ".jsonl" + more
				if err := os.Rename(e.Path, older); err != nil {
					t.Fatal(err)
				}
				if want == ".jsonl.zst" {
					return // ".jsonl.zst" could mean either, and a second copy is cheap
				}
				e.Path = older
				readopted(t, root, source, compression, e)
			})
		}
	}
}

func putFrom(t *testing.T, s *archive.Store, source string) archive.Entry {
	t.Helper()
	const data = "# what was said\nand more\n"
	m := meta("s")
	m.Source = source
	e, err := s.Put(t.Context(), m, strings.NewReader(data), int64(len(data)), noon)
	if err != nil {
		t.Fatal(err)
	}
	if read(t, s, e) != data {
		t.Error("the archive is not the session")
	}
	return e
}

// readopted loses the entry of an archive, and wants its file taken over by the
// next run.
func readopted(t *testing.T, root, source, compression string, e archive.Entry) {
	t.Helper()
	s := open(t, root, compression)
	if err := os.Remove(filepath.Join(root, "archives", e.ID+".json")); err != nil {
		t.Fatal(err)
	}
	if again := putFrom(t, s, source); again.Path != e.Path || again.ID != e.ID || again.Compression != e.Compression {
		t.Errorf("%s was not taken over, but %s made", e.Path, again.Path)
	}
	if err := s.Verify(t.Context(), e); err != nil {
		t.Error(err)
	}
}
