package summarize

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// ErrReply is returned when a provider answers 200 and no reply is in it:
// another protocol, half a document, or megabytes.
var ErrReply = errors.New("the reply cannot be used")

// A StatusError is what a provider answered instead of a reply.
type StatusError struct {
	Code    int    // HTTP status
	Message string // of the provider, cut, without the key; it may hold control characters
}

// Error names the status and what the provider said.
func (e *StatusError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("the server answers %d %s", e.Code, http.StatusText(e.Code))
	}
	return fmt.Sprintf("the server answers %d: %s", e.Code, e.Message)
}

// complaint reads what a provider says about an error, without the key and
// without what looks like a secret, should it repeat them.
func (c *Client) complaint(response *http.Response) error {
	e := &StatusError{Code: response.StatusCode}
	if target := response.Header.Get("Location"); target != "" {
		e.Message = "a redirect to " + target + ", which is not followed"
	} else {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 16<<10)) // what arrived is enough
		e.Message = strings.Join(strings.Fields(complaintText(body)), " ")
	}
	if key := c.endpoint.Key; key != "" {
		e.Message = strings.ReplaceAll(e.Message, key, Redacted)
	}
	e.Message = string(cutRunes([]byte(redact(e.Message)), maxWords))
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

// passing says whether the same question may be answered a little later. A
// deadline that passed is none of these: it would pass again.
func passing(err error) bool {
	var status *StatusError
	switch {
	case errors.As(err, &status):
		switch status.Code {
		case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
			return true
		case http.StatusNotImplemented:
			return false
		}
		return status.Code >= 500 // 529 is a provider's "overloaded"
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
