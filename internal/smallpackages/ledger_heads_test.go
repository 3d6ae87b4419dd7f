//go:build unix

package smallpackages_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/fakeobjects"
	servers "github.com/sessctl/sessctl/internal/postgres"
	"github.com/sessctl/sessctl/pkg/archive/objects"
	"github.com/sessctl/sessctl/pkg/ledger"
	"github.com/sessctl/sessctl/pkg/ledger/heads"
	"github.com/sessctl/sessctl/pkg/memory/remote/postgres"
)

// inBucket is the place that a command makes of object storage.
type inBucket struct{ objects.Heads }

func (b inBucket) Name() string { return b.Bucket.URL() }

func (b inBucket) Keep(ctx context.Context, head ledger.Head) error {
	return b.Put(ctx, head.N, head.Note)
}

// headPlaces makes an empty place of each kind.
func headPlaces(t *testing.T) map[string]heads.Place {
	t.Helper()
	all := map[string]heads.Place{
		"file":       heads.File{Path: filepath.Join(t.TempDir(), "head")},
		"state":      heads.File{Path: filepath.Join(t.TempDir(), "made", "head"), Make: true},
		"webhook":    hookThatKeeps(t),
		"repository": repositoryOf(t, gitKind{}),
		"bare":       repositoryOf(t, gitKind{bare: true, format: "sha256"}),
		"pushed":     repositoryOf(t, gitKind{pushed: true}),
		"host":       hostBySSH(t),
		"bucket":     bucketOfHeads(t),
		"table":      tableOfHeads(t),
	}
	for name, p := range all {
		if p == nil {
			delete(all, name)
		}
	}
	return all
}

func hookThatKeeps(t *testing.T) heads.Place {
	var kept []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/secret":
			w.WriteHeader(http.StatusForbidden)
		case r.Method == http.MethodPost:
			kept, _ = io.ReadAll(r.Body)
		case kept == nil:
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = w.Write(kept)
		}
	}))
	t.Cleanup(server.Close)
	to, err := url.Parse(server.URL + "/secret")
	if err != nil {
		t.Fatal(err)
	}
	return heads.Webhook{URL: to, As: "here"}
}

// hostBySSH is a host that a program in the PATH plays: it runs the command in a
// directory of its own, as ssh does in the home directory.
func hostBySSH(t *testing.T) heads.Place {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Log("there is no shell")
		return nil
	}
	bin, home := t.TempDir(), t.TempDir()
	script := "#!/bin/sh\nwhile test \"$1\" != --; do shift; done\ncd " + home + " && exec sh -c \"$3\"\n"
	if err := os.WriteFile(filepath.Join(bin, "ssh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return heads.Host{Host: "backup.example.net", As: "here"}
}

func bucketOfHeads(t *testing.T) heads.Place {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	server := fakeobjects.Start()
	t.Cleanup(server.Close)
	bucket, err := objects.Open(objects.Options{URL: "s3://bucket/prefix", Endpoint: server.URL, Region: "here", Getenv: os.Getenv, Scratch: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return inBucket{objects.Heads{Bucket: bucket, As: "here"}}
}

// inTable is the place that a command makes of PostgreSQL.
type inTable struct{ postgres.Heads }

func (p inTable) Name() string { return p.Address() }

func (p inTable) Keep(ctx context.Context, head ledger.Head) error {
	return p.Put(ctx, head.N, head.Note)
}

func tableOfHeads(t *testing.T) heads.Place {
	server, err := servers.Start(t.Context())
	if err != nil {
		t.Logf("there is no PostgreSQL: %v", err)
		return nil
	}
	t.Cleanup(server.Stop)
	return inTable{postgres.Heads{URL: server.DSN, As: "here"}}
}

// TestHeadsOfEveryPlace publishes heads of a ledger that grows, is put back, is
// rewritten and is begun anew, to a place of each kind.
func TestHeadsOfEveryPlace(t *testing.T) {
	for name, place := range headPlaces(t) {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			l, first := ledgerOf(t, ledgerLeaves(0, 3)...)
			want := func(got heads.Seen, state heads.State, size int64) {
				t.Helper()
				if got.State != state || got.Size != size || (got.Reason != "") != (state == heads.Contradicts) {
					t.Fatalf("%+v, want %s of %d", got, state, size)
				}
			}
			want(heads.Compare(ctx, l, 3, place), heads.None, 0)
			want(heads.Publish(ctx, l, first, place), heads.Same, 3)
			want(heads.Publish(ctx, l, first, place), heads.Same, 3)

			back := ledger.Open(filepath.Join(t.TempDir(), "ledger"), nil)
			if err := os.CopyFS(back.Dir(), os.DirFS(l.Dir())); err != nil {
				t.Fatal(err)
			}
			second := grown(t, l, ledgerLeaves(3, 12)...)
			want(heads.Compare(ctx, l, second.N, place), heads.Behind, 3)
			want(heads.Publish(ctx, l, second, place), heads.Same, 12)
			last, err := place.Last(ctx)
			if err != nil || !bytes.Equal(last, second.Note) {
				t.Fatalf("%v: %q, want %q", err, last, second.Note)
			}
			want(heads.Publish(ctx, l, first, place), heads.Same, 12) // another run was faster
			want(heads.Publish(ctx, back, first, place), heads.Contradicts, 12)

			anew, its := ledgerOf(t, ledgerLeaves(0, 20)...)
			want(heads.Publish(ctx, anew, its, place), heads.Contradicts, 0)
			rewritten := ledger.Open(filepath.Join(t.TempDir(), "ledger"), nil)
			if err := os.CopyFS(rewritten.Dir(), keyOf(l)); err != nil {
				t.Fatal(err)
			}
			want(heads.Publish(ctx, rewritten, grown(t, rewritten, ledgerLeaves(1, 20)...), place), heads.Contradicts, 12)
			gone := ledger.Open(filepath.Join(t.TempDir(), "ledger"), nil)
			want(heads.Compare(ctx, gone, 0, place), heads.Contradicts, 0)

			if last, err := place.Last(ctx); err != nil || !bytes.Equal(last, second.Note) {
				t.Fatalf("a head was replaced that contradicts: %v, %q", err, last)
			}
			want(heads.Publish(ctx, l, grown(t, l, ledgerLeaves(12, 13)...), place), heads.Same, 13)

			last, err = place.Last(ctx)
			if err != nil {
				t.Fatal(err)
			}
			given, its := ledgerOf(t, append(ledger.BegunAfter(time.Now(), "on purpose", last), ledgerLeaves(20, 60)...)...)
			want(heads.Compare(ctx, given, its.N, place), heads.GivenUp, 0)
			want(heads.Publish(ctx, given, its, place), heads.Same, its.N)
			want(heads.Compare(ctx, given, its.N, place), heads.Same, its.N)
			want(heads.Compare(ctx, l, 13, place), heads.Contradicts, 0)
		})
	}
}

// keyOf are the files of a ledger with which its heads are signed.
func keyOf(l *ledger.Log) fs.FS {
	all := os.DirFS(l.Dir())
	return only{all, map[string]bool{".": true, "key": true, "verifier": true}}
}

// only is a part of a directory.
type only struct {
	fs.FS
	names map[string]bool
}

func (o only) ReadDir(name string) (some []fs.DirEntry, err error) {
	all, err := fs.ReadDir(o.FS, name)
	for _, e := range all {
		if o.names[e.Name()] {
			some = append(some, e)
		}
	}
	return some, err
}

// TestHeadsUnreached holds that a place that does not answer is only told, and one that
// gives no head back is told of new ones.
func TestHeadsUnreached(t *testing.T) {
	l, head := ledgerOf(t, ledgerLeaves(0, 3)...)
	posted := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			posted++
			return
		}
		w.WriteHeader(http.StatusMethodNotAllowed)
	}))
	at, err := url.Parse(server.URL + "/token")
	if err != nil {
		t.Fatal(err)
	}
	if seen := heads.Publish(t.Context(), l, head, heads.Webhook{URL: at}); seen.State != heads.Mute || posted != 1 {
		t.Errorf("%+v, posted %d times", seen, posted)
	}
	server.Close()
	for _, place := range []heads.Place{
		heads.Webhook{URL: at}, heads.Repository{Dir: t.TempDir(), As: "here"},
		heads.File{Path: filepath.Join(t.TempDir(), "not", "mounted")}, heads.Host{Host: "host.invalid", As: "here"},
	} {
		seen := heads.Publish(t.Context(), l, head, place)
		if seen.State != heads.Unreached || seen.Reason == "" || bytes.Contains([]byte(seen.Reason), []byte("token")) {
			t.Errorf("%s: %+v", place.Name(), seen)
		}
	}
	if _, err := os.Stat(filepath.Join(t.TempDir(), "not")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a directory was made")
	}
}
