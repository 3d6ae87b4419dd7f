package archive_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/minio/minio-go/v7"
	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/archive/objects"
)

// inParts has everything over 1 MiB sent in parts of 5 MiB, the least that S3
// takes.
func inParts(o *objects.Options) { o.AtOnce, o.Part = 1<<20, 5<<20 }

// large is an archive of three such parts.
func large(t *testing.T, name string) (archive.Entry, *os.File) {
	t.Helper()
	dir := t.TempDir()
	store, err := archive.Open(filepath.Join(dir, "catalogue"), archive.Options{Dir: func(archive.Meta) string { return filepath.Join(dir, "archives") }})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.NewChaCha8([32]byte([]byte("large archives are sent in parts")))
	var log bytes.Buffer
	line := make([]byte, 64<<10)
	for log.Len() < 11<<20 {
		_, _ = random.Read(line)
		log.WriteString(`{"text":"` + hex.EncodeToString(line) + "\"}\n")
	}
	e, err := store.Put(t.Context(), archive.Meta{Runtime: "pi", Agent: "main", Session: name, Source: name + ".jsonl"}, &log, int64(log.Len()), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return e, reopened(t, e)
}

// often skips what make test-faults tries, unless it is tried always.
func often(t *testing.T, always bool) {
	t.Helper()
	if !always && tier.Smoke() {
		t.Skip("it sends 11 MB: make test-faults")
	}
}

// left counts what uploads that were not completed have left on the storage.
func (s *storage) left(t *testing.T) (n int) {
	t.Helper()
	for u := range s.client.ListIncompleteUploads(t.Context(), "plain", "", true) {
		if u.Err != nil {
			t.Fatal(u.Err)
		}
		n++
	}
	return n
}

// An archive that is too large for one request is sent in parts; it is checked,
// found and fetched like any other, and a second upload adds nothing.
func TestObjectsUploadInParts(t *testing.T) {
	s := newStorage(t)
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	sealed := func(o *objects.Options) {
		o.Recipients, o.Identities = []string{key.Recipient().String()}, key.String()
	}
	locked := func(o *objects.Options) { o.URL, o.Retain = "s3://locked/parts", 24*time.Hour }
	for name, change := range map[string]func(*objects.Options){"plain": func(*objects.Options) {}, "sealed": sealed, "kept": locked} {
		t.Run(name, func(t *testing.T) {
			often(t, name == "plain")
			var parts atomic.Int64
			s.fails(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPut && r.URL.Query().Has("partNumber") {
					parts.Add(1)
				}
				return false
			})
			b := s.open(t, inParts, func(o *objects.Options) { o.URL = "s3://plain/" + name }, change)
			e, f := large(t, name)
			first, err := b.Upload(t.Context(), e, f, 1)
			if err != nil || parts.Load() != 3 || !strings.HasSuffix(first.Checksum, "-3") {
				t.Fatalf("%+v, in %d parts: %v", first, parts.Load(), err)
			}
			if name == "kept" && first.RetainUntil.IsZero() {
				t.Error("it is not kept")
			}
			second, err := b.Upload(t.Context(), e, reopened(t, e), 1)
			if err != nil || second.Checksum != first.Checksum || parts.Load() != 3 {
				t.Fatalf("the second upload, in %d parts: %+v, %v; the first was %+v", parts.Load(), second, err, first)
			}
			e.Remote = &first
			if _, err := b.Check(t.Context(), e); err != nil {
				t.Error(err)
			}
			want, err := os.ReadFile(e.Path)
			if err != nil || !bytes.Equal(fetched(t, b, e), want) {
				t.Errorf("what was fetched has other bytes (%v)", err)
			}
			e.Remote.Checksum = "" // as an earlier sessctl reads it: all of it is hashed
			if _, err := b.Check(t.Context(), e); err != nil {
				t.Error(err)
			}
		})
	}
}

// Whatever happens to an upload in parts, nothing is called off-site that is not
// there, nobody's object is replaced, and the next upload completes it.
func TestObjectsUploadInPartsFails(t *testing.T) {
	s := newStorage(t)
	part := func(r *http.Request) bool {
		return r.Method == http.MethodPut && r.URL.Query().Get("partNumber") == "2"
	}
	completing := func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploadId") }
	for _, c := range []struct {
		meddling
		foreign bool // somebody else's object is there in the end
	}{
		{meddling{"a part is cut, always", part, always(cut), objects.ErrAway}, false},
		{meddling{"a part is cut, once", part, firstly(cut), nil}, false},
		{meddling{"503 at a part, always", part, always(func(w http.ResponseWriter) { answer(w, http.StatusServiceUnavailable, "SlowDown") }), objects.ErrBusy}, false},
		{meddling{"cut after it was completed", completing, func(s *storage, w http.ResponseWriter, r *http.Request, n int) bool {
			if n > 1 {
				return false
			}
			s.behind.ServeHTTP(httptest.NewRecorder(), r)
			cut(w)
			return true
		}, nil}, false},
		{meddling{"never completed", completing, always(cut), objects.ErrAway}, false},
		{meddling{"somebody was faster", completing, func(s *storage, _ http.ResponseWriter, r *http.Request, n int) bool {
			if n == 1 {
				bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
				_, _ = s.client.PutObject(context.WithoutCancel(r.Context()), bucket, key, strings.NewReader("foreign"), 7, minio.PutObjectOptions{})
			}
			return false
		}, objects.ErrDiffers}, true},
		{meddling{"knows no If-None-Match, and says so", completing, func(_ *storage, w http.ResponseWriter, r *http.Request, _ int) bool {
			if r.Header.Get("If-None-Match") == "" {
				return false
			}
			answer(w, http.StatusNotImplemented, "NotImplemented")
			return true
		}, nil}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			often(t, c.foreign)
			b := s.open(t, inParts)
			e, f := large(t, strings.Map(func(r rune) rune {
				if r == ' ' || r == ',' {
					return '-'
				}
				return r
			}, c.name))
			var n atomic.Int64
			s.fails(func(w http.ResponseWriter, r *http.Request) bool { return c.at(r) && c.do(s, w, r, int(n.Add(1))) })
			_, err := b.Upload(t.Context(), e, f, 1)
			s.fails(nil)
			if !errors.Is(err, c.want) {
				t.Fatalf("%v, not %v", err, c.want)
			}
			object := "backups/" + e.ObjectName(1)
			if c.foreign {
				kept, err := s.client.GetObject(t.Context(), "plain", object, minio.GetObjectOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if text, _ := io.ReadAll(kept); string(text) != "foreign" {
					t.Errorf("the object has %d bytes now", len(text))
				}
				return
			}
			if _, there := s.client.StatObject(t.Context(), "plain", object, minio.StatObjectOptions{}); (there == nil) != (err == nil) {
				t.Errorf("the upload: %v; the object: %v", err, there)
			}
			if r, err := b.Upload(t.Context(), e, reopened(t, e), 1); err != nil || r.Checksum == "" {
				t.Errorf("the next upload: %+v, %v", r, err)
			}
			if n := s.left(t); n != 0 {
				t.Errorf("%d uploads are left incomplete", n)
			}
		})
	}
}

// A file that has rotted is not sent in parts either.
func TestObjectsRottedInParts(t *testing.T) {
	s := newStorage(t)
	e, _ := large(t, "rotted")
	text, err := os.ReadFile(e.Path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-5] ^= 1
	if err := errors.Join(os.Chmod(e.Path, 0o600), os.WriteFile(e.Path, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.open(t, inParts).Upload(t.Context(), e, reopened(t, e), 1); !errors.Is(err, archive.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
	if n := s.left(t); n != 0 {
		t.Errorf("%d uploads are left incomplete", n)
	}
}
