package outbox

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/httpclient"
)

const (
	// postTimeout is how long a receiver has to answer.
	postTimeout = 10 * time.Second
	// maxComplaint is how much is read of an answer that is no yes, in bytes.
	maxComplaint = 4 << 10
	// shownComplaint is how much of that a failure tells, in bytes.
	shownComplaint = 200
	// leastMasked is the length from which a part of an address can be a token.
	leastMasked = 6
)

// SignatureHeader is the header of a signed event: t=<unix seconds>,v1=<hex>,
// where v1 is the HMAC-SHA256 of the seconds, a full stop and the body.
const SignatureHeader = "X-Sessctl-Signature"

// Webhook posts events to a URL.
type Webhook struct {
	URL    *url.URL
	Source string                 // of the envelope
	Secret func() (string, error) // that signs; asked for each event. nil signs none
	// Plain posts the data alone, with the type as its first field, as sessctl
	// did before it had envelopes.
	Plain bool
	Now   func() time.Time
}

// ParseURL reads the address of a receiver. The error does not repeat it: it may
// hold a token.
func ParseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Fragment != "" {
		return nil, errors.New("it is no URL of the kind https://host/path")
	}
	return u, nil
}

// Send implements [Sender]. Only an answer with a status of 2xx is a yes; its
// body is not read. No redirect is followed.
func (w Webhook) Send(ctx context.Context, e Event) error {
	body, contentType, err := w.body(e)
	if err != nil {
		return &Failure{Reason: err.Error()}
	}
	header := http.Header{"Content-Type": {contentType}}
	if w.Secret != nil {
		secret, err := w.Secret()
		if err != nil {
			return &Failure{Reason: "it cannot be signed: " + err.Error(), Unreachable: true}
		}
		header.Set(SignatureHeader, Sign(secret, w.Now(), body))
	}
	return post(ctx, w.URL, header, body, w.Now)
}

func (w Webhook) body(e Event) (body []byte, contentType string, err error) {
	if !w.Plain {
		body, err = e.Document(w.Source)
		return body, "application/cloudevents+json", err
	}
	var data bytes.Buffer
	if err := json.Compact(&data, e.Data); err != nil { // the file has it indented
		return nil, "", err
	}
	first := []byte(`{"event":` + strconv.Quote(e.Type))
	if rest, ok := bytes.CutPrefix(data.Bytes(), []byte("{")); ok && len(rest) > 1 {
		return append(append(first, ','), rest...), "application/json", nil
	}
	return append(first, '}'), "application/json", nil
}

// Sign returns the value of the signature header.
func Sign(secret string, at time.Time, body []byte) string {
	seconds := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(seconds + "."))
	mac.Write(body)
	return "t=" + seconds + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// post sends a body and returns a *Failure unless the answer is 2xx.
func post(ctx context.Context, to *url.URL, header http.Header, body []byte, now func() time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	began := time.Now()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return &Failure{Reason: "the address cannot be used", Unreachable: true}
	}
	request.Header = header
	client := httpclient.New()
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if errors.Is(err, context.DeadlineExceeded) {
		return &Failure{Reason: fmt.Sprintf("no answer within %s", time.Since(began).Round(100*time.Millisecond)), Unreachable: true}
	}
	if err != nil {
		return &Failure{Reason: httpclient.WithoutURL(err).Error(), Unreachable: true}
	}
	defer response.Body.Close()
	if response.StatusCode/100 == 2 {
		return nil
	}
	return refusal(to, response, now())
}

// refusal is the failure of an answer that is no yes.
func refusal(to *url.URL, response *http.Response, now time.Time) *Failure {
	code := response.StatusCode
	f := &Failure{
		Reason:      fmt.Sprintf("it answers %d %s", code, http.StatusText(code)),
		Unreachable: alikeForAll(code),
		After:       httpclient.RetryAfter(response.Header, now),
	}
	if code/100 == 3 {
		f.Reason += redirected(to, response)
		return f
	}
	if said := complaint(to, response.Body); said != "" {
		f.Reason += ": " + said
	}
	return f
}

// alikeForAll says whether an answer with this status is not about the event: the
// address, the key or the state of the receiver is what is wrong.
func alikeForAll(code int) bool {
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone,
		http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return code/100 == 3
}

// redirected says where a redirect leads, by its host alone.
func redirected(to *url.URL, response *http.Response) string {
	const advice = "; redirects are not followed: configure the address that it leads to"
	place, err := response.Location()
	switch {
	case err != nil:
		return advice
	case place.Host == to.Host && place.Scheme == to.Scheme:
		return " (another path of the same host)" + advice
	case place.Host == to.Host:
		return " (" + place.Scheme + " of the same host)" + advice
	}
	return " (the host " + place.Host + ")" + advice
}

// complaint is the beginning of what a receiver says, on one line, without what
// may be a token of its address.
func complaint(to *url.URL, body io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(body, maxComplaint)) // what came by the deadline is enough
	said := strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "")), " ")
	for _, part := range addressParts(to) {
		said = strings.ReplaceAll(said, part, "***")
	}
	if len(said) > shownComplaint {
		said = strings.ToValidUTF8(said[:shownComplaint], "") + "…"
	}
	return said
}

// addressParts are the parts of an address that may be tokens, as they are
// written and as they are meant.
func addressParts(u *url.URL) (parts []string) {
	found := append(strings.Split(u.Path, "/"), strings.Split(u.EscapedPath(), "/")...)
	for _, values := range u.Query() {
		for _, value := range values {
			found = append(found, value, url.QueryEscape(value))
		}
	}
	if password, ok := u.User.Password(); ok {
		found = append(found, password)
	}
	for _, part := range found {
		if len(part) >= leastMasked {
			parts = append(parts, part)
		}
	}
	return parts
}
