package web

import (
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// The limits of the server. Each is one that no honest client meets.
const (
	MaxRequestBody   = 64 << 10         // bytes
	MaxRequestHeader = 16 << 10         // bytes
	HeaderTimeout    = 5 * time.Second  // for a request's header
	ReadTimeout      = 15 * time.Second // for a whole request
	WriteTimeout     = 3 * time.Minute  // for a whole answer, with the time it waits and is made: a minute more than these
	IdleTimeout      = time.Minute      // between two requests of a connection
	WorkTimeout      = time.Minute      // for making a document
	QueueTimeout     = time.Minute      // for a request to come to its turn
	MaxConnections   = 1200             // open ones; of those that wait for a request the oldest is closed
	MaxServing       = 64               // requests that are served at a time; others wait
	MaxWorking       = 2                // documents that are made at a time
	maxLinesBytes    = 8 << 20          // of archived lines in one document
)

// HostName is the name in a Host header, without the port.
func HostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// SameOrigin says whether a request comes from no page, or from one of this very
// server. Browsers send Origin with what a page of another site asks for, and
// Sec-Fetch-Site with everything.
func SameOrigin(r *http.Request) bool {
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

// Denials tells of requests that are refused: the first, and then how many once a
// minute, lest they fill the log.
type Denials struct {
	Log *slog.Logger
	Now func() time.Time

	mu    sync.Mutex
	told  time.Time
	count int
}

// Note writes down a refused request, not too often.
func (d *Denials) Note(code string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count++
	if now := d.Now(); now.Sub(d.told) >= time.Minute {
		d.Log.Warn("requests refused", "count", d.count, "last", code)
		d.told, d.count = now, 0
	}
}

// Connections closes, when there are too many, the connection that has waited for
// a request longest: slow clients cannot keep others out.
type Connections struct {
	Most int

	mu      sync.Mutex
	Open    map[net.Conn]struct{}
	waiting []net.Conn // for a request, the oldest first
}

// Changed is a http.Server's ConnState.
func (c *Connections) Changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.waiting, conn); i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.Open[conn] = struct{}{}
		c.waiting = append(c.waiting, conn)
	case http.StateClosed, http.StateHijacked:
		delete(c.Open, conn)
	}
	if len(c.Open) > c.Most && len(c.waiting) > 0 {
		oldest := c.waiting[0]
		c.waiting = c.waiting[1:]
		delete(c.Open, oldest)
		_ = oldest.Close() // its own goroutine sees it end
	}
}
