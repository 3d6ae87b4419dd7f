package scriptcmd

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// broken HOW puts a proxy between sessctl and the server of `storage`, or has the
// one that is there go wrong in another way: "no" lets everything pass, "cut-put"
// breaks the connection off in an upload, "cut-put-once" in the first, "cut-stored"
// after the first was stored and before that is said, "cut-get" and "cut-get-once"
// in the middle of a fetched archive; "busy" answers 503 to everything, "busy-once"
// to the first request, "skewed" that the clocks differ, "gone" that there is no
// such bucket.
func broken(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: broken HOW")
	}
	at := filepath.Join(ts.Getenv("WORK"), "broken")
	_, err := os.Stat(at)
	ts.Check(os.WriteFile(at, []byte(args[0]), 0o600))
	if err == nil {
		return
	}
	behind, err := url.Parse(ts.Getenv("STORAGE"))
	ts.Check(err)
	p := &brokenProxy{how: at, next: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { // the signature is of the Host that was asked
		r.SetURL(behind)
		r.Out.Host = r.In.Host
	}, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }}}
	server := httptest.NewServer(p)
	ts.Defer(server.Close)
	ts.Setenv("STORAGE", server.URL)
}

// brokenProxy lets requests pass, or not.
type brokenProxy struct {
	how  string // the file that says
	next http.Handler

	mutex sync.Mutex
	said  string
	count int // of what went wrong since it was said
}

// ServeHTTP implements http.Handler.
func (p *brokenProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := os.ReadFile(p.how) // it was written before
	how, once := strings.CutSuffix(string(text), "-once")
	object := strings.Contains(r.URL.Path, "/archives/")
	affected := map[string]bool{"cut-put": object && r.Method == http.MethodPut, "cut-stored": object && r.Method == http.MethodPut,
		"cut-get": object && r.Method == http.MethodGet, "busy": true, "skewed": true, "gone": true}[how]
	if !affected || p.counted(string(text)) > 1 && (once || how == "cut-stored") {
		p.next.ServeHTTP(w, r)
		return
	}
	switch how {
	case "cut-put":
		_, _ = io.CopyN(io.Discard, r.Body, 1000)
	case "cut-stored":
		p.next.ServeHTTP(httptest.NewRecorder(), r)
	case "cut-get":
		p.half(w, r)
	case "busy":
		w.Header().Set("Retry-After", "0")
		deny(w, http.StatusServiceUnavailable, "SlowDown")
		return
	case "skewed":
		deny(w, http.StatusForbidden, "RequestTimeTooSkewed")
		return
	case "gone":
		deny(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = c.Close()
	}
}

// counted counts what goes wrong in one way.
func (p *brokenProxy) counted(how string) int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.said != how {
		p.said, p.count = how, 0
	}
	p.count++
	return p.count
}

// half sends the first half of what is asked for.
func (p *brokenProxy) half(w http.ResponseWriter, r *http.Request) {
	whole := httptest.NewRecorder()
	p.next.ServeHTTP(whole, r)
	maps.Copy(w.Header(), whole.Header())
	w.WriteHeader(whole.Code)
	_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
	_ = http.NewResponseController(w).Flush()
}

func deny(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `<?xml version="1.0"?><Error><Code>`+code+`</Code><Message>no</Message></Error>`)
}
