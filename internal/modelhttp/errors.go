package modelhttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// A StatusError is a reply with another status than 200.
type StatusError struct {
	Code    int    // HTTP status
	Message string // what the server said, after Options.Tidy; it may hold control characters
}

// Error names the status and what the server said.
func (e *StatusError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("the server answers %d %s", e.Code, http.StatusText(e.Code))
	}
	return fmt.Sprintf("the server answers %d: %s", e.Code, e.Message)
}

// A ConnectionError is returned when no reply came: the server is not there,
// the connection broke, or the deadline passed.
type ConnectionError struct {
	Host string // and the port, if the base URL has one
	Err  error
}

// Error names the host and the reason.
func (e *ConnectionError) Error() string { return e.Host + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *ConnectionError) Unwrap() error { return e.Err }

// A SizeError is returned for a reply that is longer than Question.Limit.
type SizeError struct{ Limit int64 } // bytes

// Error names the limit.
func (e *SizeError) Error() string { return fmt.Sprintf("more than %d bytes", e.Limit) }

// Absent says whether an error means that there is no server at the address at
// all: no connection could be opened, or the name is unknown.
func Absent(err error) bool {
	var operation *net.OpError
	var name *net.DNSError
	return errors.As(err, &operation) && operation.Op == "dial" || errors.As(err, &name)
}

// complaint reads what a server says about an error. The server may repeat the
// key, and the error must not.
func (c *Client) complaint(response *http.Response) error {
	var message string
	if target := response.Header.Get("Location"); target != "" {
		message = "a redirect to " + target + ", which is not followed"
	} else {
		body, _ := io.ReadAll(io.LimitReader(response.Body, maxComplaint)) // what arrived is enough
		message = sentence(body)
	}
	if c.options.Key != "" {
		message = strings.ReplaceAll(message, c.options.Key, c.options.Mask)
	}
	return &StatusError{Code: response.StatusCode, Message: c.options.Tidy(message)}
}

// sentence finds what a person can read in {"error": "..."} and in
// {"error": {"message": "..."}}; else it is the whole body.
func sentence(body []byte) string {
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
