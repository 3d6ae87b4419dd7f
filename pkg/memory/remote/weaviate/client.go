package weaviate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sessctl/sessctl/internal/httpclient"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"golang.org/x/sync/errgroup"
)

// Bounds of a request. A node that does not answer is left for the next one
// after soon; the last one is given longer.
const (
	soon     = 3 * time.Second
	patience = 30 * time.Second
	mostRead = 512 << 20 // bytes of a reply
	atOnce   = 32        // requests at the same time: while a node is away one may wait for a quarter of a second
)

// pauses are waited for before all nodes are asked again: a cluster that has
// lost a node needs seconds to notice it.
var pauses = []time.Duration{200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second} //nolint:gochecknoglobals // never changed

// client asks the nodes of a cluster, and goes on to the next one when one
// fails. What it asks may be asked twice.
type client struct {
	http  *http.Client
	nodes []string
	key   string
	first atomic.Int64 // the node that answered last

	mu        sync.Mutex
	answering []bool // the nodes that did when it was looked
	looked    time.Time
}

func newClient(a address, key string) *client {
	c := &client{http: httpclient.New(), nodes: a.nodes, key: key}
	if t, ok := c.http.Transport.(*http.Transport); ok {
		t.MaxIdleConnsPerHost = atOnce
		if a.trusted != nil {
			t.TLSClientConfig = &tls.Config{RootCAs: a.trusted, MinVersion: tls.VersionTLS12}
		}
	}
	return c
}

// only is a client of one of the nodes.
func (c *client) only(node string) *client {
	return &client{http: c.http, nodes: []string{node}, key: c.key}
}

// question is one request.
type question struct {
	method, path string
	body         any  // sent as JSON, nil for none
	into         any  // what the reply is read into, nil for nothing
	may404       bool // that there is no such thing is an answer: errAbsent
	slow         bool // a node may take its time
	local        bool // what the node itself knows is enough, without the leader
}

// errAbsent says that what was asked for is not there.
var errAbsent = errors.New("not there")

// passingError is one that another node, or the same one later, may not have.
type passingError struct {
	error
	refused bool // nobody listens there
}

func (e passingError) Unwrap() error { return e.error }

// ask asks until a node answers.
func (c *client) ask(ctx context.Context, q question) error {
	var sent bytes.Buffer
	if q.body != nil {
		if err := json.NewEncoder(&sent).Encode(q.body); err != nil {
			return fmt.Errorf("write the request: %w", err)
		}
	}
	for round := 0; ; round++ {
		refused, err := c.askEach(ctx, q, sent.Bytes())
		var passing passingError
		switch {
		case !errors.As(err, &passing):
			return err
		case errors.Is(ctx.Err(), context.Canceled):
			return ctx.Err()
		case refused || round == len(pauses) || wait(ctx, pauses[round]) != nil:
			return fmt.Errorf("%w: %w", remote.ErrUnreachable, passing.error)
		}
	}
}

// askEach asks one node after the other until one answers. refused reports that
// nobody listens on any.
func (c *client) askEach(ctx context.Context, q question, sent []byte) (refused bool, err error) {
	first := int(c.first.Load())
	refused = true
	for i := range c.nodes {
		n, longest := (first+i)%len(c.nodes), soon
		if i == len(c.nodes)-1 || q.slow {
			longest = patience
		}
		within, cancel := context.WithTimeout(ctx, longest)
		err = c.once(within, c.nodes[n], q, sent)
		cancel()
		var passing passingError
		if !errors.As(err, &passing) {
			c.first.Store(int64(n))
			return false, err
		}
		if refused = refused && passing.refused; ctx.Err() != nil {
			break
		}
	}
	return refused, err
}

func (c *client) once(ctx context.Context, node string, q question, sent []byte) error {
	request, err := http.NewRequestWithContext(ctx, q.method, node+q.path, bytes.NewReader(sent))
	if err != nil {
		return errors.New("the address of a node cannot be used")
	}
	request.Header.Set("Content-Type", "application/json")
	if q.local {
		request.Header.Set("Consistency", "false")
	}
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	response, err := c.http.Do(request)
	if remote.IsTLS(err) {
		return fmt.Errorf("%w: %w", remote.ErrTLS, httpclient.WithoutURL(err))
	} else if err != nil {
		return passingError{httpclient.WithoutURL(err), !errors.Is(err, context.DeadlineExceeded)}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, mostRead+1))
	if err != nil {
		return passingError{error: httpclient.WithoutURL(err)}
	}
	if len(body) > mostRead {
		return fmt.Errorf("%w: a reply has more than %d bytes", remote.ErrUnsuitable, mostRead)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return c.refusal(response.StatusCode, body, q.may404)
	}
	return read(body, q.into)
}

func read(body []byte, into any) error {
	found, isSearch := into.(*graphReply)
	if isSearch {
		*found = graphReply{} // of a try before
	}
	if into != nil {
		if err := json.Unmarshal(body, into); err != nil {
			return passingError{error: fmt.Errorf("the reply is not understood: %w", err)}
		}
	}
	if isSearch {
		return found.err()
	}
	return nil
}

// refusal makes an error of a status. A server's complaint may repeat what was
// sent, so the key is taken out.
func (c *client) refusal(status int, body []byte, may404 bool) error {
	said := fmt.Errorf("HTTP status %d: %s", status, c.complaint(body))
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fmt.Errorf("%w: %w", remote.ErrNotAllowed, said)
	case status == http.StatusNotFound && may404:
		return errAbsent
	case status >= 500, status == http.StatusTooManyRequests, strings.Contains(said.Error(), "leader not found"):
		return passingError{error: said}
	}
	return fmt.Errorf("%w: %w", remote.ErrUnsuitable, said)
}

// complaint is what a server said, in one line and not long.
func (c *client) complaint(body []byte) string {
	var known struct {
		Message string
		Error   []struct{ Message string }
	}
	text := string(body)
	if json.Unmarshal(body, &known) == nil {
		for _, e := range known.Error {
			known.Message += e.Message
		}
		text = cmp.Or(known.Message, text)
	}
	if c.key != "" {
		text = strings.ReplaceAll(text, c.key, "(the key)")
	}
	const longest = 300
	text = strings.Join(strings.Fields(text), " ")
	return strings.ToValidUTF8(text[:min(len(text), longest)], "")
}

// each runs fn for every member of a list, a few at the same time, and returns
// what it made of them in the order of the list, or the first error.
func each[T, R any](ctx context.Context, list []T, fn func(context.Context, T) (R, error)) ([]R, error) {
	results := make([]R, len(list))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, x := range list {
		group.Go(func() (err error) {
			results[i], err = fn(ctx, x)
			return err
		})
	}
	return results, group.Wait()
}

// wait waits for what may be different soon.
func wait(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", remote.ErrUnreachable, ctx.Err())
	}
}
