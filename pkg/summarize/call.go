package summarize

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Bounds of a call.
const (
	maxTries      = 3
	maxReply      = 1 << 20 // bytes: a summary is some thousand
	longestWait   = 30 * time.Second
	quotedReplies = 200 // code points of a provider's complaint
)

// ErrRedirect is returned when a provider sends the question elsewhere: it
// holds a transcript and perhaps a key.
var ErrRedirect = errors.New("the provider redirects to another address, which is not followed")

// sameHost follows a redirect only on the same host, and only with the body.
func sameHost(r *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || r.URL.Host != first.URL.Host || r.URL.Scheme != first.URL.Scheme || r.Method != first.Method {
		return ErrRedirect
	}
	return nil
}

// replyError is a reply that is no answer.
type replyError struct {
	status int
	after  time.Duration // to wait, if the provider says so
	text   string        // the provider's words
}

// Error implements error.
func (e *replyError) Error() string {
	s := fmt.Sprintf("the provider answers %d %s", e.status, http.StatusText(e.status))
	if e.text != "" {
		s += ": " + e.text
	}
	return s
}

// passing says whether another try may help.
func (e *replyError) passing() bool {
	return e.status == http.StatusTooManyRequests || e.status == http.StatusRequestTimeout || e.status >= 500
}

// Ask asks the model, up to three times if the provider is overloaded or
// cannot be reached. A provider that says how long to wait is waited for, up
// to 30 seconds. Each try counts as a call; [ErrCalls] is returned when no more
// may be made. A call that took longer than its deadline is not repeated.
func (c *Client) Ask(ctx context.Context, p Prompt) (Answer, error) {
	path, header, question := c.protocol.request(&c.endpoint, p)
	body, err := encodeBody(question)
	if err != nil {
		return Answer{}, err
	}
	for try := 1; ; try++ {
		if err := c.endpoint.Meter.take(); err != nil {
			return Answer{}, err
		}
		reply, err := c.post(ctx, path, header, body)
		if err == nil {
			return c.read(reply)
		}
		pause, again := retry(err, try)
		if !again || ctx.Err() != nil {
			return Answer{}, fmt.Errorf("ask %s: %w", c.Name(), err)
		}
		if err := c.endpoint.Wait(ctx, pause); err != nil {
			return Answer{}, err
		}
	}
}

func (c *Client) read(reply []byte) (Answer, error) {
	a, err := c.protocol.answer(&c.endpoint, reply)
	if err != nil {
		return Answer{}, fmt.Errorf("read the answer of %s: %w", c.Name(), err)
	}
	c.endpoint.Meter.add(a.Tokens)
	a.Text = withoutThinking(a.Text)
	return a, nil
}

// retry says how long to wait before the next try, and whether there is one.
func retry(err error, try int) (time.Duration, bool) {
	pause := 500 * time.Millisecond << (2 * (try - 1)) // 0.5 s, 2 s
	var reply *replyError
	switch {
	case try >= maxTries, errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, ErrRedirect), errors.Is(err, errReplyTooLong):
		return 0, false
	case errors.As(err, &reply):
		pause = max(pause, reply.after)
		return pause, reply.passing() && pause <= longestWait
	}
	return pause, true
}

func encodeBody(question any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(question); err != nil {
		return nil, fmt.Errorf("write the question: %w", err)
	}
	return b.Bytes(), nil
}

// post sends one request and returns the body of a reply with status 200.
func (c *Client) post(ctx context.Context, path string, header http.Header, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.endpoint.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = header
	r.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(r)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer response.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(response.Body, maxReply+1))
	if response.StatusCode != http.StatusOK {
		return nil, c.complaint(response, reply)
	}
	if err != nil {
		return nil, err
	}
	if len(reply) > maxReply {
		return nil, errReplyTooLong
	}
	return reply, nil
}

var errReplyTooLong = fmt.Errorf("the reply is longer than %d bytes", maxReply)

// withoutURL takes the address, which may hold a password, out of an error.
func withoutURL(err error) error {
	var e interface{ Unwrap() error }
	if errors.As(err, &e) && e.Unwrap() != nil {
		return e.Unwrap()
	}
	return err
}

// complaint is a reply that is no answer, with what it says in short. The key
// is never in it.
func (c *Client) complaint(response *http.Response, reply []byte) error {
	text := strings.Join(strings.Fields(string(cut(reply, 4*quotedReplies))), " ")
	if key := c.endpoint.Key; key != "" {
		text = strings.ReplaceAll(text, key, Redacted)
	}
	text = string(cutRunes([]byte(redact(text)), quotedReplies))
	return &replyError{status: response.StatusCode, after: retryAfter(response.Header.Get("Retry-After")), text: text}
}

// retryAfter reads seconds or a date.
func retryAfter(value string) time.Duration {
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 && seconds < 1e6 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// withoutThinking removes what some models say to themselves first.
func withoutThinking(text string) string {
	for _, tag := range []string{"think", "thinking"} {
		text = strings.TrimSpace(text)
		if rest, found := strings.CutPrefix(text, "<"+tag+">"); found {
			_, text, _ = strings.Cut(rest, "</"+tag+">")
		}
	}
	return strings.TrimSpace(text)
}
