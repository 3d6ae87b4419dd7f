package fakeobjects

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Object is what was put under a key.
type Object struct {
	Body   []byte
	Header http.Header // that came with it: type, checksum, metadata, object lock
}

func (o Object) etag() string {
	sum := sha256.Sum256(o.Body)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// Server is a running server. Close it.
type Server struct {
	*httptest.Server

	mutex   sync.Mutex
	objects map[string]Object // by bucket/key; every bucket is there
}

// Start starts a server without objects.
func Start() *Server {
	s := &Server{objects: map[string]Object{}}
	s.Server = httptest.NewServer(s)
	return s
}

// Objects are those there are now, by bucket/key.
func (s *Server) Objects() map[string]Object {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return maps.Clone(s.objects)
}

// Replace makes the objects those of an earlier time.
func (s *Server) Replace(objects map[string]Object) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.objects = maps.Clone(objects)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(r.URL.Path, "/")
	bucket, name, _ := strings.Cut(key, "/")
	switch {
	case name == "" && r.Method == http.MethodHead:
	case name == "" && r.URL.Query().Has("location"):
		fmt.Fprint(w, `<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></LocationConstraint>`)
	case name == "":
		s.list(w, r, bucket)
	case r.Method == http.MethodPut:
		s.put(w, r, key)
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		s.get(w, r, key)
	default:
		refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, code)
}

func (s *Server) put(w http.ResponseWriter, r *http.Request, key string) {
	body, err := content(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	sum := sha256.Sum256(body)
	if want := r.Header.Get("X-Amz-Checksum-Sha256"); want != "" && want != base64.StdEncoding.EncodeToString(sum[:]) {
		refuse(w, http.StatusBadRequest, "BadDigest")
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, there := s.objects[key]; there && r.Header.Get("If-None-Match") == "*" {
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	o := Object{Body: body, Header: http.Header{}}
	for name, values := range r.Header {
		if name == "Content-Type" || strings.HasPrefix(name, "X-Amz-Meta-") || strings.HasPrefix(name, "X-Amz-Object-Lock-") || strings.HasPrefix(name, "X-Amz-Checksum-") {
			o.Header[name] = values
		}
	}
	s.objects[key] = o
	w.Header().Set("ETag", o.etag())
}

// content is the body of a request without the signatures of its chunks.
func content(r *http.Request) ([]byte, error) {
	if r.Header.Get("X-Amz-Decoded-Content-Length") == "" {
		return io.ReadAll(r.Body)
	}
	want, err := strconv.Atoi(r.Header.Get("X-Amz-Decoded-Content-Length"))
	if err != nil {
		return nil, err
	}
	var whole bytes.Buffer
	chunks := bufio.NewReader(r.Body)
	for {
		head, err := chunks.ReadString('\n')
		if err != nil {
			return nil, err
		}
		size, _, _ := strings.Cut(strings.TrimSpace(head), ";")
		n, err := strconv.ParseInt(size, 16, 64)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		if _, err := io.CopyN(&whole, chunks, n); err != nil {
			return nil, err
		}
		if _, err := chunks.ReadString('\n'); err != nil {
			return nil, err
		}
	}
	if whole.Len() != want {
		return nil, io.ErrUnexpectedEOF
	}
	return whole.Bytes(), nil
}

func (s *Server) get(w http.ResponseWriter, r *http.Request, key string) {
	s.mutex.Lock()
	o, there := s.objects[key]
	s.mutex.Unlock()
	if !there {
		refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	for name, values := range o.Header {
		if !strings.HasPrefix(name, "X-Amz-Checksum-") || r.Header.Get("X-Amz-Checksum-Mode") == "ENABLED" {
			w.Header()[name] = values
		}
	}
	w.Header().Set("ETag", o.etag())
	http.ServeContent(w, r, "", time.Unix(1_700_000_000, 0), bytes.NewReader(o.Body)) // ranges and conditions
}

// listing is the answer to a list of objects (version 2).
type listing struct {
	XMLName  xml.Name `xml:"ListBucketResult"`
	Contents []listed
}

type listed struct {
	Key          string
	LastModified string
	ETag         string
	Size         int
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, bucket string) {
	var found listing
	all := s.Objects()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if name, mine := strings.CutPrefix(key, bucket+"/"); mine && strings.HasPrefix(name, r.URL.Query().Get("prefix")) {
			found.Contents = append(found.Contents, listed{Key: name, LastModified: "2026-01-01T00:00:00.000Z", ETag: all[key].etag(), Size: len(all[key].Body)})
		}
	}
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(found) // the client sees a list that is cut off
}
