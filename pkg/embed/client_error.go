package embed

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
