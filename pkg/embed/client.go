package embed

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/modelhttp"
)

const (
	// defaultTimeout is how long one text may take: a model may have to be
	// loaded first.
	defaultTimeout = 30 * time.Second
	// textsATimeout says how the deadline grows: a batch of 64 has 17 times as
	// long as a text. On a slow machine 64 chunks took 329 s
	// (docs/dev/decisions.md D7).
	textsATimeout = 4
	// listTimeout is how long a question without texts may take.
	listTimeout = 10 * time.Second
	// firstWait is waited before the second try, twice as long before each
	// further one.
	firstWait = 500 * time.Millisecond
	// maxWait is the longest Retry-After that is waited for.
	maxWait      = 60 * time.Second
	maxQueryWait = 2 * time.Second
	// maxMessage is how much of a server's complaint is kept, in bytes.
	maxMessage = 300
	// maxNumber is how many bytes of a reply a component may take.
	maxNumber = 40
	// maxOther bounds the rest of a reply, and lists, in bytes.
	maxOther = 4 << 20
)

// Clock is how time passes while a server is asked.
type Clock = modelhttp.Clock

// client asks one server for vectors.
type client struct {
	http    *modelhttp.Client
	base    *url.URL
	timeout time.Duration // for one text
}

// newClient asks the server at base, which modelhttp.ParseBase has read.
func newClient(base *url.URL, o RemoteOptions) *client {
	c := &client{base: base, timeout: o.Timeout}
	if c.timeout <= 0 {
		c.timeout = defaultTimeout
	}
	c.http = modelhttp.New(modelhttp.Options{
		Base: base, Header: modelhttp.Bearer(o.APIKey), Key: o.APIKey, Mask: "***",
		Passing: isPassing, Tidy: shorten, Clock: o.Clock,
	})
	return c
}

// call is one question to the server.
type call struct {
	method string
	path   string
	body   any   // sent as JSON
	texts  int   // by which the deadline grows
	limit  int64 // bytes of the reply
	query  bool  // somebody waits for it
}

// ask returns the body of the reply. Connections that break and servers that
// are busy are tried again, a bounded number of times. ErrUnavailable is
// returned for what no other text would change.
func (c *client) ask(ctx context.Context, q call) ([]byte, error) {
	body, err := c.http.Ask(ctx, modelhttp.Question{
		Method: q.method, Path: q.path, Body: q.body, Deadline: c.deadline(q), Limit: q.limit, Retry: q.retry(),
	})
	if err != nil {
		return nil, classifyCall(err)
	}
	return body, nil
}

// deadline grows with the texts; a question without any is answered quickly or
// not at all.
func (c *client) deadline(q call) time.Duration {
	if q.texts == 0 {
		return min(c.timeout, listTimeout)
	}
	return c.timeout + time.Duration(q.texts)*c.timeout/textsATimeout
}

// retry is shorter for a query: somebody waits for it, and words can answer it.
func (q call) retry() modelhttp.Retry {
	if q.query {
		return modelhttp.Retry{Waits: []time.Duration{firstWait}, Longest: maxQueryWait}
	}
	return modelhttp.Retry{Waits: []time.Duration{firstWait, 2 * firstWait, 4 * firstWait}, Longest: maxWait}
}

// shorten makes a complaint of at most maxMessage bytes.
func shorten(complaint string) string {
	complaint = strings.TrimSpace(complaint)
	if len(complaint) > maxMessage {
		complaint = strings.ToValidUTF8(complaint[:maxMessage], "") + "…"
	}
	return complaint
}

// isPassing says whether the same question may be answered a little later. A
// server error or a gateway's timeout is none of these: a text may be to blame
// (see blamesText), and other texts are tried first.
func isPassing(status int) bool {
	switch status {
	case 408, 425, 429, 502, 503: // timeout, too early, too many, bad gateway, unavailable
		return true
	}
	return false
}

// gatewayTimeout is the status of a proxy whose server did not answer in time.
const gatewayTimeout = 504

// blamesText says whether a status can be due to a text: it is too long, or
// one that the model fails on.
func blamesText(status int) bool {
	switch status {
	case 400, 413, 422, 500, gatewayTimeout: // bad request, too large, unprocessable, server error
		return true
	}
	return false
}

// classifyCall makes ErrUnavailable of what no other text would change, and names
// what a connection was for.
func classifyCall(err error) error {
	var status *modelhttp.StatusError
	var connection *modelhttp.ConnectionError
	var size *modelhttp.SizeError
	switch {
	case errors.As(err, &connection):
		err = fmt.Errorf("ask %w", err)
	case errors.As(err, &size):
		err = fmt.Errorf("%w: %w", errReply, err)
	}
	if modelhttp.Absent(err) || errors.As(err, &status) && !blamesText(status.Code) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
