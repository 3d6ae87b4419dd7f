package cmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/sessctl/sessctl/pkg/durable"
)

// registerStatus registers what monitoring asks for: plain texts.
func (s *api) registerStatus(h huma.API, mux *http.ServeMux) {
	for _, status := range []struct {
		id, path, summary, contentType string
		write                          func(context.Context, io.Writer) error
	}{
		{"healthz", "/healthz", "Whether the server answers; needs no token", "text/plain; charset=utf-8", s.health},
		{"readyz", "/readyz", "Whether the server can do its work; needs no token", "text/plain; charset=utf-8", s.ready},
		{"metrics", "/metrics", "Metrics for Prometheus (sessctl metrics)", "text/plain; version=0.0.4; charset=utf-8", s.metrics},
	} {
		op := operation(h, status.id, http.MethodGet, status.path, status.summary)
		op.Responses["200"] = &huma.Response{Description: "OK", Content: map[string]*huma.MediaType{status.contentType: {Schema: &huma.Schema{Type: huma.TypeString}}}}
		if status.path != "/metrics" {
			op.Security = []map[string][]string{}
		}
		h.OpenAPI().AddOperation(&op)
		mux.HandleFunc("GET "+status.path, serveText(status.contentType, status.write))
	}
}

// serveText serves a text that is written in full before the first byte goes out.
func serveText(contentType string, write func(context.Context, io.Writer) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var text bytes.Buffer
		if err := write(r.Context(), &text); err != nil {
			problemFor(err).write(w)
			return
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(text.Bytes()) // whoever has gone needs no answer
	}
}

// health is answered whatever the server is busy with.
func (s *api) health(_ context.Context, w io.Writer) error {
	_, err := io.WriteString(w, "ok\n")
	return err
}

// metrics are those of sessctl metrics.
func (s *api) metrics(ctx context.Context, w io.Writer) error {
	_, err := answered(ctx, s, func(ctx context.Context, a *app) (struct{}, error) { return struct{}{}, metricsText(ctx, a, w) })
	return err
}

// ready says whether jobs can be accepted. It is asked without a token: what is
// wrong is in the log, not in the answer.
func (s *api) ready(_ context.Context, w io.Writer) error {
	free, err := durable.FreeSpace(s.DataDir())
	if err == nil {
		err = durable.MayWrite(s.DataDir())
	}
	if err != nil || free == 0 {
		return newProblem(http.StatusServiceUnavailable, "not_ready", "the data directory cannot be written", "sessctl doctor says more")
	}
	_, err = fmt.Fprintln(w, "ready")
	return err
}
