package objects

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/sessctl/sessctl/internal/httpclient"
)

// patient lets a storage that is overloaded alone for as long as it asks for,
// before its answer is given and the request may be tried again. It tries itself
// what the client tries once only: asking for the region of a bucket.
type patient struct {
	next  http.RoundTripper
	tries int
}

// longestWait bounds what a storage can ask for: after that it may be asked again.
const longestWait = time.Minute

// firstWait is the time between two tries where the storage does not say; it
// doubles each time.
const firstWait = 100 * time.Millisecond

// RoundTrip implements http.RoundTripper.
func (p *patient) RoundTrip(r *http.Request) (*http.Response, error) {
	for try := 1; ; try++ {
		response, err := p.next.RoundTrip(r)
		if err == nil && !isBusy(response) {
			return response, nil
		}
		last := try >= p.tries || !asksRegion(r)
		select {
		case <-r.Context().Done():
			last = true
		case <-time.After(pause(response, try, last)):
		}
		if last {
			return response, err
		}
		if err == nil {
			_ = response.Body.Close() // it says to come again
		}
	}
}

// pause is how long the storage wants to be left alone and, before another try,
// some time at least.
func pause(response *http.Response, try int, last bool) (asked time.Duration) {
	if response != nil {
		asked = min(httpclient.RetryAfter(response.Header, time.Now()), longestWait)
	}
	if last {
		return asked
	}
	return max(asked, firstWait<<(try-1))
}

func isBusy(r *http.Response) bool {
	return r.StatusCode == http.StatusServiceUnavailable || r.StatusCode == http.StatusTooManyRequests
}

func asksRegion(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Query().Has("location")
}

// dial makes a connection.
type dial func(ctx context.Context, network, address string) (net.Conn, error)

// dialWatched dials connections that break when nothing passes them for a time.
// Without it a transfer waits for ever for a server that is there and says nothing.
func dialWatched(next dial, silence time.Duration) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := next(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &watched{Conn: c, silence: silence}, nil
	}
}

// watched is a connection whose reads and writes end with a timeout when nothing
// passes it. A write also gives a read more time that waits for its answer.
type watched struct {
	net.Conn
	silence time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	if err := w.SetReadDeadline(time.Now().Add(w.silence)); err != nil {
		return 0, err
	}
	return w.Conn.Read(p)
}

func (w *watched) Write(p []byte) (int, error) {
	if err := w.SetDeadline(time.Now().Add(w.silence)); err != nil {
		return 0, err
	}
	return w.Conn.Write(p)
}
