package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/front/mcptool"
	"github.com/sessctl/sessctl/internal/front/web"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/operate/jobs"
)

// api serves the documents of --json over HTTP. What a request means is decided
// by the functions that the commands call; here it is only read and written.
type api struct {
	*app
	jobs    *jobs.Registry
	working chan struct{} // a place for each document that may be made at a time
}

// reply is an answer with a document.
type reply[T any] struct{ Body T }

// apiDescription is what /openapi.json says of the whole.
const apiDescription = `What sessctl does on the command line, for programs. The documents are those that the commands print with --json (docs/json.md); fields may be added to them. Errors are problem documents of RFC 9457 with a code and a hint.`

// newAPI registers what the server can be asked for.
func newAPI(s *api) (http.Handler, huma.API) {
	mux := http.NewServeMux()
	doc := func(w io.Writer, v any) error { return writeJSON(w, "  ", v) }
	format := huma.Format{Marshal: doc, Unmarshal: json.Unmarshal}
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI:    "3.1.0",
			Info:       &huma.Info{Title: "sessctl", Version: "1", Description: apiDescription},
			Components: &huma.Components{Schemas: huma.NewMapRegistry("#/components/schemas/", schemaName), SecuritySchemes: map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer", Description: "what is in the file serve-token of the data directory; not needed on a unix socket"}}},
			Security:   []map[string][]string{{"token": {}}},
		},
		Formats:                      map[string]huma.Format{"application/json": format, "json": format},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{asProblem},
	}
	config.AllowAdditionalPropertiesByDefault = true // a later version may add fields
	h := humago.New(mux, config)
	s.registerSessions(h)
	s.registerJobs(h)
	s.registerStatus(h, mux)
	mux.Handle("POST /mcp", mcpHandler(s.app, mcptool.MCPOptions{Runtime: s.app.Global.Runtime, AllowWrite: s.Config.Serve.MCPAllowWrite, Remote: true}))
	delete(h.OpenAPI().Components.Schemas.Map(), "ErrorModel") // problems are problemDocuments
	text, err := json.MarshalIndent(h.OpenAPI(), "", "  ")
	mux.HandleFunc("GET /openapi.json", serveText("application/openapi+json", func(_ context.Context, w io.Writer) error {
		if err == nil {
			_, err = w.Write(append(text, '\n'))
		}
		return err
	}))
	return known(mux), h
}

// schemaName names the schema of a type. Clients are generated from these names:
// what Go tells apart by its package has the package's name in front of its own, and
// what has another name in Go keeps that which clients know.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	if t == reflect.TypeFor[recall.Document]() || t == reflect.TypeFor[recall.Hit]() {
		return "Recall" + name
	}
	known := map[string]string{"StepRow": "StepRecord", "RunSizes": "Sizes", "JobResult": "Result", "JobFailure": "Failure"}
	return cmp.Or(known[name], name)
}

// known answers with a problem where nothing is registered.
func known(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		var allowed []string
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			other := r.Clone(r.Context())
			other.Method = method
			if _, pattern := mux.Handler(other); pattern != "" {
				allowed = append(allowed, method)
			}
		}
		if len(allowed) == 0 {
			newProblem(http.StatusNotFound, "unknown_path", "there is nothing at "+wording.Visible(r.URL.Path), "/openapi.json says what there is").write(w)
			return
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		newProblem(http.StatusMethodNotAllowed, "method", "this is asked with "+strings.Join(allowed, " or "), "").write(w)
	})
}

// operation describes what can be asked for, and that it may answer with a
// problem.
func operation(h huma.API, id, method, path, summary string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, MaxBodyBytes: web.MaxRequestBody, BodyReadTimeout: -1,
		Responses: map[string]*huma.Response{"default": {
			Description: "A problem",
			Content: map[string]*huma.MediaType{problemType: {
				Schema: h.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[problemDocument](), true, "Problem"),
			}},
		}},
	}
}

// answered makes a document when its turn comes, with an app of its own.
func answered[T any](ctx context.Context, s *api, document func(context.Context, *app) (T, error)) (*reply[T], error) {
	ctx, cancel := context.WithTimeout(ctx, web.WorkTimeout)
	defer cancel()
	select {
	case s.working <- struct{}{}:
		defer func() { <-s.working }()
	case <-ctx.Done():
		return nil, problemFor(ctx.Err())
	}
	doc, err := web.WithOwnStack(func() (T, error) {
		own := s.printingTo(io.Discard)
		defer workspace.End(own.Run)
		own.JSON = true
		return document(ctx, own)
	})
	if err != nil {
		return nil, problemFor(err)
	}
	return &reply[T]{Body: doc}, nil
}

func (s *api) registerSessions(h huma.API) {
	huma.Register(h, operation(h, "sizes", http.MethodGet, "/api/v1/sessions/sizes", "How full every session's context is (sessctl sizes)"),
		func(ctx context.Context, in *web.SizesQuery) (*reply[selection.SizesDocument], error) {
			return answered(ctx, s, func(ctx context.Context, a *app) (selection.SizesDocument, error) {
				if err := web.KnownRuntime(in.Runtime); err != nil {
					return selection.SizesDocument{}, err
				}
				doc, err := selection.Sizes(ctx, a.Run, in.Options(ctx, a.Run))
				doc.NameProjects(selection.ProjectNames(ctx, a.Run))
				return doc, err
			})
		})
	huma.Register(h, operation(h, "recall", http.MethodGet, "/api/v1/recall", "What was said and done in compacted sessions (sessctl recall)"),
		func(ctx context.Context, in *web.RecallQuery) (*reply[recall.Document], error) {
			return answered(ctx, s, func(ctx context.Context, a *app) (recall.Document, error) {
				o := in.Options(ctx, a.Run)
				if err := cmp.Or(web.KnownRuntime(in.Runtime), web.CheckSession(in.Session), o.Validate()); err != nil {
					return recall.Document{}, err
				}
				doc, err := steps.Recall(ctx, a.Run, o)
				doc.NameProjects(selection.ProjectNames(ctx, a.Run))
				return doc, err
			})
		})
	huma.Register(h, operation(h, "lines", http.MethodGet, "/api/v1/archives/{id}/lines", "Lines of an archived log (sessctl archives show)"),
		func(ctx context.Context, in *web.LinesQuery) (*reply[steps.ShowDocument], error) {
			return answered(ctx, s, func(ctx context.Context, a *app) (steps.ShowDocument, error) {
				return web.ArchivedLines(ctx, a.Run, in)
			})
		})
	huma.Register(h, operation(h, "runs", http.MethodGet, "/api/v1/runs", "The runs of profiles, and how each step ended (sessctl log --runs)"),
		func(ctx context.Context, in *web.RunsQuery) (*reply[audit.RunsDocument], error) {
			return answered(ctx, s, func(ctx context.Context, a *app) (audit.RunsDocument, error) {
				return audit.RunsOf(ctx, a.Run, audit.LogOptions{Runs: true, Limit: in.Limit, Since: in.Since})
			})
		})
}

type (
	compactPost struct{ Body web.CompactRequest }
	clearPost   struct{ Body web.ClearRequest }
)

type jobQuery struct {
	ID string `path:"id" maxLength:"64" doc:"the job's id"`
}

func (s *api) registerJobs(h huma.API) {
	post := operation(h, "compact", http.MethodPost, "/api/v1/compact", "Compact sessions (sessctl compact): a job that runs as soon as no other does")
	post.Description = "Answers at once. The job is on disk by then: it survives the end of the server. While a job for the same agent waits or runs, that one is the answer."
	post.DefaultStatus = http.StatusAccepted
	huma.Register(h, post, func(ctx context.Context, in *compactPost) (*web.Accepted, error) {
		in.Body.Caller = web.CallerName(in.Body.Caller)
		return s.submit(ctx, web.JobCompact, in.Body, in.Body)
	})
	clearing := operation(h, "clear", http.MethodPost, "/api/v1/sessions/clear", "Clear a session (sessctl compact --clear): it is archived and remembered first; a job as for compact")
	clearing.DefaultStatus = http.StatusAccepted
	huma.Register(h, clearing, func(ctx context.Context, in *clearPost) (*web.Accepted, error) {
		in.Body.Caller = web.CallerName(in.Body.Caller)
		return s.submit(ctx, web.JobClear, in.Body.Compact(), in.Body)
	})
	huma.Register(h, operation(h, "jobs", http.MethodGet, "/api/v1/jobs", "The jobs there are, and how they ended"),
		func(context.Context, *struct{}) (*reply[web.JobsDocument], error) {
			return &reply[web.JobsDocument]{Body: web.NewJobsDocument(s.jobs.List(), s.jobs.Unreadable())}, nil
		})
	huma.Register(h, operation(h, "job", http.MethodGet, "/api/v1/jobs/{id}", "One job, with the document of its result"),
		func(_ context.Context, in *jobQuery) (*reply[web.JobDocument], error) {
			j, err := s.jobs.Get(in.ID)
			if err != nil {
				return nil, problemFor(err)
			}
			return &reply[web.JobDocument]{Body: web.NewJobDocument(j)}, nil
		})
}

// submit accepts a compaction. What cannot be meant is refused at once; what
// becomes of the rest, the job tells.
func (s *api) submit(ctx context.Context, kind string, q web.CompactRequest, body any) (*web.Accepted, error) {
	_, err := answered(ctx, s, func(ctx context.Context, a *app) (struct{}, error) { return struct{}{}, checkRequest(ctx, a, q) })
	if err != nil {
		return nil, err
	}
	options, err := json.Marshal(body)
	if err != nil {
		return nil, problemFor(fmt.Errorf("write the job: %w", err))
	}
	j, _, err := s.jobs.Submit(jobs.Request{Kind: kind, Subject: q.Subject(), Caller: q.Caller, Options: options})
	if err != nil {
		return nil, problemFor(err)
	}
	return &web.Accepted{Location: "/api/v1/jobs/" + j.ID, Body: web.NewJobDocument(j)}, nil
}
