package embed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// defaultTimeout is how long one text may take: a model may have to be
	// loaded first.
	defaultTimeout = 30 * time.Second
	// textsATimeout says how the deadline grows: a batch of 64 has 17 times as
	// long as a text. On a slow machine 64 chunks took 329 s
	// (research/recall.md section 5).
	textsATimeout = 4
	// listTimeout is how long a question without texts may take.
	listTimeout = 10 * time.Second
	// retries of what is tried again, and what is waited before each.
	documentRetries = 3
	queryRetries    = 1
	firstWait       = 500 * time.Millisecond
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
type Clock struct {
	Now   func() time.Time                                 // nil is time.Now
	Sleep func(ctx context.Context, d time.Duration) error // nil sleeps, and returns ctx.Err() if ctx is done first
}

func (c Clock) orReal() Clock {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	return c
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// client asks one server, and no other: it follows no redirect.
type client struct {
	http    *http.Client
	base    *url.URL
	key     string // sent as a bearer token
	timeout time.Duration
	clock   Clock
}

func newClient(o RemoteOptions) (*client, error) {
	base, err := parseBase(o.BaseURL)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	c := &client{base: base, key: o.APIKey, timeout: o.Timeout, clock: o.Clock.orReal()}
	if c.timeout <= 0 {
		c.timeout = defaultTimeout
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

// parseBase accepts http and https URLs without user, query and fragment: a
// key in a URL would be shown and logged.
func parseBase(raw string) (*url.URL, error) {
	base, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("the base URL cannot be read") // err repeats it, with what may be a password
	}
	switch {
	case base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("the base URL has the scheme %q, not http or https", base.Scheme)
	case base.Hostname() == "":
		return nil, errors.New("the base URL has no host")
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("the base URL has a user, a query or a fragment; keys do not belong there")
	}
	base.Path = strings.TrimRight(base.Path, "/")
	return base, nil
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
	var sent []byte
	if q.body != nil {
		var err error
		if sent, err = json.Marshal(q.body); err != nil {
			return nil, fmt.Errorf("write the request: %w", err)
		}
	}
	retries, longest := documentRetries, maxWait
	if q.query {
		retries, longest = queryRetries, maxQueryWait
	}
	for try := 0; ; try++ {
		body, wait, err := c.once(ctx, q, sent)
		if err == nil {
			return body, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if wait == 0 {
			wait = firstWait << try
		}
		if try == retries || !isPassing(err) || wait > longest {
			return nil, judgeCall(err)
		}
		if err := c.clock.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// once asks one time. wait is what the server asks to wait.
func (c *client) once(ctx context.Context, q call, sent []byte) (body []byte, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.deadline(q))
	defer cancel()
	target := *c.base
	target.Path += q.path
	request, err := http.NewRequestWithContext(ctx, q.method, target.String(), bytes.NewReader(sent))
	if err != nil {
		return nil, 0, fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, 0, fmt.Errorf("ask %s: %w", c.base.Host, bare(err))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, c.retryAfter(response.Header), c.complaint(response)
	}
	body, err = io.ReadAll(io.LimitReader(response.Body, q.limit+1))
	if err != nil {
		return nil, 0, fmt.Errorf("read the reply of %s: %w", c.base.Host, err)
	}
	if int64(len(body)) > q.limit {
		return nil, 0, fmt.Errorf("%w: more than %d bytes", ErrReply, q.limit)
	}
	return body, 0, nil
}

// deadline grows with the texts; a question without any is answered quickly or
// not at all.
func (c *client) deadline(q call) time.Duration {
	if q.texts == 0 {
		return min(c.timeout, listTimeout)
	}
	return c.timeout + time.Duration(q.texts)*c.timeout/textsATimeout
}

// bare is an error without the URL that net/http puts before it.
func bare(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// retryAfter reads the header in both of its forms, seconds and a date.
func (c *client) retryAfter(h http.Header) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if when, err := http.ParseTime(value); err == nil {
		return max(0, when.Sub(c.clock.Now()))
	}
	return 0
}

// A StatusError is what a server answered instead of vectors.
type StatusError struct {
	Code    int    // HTTP status
	Message string // of the server, cut; it may hold control characters
}

// Error names the status and what the server said.
func (e *StatusError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("the server answers %d %s", e.Code, http.StatusText(e.Code))
	}
	return fmt.Sprintf("the server answers %d: %s", e.Code, e.Message)
}

// complaint reads what a server says about an error, without the key, should
// the server repeat it.
func (c *client) complaint(response *http.Response) error {
	e := &StatusError{Code: response.StatusCode}
	if target := response.Header.Get("Location"); target != "" {
		e.Message = "a redirect to " + target + ", which is not followed"
	} else {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 16<<10)) // what arrived is enough
		e.Message = strings.TrimSpace(complaintText(body))
	}
	if c.key != "" {
		e.Message = strings.ReplaceAll(e.Message, c.key, "***")
	}
	if len(e.Message) > maxMessage {
		e.Message = strings.ToValidUTF8(e.Message[:maxMessage], "") + "…"
	}
	return e
}

// complaintText finds the sentence in {"error": "..."} and in
// {"error": {"message": "..."}}; else it is the whole body.
func complaintText(body []byte) string {
	var flat struct{ Error string }
	if json.Unmarshal(body, &flat) == nil && flat.Error != "" {
		return flat.Error
	}
	var nested struct{ Error struct{ Message string } }
	if json.Unmarshal(body, &nested) == nil && nested.Error.Message != "" {
		return nested.Error.Message
	}
	return string(body)
}

// isPassing says whether the same question may be answered a little later. A
// deadline that passed is none of these: the batch was too large, or the
// server hangs.
func isPassing(err error) bool {
	var status *StatusError
	switch {
	case errors.As(err, &status):
		switch status.Code {
		case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable:
			return true
		}
		return false
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrReply), isDial(err):
		return false
	}
	return true // the connection broke
}

// isDial says whether there is no connection at all.
func isDial(err error) bool {
	var operation *net.OpError
	var name *net.DNSError
	return errors.As(err, &operation) && operation.Op == "dial" || errors.As(err, &name)
}

// judgeCall makes ErrUnavailable of what no other text would change.
func judgeCall(err error) error {
	var status *StatusError
	if isDial(err) || errors.As(err, &status) && !blamesText(status.Code) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// blamesText says whether a status can be due to a text: it is too long, or
// one that the model fails on.
func blamesText(code int) bool {
	switch code {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusGatewayTimeout:
		return true
	}
	return false
}
