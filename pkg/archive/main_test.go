package archive_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
)

// childVariable names the part of a test that runs in a process of its own,
// because it is killed.
const childVariable = "ARCHIVE_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	if err := putAndDie(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var noon = time.Date(2026, 3, 4, 12, 0, 0, 123456789, time.FixedZone("CET", 3600))

const noonStamp = "20260304T110000Z"

// newStore is a store under root: the catalogue and the archives beside it.
func newStore(root, compression string) (*archive.Store, error) {
	return archive.Open(filepath.Join(root, "archives"), archive.Options{
		Dir:         func(m archive.Meta) string { return filepath.Join(root, "archive", m.Runtime) },
		Compression: compression,
		ToolVersion: "test",
	})
}

func open(t *testing.T, root, compression string) *archive.Store {
	t.Helper()
	s, err := newStore(root, compression)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func meta(session string) archive.Meta {
	return archive.Meta{
		Runtime: "openclaw", Agent: "coordinator", Session: session, Key: "agent:coordinator:main",
		Source: "/sessions/" + session + ".jsonl", SourceModTime: noon.Add(-time.Hour), Kind: "live", Reason: "compact",
	}
}

func put(t *testing.T, s *archive.Store, session, data string) archive.Entry {
	t.Helper()
	e, err := s.Put(context.Background(), meta(session), strings.NewReader(data), int64(len(data)), noon)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func read(t *testing.T, s *archive.Store, e archive.Entry) string {
	t.Helper()
	r, err := s.OpenEntry(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func mustVerify(t *testing.T, s *archive.Store, e archive.Entry) {
	t.Helper()
	if err := s.Verify(context.Background(), e); err != nil {
		t.Error(err)
	}
}

func entries(t *testing.T, s *archive.Store) []archive.Entry {
	t.Helper()
	all, err := s.List(context.Background(), archive.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// files lists the files below root, hidden ones too, in order.
func files(t *testing.T, root string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(root, path)
			all = append(all, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// sessionText is a log-like text of exactly size bytes: compressible, but not
// the same anywhere.
func sessionText(size int, seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 1))
	var text bytes.Buffer
	for i := 0; text.Len() < size; i++ {
		fmt.Fprintf(&text, `{"type":"message","id":"%08x","message":{"role":"user","content":"line %d of the log"}}`+"\n", random.Uint32(), i)
	}
	return text.String()[:size]
}
