package summarize

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Bounds of a call.
const (
	maxTries    = 3
	maxReply    = 1 << 20 // bytes: a summary is some thousand
	firstWait   = 500 * time.Millisecond
	longestWait = 60 * time.Second // the longest Retry-After that is waited for
	maxWords    = 300              // code points of a provider's complaint
)

// Complete asks the model, up to three times if the provider is overloaded or
// the connection breaks. A provider that says how long to wait is waited for,
// up to a minute. Each try counts as a call; [ErrCalls] is returned when no
// more may be made. A call that took longer than its deadline is not repeated,
// and neither is one to a server that is not there.
//
// What looks like a secret is redacted before anything is sent. The reply may
// be [Reply.Cut] or empty: whether it is of use is for the caller to say. A
// provider that answers something else than a reply is a [StatusError] or
// [ErrReply].
func (c *Client) Complete(ctx context.Context, r Request) (Reply, error) {
	r.System, r.User = redact(r.System), redact(r.User)
	sent, err := encodeBody(c.protocol.body(&c.endpoint, r))
	if err != nil {
		return Reply{}, err
	}
	for try := 1; ; try++ {
		if err := c.endpoint.Meter.take(); err != nil {
			return Reply{}, err
		}
		body, wait, err := c.once(ctx, sent)
		if err == nil {
			return c.read(body)
		}
		if ctx.Err() != nil {
			return Reply{}, ctx.Err()
		}
		wait = max(wait, firstWait<<(2*(try-1))) // 0.5 s, 2 s
		if try == maxTries || !passing(err) || wait > longestWait {
			return Reply{}, fmt.Errorf("ask %s: %w", c.Name(), err)
		}
		if err := c.endpoint.Clock.Sleep(ctx, wait); err != nil {
			return Reply{}, err
		}
	}
}

func (c *Client) read(body []byte) (Reply, error) {
	r, err := c.protocol.reply(&c.endpoint, body)
	if err != nil {
		return Reply{}, fmt.Errorf("ask %s: %w: %w", c.Name(), ErrReply, err)
	}
	c.endpoint.Meter.add(r.Tokens)
	r.Text = withoutThinking(r.Text)
	return r, nil
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

// once asks one time. wait is what the provider asks to wait.
func (c *Client) once(ctx context.Context, sent []byte) (body []byte, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.endpoint.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.JoinPath(c.protocol.path()).String(), bytes.NewReader(sent))
	if err != nil {
		return nil, 0, fmt.Errorf("make the request: %w", err)
	}
	c.protocol.sign(request.Header, c.endpoint.Key)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", c.base.Host, bare(err))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, c.retryAfter(response.Header), c.complaint(response)
	}
	body, err = io.ReadAll(io.LimitReader(response.Body, maxReply+1))
	if err != nil {
		return nil, 0, fmt.Errorf("read the reply of %s: %w", c.base.Host, err)
	}
	if len(body) > maxReply {
		return nil, 0, fmt.Errorf("%w: more than %d bytes", ErrReply, maxReply)
	}
	return body, 0, nil
}

// bare is an error without the URL that net/http puts before it.
func bare(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// retryAfter reads the header in both of its forms, seconds and a date.
func (c *Client) retryAfter(h http.Header) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if when, err := http.ParseTime(value); err == nil {
		return max(0, when.Sub(c.endpoint.Clock.Now()))
	}
	return 0
}

// withoutThinking removes what some models say to themselves first. Thinking
// that does not end leaves nothing.
func withoutThinking(text string) string {
	for _, tag := range []string{"think", "thinking"} {
		text = strings.TrimSpace(text)
		if rest, found := strings.CutPrefix(text, "<"+tag+">"); found {
			_, text, _ = strings.Cut(rest, "</"+tag+">")
		}
	}
	return strings.TrimSpace(text)
}
