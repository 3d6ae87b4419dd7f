//go:build linux && amd64

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sessctl/sessctl/internal/crashloop"
)

// Serving is a row for the server, which does not end by itself: it is started,
// asked once, and ended with SIGTERM when it has answered. What is checked
// besides the rest: whatever it had accepted is told of by the next start.
type Serving struct {
	Name string
	// ask asks the server that is ready, and remembers in the home what it was
	// promised; nil asks nothing.
	ask func(context.Context, *visit) error
	// tcp lets it listen on a port, so that it needs a token.
	tcp bool
	// kept checks what is on disk after the fault.
	kept func(*Home) error
	// told checks what the next start, undisturbed, says.
	told func(context.Context, *visit) error
}

// Servings lists the rows.
func Servings() []Serving {
	return []Serving{
		{Name: "serve, first start", tcp: true, kept: tokenWhole, told: onlyTheToken},
		{Name: "serve, a job", ask: askToCompact, kept: jobsWhole, told: jobTold},
	}
}

// served is the command whose work the job does: what must be there in the end
// is the same.
func served() Command {
	return Command{
		Name: "serve", Runtime: "openclaw", Args: strings.Fields("compact --runtime openclaw --force --agent a --strategy rotate"),
		Env: []string{"SESSCTL_SERVE_MONITOR_INTERVAL=0", "SESSCTL_SERVE_DELIVER_INTERVAL=0"}, Done: rotated, Settled: remembers(Chunks), Sessions: true,
	}
}

// visit is one run of the server, and a client of it.
type visit struct {
	*Home
	client *http.Client
	url    string
	job    string // the place of the job that was accepted, or ""
}

// ServingBench tries faults on one row.
type ServingBench struct {
	*Bench
	row   Serving
	calls []crashloop.Call
}

// NewServingBench prepares a home in dir, which must not exist yet, and sees what
// calls an undisturbed server makes.
func NewServingBench(program, dir string, row Serving) (*ServingBench, error) {
	b, err := NewBench(program, dir, served())
	if err != nil {
		return nil, err
	}
	s := &ServingBench{Bench: b, row: row}
	h, err := b.fresh()
	if err != nil {
		return nil, err
	}
	v := &visit{Home: h}
	got, err := v.serve(row, nil)
	if err != nil || got.Exit != 0 || len(got.Calls) < 10 {
		return nil, fmt.Errorf("%s, undisturbed: exit %d, %d calls, %v: %s", row.Name, got.Exit, len(got.Calls), err, got.Output)
	}
	s.calls = got.Calls
	return s, s.after(v)
}

// ServingFaults are what is tried on a server.
func ServingFaults() []Fault {
	var some []Fault
	for _, f := range Faults() {
		switch f.Name {
		case "SIGKILL", "torn write, SIGKILL", "ENOSPC once", "ENOSPC from then on", "EIO once", "SIGTERM":
			some = append(some, f)
		}
	}
	return some
}

// servingFault is what happens at the call n.
func servingFault(name string, n int) func(crashloop.Call) crashloop.Fault {
	var fault crashloop.Fault
	switch strings.Fields(strings.ReplaceAll(name, ",", ""))[0] {
	case "SIGKILL":
		fault.Kill = true
	case "torn":
		fault.Torn = true
	case "SIGTERM":
		fault.Signal = syscall.SIGTERM
	case "ENOSPC":
		fault.Errno = syscall.ENOSPC
	case "EIO":
		fault.Errno = syscall.EIO
	}
	if strings.HasSuffix(name, "from then on") {
		return func(c crashloop.Call) crashloop.Fault {
			if c.N >= n {
				return fault
			}
			return crashloop.Fault{}
		}
	}
	return once(n, fault)
}

// Try lets the fault happen at about share of the server's calls, at all if
// share is 0. The error is about the harness.
func (s *ServingBench) Try(f Fault, share int) (Result, error) {
	r := Result{Command: s.row.Name, Fault: f.Name}
	places := s.calls
	if f.at != nil {
		places = nil
		for _, c := range s.calls {
			if f.at(s.Bench, c) {
				places = append(places, c)
			}
		}
	}
	for _, c := range spread(places, share, r.Command+f.Name) {
		h, err := s.fresh()
		if err != nil {
			return r, err
		}
		v := &visit{Home: h}
		got, err := v.serve(s.row, servingFault(f.Name, c.N))
		if err != nil {
			return r, err
		}
		r.Runs++
		problem := s.after(v)
		if got.Hung || strings.Contains(got.Output, "panic:") {
			problem = errors.Join(problem, fmt.Errorf("it hung (%v) or panicked: %s", got.Hung, got.Output))
		}
		if problem != nil {
			r.Violations = append(r.Violations, fmt.Sprintf("call %d, %s %s: %v\n%s", c.N, c.Name, c.Path, problem, got.Output))
		}
	}
	return r, nil
}

// after checks what is on disk, what the next start makes of it, and that a
// compaction by the command then finds everything as it must be.
func (s *ServingBench) after(v *visit) error {
	if err := errors.Join(v.linesKept(), v.liveIsWhole(), s.row.kept(v.Home)); err != nil {
		return err
	}
	next := s.row
	next.ask = s.row.told
	got, err := v.serve(next, nil)
	if err != nil || got.Exit != 0 {
		return fmt.Errorf("the next start: exit %d, %v: %s", got.Exit, err, got.Output)
	}
	return v.settles()
}

// serve starts the server under the harness, asks what the row asks when it is
// ready, and ends it. What the client is told is an error only where nothing was
// to go wrong.
func (v *visit) serve(row Serving, decide func(crashloop.Call) crashloop.Fault) (got crashloop.Outcome, err error) {
	dir, err := os.MkdirTemp("", "s") // the path of a socket must be short
	if err != nil {
		return got, err
	}
	defer os.RemoveAll(dir)
	ready, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "ready"), Net: "unixgram"})
	if err != nil {
		return got, err
	}
	defer ready.Close()
	listen := "unix:" + filepath.Join(dir, "api")
	v.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "api"))
	}}}
	v.url = "http://localhost"
	if row.tcp {
		if listen, err = freePort(); err != nil {
			return got, err
		}
		v.client, v.url = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, "http://"+listen
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	asked := make(chan error, 1)
	got, err = crashloop.Run(crashloop.Options{
		Args: []string{v.Program, "serve", "--listen", listen}, Env: append(v.env(), "NOTIFY_SOCKET="+filepath.Join(dir, "ready")),
		Dir: v.Dir, Under: v.Dir, Decide: decide,
		Started: func(process int) { go func() { asked <- v.visit(ctx, row, ready, process) }() },
	})
	cancel()
	_ = ready.Close() // the client stops waiting
	if clientErr := <-asked; decide == nil {
		err = errors.Join(err, clientErr)
	}
	return got, err
}

// freePort is an address on which nobody listens.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// visit waits until the server is ready, asks it, and ends it.
func (v *visit) visit(ctx context.Context, row Serving, ready *net.UnixConn, process int) error {
	if n, err := ready.Read(make([]byte, 64)); err != nil || n == 0 {
		return fmt.Errorf("the server was never ready: %v", err)
	}
	var err error
	if row.ask != nil {
		err = row.ask(ctx, v)
	}
	return errors.Join(err, syscall.Kill(process, syscall.SIGTERM))
}

// request sends a request and returns the status and the body.
func (v *visit) request(ctx context.Context, method, path, body, token string) (int, http.Header, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, v.url+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", token)
	}
	response, err := v.client.Do(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, response.Header, text, err
}

// askToCompact asks for a compaction and waits for its end.
func askToCompact(ctx context.Context, v *visit) error {
	status, header, body, err := v.request(ctx, http.MethodPost, "/api/v1/compact", `{"agent": "a", "threshold": 1}`, "")
	if err != nil || status != http.StatusAccepted {
		return fmt.Errorf("a compaction: %d %s %v", status, body, err)
	}
	v.job = header.Get("Location")
	return jobTold(ctx, v)
}

// jobTold waits until a job that was accepted has ended. What became of it is
// told: only one that could not be done is not finished as ok.
func jobTold(ctx context.Context, v *visit) error {
	for v.job != "" {
		status, _, body, err := v.request(ctx, http.MethodGet, v.job, "", "")
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("%s was accepted: %d %s %v", v.job, status, body, err)
		}
		var job struct{ State, Reason string }
		if err := json.Unmarshal(body, &job); err != nil {
			return fmt.Errorf("%s: %w", v.job, err)
		}
		if job.State == "finished" || job.State == "interrupted" && job.Reason != "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not end: %s", v.job, body)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// jobsWhole checks that every file of a job is whole.
func jobsWhole(h *Home) error {
	files, err := filepath.Glob(filepath.Join(h.Data(), "jobs", "*.json"))
	if err != nil {
		return err
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		var job struct{ ID, State string }
		if err == nil {
			err = json.Unmarshal(text, &job)
		}
		if err != nil || job.ID == "" || job.State == "" {
			return fmt.Errorf("%s is no whole job: %v: %s", path, err, text)
		}
	}
	return nil
}

func tokenPath(h *Home) string { return filepath.Join(h.Data(), "serve-token") }

// tokenWhole checks that there is no token, or a whole one that nobody else may
// read.
func tokenWhole(h *Home) error {
	text, err := os.ReadFile(tokenPath(h))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(tokenPath(h))
	if err != nil || info.Mode().Perm() != 0o600 || len(text) != 65 || text[64] != '\n' {
		return fmt.Errorf("a token of %d bytes with mode %v: %v", len(text), info.Mode(), err)
	}
	return nil
}

// onlyTheToken checks that the server takes its token and nothing less.
func onlyTheToken(ctx context.Context, v *visit) error {
	text, err := os.ReadFile(tokenPath(v.Home))
	if err != nil {
		return err
	}
	whole := "Bearer " + strings.TrimSpace(string(text))
	for token, want := range map[string]int{whole: http.StatusOK, "": http.StatusUnauthorized, "Bearer ": http.StatusUnauthorized, "Bearer": http.StatusUnauthorized, whole[:len(whole)-1]: http.StatusUnauthorized} {
		if status, _, body, err := v.request(ctx, http.MethodGet, "/api/v1/jobs", "", token); err != nil || status != want {
			return fmt.Errorf("a token of %d characters: %d %s %v, want %d", len(token), status, body, err, want)
		}
	}
	return nil
}
