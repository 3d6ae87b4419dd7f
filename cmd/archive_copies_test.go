package cmd

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/fakeobjects"
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
		r, err := bucket.Upload(t.Context(), e, f)
		if err != nil {
			t.Fatal(err)
		}
		e.Remote = &r
		return e
	}
	copies := &offSiteCopies{bucket: bucket}
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
			if err := copies.whole(t.Context(), e); !errors.Is(err, c.want) {
				t.Errorf("%v, not %v", err, c.want)
			}
		})
	}
}
