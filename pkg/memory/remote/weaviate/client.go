package weaviate

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/internal/httpclient"
	"github.com/sessctl/sessctl/pkg/memory/remote"
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

	mu    sync.Mutex
	first int // the node that answered last

	answering map[string]bool // the nodes that did when it was looked
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
	var sent []byte
	if q.body != nil {
		var err error
		if sent, err = json.Marshal(q.body); err != nil {
			return fmt.Errorf("write the request: %w", err)
		}
	}
	for round := 0; ; round++ {
		refused, err := c.round(ctx, q, sent)
		var passing passingError
		if !errors.As(err, &passing) {
			return err
		}
		if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err()
		}
		if refused || round == len(pauses) || ctx.Err() != nil {
			return fmt.Errorf("%w: %w", remote.ErrUnreachable, passing.error)
		}
		select {
		case <-time.After(pauses[round]):
		case <-ctx.Done():
		}
	}
}

// forget has it asked anew which nodes answer.
func (c *client) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looked = time.Time{}
}

// round asks every node once. refused reports that nobody listens on any.
func (c *client) round(ctx context.Context, q question, sent []byte) (refused bool, err error) {
	c.mu.Lock()
	first := c.first
	c.mu.Unlock()
	refused = true
	for i := range c.nodes {
		n := (first + i) % len(c.nodes)
		wait := soon
		if i == len(c.nodes)-1 || q.slow {
			wait = patience
		}
		err = c.once(ctx, c.nodes[n], q, try{sent, wait})
		var passing passingError
		if !errors.As(err, &passing) {
			c.mu.Lock()
			c.first = n
			c.mu.Unlock()
			return false, err
		}
		refused = refused && passing.refused
		if ctx.Err() != nil {
			break
		}
	}
	return refused, err
}

// try is what is sent, and how long the reply may take.
type try struct {
	sent []byte
	wait time.Duration
}

func (c *client) once(ctx context.Context, node string, q question, t try) error {
	ctx, cancel := context.WithTimeout(ctx, t.wait)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, q.method, node+q.path, bytes.NewReader(t.sent))
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
	if err != nil {
		return c.notAsked(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, mostRead+1))
	if err != nil {
		return passingError{error: httpclient.WithoutURL(err)}
	}
	if len(body) > mostRead {
		return fmt.Errorf("%w: a reply has more than %d bytes", remote.ErrUnsuitable, mostRead)
	}
	if err := c.judge(response.StatusCode, body, q.may404); err != nil {
		return err
	}
	return read(body, q.into)
}

func read(body []byte, into any) error {
	switch into := into.(type) {
	case nil:
		return nil
	case *graphReply:
		*into = graphReply{} // of a try before
		if err := json.Unmarshal(body, into); err != nil {
			return passingError{error: fmt.Errorf("the reply is not understood: %w", err)}
		}
		return into.err()
	default:
		if err := json.Unmarshal(body, into); err != nil {
			return passingError{error: fmt.Errorf("the reply is not understood: %w", err)}
		}
		return nil
	}
}

// notAsked is the error of a node that gave no reply.
func (c *client) notAsked(err error) error {
	err = httpclient.WithoutURL(err)
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var verification *tls.CertificateVerificationError
	if errors.As(err, &authority) || errors.As(err, &name) || errors.As(err, &verification) {
		return fmt.Errorf("%w: TLS: %w", remote.ErrNotAllowed, err)
	}
	return passingError{error: err, refused: !errors.Is(err, context.DeadlineExceeded)}
}

// judge makes an error of a status. A server's complaint may repeat what was
// sent, so the key is taken out.
func (c *client) judge(status int, body []byte, may404 bool) error {
	if status < 300 {
		return nil
	}
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
		Error []struct {
			Message string `json:"message"`
		} `json:"error"`
		Message string `json:"message"`
	}
	text := string(body)
	if json.Unmarshal(body, &known) == nil {
		for _, e := range known.Error {
			known.Message += e.Message
		}
		if known.Message != "" {
			text = known.Message
		}
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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make([]R, len(list))
	places := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	var once sync.Once
	var first error
	for i, x := range list {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			r, err := fn(ctx, x)
			if err != nil {
				once.Do(func() { first = err })
				cancel()
			}
			results[i] = r
		})
	}
	all.Wait()
	return results, first
}
