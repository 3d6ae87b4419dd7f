package modelhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/httpclient"
)

// maxComplaint is how much is read of a reply that reports an error, in bytes.
const maxComplaint = 16 << 10

// Options says which server a [Client] asks, and how it treats its errors.
type Options struct {
	Base   *url.URL          // of the server, from [ParseBase]
	Header map[string]string // of every request, such as [Bearer] returns
	Key    string            // that must not appear in an error; "" if there is none
	Mask   string            // what an error shows instead of Key
	// Passing says whether a question that was answered with this status may
	// be answered a little later.
	Passing func(status int) bool
	// Tidy makes a server's complaint fit to be shown. It gets the complaint
	// without Key.
	Tidy  func(complaint string) string
	Clock Clock
}

// Client asks one server, and no other: it follows no redirect. It may be used
// by several goroutines.
type Client struct {
	options Options
	http    *http.Client
}

// New returns a client. Nothing is asked yet.
func New(o Options) *Client {
	o.Clock = o.Clock.orReal()
	return &Client{options: o, http: httpclient.New()}
}

// ParseBase reads the base URL of a server and removes slashes at its end. It
// accepts http and https URLs without user, query and fragment: a key in a URL
// would be shown and logged. The error does not repeat the URL.
func ParseBase(raw string) (*url.URL, error) {
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

// Bearer returns the header that carries a key as a bearer token, none for "".
func Bearer(key string) map[string]string {
	if key == "" {
		return nil
	}
	return map[string]string{"Authorization": "Bearer " + key}
}

// Question is one question to the server.
type Question struct {
	Method   string        // GET or POST
	Path     string        // below the base URL
	Body     any           // sent as JSON; nil sends nothing
	Deadline time.Duration // of one try
	Limit    int64         // bytes of the reply
	Retry    Retry
	// Before is called before every try. Its error ends the question; nil
	// allows every try.
	Before func() error
}

// Retry says how often a question is tried again, and after which waits.
type Retry struct {
	Waits   []time.Duration // one for each try after the first
	Longest time.Duration   // a server that asks for a longer wait is not waited for
	// AtLeast makes the waits a lower bound: a server that asks for a shorter
	// one is given the time of Waits all the same.
	AtLeast bool
}

// next returns how long to wait before another try, and whether there is one.
// asked is what the server wants, 0 if it does not say.
func (r Retry) next(try int, asked time.Duration) (time.Duration, bool) {
	if try >= len(r.Waits) {
		return 0, false
	}
	wait := asked
	if wait == 0 || r.AtLeast {
		wait = max(wait, r.Waits[try])
	}
	return wait, wait <= r.Longest
}

// Ask returns the body of the reply, with status 200. The error is ctx's own if
// ctx is done and Before's own if it refuses a try; else it is that of the last
// try: a *[StatusError], a *[ConnectionError], a *[SizeError] or what broke a
// reply off.
func (c *Client) Ask(ctx context.Context, q Question) ([]byte, error) {
	sent, err := encode(q.Body)
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		if q.Before != nil {
			if err := q.Before(); err != nil {
				return nil, err
			}
		}
		body, asked, err := c.once(ctx, q, sent)
		if err == nil {
			return body, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		wait, again := q.Retry.next(try, asked)
		if !again || !c.passing(err) {
			return nil, err
		}
		if err := c.options.Clock.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

func encode(body any) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // conversations are full of < and &, which grow sixfold
	if err := enc.Encode(body); err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	return b.Bytes(), nil
}

// once tries one time. asked is how long the server wants to be left alone.
func (c *Client) once(ctx context.Context, q Question, sent []byte) (body []byte, asked time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, q.Deadline)
	defer cancel()
	request, err := c.request(ctx, q, sent)
	if err != nil {
		return nil, 0, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, 0, &ConnectionError{Host: c.options.Base.Host, Err: httpclient.WithoutURL(err)}
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, httpclient.RetryAfter(response.Header, c.options.Clock.Now()), c.complaint(response)
	}
	body, err = io.ReadAll(io.LimitReader(response.Body, q.Limit+1))
	if err != nil {
		return nil, 0, fmt.Errorf("read the reply of %s: %w", c.options.Base.Host, err)
	}
	if int64(len(body)) > q.Limit {
		return nil, 0, &SizeError{Limit: q.Limit}
	}
	return body, 0, nil
}

func (c *Client) request(ctx context.Context, q Question, sent []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, q.Method, c.options.Base.JoinPath(q.Path).String(), bytes.NewReader(sent))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	for name, value := range c.options.Header {
		request.Header.Set(name, value)
	}
	return request, nil
}

// passing says whether the same question may be answered a little later. A
// deadline that passed is none of these: it would pass again.
func (c *Client) passing(err error) bool {
	var status *StatusError
	var size *SizeError
	switch {
	case errors.As(err, &status):
		return c.options.Passing(status.Code)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &size), Absent(err):
		return false
	}
	return true // the connection broke
}
