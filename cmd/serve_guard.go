package cmd

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/front/web"
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
	denied  *web.Denials
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
		g.denied.Note(p.Code)
		if p.Status == http.StatusUnauthorized {
			h.Set("WWW-Authenticate", `Bearer realm="sessctl"`)
		}
		p.write(w)
		return
	}
	turn := time.NewTimer(web.QueueTimeout)
	defer turn.Stop()
	select {
	case g.serving <- struct{}{}:
		defer func() { <-g.serving }()
		r.Body = http.MaxBytesReader(w, r.Body, web.MaxRequestBody)
		g.next.ServeHTTP(w, r)
	case <-turn.C:
		newProblem(http.StatusServiceUnavailable, "overloaded", "too many requests are being served", "try again").write(w)
	case <-r.Context().Done():
	}
}

// refuse says why a request is not served, nil if it is.
func (g *guard) refuse(r *http.Request) *problemDocument {
	if g.hosts != nil && !g.named(web.HostName(r.Host)) {
		return newProblem(http.StatusMisdirectedRequest, "host", "the Host header names another server", "if this server has that name, add it to serve.allowed_hosts")
	}
	if !web.SameOrigin(r) {
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

func newConnections(most int) *web.Connections {
	return &web.Connections{Most: most, Open: map[net.Conn]struct{}{}}
}
