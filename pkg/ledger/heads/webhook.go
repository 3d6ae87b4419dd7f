package heads

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"

	"github.com/sessctl/sessctl/internal/httpclient"
	"github.com/sessctl/sessctl/pkg/ledger"
)

// Webhook is told of each head by POST, and asked for the last one by GET.
type Webhook struct {
	URL *url.URL
	As  string // name of the ledger
}

// headDocument is what is posted. A GET may answer with one, or with the head alone.
type headDocument struct {
	Ledger string `json:"ledger"`
	Size   int64  `json:"size"`
	Root   string `json:"root"` // base64
	Head   string `json:"head"` // as it was signed
}

// Name implements [Place]. The path may be a token.
func (w Webhook) Name() string { return w.URL.Scheme + "://" + w.URL.Host }

func (w Webhook) ask(ctx context.Context, method string, body []byte) (status int, text []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, method, w.URL.String(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, errors.New("the address cannot be used")
	}
	request.Header.Set("Content-Type", "application/json")
	client := httpclient.New()
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, httpclient.WithoutURL(err)
	}
	defer response.Body.Close()
	text, err = io.ReadAll(io.LimitReader(response.Body, mostHead))
	return response.StatusCode, text, err
}

// Last implements [Place].
func (w Webhook) Last(ctx context.Context) ([]byte, error) {
	status, text, err := w.ask(ctx, http.MethodGet, nil)
	if err != nil {
		return nil, err
	}
	var document headDocument
	switch {
	case status == http.StatusNotFound, status == http.StatusNoContent:
		return nil, fmt.Errorf("it answers %d: %w", status, fs.ErrNotExist)
	case status != http.StatusOK:
		return nil, fmt.Errorf("%w: it answers %d %s", ErrNoAnswer, status, http.StatusText(status))
	case json.Unmarshal(text, &document) == nil && document.Head != "":
		return []byte(document.Head), nil
	case bytes.Contains(text, []byte("\n\n\u2014 ")):
		return text, nil
	}
	return nil, ErrNoAnswer
}

// Keep implements [Place].
func (w Webhook) Keep(ctx context.Context, head ledger.Head) error {
	body, err := json.Marshal(headDocument{Ledger: w.As, Size: head.N, Root: head.Hash.String(), Head: string(head.Note)})
	if err != nil {
		return err
	}
	status, _, err := w.ask(ctx, http.MethodPost, body)
	if err == nil && status/100 != 2 {
		err = fmt.Errorf("it answers %d %s", status, http.StatusText(status))
	}
	return err
}
