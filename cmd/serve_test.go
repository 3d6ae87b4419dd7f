package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/web"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/operate/jobs"
)

// serving is a server over a home with the sample agents, of which one was
// compacted, and a client that has the token.
type serving struct {
	testing.TB
	*server
	log   *bytes.Buffer
	token string
}

func newServing(t testing.TB) *serving {
	t.Helper()
	a := mcpHome(t)
	log := &bytes.Buffer{}
	a.streams = newStreams(strings.NewReader(""), io.Discard, log)
	s, err := newServer(t.Context(), a, web.ServeOptions{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.jobs.Close() })
	token, err := os.ReadFile(web.TokenFile(&a.Run.Settings))
	if err != nil {
		t.Fatal(err)
	}
	return &serving{TB: t, server: s, log: log, token: strings.TrimSpace(string(token))}
}

// ask sends a request as an honest client does; change may spoil it.
func (s *serving) ask(method, path, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	s.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1:7433"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+s.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

func (s *serving) get(path string) []byte {
	s.Helper()
	w := s.ask(http.MethodGet, path, "", nil)
	if w.Code != http.StatusOK {
		s.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// command is what a command prints with --json.
func (s *serving) command(args ...string) []byte {
	s.Helper()
	var out, errOut bytes.Buffer
	a := s.printingTo(&out)
	a.Err = &errOut
	root := newRootCommand(a)
	root.SetArgs(append(args, "--json"))
	if err := root.ExecuteContext(s.Context()); err != nil && out.Len() == 0 {
		s.Fatalf("%q: %v %s", args, err, errOut.Bytes())
	}
	return out.Bytes()
}

// The server answers with what the commands print, byte for byte.
func TestServeDocuments(t *testing.T) {
	s := newServing(t)
	fixed := s.Now()
	s.Now = func() time.Time { return fixed } // scores depend on the time
	var list steps.ArchiveDocument
	if err := json.Unmarshal(s.command("archives", "list"), &list); err != nil || len(list.Archives) == 0 {
		t.Fatal(err, list)
	}
	id := list.Archives[0].ID
	s.command("run", "nightly")
	for _, c := range []struct {
		path    string
		command []string
	}{
		{"/api/v1/sessions/sizes", []string{"sizes"}},
		{"/api/v1/sessions/sizes?over=true&threshold=100&all=true&sort=age", []string{"sizes", "--over", "--threshold", "100", "--all", "--sort", "age"}},
		{"/api/v1/sessions/sizes?runtime=pi", []string{"sizes", "--runtime", "pi"}},
		{"/api/v1/recall?q=why+does+the+label+printer+refuse", []string{"recall", "why does the label printer refuse"}},
		{"/api/v1/recall?q=port&limit=2&neighbors=1&rank=text&agent=coordinator", []string{"recall", "--limit", "2", "--neighbors", "1", "--rank", "text", "--agent", "coordinator", "port"}},
		{"/api/v1/recall?q=zebra+quantum+unicorn", []string{"recall", "zebra quantum unicorn"}},
		{"/api/v1/archives/" + id + "/lines", []string{"archives", "show", id}},
		{"/api/v1/archives/" + id[:8] + "/lines?lines=3-5", []string{"archives", "show", id, "--lines", "3-5"}},
		{"/api/v1/runs?limit=1", []string{"log", "--runs", "--limit", "1"}},
		{"/openapi.json", []string{"serve", "--openapi"}},
	} {
		got, want := s.get(c.path), s.command(c.command...)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes are not the %d of %q:\n%.600s\n---\n%.600s", c.path, len(got), len(want), c.command, got, want)
		}
	}
}

func TestServeProblems(t *testing.T) {
	s := newServing(t)
	if err := os.MkdirAll(filepath.Join(s.Home(), ".agent", "sessions", "01JKTS6Q2N8R3Z5V7W9XYB4CDF"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, path, body string
		change             func(*http.Request)
		status             int
		code               string
	}{
		{"GET", "/api/v1/recall", "", nil, 422, "usage"},
		{"GET", "/api/v1/recall?q=x&limt=3", "", nil, 422, "usage"},
		{"GET", "/api/v1/recall?q=x&runtime=opnclaw", "", nil, 422, "usage"},
		{"GET", "/api/v1/sessions/sizes?runtime=opnclaw", "", nil, 422, "usage"},
		{"POST", "/api/v1/compact", `{"agent":"coordinator","runtime":"opnclaw"}`, nil, 422, "usage"},
		{"POST", "/api/v1/compact", `{"agent":"all","session":"x"}`, nil, 422, "usage"},
		{"GET", "/api/v1/recall?q=x&limit=1000000", "", nil, 422, "usage"},
		{"GET", "/api/v1/recall?q=x&since=yesterday", "", nil, 422, "usage"},
		{"GET", "/api/v1/recall?q=x&agent=coordinatr", "", nil, 404, "unknown_agent"},
		{"GET", "/api/v1/sessions/sizes?agent=nobody", "", nil, 404, "unknown_agent"},
		{"GET", "/api/v1/archives/ffff/lines", "", nil, 404, "unknown_archive"},
		{"GET", "/api/v1/archives/..%2f..%2fetc/lines", "", nil, 404, "unknown_archive"},
		{"GET", "/api/v1/archives/ffff/lines?lines=x", "", nil, 422, "usage"},
		{"GET", "/api/v1/jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV", "", nil, 404, "unknown_job"},
		{"GET", "/api/v1/nothing", "", nil, 404, "unknown_path"},
		{"DELETE", "/api/v1/jobs", "", nil, 405, "method"},
		{"GET", "/api/v1/compact", "", nil, 405, "method"},
		{"POST", "/api/v1/sessions/clear", `{}`, nil, 422, "usage"},
		{"POST", "/api/v1/sessions/clear", `{"agent":"all"}`, nil, 422, "usage"},
		{"POST", "/api/v1/sessions/clear", `{"session":"nobody"}`, nil, 404, "unknown_session"},
		{"POST", "/api/v1/sessions/clear", `{"chatId":"../../etc/passwd"}`, nil, 400, "invalid_session"},
		{"POST", "/api/v1/compact", `{"session":"a\u0000b"}`, nil, 400, "invalid_session"},
		{"POST", "/api/v1/compact", `{"session":"nobody","runtime":"agent"}`, nil, 400, "invalid_session"},
		{"POST", "/api/v1/compact", `{"session":"01JKTS6Q2N8R3Z5V7W9XYB4CDE","runtime":"agent"}`, nil, 404, "unknown_session"},
		{"GET", "/api/v1/recall?q=port&session=..%2Fx", "", nil, 400, "invalid_session"},
		{"POST", "/api/v1/compact", `{}`, nil, 422, "usage"},
		{"POST", "/api/v1/compact", `{"agent":"nobody"}`, nil, 404, "unknown_agent"},
		{"POST", "/api/v1/compact", `{"agent":"coordinator","treshold":1}`, nil, 422, "usage"},
		{"POST", "/api/v1/compact", `{"agent":"coordinator","threshold":-1}`, nil, 422, "usage"},
		{"POST", "/api/v1/compact", `{"agent":`, nil, 400, "usage"},
		{"POST", "/api/v1/compact", `{"agent":"` + strings.Repeat("x", web.MaxRequestBody) + `"}`, nil, 413, "usage"},
		{"POST", "/api/v1/compact", `{"agent":"coordinator"}`, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415, "usage"},
		{"GET", "/api/v1/jobs", "", func(r *http.Request) { r.Header.Del("Authorization") }, 401, "unauthorized"},
		{"GET", "/api/v1/jobs", "", func(r *http.Request) { r.Header.Set("Authorization", s.token) }, 401, "unauthorized"},
		{"GET", "/api/v1/jobs", "", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+s.token[1:]) }, 401, "unauthorized"},
		{"GET", "/openapi.json", "", func(r *http.Request) { r.Header.Del("Authorization") }, 401, "unauthorized"},
		{"GET", "/api/v1/jobs", "", func(r *http.Request) { r.Host = "rebound.example:7433" }, 421, "host"},
		{"GET", "/api/v1/jobs", "", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403, "origin"},
		{"GET", "/api/v1/jobs", "", func(r *http.Request) { r.Header.Set("Origin", "null") }, 403, "origin"},
		{"GET", "/api/v1/jobs", "", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403, "origin"},
	} {
		w := s.ask(c.method, c.path, c.body, c.change)
		var p problemDocument
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Errorf("%s %s: %v: %s", c.method, c.path, err, w.Body)
		}
		if w.Code != c.status || p.Status != c.status || p.Code != c.code || p.Detail == "" || w.Header().Get("Content-Type") != problemType {
			t.Errorf("%s %s %.40s: %d %+v, want %d %s", c.method, c.path, c.body, w.Code, p, c.status, c.code)
		}
		if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s: headers %v", c.method, c.path, w.Header())
		}
	}
	for name, change := range map[string]func(*http.Request){
		"localhost":  func(r *http.Request) { r.Host = "localhost:1" },
		"an address": func(r *http.Request) { r.Host = "[::1]:7433" },
		"own page":   func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:7433") },
	} {
		if w := s.ask(http.MethodGet, "/api/v1/jobs", "", change); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		w := s.ask(http.MethodGet, path, "", func(r *http.Request) {
			r.Header.Del("Authorization")
			r.Host = "anything.example" // a probe asks as it was told to
		})
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// A compaction by the API is the command's, and told of by its job.
func TestServeCompact(t *testing.T) {
	s := newServing(t)
	env := s.Getenv
	s.Getenv = func(name string) string {
		if name == "SESSCTL_COMPACTION_KEEP_RECENT_TOKENS" {
			return "1000" // the session is short
		}
		return env(name)
	}
	body := `{"agent":"work-orders-api","threshold":1,"caller_id":"n8n\u0007\n` + strings.Repeat("x", 100) + `"}`
	w := s.ask(http.MethodPost, "/api/v1/compact", body, nil)
	var job web.JobDocument
	if err := json.Unmarshal(w.Body.Bytes(), &job); err != nil || w.Code != http.StatusAccepted || job.State != jobs.Queued {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	at := w.Header().Get("Location")
	if want := "n8n" + strings.Repeat("x", web.MaxCaller-3); at != "/api/v1/jobs/"+job.ID || job.Caller != want {
		t.Errorf("Location %q, caller %q", at, job.Caller)
	}
	if again := s.ask(http.MethodPost, "/api/v1/compact", body, nil); again.Header().Get("Location") != at {
		t.Errorf("a second request is job %s", again.Header().Get("Location"))
	}
	s.workOff(1)
	if err := json.Unmarshal(s.get(at), &job); err != nil {
		t.Fatal(err)
	}
	if job.State != jobs.Finished || job.Result.Outcome != operate.OK || job.Result.ExitCode != 0 || job.Result.Error != nil {
		t.Errorf("%+v %+v", job, job.Result)
	}
	var done selection.CompactDocument
	if err := json.Unmarshal(job.Result.Document, &done); err != nil || len(done.Sessions) != 1 || done.Sessions[0].Outcome != "compacted" {
		t.Errorf("%v %s", err, job.Result.Document)
	}
	var log audit.LogDocument
	if err := json.Unmarshal(s.command("log", "--limit", "0"), &log); err != nil {
		t.Fatal(err)
	}
	asked := log.Entries[len(log.Entries)-1]
	for _, e := range log.Entries {
		if e.Action == "request" {
			asked = e
		}
	}
	if asked.Caller != job.Caller || asked.Agent != "work-orders-api" {
		t.Errorf("the audit log says %+v", asked)
	}
}

// A session that is cleared by the API is archived and remembered first; the seed's own
// request, which names a chat, means it too.
func TestServeClear(t *testing.T) {
	s := newServing(t)
	log := filepath.Join(s.Home(), ".annabelle", "sessions", "annabelle", "8304042211.jsonl")
	said := `{"type":"header","chatId":"8304042211","agentId":"annabelle","createdAt":"2026-02-11T01:14:59.755Z","version":1}
{"type":"turn","user":"Which otter guards the teapot?","assistant":"The grey one.","timestamp":"2026-02-11T01:15:59.755Z"}
`
	old := s.Now().Add(-time.Hour)
	if err := errors.Join(os.MkdirAll(filepath.Dir(log), 0o700), os.WriteFile(log, []byte(said), 0o600), os.Chtimes(log, old, old)); err != nil {
		t.Fatal(err)
	}
	w := s.ask(http.MethodPost, "/api/v1/sessions/clear", `{"chatId":"8304042211"}`, nil)
	if w.Code != http.StatusAccepted {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	s.workOff(1)
	var job web.JobDocument
	if err := json.Unmarshal(s.get(w.Header().Get("Location")), &job); err != nil || job.Kind != web.JobClear || job.Result.Outcome != operate.OK {
		t.Fatalf("%v %+v %+v", err, job, job.Result)
	}
	if _, err := os.Stat(log); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the log is still there: %v", err)
	}
	var list steps.ArchiveDocument
	if err := json.Unmarshal(s.command("archives", "list", "--agent", "annabelle"), &list); err != nil || len(list.Archives) != 1 {
		t.Fatalf("%v %+v", err, list)
	}
	if lines := s.get("/api/v1/archives/" + list.Archives[0].ID + "/lines"); !bytes.Contains(lines, []byte("guards the teapot")) {
		t.Errorf("the archive has %s", lines)
	}
	if hits := s.get("/api/v1/recall?q=which+otter+guards+the+teapot"); !bytes.Contains(hits, []byte("The grey one")) {
		t.Errorf("recall finds %s", hits)
	}
}

// workOff lets the server work on n jobs.
func (s *serving) workOff(n int) {
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	s.jobs.Run(ctx, func(ctx context.Context, j jobs.Job) (jobs.Result, error) {
		result, err := s.work(ctx, j)
		if n--; n == 0 {
			cancel()
		}
		return result, err
	})
}

// While another sessctl works, a job is busy: an outcome, as 75 is.
func TestServeBusy(t *testing.T) {
	s := newServing(t)
	lock, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	s.Global.LockWait = time.Millisecond
	w := s.ask(http.MethodPost, "/api/v1/compact", `{"agent":"all"}`, nil)
	s.workOff(1)
	var job web.JobDocument
	if err := json.Unmarshal(s.get(w.Header().Get("Location")), &job); err != nil {
		t.Fatal(err)
	}
	if r := job.Result; r.Outcome != operate.Busy || r.ExitCode != failure.ExitBusy || r.Error == nil || r.Error.Code != "locked" || r.Error.Hint == "" {
		t.Errorf("%+v", job.Result)
	}
}

// The token is only taken from a file that nobody else may read.
func TestServeToken(t *testing.T) {
	s := newServing(t)
	path := web.TokenFile(&s.server.api.app.Run.Settings)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := web.ServeToken(s.server.api.app.Run); err == nil || failure.Explain(err).Hint == "" {
		t.Errorf("mode 0640: %v", err)
	}
	if err := os.WriteFile(path, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := web.ServeToken(s.server.api.app.Run); err == nil {
		t.Error("a short token is taken")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/null", path); err != nil {
		t.Fatal(err)
	}
	if _, err := web.ServeToken(s.server.api.app.Run); err == nil {
		t.Error("a link is followed")
	}
}

func TestServeAddress(t *testing.T) {
	for listen, local := range map[string]bool{
		"127.0.0.1:7433": true, "localhost:0": true, "[::1]:7433": true, "unix:/run/x.sock": true,
		"0.0.0.0:7433": false, ":7433": false, "192.168.1.2:7433": false, "example.org:7433": false, "[::]:7433": false,
	} {
		if d, err := web.ParseAddress(listen); err != nil || d.Local() != local {
			t.Errorf("%s: local %v, %v", listen, d.Local(), err)
		}
	}
	for _, listen := range []string{"", "7433", "127.0.0.1", "127.0.0.1:x", "unix:", "127.0.0.1:70000"} {
		if d, err := web.ParseAddress(listen); err == nil {
			t.Errorf("%q is taken as %+v", listen, d)
		}
	}
	a := mcpHome(t)
	if _, err := newServer(t.Context(), a, web.ServeOptions{Listen: "0.0.0.0:0"}); failure.ExitCode(err) != failure.ExitUsage || !strings.Contains(failure.Explain(err).Hint, "--listen-without-tls") {
		t.Errorf("beyond this machine without TLS: %v", err)
	}
}

// A schedule that is due is one job, however often it is looked at; what it runs
// is told by the job.
func TestServeSchedules(t *testing.T) {
	s := newServing(t)
	now := time.Date(2026, 3, 1, 3, 29, 50, 0, time.UTC)
	s.Now = func() time.Time { return now }
	s.schedules = []jobs.Schedule{{Name: "nightly", Expr: "30 3 * * *"}}
	for range 40 {
		if err := s.startDue(); err != nil {
			t.Fatal(err)
		}
		now = now.Add(7 * time.Minute)
	}
	if all := s.jobs.List(); len(all) != 1 || all[0].Kind != web.JobRun || all[0].Subject != "nightly" || all[0].Caller != "schedule" {
		t.Errorf("%+v", all)
	}
	s.workOff(1)
	job, err := s.jobs.Get(s.jobs.List()[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if job.Result.ExitCode != 0 || !strings.Contains(string(job.Result.Document), `"profile":"nightly"`) {
		t.Errorf("%+v: %.200s", job.Result.Error, job.Result.Document)
	}
	for _, bad := range []workspace.ServeSchedule{{Profile: "nightly", Cron: "30 3 * *"}, {Profile: "", Cron: "30 3 * * *"}, {Profile: "nigthly", Cron: "30 3 * * *"}} {
		s.Config.Serve.Schedules = []workspace.ServeSchedule{bad}
		if _, err := serveSchedules(s.server.api.app); failure.ExitCode(err) != failure.ExitUsage {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// updateGolden is the variable that rewrites testdata/openapi.json.
const updateGolden = "SESSCTL_UPDATE_GOLDEN"

// testdata/openapi.json is what the server says of its API, a line for each path and
// each schema: a change is seen in its own line.
func TestServeOpenAPI(t *testing.T) {
	var out bytes.Buffer
	a := testApp(newStreams(strings.NewReader(""), &out, io.Discard), workspace.Run{Report: workspace.Report{Notes: []workspace.Note{}}, Settings: workspace.Settings{Now: time.Now, Getenv: func(string) string { return "" }}})
	if err := printSchema(a); err != nil {
		t.Fatal(err)
	}
	page := append(unfolded(t, out.Bytes(), 3), '\n')
	golden := filepath.Join("testdata", "openapi.json")
	if os.Getenv(updateGolden) != "" {
		if err := os.WriteFile(golden, page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(page, want) {
		t.Errorf("the API is not what %s says (%v): look at the difference, then go test ./cmd -run TestServeOpenAPI with %s=1", golden, err, updateGolden)
	}
}

// unfolded is a JSON value with its outermost objects, levels deep, a line for each
// field.
func unfolded(t *testing.T, value []byte, levels int) []byte {
	t.Helper()
	var fields map[string]json.RawMessage
	if levels == 0 || json.Unmarshal(value, &fields) != nil {
		var line bytes.Buffer
		if err := json.Compact(&line, value); err != nil {
			t.Fatal(err)
		}
		return line.Bytes()
	}
	lines := make([]string, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		lines = append(lines, fmt.Sprintf("%q: %s", name, unfolded(t, fields[name], levels-1)))
	}
	return []byte("{\n" + strings.Join(lines, ",\n") + "\n}")
}

// Connections that wait for a request make room for others, the oldest first.
func TestServeConnections(t *testing.T) {
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }))
	web.Config.ConnState = newConnections(10).Changed
	web.Start()
	defer web.Close()
	u, err := url.Parse(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	var slow []net.Conn
	for range 30 {
		conn, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		slow = append(slow, conn)
	}
	response, err := http.Get(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	closed := 0
	for _, c := range slow {
		if n, err := c.Read(make([]byte, 1)); n == 0 && errors.Is(err, io.EOF) {
			closed++
		}
		if closed == 20 {
			break // the rest waits
		}
	}
	if closed < 20 {
		t.Errorf("%d of 30 idle connections were closed", closed)
	}
	for _, c := range slow {
		_ = c.Close()
	}
}
