package archive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/minio/minio-go/v7"
	"github.com/sessctl/sessctl/internal/objectstore"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/archive/objects"
)

// storage is a real S3 server with a proxy before it that can misbehave.
type storage struct {
	*objectstore.Server
	client *minio.Client
	proxy  *httptest.Server
	behind http.Handler // what passes by the proxy
	// meddle answers a request itself and returns true, or lets it pass.
	meddle atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
}

func newStorage(t *testing.T) *storage {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", objectstore.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", objectstore.SecretKey)
	server, err := objectstore.Start(t.Context(), t.TempDir())
	if errors.Is(err, objectstore.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	s := &storage{Server: server}
	s.behind = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { // the signature is of the Host that was asked
		r.SetURL(&url.URL{Scheme: "http", Host: server.Address})
		r.Out.Host = r.In.Host
	}, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }}
	s.proxy = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if meddle := s.meddle.Load(); meddle == nil || !(*meddle)(w, r) {
			s.behind.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.proxy.Close)
	if s.client, err = server.Client(); err != nil {
		t.Fatal(err)
	}
	for bucket, lock := range map[string]bool{"plain": false, "locked": true} {
		if err := server.MakeBucket(t.Context(), bucket, lock); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// fails meddles from now on; nil no more.
func (s *storage) fails(meddle func(http.ResponseWriter, *http.Request) bool) {
	if meddle == nil {
		s.meddle.Store(nil)
		return
	}
	s.meddle.Store(&meddle)
}

func (s *storage) open(t *testing.T, change ...func(*objects.Options)) *objects.Bucket {
	t.Helper()
	o := objects.Options{URL: "s3://plain/backups", Endpoint: s.proxy.URL, Scratch: filepath.Join(t.TempDir(), "scratch"), Getenv: func(string) string { return "" }, Retries: 2}
	for _, c := range change {
		c(&o)
	}
	b, err := objects.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// archived is an archive of a session of so many lines.
func archived(t *testing.T, name string, lines int) (archive.Entry, *os.File) {
	t.Helper()
	dir := t.TempDir()
	store, err := archive.Open(filepath.Join(dir, "catalogue"), archive.Options{Dir: func(archive.Meta) string { return filepath.Join(dir, "archives") }, Compression: archive.CompressionZstd})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	for i := range lines {
		fmt.Fprintf(&log, "{\"n\":%d,\"text\":\"%s\"}\n", i, name)
	}
	e, err := store.Put(t.Context(), archive.Meta{Runtime: "openclaw", Agent: "Zoë-🦞", Session: name, Source: name + ".jsonl"}, strings.NewReader(log.String()), int64(log.Len()), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return e, reopened(t, e)
}

func reopened(t *testing.T, e archive.Entry) *os.File {
	t.Helper()
	f, err := os.Open(e.Path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func fetched(t *testing.T, b *objects.Bucket, e archive.Entry) []byte {
	t.Helper()
	var got bytes.Buffer
	if err := b.Fetch(t.Context(), e, &got); err != nil {
		t.Fatal(err)
	}
	return got.Bytes()
}

// What is uploaded is checked, found by its entry, and comes back byte for byte; a
// second upload adds nothing.
func TestObjectsUploadAndFetch(t *testing.T) {
	s := newStorage(t)
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	sealed := func(o *objects.Options) {
		o.Recipients, o.Identities = []string{key.Recipient().String()}, key.String()
	}
	for name, change := range map[string]func(*objects.Options){"plain": func(*objects.Options) {}, "sealed": sealed} {
		t.Run(name, func(t *testing.T) {
			b := s.open(t, change, func(o *objects.Options) { o.URL = "s3://plain/" + name })
			e, file := archived(t, name, 1000)
			first, err := b.Upload(t.Context(), e, file, 1)
			if err != nil {
				t.Fatal(err)
			}
			second, err := b.Upload(t.Context(), e, reopened(t, e), 1)
			if err != nil || second.SHA256 != first.SHA256 || second.URL != first.URL {
				t.Fatalf("the second upload: %+v, %v; the first was %+v", second, err, first)
			}
			if first.Encrypted != (name == "sealed") || first.Encrypted == (first.SHA256 == e.StoredSHA256) {
				t.Errorf("the copy is %+v", first)
			}
			var found []archive.Entry
			for x, err := range b.Entries(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, x)
			}
			if len(found) != 1 || found[0].ID != e.ID || found[0].Remote == nil {
				t.Fatalf("found %+v", found)
			}
			want, err := os.ReadFile(e.Path)
			if err != nil {
				t.Fatal(err)
			}
			if got := fetched(t, b, found[0]); !bytes.Equal(got, want) {
				t.Error("what was fetched has other bytes")
			}
			if _, err := b.Check(t.Context(), found[0]); err != nil {
				t.Error(err)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(e.Path), "*.age")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if err := b.Opens(t.Context(), found[0]); err != nil {
				t.Error(err)
			}
			if first.Encrypted {
				without := s.open(t, func(o *objects.Options) { o.URL = "s3://plain/sealed" })
				if err := without.Fetch(t.Context(), found[0], io.Discard); !errors.Is(err, objects.ErrNoIdentity) {
					t.Errorf("without the key: %v", err)
				}
				if err := without.Opens(t.Context(), found[0]); !errors.Is(err, objects.ErrNoIdentity) {
					t.Errorf("without the key it opens: %v", err)
				}
				other, _ := age.GenerateX25519Identity()
				wrong := s.open(t, func(o *objects.Options) { o.URL, o.Identities = "s3://plain/sealed", other.String() })
				if err := wrong.Fetch(t.Context(), found[0], io.Discard); !errors.Is(err, objects.ErrNoIdentity) {
					t.Errorf("with another key: %v", err)
				}
				if err := wrong.Opens(t.Context(), found[0]); !errors.Is(err, objects.ErrNoIdentity) {
					t.Errorf("with another key it opens: %v", err)
				}
			}
		})
	}
}

// Nothing is called off-site that the storage does not have, and nobody's object
// is replaced.
func TestObjectsUploadRefuses(t *testing.T) {
	s := newStorage(t)
	b := s.open(t)
	e, file := archived(t, "refused", 100)
	objectOf := "backups/" + e.ObjectName(1)

	t.Run("another object of that name", func(t *testing.T) {
		foreign := "something else"
		if _, err := s.client.PutObject(t.Context(), "plain", objectOf, strings.NewReader(foreign), int64(len(foreign)), minio.PutObjectOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Upload(t.Context(), e, file, 1); !errors.Is(err, objects.ErrDiffers) {
			t.Errorf("got %v", err)
		}
		kept, err := s.client.GetObject(t.Context(), "plain", objectOf, minio.GetObjectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := io.ReadAll(kept); string(text) != foreign {
			t.Errorf("the object is %q now", text)
		}
		if err := s.client.RemoveObject(t.Context(), "plain", objectOf, minio.RemoveObjectOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a file that has rotted", func(t *testing.T) {
		bad, _ := archived(t, "rotted", 100)
		text, err := os.ReadFile(bad.Path)
		if err != nil {
			t.Fatal(err)
		}
		text[len(text)/2] ^= 1
		if err := errors.Join(os.Chmod(bad.Path, 0o600), os.WriteFile(bad.Path, text, 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Upload(t.Context(), bad, reopened(t, bad), 1); err == nil {
			t.Error("it was uploaded")
		}
		key, _ := age.GenerateX25519Identity()
		sealing := s.open(t, func(o *objects.Options) { o.Recipients = []string{key.Recipient().String()} })
		if _, err := sealing.Upload(t.Context(), bad, reopened(t, bad), 1); !errors.Is(err, archive.ErrCorrupt) {
			t.Errorf("encrypted: %v", err)
		}
	})
	t.Run("no such bucket", func(t *testing.T) {
		gone := s.open(t, func(o *objects.Options) { o.URL = "s3://nowhere" })
		if _, err := gone.Upload(t.Context(), e, reopened(t, e), 1); !errors.Is(err, objects.ErrNoBucket) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a wrong key", func(t *testing.T) {
		t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
		if _, err := s.open(t).Upload(t.Context(), e, reopened(t, e), 1); !errors.Is(err, objects.ErrRefused) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("nobody answers", func(t *testing.T) {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		free.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := s.open(t, func(o *objects.Options) { o.Endpoint, o.Retries = "http://"+free.Addr().String(), 1 }).Upload(ctx, e, reopened(t, e), 1); err == nil {
			t.Error("it was uploaded")
		}
	})
}

// A storage that is throttled, breaks off, lies or loses what it took: the upload
// is tried again, or said to have failed; the next one completes it.
func TestObjectsUploadThroughFailures(t *testing.T) {
	s := newStorage(t)
	e, _ := archived(t, "failures", 5000)
	slow := func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, `<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>`)
	}
	isPut := func(r *http.Request, what string) bool {
		return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/"+what+"/")
	}
	var count atomic.Int32
	for name, c := range map[string]struct {
		meddle func(w http.ResponseWriter, r *http.Request) bool
		ok     bool
	}{
		"throttled once": {func(w http.ResponseWriter, r *http.Request) bool {
			if isPut(r, "archives") && count.Add(1) == 1 {
				slow(w)
				return true
			}
			return false
		}, true},
		"throttled for ever": {func(w http.ResponseWriter, _ *http.Request) bool { slow(w); return true }, false},
		"broken off in the middle": {func(w http.ResponseWriter, r *http.Request) bool {
			if !isPut(r, "archives") {
				return false
			}
			io.CopyN(io.Discard, r.Body, 100)
			hijacked, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				hijacked.Close()
			}
			return true
		}, false},
		"says yes and keeps nothing": {func(w http.ResponseWriter, r *http.Request) bool {
			if !isPut(r, "archives") {
				return false
			}
			io.Copy(io.Discard, r.Body)
			w.Header().Set("ETag", `"1"`)
			return true
		}, false},
		"the entry is lost": {func(w http.ResponseWriter, r *http.Request) bool {
			if isPut(r, "entries") {
				io.Copy(io.Discard, r.Body)
				w.WriteHeader(http.StatusForbidden)
				return true
			}
			return false
		}, false},
		"the clock is wrong": {func(w http.ResponseWriter, r *http.Request) bool {
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, `<?xml version="1.0"?><Error><Code>RequestTimeTooSkewed</Code><Message>The difference is too large.</Message></Error>`)
			return true
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := s.open(t, func(o *objects.Options) { o.URL = "s3://plain/" + strings.ReplaceAll(name, " ", "-") })
			count.Store(0)
			s.fails(c.meddle)
			_, err := b.Upload(t.Context(), e, reopened(t, e), 1)
			s.fails(nil)
			if (err == nil) != c.ok {
				t.Fatalf("the upload: %v", err)
			}
			if name == "the clock is wrong" && !errors.Is(err, objects.ErrClock) {
				t.Errorf("got %v", err)
			}
			r, err := b.Upload(t.Context(), e, reopened(t, e), 1)
			if err != nil {
				t.Fatalf("the next upload: %v", err)
			}
			e.Remote = &r
			fetched(t, b, e)
		})
	}
}

// A copy is only called retained when the storage says so.
func TestObjectsUploadRetained(t *testing.T) {
	s := newStorage(t)
	keep := func(o *objects.Options) { o.Retain = 24 * time.Hour }
	e, file := archived(t, "retained", 100)
	r, err := s.open(t, keep, func(o *objects.Options) { o.URL = "s3://locked/x" }).Upload(t.Context(), e, file, 1)
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(r.RetainUntil); left < 23*time.Hour || left > 24*time.Hour {
		t.Errorf("kept until %v", r.RetainUntil)
	}
	key := "x/" + e.ObjectName(1)
	if err := s.client.RemoveObject(t.Context(), "locked", key, minio.RemoveObjectOptions{VersionID: versionOf(t, s, "locked", key)}); err == nil {
		t.Error("the copy could be deleted")
	}
	if _, err := s.open(t, keep).Upload(t.Context(), e, reopened(t, e), 1); !errors.Is(err, objects.ErrLocked) {
		t.Errorf("a bucket without object lock: %v", err)
	}
}

func versionOf(t *testing.T, s *storage, bucket, key string) string {
	t.Helper()
	info, err := s.client.StatObject(t.Context(), bucket, key, minio.StatObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return info.VersionID
}

// What has changed or gone on the storage is seen.
func TestObjectsCheckSeesDamage(t *testing.T) {
	s := newStorage(t)
	b := s.open(t)
	e, file := archived(t, "damaged", 1000)
	r, err := b.Upload(t.Context(), e, file, 1)
	if err != nil {
		t.Fatal(err)
	}
	e.Remote = &r
	key := "backups/" + e.ObjectName(1)
	if _, err := s.client.PutObject(t.Context(), "plain", key, strings.NewReader("x"), 1, minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Check(t.Context(), e); !errors.Is(err, objects.ErrDiffers) {
		t.Errorf("a changed object: %v", err)
	}
	if err := b.Fetch(t.Context(), e, io.Discard); !errors.Is(err, archive.ErrCorrupt) {
		t.Errorf("a changed object: %v", err)
	}
	if err := s.client.RemoveObject(t.Context(), "plain", key, minio.RemoveObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Check(t.Context(), e); !errors.Is(err, objects.ErrMissing) {
		t.Errorf("a deleted object: %v", err)
	}
}

func TestObjectsAddresses(t *testing.T) {
	env := func(string) string { return "" }
	for _, o := range []objects.Options{
		{URL: "bucket"}, {URL: "https://bucket"}, {URL: "s3://"}, {URL: "s3://key:secret@bucket"}, {URL: "s3://bucket?x=1"}, {URL: "s3://b/prefix"},
		{URL: "s3://bucket", Endpoint: "host:9000"}, {URL: "s3://bucket", Endpoint: "https://host/path"}, {URL: "s3://bucket", Endpoint: "https://u:p@host"},
		{URL: "s3://bucket", Recipients: []string{"age1nothing"}}, {URL: "s3://bucket", Identities: "secret words"},
	} {
		o.Getenv = env
		if _, err := objects.Open(o); err == nil {
			t.Errorf("%+v was taken", o)
		} else if strings.Contains(err.Error(), "secret words") {
			t.Errorf("the error says %v", err)
		}
	}
	b, err := objects.Open(objects.Options{URL: "s3://bucket/a/b/", Getenv: env})
	if err != nil || b.URL() != "s3://bucket/a/b" {
		t.Errorf("got %v, %v", b.URL(), err)
	}
}

// An encrypted object that is there already counts only if this host has sent it
// or can read it. That it says the right thing of itself is no reason.
func TestObjectsEncryptedByOthers(t *testing.T) {
	s := newStorage(t)
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	seal := func(o *objects.Options) { o.Recipients = []string{key.Recipient().String()} }
	open := func(o *objects.Options) { o.Identities = key.String() }
	put := func(t *testing.T, e archive.Entry, holds []byte) {
		t.Helper()
		var sealed bytes.Buffer
		w, err := age.Encrypt(&sealed, key.Recipient())
		if err == nil {
			_, err = w.Write(holds)
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(sealed.Bytes())
		metadata := map[string]string{"Sessctl-Plain-Sha256": e.StoredSHA256, "Sessctl-Sha256": hex.EncodeToString(sum[:])}
		if _, err := s.client.PutObject(t.Context(), "plain", "backups/"+e.ObjectName(1)+".age", &sealed, int64(sealed.Len()), minio.PutObjectOptions{UserMetadata: metadata}); err != nil {
			t.Fatal(err)
		}
	}
	file := func(e archive.Entry) []byte {
		text, err := os.ReadFile(e.Path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for name, c := range map[string]struct {
		holds func(e archive.Entry) []byte
		with  []func(*objects.Options)
		want  error
	}{
		"something else, without the key": {func(archive.Entry) []byte { return []byte("nothing") }, []func(*objects.Options){seal}, objects.ErrUnknown},
		"something else, with the key":    {func(archive.Entry) []byte { return []byte("nothing") }, []func(*objects.Options){seal, open}, objects.ErrDiffers},
		"the same, without the key":       {file, []func(*objects.Options){seal}, objects.ErrUnknown},
		"the same, with the key":          {file, []func(*objects.Options){seal, open}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			e, f := archived(t, strings.ReplaceAll(name, " ", "-"), 100)
			put(t, e, c.holds(e))
			r, err := s.open(t, c.with...).Upload(t.Context(), e, f, 1)
			if !errors.Is(err, c.want) || err == nil && (!r.Seen || !r.Encrypted) {
				t.Errorf("%+v: %v, not %v", r, err, c.want)
			}
		})
	}
	t.Run("sent before, and not recorded", func(t *testing.T) {
		e, f := archived(t, "sent", 100)
		b := s.open(t, seal)
		first, err := b.Upload(t.Context(), e, f, 1)
		if err != nil {
			t.Fatal(err)
		}
		again, err := b.Upload(t.Context(), e, reopened(t, e), 1)
		if err != nil || again.SHA256 != first.SHA256 {
			t.Errorf("%+v: %v; the first was %+v", again, err, first)
		}
		if err := b.Recorded(e.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Upload(t.Context(), e, reopened(t, e), 1); !errors.Is(err, objects.ErrUnknown) {
			t.Errorf("nothing says that it was sent: %v", err)
		}
		e.Remote = &first
		if _, err := b.Upload(t.Context(), e, reopened(t, e), 1); err != nil {
			t.Errorf("the catalogue says that it was sent: %v", err)
		}
	})
}
