package cmd

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// The limits of the server. Each is one that no honest client meets.
const (
	maxRequestBody   = 64 << 10         // bytes
	maxRequestHeader = 16 << 10         // bytes
	headerTimeout    = 5 * time.Second  // for a request's header
	readTimeout      = 15 * time.Second // for a whole request
	writeTimeout     = 3 * time.Minute  // for a whole answer, with the time it waits and is made: a minute more than these
	idleTimeout      = time.Minute      // between two requests of a connection
	workTimeout      = time.Minute      // for making a document
	queueTimeout     = time.Minute      // for a request to come to its turn
	maxConnections   = 1200             // open ones; of those that wait for a request the oldest is closed
	maxServing       = 64               // requests that are served at a time; others wait
	maxWorking       = 2                // documents that are made at a time
	maxLinesBytes    = 8 << 20          // of archived lines in one document
)

// guard is what every request passes before it is served.
type guard struct {
	next http.Handler
	// token is the SHA-256 of what the Authorization header has to name; nil on a
	// unix socket, whose mode says who may use it.
	token *[sha256.Size]byte
	// hosts are the names under which the server may be asked besides by its address,
	// in lower case; nil on a unix socket.
	hosts   []string
	serving chan struct{}
	denied  *denials
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'")
	if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
		g.next.ServeHTTP(w, r)
		return
	}
	if p := g.refuse(r); p != nil {
		g.denied.note(p.Code)
		if p.Status == http.StatusUnauthorized {
			h.Set("WWW-Authenticate", `Bearer realm="sessctl"`)
		}
		p.write(w)
		return
	}
	turn := time.NewTimer(queueTimeout)
	defer turn.Stop()
	select {
	case g.serving <- struct{}{}:
		defer func() { <-g.serving }()
		r.Body = http.MaxBytesReader(w, r.Body, maxRequestBody)
		g.next.ServeHTTP(w, r)
	case <-turn.C:
		newProblem(http.StatusServiceUnavailable, "overloaded", "too many requests are being served", "try again").write(w)
	case <-r.Context().Done():
	}
}

// refuse says why a request is not served, nil if it is.
func (g *guard) refuse(r *http.Request) *problemDocument {
	if g.hosts != nil && !g.named(hostName(r.Host)) {
		return newProblem(http.StatusMisdirectedRequest, "host", "the Host header names another server", "if this server has that name, add it to serve.allowed_hosts")
	}
	if !sameOrigin(r) {
		return newProblem(http.StatusForbidden, "origin", "the request comes from a page of another site", "the API is for programs; no page may use it")
	}
	if g.token != nil && !g.authorized(r) {
		return newProblem(http.StatusUnauthorized, "unauthorized", "the token is missing or is not the server's", "send Authorization: Bearer TOKEN with what is in the file serve-token of the data directory")
	}
	return nil
}

// named says whether a host is this server's. An address is nobody's name.
func (g *guard) named(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || slices.Contains(g.hosts, host)
}

func (g *guard) authorized(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1 && strings.EqualFold(scheme, "bearer")
}

// hostName is the name in a Host header, without the port.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// sameOrigin says whether a request comes from no page, or from one of this very
// server. Browsers send Origin with what a page of another site asks for, and
// Sec-Fetch-Site with everything.
func sameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return false
	}
	origins, sent := r.Header["Origin"]
	if !sent {
		return true
	}
	u, err := url.Parse(origins[0])
	return err == nil && len(origins) == 1 && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// denials tells of requests that are refused: the first, and then how many once a
// minute, lest they fill the log.
type denials struct {
	log *slog.Logger
	now func() time.Time

	mu    sync.Mutex
	told  time.Time
	count int
}

func (d *denials) note(code string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count++
	if now := d.now(); now.Sub(d.told) >= time.Minute {
		d.log.Warn("requests refused", "count", d.count, "last", code)
		d.told, d.count = now, 0
	}
}

// connections closes, when there are too many, the connection that has waited for
// a request longest: slow clients cannot keep others out.
type connections struct {
	most int

	mu      sync.Mutex
	open    map[net.Conn]struct{}
	waiting []net.Conn // for a request, the oldest first
}

func newConnections(most int) *connections {
	return &connections{most: most, open: map[net.Conn]struct{}{}}
}

// changed is a http.Server's ConnState.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.waiting, conn); i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.open[conn] = struct{}{}
		c.waiting = append(c.waiting, conn)
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
	if len(c.open) > c.most && len(c.waiting) > 0 {
		oldest := c.waiting[0]
		c.waiting = c.waiting[1:]
		delete(c.open, oldest)
		_ = oldest.Close() // its own goroutine sees it end
	}
}
