package cmd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/fakeobjects"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/archive/objects"
)

// An entry that was found on the storage says of its copy what somebody has written
// there. Nothing is deleted because of it before the copy was read.
func TestCopiesOfOthers(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	server := fakeobjects.Start()
	defer server.Close()
	dir := t.TempDir()
	bucket, err := objects.Open(objects.Options{URL: "s3://bucket/host", Endpoint: server.URL, Scratch: filepath.Join(dir, "out"), Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	store, err := archive.Open(filepath.Join(dir, "catalogue"), archive.Options{Dir: func(archive.Meta) string { return filepath.Join(dir, "archives") }, Compression: archive.CompressionZstd})
	if err != nil {
		t.Fatal(err)
	}
	log := strings.Repeat("{\"text\":\"a line\"}\n", 100)
	good, err := store.Put(t.Context(), archive.Meta{Runtime: "pi", Agent: "main", Session: "good", Source: "good.jsonl"}, strings.NewReader(log), int64(len(log)), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(good.Path)
	if err != nil {
		t.Fatal(err)
	}
	upload := func(name string, holds []byte) archive.Entry {
		t.Helper()
		e, sum := good, sha256.Sum256(holds)
		e.Session, e.Path, e.StoredBytes, e.StoredSHA256 = name, filepath.Join(dir, name), int64(len(holds)), hex.EncodeToString(sum[:])
		err := os.WriteFile(e.Path, holds, 0o600)
		f, opened := os.Open(e.Path)
		if err = errors.Join(err, opened); err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r, err := bucket.Upload(t.Context(), e, f, 1)
		if err != nil {
			t.Fatal(err)
		}
		e.Remote = &r
		return e
	}
	copies := &workspace.OffSiteCopies{Bucket: bucket}
	for name, c := range map[string]struct {
		holds []byte
		seen  bool
		want  error
	}{
		"sent by this host":     {file, true, nil},
		"found there, the same": {file, false, nil},
		"something else":        {[]byte("nothing of the kind"), false, archive.ErrCorrupt},
		"cut off":               {file[:len(file)-5], false, archive.ErrCorrupt},
		"with something behind": {append(bytes.Clone(file), 0), false, archive.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			e := upload(strings.ReplaceAll(name, " ", "-"), c.holds)
			e.Remote.Seen = c.seen
			if err := copies.Read(t.Context(), e); !errors.Is(err, c.want) {
				t.Errorf("%v, not %v", err, c.want)
			}
		})
	}
}

// Because of an archive something may go if its file is here, or if the storage has
// the copy now. What was fetched once does not count, nor does a storage that
// cannot be asked.
func TestLasting(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	server := fakeobjects.Start()
	defer server.Close()
	dir := t.TempDir()
	a := testApp(&streams{}, workspace.Run{Settings: workspace.Settings{Global: workspace.Options{DataDir: dir}, Now: time.Now, Getenv: func(string) string { return "" }}})
	a.Config.Archive.Remote, a.Config.Archive.Endpoint = "s3://bucket/host", server.URL
	bucket, err := workspace.Bucket(a.Run)
	if err != nil {
		t.Fatal(err)
	}
	fetched := ""
	store, err := archive.Open(filepath.Join(dir, "catalogue"), archive.Options{
		Dir:   func(archive.Meta) string { return filepath.Join(dir, "archives") },
		Fetch: func(context.Context, archive.Entry) (*os.File, error) { return os.Open(fetched) },
	})
	if err != nil {
		t.Fatal(err)
	}
	const log = "{\"text\":\"a line\"}\n"
	e, err := store.Put(t.Context(), archive.Meta{Runtime: "pi", Agent: "main", Session: "s"}, strings.NewReader(log), int64(len(log)), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(e.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	there, err := bucket.Upload(t.Context(), e, file, 1)
	if err != nil {
		t.Fatal(err)
	}
	gone := there
	gone.URL += ".gone"
	fetched = filepath.Join(dir, "fetched")
	if err := os.Rename(e.Path, fetched); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		copy     archive.Remote
		identity string // of the configuration
		lasts    bool
	}{
		"on the storage":           {there, "", true},
		"in the cache only":        {gone, "", false},
		"a storage not to be used": {there, filepath.Join(dir, "no such file"), false},
	} {
		a.Config.Archive.Identity = c.identity
		if e, err = store.NoteRemote(t.Context(), e, c.copy); err != nil {
			t.Fatal(err)
		}
		if err := store.Verify(t.Context(), e); err != nil {
			t.Errorf("%s: it cannot be read: %v", name, err)
		}
		r := workspace.Archiver{Store: store, Lasting: workspace.Lasting(a.Run, store)}
		if err := r.Lasts(t.Context(), workspace.ArchivedOf(e)); (err == nil) != c.lasts {
			t.Errorf("%s: %v", name, err)
		}
	}
}
