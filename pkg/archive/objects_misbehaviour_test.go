package archive_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/archive/objects"
)

// answer is an error as S3 gives it.
func answer(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	io.WriteString(w, `<?xml version="1.0"?><Error><Code>`+code+`</Code><Message>no</Message></Error>`)
}

// cut ends the connection.
func cut(w http.ResponseWriter) {
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		c.Close()
	}
}

// silent sends the beginning of an object, and then nothing while the client waits.
func silent(s *storage, w http.ResponseWriter, r *http.Request, _ int) bool {
	whole := httptest.NewRecorder()
	s.behind.ServeHTTP(whole, r)
	maps.Copy(w.Header(), whole.Header())
	w.WriteHeader(whole.Code)
	_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
	return true
}

func isObject(r *http.Request, method string) bool {
	return r.Method == method && strings.Contains(r.URL.Path, "/archives/")
}

// meddling is a way in which a server goes wrong: it gets the number of the
// request, from 1, among those that it meddles with.
type meddling struct {
	name string
	at   func(r *http.Request) bool
	do   func(s *storage, w http.ResponseWriter, r *http.Request, n int) bool
	want error // nil: it is done all the same
}

func always(do func(w http.ResponseWriter)) func(*storage, http.ResponseWriter, *http.Request, int) bool {
	return func(_ *storage, w http.ResponseWriter, r *http.Request, _ int) bool {
		_, _ = io.CopyN(io.Discard, r.Body, 1000)
		do(w)
		return true
	}
}

func firstly(do func(w http.ResponseWriter)) func(*storage, http.ResponseWriter, *http.Request, int) bool {
	return func(s *storage, w http.ResponseWriter, r *http.Request, n int) bool {
		return n == 1 && always(do)(s, w, r, n)
	}
}

// Whatever a server does to an upload, it is tried again or told; nothing is called
// off-site that is not there; nobody's object is replaced; and the next upload, to
// a server that is in order, completes it.
func TestObjectsUploadToMisbehavingServers(t *testing.T) {
	s := newStorage(t)
	every := func(*http.Request) bool { return true }
	puts := func(r *http.Request) bool { return isObject(r, http.MethodPut) }
	slow := func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "0")
		answer(w, http.StatusServiceUnavailable, "SlowDown")
	}
	code := func(status int, name string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { answer(w, status, name) }
	}
	for _, c := range []meddling{
		{"cut in the body, once", puts, firstly(cut), nil},
		{"cut in the body, always", puts, always(cut), objects.ErrAway},
		{"cut after it was stored", puts, func(s *storage, w http.ResponseWriter, r *http.Request, n int) bool {
			if n > 1 {
				return false
			}
			s.behind.ServeHTTP(httptest.NewRecorder(), r)
			cut(w)
			return true
		}, nil},
		{"503 SlowDown, once", every, firstly(slow), nil},
		{"503 SlowDown, always", every, always(slow), objects.ErrBusy},
		{"500, always", puts, always(code(http.StatusInternalServerError, "InternalError")), objects.ErrBusy},
		{"the region is refused once", func(r *http.Request) bool { return r.URL.Query().Has("location") }, firstly(slow), nil},
		{"RequestTimeTooSkewed", every, always(code(http.StatusForbidden, "RequestTimeTooSkewed")), objects.ErrClock},
		{"403", every, always(code(http.StatusForbidden, "SignatureDoesNotMatch")), objects.ErrRefused},
		{"404 NoSuchBucket", every, always(code(http.StatusNotFound, "NoSuchBucket")), objects.ErrNoBucket},
		{"stores other bytes", puts, func(s *storage, w http.ResponseWriter, r *http.Request, _ int) bool {
			body, err := io.ReadAll(r.Body)
			if err == nil {
				body[len(body)/2] ^= 1
				err = s.storeAs(r, body)
			}
			if err != nil {
				return false
			}
			w.Header().Set("ETag", `"1"`)
			return true
		}, objects.ErrDiffers},
		{"stores the half", puts, func(s *storage, w http.ResponseWriter, r *http.Request, _ int) bool {
			body, _ := io.ReadAll(r.Body)
			_ = s.storeAs(r, body[:len(body)/2])
			w.Header().Set("ETag", `"1"`)
			return true
		}, objects.ErrDiffers},
		{"knows no If-None-Match, and says so", puts, func(_ *storage, w http.ResponseWriter, r *http.Request, _ int) bool {
			if r.Header.Get("If-None-Match") == "" {
				return false
			}
			_, _ = io.Copy(io.Discard, r.Body)
			answer(w, http.StatusNotImplemented, "NotImplemented")
			return true
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			prefix := strings.Map(func(r rune) rune {
				if r == ' ' || r == ',' {
					return '-'
				}
				return r
			}, c.name)
			b := s.open(t, func(o *objects.Options) { o.URL = "s3://plain/" + prefix })
			e, file := archived(t, "misbehaving", 3000)
			var n atomic.Int32
			s.fails(func(w http.ResponseWriter, r *http.Request) bool { return c.at(r) && c.do(s, w, r, int(n.Add(1))) })
			r, err := b.Upload(t.Context(), e, file, 1)
			s.fails(nil)
			if !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Fatalf("the upload: %v, want %v", err, c.want)
			}
			if n.Load() == 0 {
				t.Fatal("nothing was meddled with")
			}
			if c.want == objects.ErrDiffers { // told until somebody removes it
				if _, err := b.Upload(t.Context(), e, reopened(t, e), 1); !errors.Is(err, objects.ErrDiffers) {
					t.Fatalf("the next upload: %v", err)
				}
				if err := s.client.RemoveObject(t.Context(), "plain", prefix+"/"+e.ObjectName(1), minio.RemoveObjectOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			if err != nil {
				if r, err = b.Upload(t.Context(), e, reopened(t, e), 1); err != nil {
					t.Fatalf("the next upload: %v", err)
				}
			}
			e.Remote = &r
			if _, err := b.Check(t.Context(), e); err != nil {
				t.Error(err)
			}
			fetched(t, b, e)
		})
	}
}

// storeAs stores other bytes than it was sent under a key.
func (s *storage) storeAs(r *http.Request, body []byte) error {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	_, err := s.client.PutObject(context.WithoutCancel(r.Context()), bucket, key, bytes.NewReader(body), int64(len(body)), minio.PutObjectOptions{})
	return err
}

// A server that passes over If-None-Match does not lose what others have put there.
func TestObjectsUploadWithoutConditions(t *testing.T) {
	s := newStorage(t)
	e, file := archived(t, "unconditional", 100)
	b, key, foreign := s.open(t), "backups/"+e.ObjectName(1), "somebody else's"
	if _, err := s.client.PutObject(t.Context(), "plain", key, strings.NewReader(foreign), int64(len(foreign)), minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	s.fails(func(w http.ResponseWriter, r *http.Request) bool {
		if !isObject(r, http.MethodPut) {
			return false
		}
		body, _ := io.ReadAll(r.Body)
		_ = s.storeAs(r, body)
		return true
	})
	if _, err := b.Upload(t.Context(), e, file, 1); !errors.Is(err, objects.ErrDiffers) {
		t.Errorf("the upload: %v", err)
	}
	kept, err := s.client.GetObject(t.Context(), "plain", key, minio.GetObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := io.ReadAll(kept); string(text) != foreign {
		t.Errorf("the object was replaced: %.40q", text)
	}
}

// An upload in parts that somebody began under the same name is no object.
func TestObjectsHalfUploadedIsNotThere(t *testing.T) {
	s := newStorage(t)
	e, file := archived(t, "half", 100)
	core, key := minio.Core{Client: s.client}, "backups/"+e.ObjectName(1)
	id, err := core.NewMultipartUpload(t.Context(), "plain", key, minio.PutObjectOptions{})
	if err == nil {
		_, err = core.PutObjectPart(t.Context(), "plain", key, id, 1, strings.NewReader("part"), 4, minio.PutObjectPartOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	b := s.open(t)
	recorded := e
	recorded.Remote = &archive.Remote{URL: "s3://plain/" + key, SHA256: e.StoredSHA256, Bytes: e.StoredBytes}
	if _, err := b.Check(t.Context(), recorded); !errors.Is(err, objects.ErrMissing) {
		t.Errorf("before the upload: %v", err)
	}
	r, err := b.Upload(t.Context(), e, file, 1)
	if err != nil {
		t.Fatal(err)
	}
	recorded.Remote = &r
	fetched(t, b, recorded)
}

// What a server does to a download: it goes on where it was broken off, or fails;
// other bytes are never taken.
func TestObjectsFetchFromMisbehavingServers(t *testing.T) {
	s := newStorage(t)
	e, file := archived(t, "fetched", 20_000)
	b := s.open(t, func(o *objects.Options) { o.Silence = time.Second })
	r, err := b.Upload(t.Context(), e, file, 1)
	if err != nil {
		t.Fatal(err)
	}
	e.Remote = &r
	gets := func(r *http.Request) bool { return isObject(r, http.MethodGet) }
	// half gives half of what was asked for and ends the connection.
	half := func(most int) func(*storage, http.ResponseWriter, *http.Request, int) bool {
		return func(s *storage, w http.ResponseWriter, r *http.Request, n int) bool {
			if n > most {
				return false
			}
			whole := httptest.NewRecorder()
			s.behind.ServeHTTP(whole, r)
			maps.Copy(w.Header(), whole.Header())
			w.WriteHeader(whole.Code)
			_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
			_ = http.NewResponseController(w).Flush()
			cut(w)
			return true
		}
	}
	for _, c := range []meddling{
		{"silent in the middle", gets, silent, objects.ErrAway},
		{"cut in the middle, once", gets, half(1), nil},
		{"cut in the middle, always", gets, half(1000), objects.ErrAway},
		{"cut, and the rest is not given alone", gets, func(s *storage, w http.ResponseWriter, r *http.Request, n int) bool {
			if n == 1 {
				return half(1)(s, w, r, 1)
			}
			_, _ = w.Write(make([]byte, r.ContentLength+1000))
			return true
		}, errAny},
		{"503 once", gets, firstly(func(w http.ResponseWriter) { answer(w, http.StatusServiceUnavailable, "SlowDown") }), nil},
		{"other bytes", gets, func(_ *storage, w http.ResponseWriter, _ *http.Request, _ int) bool {
			w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
			w.Header().Set("ETag", `"1"`)
			_, _ = io.WriteString(w, strings.Repeat("x", int(e.StoredBytes)))
			return true
		}, archive.ErrCorrupt},
		{"gone", gets, always(func(w http.ResponseWriter) { answer(w, http.StatusNotFound, "NoSuchKey") }), objects.ErrMissing},
	} {
		t.Run(c.name, func(t *testing.T) {
			var n atomic.Int32
			s.fails(func(w http.ResponseWriter, r *http.Request) bool { return c.at(r) && c.do(s, w, r, int(n.Add(1))) })
			var got bytes.Buffer
			err := b.Fetch(t.Context(), e, &got)
			s.fails(nil)
			if c.want == errAny && err == nil || c.want != errAny && !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if err == nil && int64(got.Len()) != e.StoredBytes {
				t.Errorf("%d bytes, want %d", got.Len(), e.StoredBytes)
			}
		})
	}
}

// errAny stands for an error of whatever kind.
var errAny = errors.New("any")
