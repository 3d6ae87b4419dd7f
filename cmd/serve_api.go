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
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
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
			Components: &huma.Components{SecuritySchemes: map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer", Description: "what is in the file serve-token of the data directory; not needed on a unix socket"}}},
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
	mux.Handle("POST /mcp", mcpHandler(s.app, mcpOptions{AllowWrite: s.Config.Serve.MCPAllowWrite, Remote: true}))
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
		OperationID: id, Method: method, Path: path, Summary: summary, MaxBodyBytes: maxRequestBody, BodyReadTimeout: -1,
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
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	select {
	case s.working <- struct{}{}:
		defer func() { <-s.working }()
	case <-ctx.Done():
		return nil, problemFor(ctx.Err())
	}
	doc, err := withOwnStack(func() (T, error) {
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

// withOwnStack calls a function in a goroutine of its own. SQLite needs a deep stack,
// which goes with the goroutine; in that of the connection it would stay, once
// for each client that keeps its connection. A panic is the caller's.
func withOwnStack[T any](f func() (T, error)) (T, error) {
	once, done := sync.OnceValues(f), make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }() // the call below panics with it once more
		_, _ = once()
	}()
	<-done
	return once()
}

type sizesQuery struct {
	Agent     string `query:"agent" doc:"only sessions of this agent"`
	Runtime   string `query:"runtime" doc:"only sessions of this runtime"`
	Threshold int64  `query:"threshold" minimum:"0" doc:"mark sessions of at least this many tokens; 0 or none is the configured threshold"`
	Over      bool   `query:"over" doc:"only sessions at or over the threshold"`
	Sort      string `query:"sort" enum:"tokens,bytes,age,agent" default:"tokens"`
	All       bool   `query:"all" doc:"also closed logs, backups and checkpoints"`
}

type recallQuery struct {
	Query      string  `query:"q" maxLength:"4096" doc:"the question; not with file, command or error"`
	File       string  `query:"file" maxLength:"4096" doc:"what was done to this file: its path, the end of it, or words of its name"`
	Command    string  `query:"command" maxLength:"4096" doc:"runs of commands with these words"`
	Error      string  `query:"error" maxLength:"4096" doc:"where this error appeared, and what was done about it"`
	Agent      string  `query:"agent" doc:"only memories of this agent"`
	Runtime    string  `query:"runtime" doc:"only memories of this runtime"`
	Session    string  `query:"session" doc:"only memories of this session"`
	Category   string  `query:"category" enum:",session_history,session_summary,fact,lesson"`
	Kind       string  `query:"kind" doc:"only facts of this kind; work: what was done"`
	Superseded bool    `query:"superseded" doc:"also facts that newer ones have superseded"`
	Since      string  `query:"since" doc:"only from this time on: 30d, 12h, 2026-03-01 or RFC 3339"`
	Until      string  `query:"until" doc:"only before this time"`
	Limit      int     `query:"limit" minimum:"0" maximum:"100" doc:"the best so many; 0 or none is the configured number"`
	MinScore   float64 `query:"min_score" minimum:"-1" maximum:"1" default:"-1" doc:"leave out what fits less; none is the usual bound"`
	Rank       string  `query:"rank" enum:",hybrid,text,vector,seed"`
	Everywhere bool    `query:"everywhere" doc:"ask the memory that many hosts share"`
	Neighbors  int     `query:"neighbors" minimum:"-1" maximum:"10" default:"-1" doc:"pieces of the session before and after each hit; none is one beside a short hit"`
}

type linesQuery struct {
	ID    string `path:"id" maxLength:"200" doc:"an archive's id, the start of one, or the id of a session that has one archive"`
	Lines string `query:"lines" pattern:"^[0-9]+(-[0-9]+)?$" doc:"only these lines, counted from 1: 120-140"`
}

type runsQuery struct {
	Limit int    `query:"limit" minimum:"0" maximum:"1000" default:"20" doc:"the last so many; 0 is all"`
	Since string `query:"since" doc:"only from this time on: 30d, 12h, 2026-03-01 or RFC 3339"`
}

func (s *api) registerSessions(h huma.API) {
	huma.Register(h, operation(h, "sizes", http.MethodGet, "/api/v1/sessions/sizes", "How full every session's context is (sessctl sizes)"),
		func(ctx context.Context, in *sizesQuery) (*reply[selection.SizesDocument], error) {
			return answered(ctx, s, func(ctx context.Context, a *app) (selection.SizesDocument, error) {
				if err := knownRuntime(in.Runtime); err != nil {
					return selection.SizesDocument{}, err
				}
				return selection.Sizes(ctx, a.Run, in.options(a.Run))
			})
		})
	huma.Register(h, operation(h, "recall", http.MethodGet, "/api/v1/recall", "What was said and done in compacted sessions (sessctl recall)"),
		func(ctx context.Context, in *recallQuery) (*reply[recall.RecallDocument], error) {
			return answered(ctx, s, func(ctx context.Context, a *app) (recall.RecallDocument, error) {
				o := in.options(a.Run)
				if err := cmp.Or(knownRuntime(in.Runtime), o.Validate()); err != nil {
					return recall.RecallDocument{}, err
				}
				return recall.Recall(ctx, a.Run, o)
			})
		})
	huma.Register(h, operation(h, "lines", http.MethodGet, "/api/v1/archives/{id}/lines", "Lines of an archived log (sessctl archive show)"),
		func(ctx context.Context, in *linesQuery) (*reply[steps.ShowDocument], error) {
			return answered(ctx, s, func(ctx context.Context, a *app) (steps.ShowDocument, error) { return archivedLines(ctx, a.Run, in) })
		})
	huma.Register(h, operation(h, "runs", http.MethodGet, "/api/v1/runs", "The runs of profiles, and how each step ended (sessctl log --runs)"),
		func(ctx context.Context, in *runsQuery) (*reply[audit.RunsDocument], error) {
			return answered(ctx, s, func(ctx context.Context, a *app) (audit.RunsDocument, error) {
				return audit.RunsOf(ctx, a.Run, audit.LogOptions{Runs: true, Limit: in.Limit, Since: in.Since})
			})
		})
}

func (in *sizesQuery) options(a *workspace.Run) selection.SizesOptions {
	a.Global.Runtime = in.Runtime
	return selection.SizesOptions{
		Agent: in.Agent, Threshold: cmp.Or(in.Threshold, a.Config.Compaction.Threshold), ThresholdAsked: in.Threshold > 0,
		Over: in.Over, Sort: in.Sort, All: in.All,
	}
}

func (in *recallQuery) options(a *workspace.Run) recall.RecallOptions {
	return recall.RecallOptions{
		Query: in.Query, File: in.File, Command: in.Command, Error: in.Error, Agent: in.Agent, Runtime: in.Runtime, Session: in.Session, Category: in.Category, Kind: in.Kind, Superseded: in.Superseded,
		Since: in.Since, Until: in.Until, Limit: cmp.Or(in.Limit, a.Config.Recall.Limit), MinScore: max(in.MinScore, 0), Any: in.MinScore >= 0,
		Rank: cmp.Or(in.Rank, a.Config.Recall.Rank), Neighbors: max(in.Neighbors, 0), Beside: in.Neighbors < 0, Everywhere: in.Everywhere,
	}
}

func archivedLines(ctx context.Context, a *workspace.Run, in *linesQuery) (steps.ShowDocument, error) {
	first, last, err := steps.ParseLines(in.Lines)
	if err != nil {
		return steps.ShowDocument{}, failure.Usage("write lines=120-140", "lines: %w", err)
	}
	store, err := a.OpenArchive()
	if err != nil {
		return steps.ShowDocument{}, err
	}
	entry, err := selection.FindArchive(ctx, store, in.ID)
	if err != nil {
		return steps.ShowDocument{}, err
	}
	return steps.ShowArchive(ctx, a, store, entry, steps.LineRange{First: first, Last: last, Most: maxLinesBytes})
}

// compactRequest is what POST /api/v1/compact is sent.
type compactRequest struct {
	_           struct{} `json:"-" additionalProperties:"false"`
	Agent       string   `json:"agent,omitempty" doc:"compact the main session of this agent; all is every agent's"`
	Runtime     string   `json:"runtime,omitempty" doc:"only sessions of this runtime"`
	Session     string   `json:"session,omitempty" doc:"compact this session, by its id or key, instead of the main one"`
	Threshold   int64    `json:"threshold,omitempty" minimum:"0" doc:"compact sessions of at least this many tokens; 0 or none is the configured threshold"`
	SkipSummary bool     `json:"skip_summary,omitempty" doc:"store no summary"`
	Caller      string   `json:"caller_id,omitempty" doc:"who asks, for the job and the audit log; characters that cannot be printed are left out, and everything after the first 64"`
}

type compactPost struct{ Body compactRequest }

// accepted is the answer to a request that became a job.
type accepted struct {
	Location string `header:"Location" doc:"where the job is"`
	Body     jobDocument
}

// jobDocument is one job.
type jobDocument struct {
	Schema int `json:"schema"`
	jobs.Job
	Notes []workspace.Note `json:"notes"`
}

// jobsDocument is the list of jobs.
type jobsDocument struct {
	Schema int              `json:"schema"`
	Jobs   []jobs.Job       `json:"jobs" doc:"the newest first, without the documents of their results"`
	Notes  []workspace.Note `json:"notes"`
}

type jobQuery struct {
	ID string `path:"id" maxLength:"64" doc:"the job's id"`
}

func (s *api) registerJobs(h huma.API) {
	post := operation(h, "compact", http.MethodPost, "/api/v1/compact", "Compact sessions (sessctl compact): a job that runs as soon as no other does")
	post.Description = "Answers at once. The job is on disk by then: it survives the end of the server. While a job for the same agent waits or runs, that one is the answer."
	post.DefaultStatus = http.StatusAccepted
	huma.Register(h, post, s.compact)
	huma.Register(h, operation(h, "jobs", http.MethodGet, "/api/v1/jobs", "The jobs there are, and how they ended"),
		func(context.Context, *struct{}) (*reply[jobsDocument], error) {
			return &reply[jobsDocument]{Body: jobsDocument{Schema: 1, Jobs: s.jobs.List(), Notes: []workspace.Note{}}}, nil
		})
	huma.Register(h, operation(h, "job", http.MethodGet, "/api/v1/jobs/{id}", "One job, with the document of its result"),
		func(_ context.Context, in *jobQuery) (*reply[jobDocument], error) {
			j, err := s.jobs.Get(in.ID)
			if err != nil {
				return nil, problemFor(err)
			}
			return &reply[jobDocument]{Body: jobDocument{Schema: 1, Job: j, Notes: []workspace.Note{}}}, nil
		})
}

// compact accepts a compaction. What cannot be meant is refused at once; what
// becomes of the rest, the job tells.
func (s *api) compact(ctx context.Context, in *compactPost) (*accepted, error) {
	q := in.Body
	q.Caller = callerName(q.Caller)
	_, err := answered(ctx, s, func(ctx context.Context, a *app) (struct{}, error) { return struct{}{}, a.checkRequest(ctx, q) })
	if err != nil {
		return nil, err
	}
	options, err := json.Marshal(q)
	if err != nil {
		return nil, problemFor(fmt.Errorf("write the job: %w", err))
	}
	j, _, err := s.jobs.Submit(jobs.Request{Kind: jobCompact, Subject: q.subject(), Caller: q.Caller, Options: options})
	if err != nil {
		return nil, problemFor(err)
	}
	return &accepted{Location: "/api/v1/jobs/" + j.ID, Body: jobDocument{Schema: 1, Job: j, Notes: []workspace.Note{}}}, nil
}

// subject names what the request is about: one job of it at a time.
func (q compactRequest) subject() string {
	subject := q.Agent
	if q.Session != "" {
		subject = strings.TrimPrefix(subject+"/"+q.Session, "/")
	}
	if q.Runtime != "" {
		subject = q.Runtime + ":" + subject
	}
	return subject
}

// maxCaller bounds a caller's name, in characters.
const maxCaller = 64

// callerName is what a caller calls itself as it may stand in a log: printable,
// and not long.
func callerName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name)
	if runes := []rune(clean); len(runes) > maxCaller {
		clean = string(runes[:maxCaller])
	}
	return strings.TrimSpace(clean)
}
