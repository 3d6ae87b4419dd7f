package cmd

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/web"
	"github.com/sessctl/sessctl/pkg/operate/jobs"
)

// problemDocument is what the server answers to a request that it cannot serve: a problem
// document of RFC 9457 with what --json prints on stderr, the code and the hint.
type problemDocument struct {
	Type   string              `json:"type" doc:"about:blank: code says which problem it is"`
	Title  string              `json:"title" doc:"what the status means"`
	Status int                 `json:"status" doc:"the HTTP status"`
	Detail string              `json:"detail" doc:"what is wrong"`
	Code   string              `json:"code" doc:"a stable word for the problem, as in the errors of --json"`
	Hint   string              `json:"hint" doc:"what to do about it, or empty"`
	Path   string              `json:"path" doc:"the file that it is about, or empty"`
	Errors []*huma.ErrorDetail `json:"errors,omitempty" doc:"what is wrong in the request, by place"`
}

// problemType is the content type of a problem.
const problemType = "application/problem+json"

// Error implements error.
func (p *problemDocument) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *problemDocument) GetStatus() int { return p.Status }

// GetHeaders implements huma.HeadersError.
func (p *problemDocument) GetHeaders() http.Header {
	headers := http.Header{}
	if after := p.retryAfter(); after > 0 {
		headers.Set("Retry-After", strconv.Itoa(after))
	}
	return headers
}

// retryAfter is in how many seconds the same request may succeed, 0 for never.
func (p *problemDocument) retryAfter() int {
	switch {
	case p.Code == "overloaded":
		return 1
	case p.Status == http.StatusServiceUnavailable:
		return 30
	}
	return 0
}

// ContentType implements huma.ContentTypeFilter.
func (p *problemDocument) ContentType(string) string { return problemType }

func newProblem(status int, code, detail, hint string) *problemDocument {
	return &problemDocument{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Code: code, Hint: hint}
}

// problemFor is the problem of an error.
func problemFor(err error) *problemDocument {
	var known *problemDocument
	if errors.As(err, &known) {
		return known
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return newProblem(http.StatusServiceUnavailable, "timeout", "the answer took longer than "+web.WorkTimeout.String(), "ask for less, or when the machine is less busy")
	case errors.Is(err, jobs.ErrUnknown):
		return newProblem(http.StatusNotFound, "unknown_job", err.Error(), "GET /api/v1/jobs lists those that are kept")
	case errors.Is(err, jobs.ErrFull):
		return newProblem(http.StatusServiceUnavailable, "overloaded", err.Error(), "GET /api/v1/jobs lists them")
	}
	body := failure.Explain(err)
	p := newProblem(web.StatusOf(body.Code, failure.ExitCode(err)), body.Code, strings.TrimSpace(body.Message), body.Hint)
	p.Path = body.Path
	return p
}

// asProblem is a huma.Transformer: what huma itself finds wrong with a request is
// told in the same document as everything else.
func asProblem(_ huma.Context, _ string, v any) (any, error) {
	model, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	code := "failed"
	if model.Status < http.StatusInternalServerError {
		code = "usage"
	}
	p := newProblem(model.Status, code, model.Detail, "/openapi.json says what a request may hold; docs/api.md has examples")
	if model.Status == http.StatusUnsupportedMediaType {
		p.Detail, p.Hint = "the body is not said to be JSON", "send the header Content-Type: application/json"
		return p, nil
	}
	for _, e := range model.Errors {
		if e.Location == "body" {
			e.Value = nil // the whole body
		}
	}
	p.Errors = model.Errors
	return p, nil
}

// write answers a request that does not come as far as huma.
func (p *problemDocument) write(w http.ResponseWriter) {
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_ = writeJSON(w, "  ", p) // whoever has gone needs no answer
}
