package cmd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/web"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/operate/jobs"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addServeFlags(o *web.ServeOptions, fs *pflag.FlagSet) {
	fs.StringVar(&o.Listen, "listen", "", "listen on this `address`: HOST:PORT, or unix:PATH (default 127.0.0.1:7433)")
	fs.StringVar(&o.CertFile, "tls-cert", "", "serve HTTPS with the certificate chain in `file` (PEM)")
	fs.StringVar(&o.KeyFile, "tls-key", "", "the certificate's key is in `file` (PEM)")
	fs.BoolVar(&o.WithoutTLS, "listen-without-tls", false, "listen beyond this machine without TLS: whoever is on the way can read the token and what sessions say")
	fs.BoolVar(&o.PrintSchema, "openapi", false, "print the OpenAPI description of the API, and do not serve")
	fromConfig(fs, "listen", "serve.listen")
	fromConfig(fs, "tls-cert", "serve.tls_cert")
	fromConfig(fs, "tls-key", "serve.tls_key")
}

func newServeCommand(a *app) *cobra.Command {
	var o web.ServeOptions
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve an HTTP API, watch the sessions and run profiles by the clock",
		Long: `Serve an HTTP API to trigger compactions, search memory and read archived lines,
with /healthz, /readyz and /metrics; /openapi.json describes it. While it serves,
the sessions are watched as by monitor, events are delivered, and profiles run
when serve.schedules says so.

On a TCP address every request but /healthz and /readyz needs the token in the
file serve-token of the data directory, which the first start makes; on a unix
socket the mode of the socket says who may use it. The line "listening on" on
stderr says where the server is. SIGTERM lets the step at hand end and leaves the
rest of the job to the next start.`,
		Example: `  sessctl serve
  sessctl serve --listen unix:$XDG_RUNTIME_DIR/sessctl.sock
  sessctl serve --listen 0.0.0.0:7433 --tls-cert cert.pem --tls-key key.pem
  curl -H "Authorization: Bearer $(cat ~/.local/share/sessctl/serve-token)" http://127.0.0.1:7433/api/v1/sessions/sizes`,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.PrintSchema {
				return printSchema(a)
			}
			return runServe(c.Context(), a, o)
		},
	}
	addServeFlags(&o, c.Flags())
	return c
}

// printSchema prints what /openapi.json says.
func printSchema(a *app) error {
	_, h := newAPI(&api{app: a})
	return a.printJSON(h.OpenAPI())
}

// server is the API and what runs beside it.
type server struct {
	*api
	log       *slog.Logger
	clock     *jobs.Clock
	jobPins   *durable.Pins // hold the directory of the jobs open
	schedules []jobs.Schedule
	address   web.Address
	tls       *tls.Config
	handler   http.Handler
}

func runServe(ctx context.Context, a *app, o web.ServeOptions) error {
	s, err := newServer(ctx, a, o)
	if err != nil {
		return err
	}
	defer func() { _ = s.closeJobs() }() // the end of the process gives the lock back too
	listener, err := s.address.Listen(ctx)
	if err != nil {
		return err
	}
	web.KeepSmall(&a.Run.Settings)
	return s.serve(ctx, listener)
}

// newServer opens everything but the address.
func newServer(ctx context.Context, a *app, o web.ServeOptions) (*server, error) {
	s := &server{log: serverLog(a), jobPins: &durable.Pins{}}
	var err error
	if s.address, err = web.ParseAddress(o.Listen); err != nil {
		return nil, err
	}
	if s.tls, err = web.Certificate(o.CertFile, o.KeyFile); err != nil {
		return nil, err
	}
	if !s.address.Local() && s.tls == nil && !o.WithoutTLS {
		return nil, failure.Usage("serve HTTPS with --tls-cert and --tls-key; or let a proxy do that, which asks the loopback address; or say --listen-without-tls",
			"--listen: %s is reached from other machines, and without TLS whoever is on the way can read the token and what sessions say", o.Listen)
	}
	if s.schedules, err = serveSchedules(a); err != nil {
		return nil, err
	}
	zone, err := web.ServeZone(a.Run)
	if err != nil {
		return nil, err
	}
	if err := a.Guard(ctx); err != nil {
		return nil, err
	}
	if err := durable.MakeDir(a.DataDir(), 0o700); err != nil {
		return nil, &failure.Error{Code: "permission", Exit: failure.ExitFailed, Path: a.DataDir(), Hint: "choose another place with --data-dir", Err: fmt.Errorf("make data directory: %w", err)}
	}
	s.api = &api{app: a, working: make(chan struct{}, web.MaxWorking)}
	if s.jobs, err = s.openJobs(); err != nil {
		return nil, err
	}
	if err := s.open(zone); err != nil {
		return nil, errors.Join(err, s.closeJobs())
	}
	return s, nil
}

// open makes the handler and opens the clock of the schedules.
func (s *server) open(zone *time.Location) (err error) {
	if s.clock, err = jobs.OpenClock(s.jobPins, filepath.Join(web.JobsDir(&s.api.app.Run.Settings), "clock"), zone); err != nil {
		return err
	}
	g := &guard{
		hosts: s.address.Hosts(s.Config.Serve.AllowedHosts), serving: make(chan struct{}, web.MaxServing),
		denied: &web.Denials{Log: s.log, Now: s.Now},
	}
	if s.address.Socket == "" {
		if g.token, err = web.ServeToken(s.api.app.Run); err != nil {
			return err
		}
	}
	g.next, _ = newAPI(s.api)
	s.handler = g
	return nil
}

// openJobs opens the jobs of the data directory. One server has them: two would
// each run the profiles, deliver the events and watch the sessions.
func (s *server) openJobs() (*jobs.Registry, error) {
	s.jobPins.Hold()
	s.jobPins.Top(web.JobsDir(&s.api.app.Run.Settings))
	registry, err := jobs.Open(web.JobsDir(&s.api.app.Run.Settings), jobs.Options{
		Pins: s.jobPins,
		Now:  s.Now, NewID: func() string { return ulid.Make().String() }, Accept: func(j jobs.Job) error { return web.AuditJob(s.api.app.Run, j) },
		Report: func(err error) { s.log.Warn("jobs", "error", wording.Visible(err.Error())) },
	})
	if errors.Is(err, durable.ErrLocked) {
		return nil, &failure.Error{
			Code: "locked", Exit: failure.ExitBusy, Path: s.DataDir(), Hint: "ask that one, or give this one another --data-dir",
			Err: fmt.Errorf("another sessctl serve works with this data directory: %w", err),
		}
	}
	return registry, err
}

func (s *server) closeJobs() error {
	defer s.jobPins.End()
	return s.jobs.Close()
}

// serverLog is where the server says what it does: lines of key=value on stderr,
// or of JSON with --json, and only what went wrong with --quiet. What sessions
// say is never in it.
func serverLog(a *app) *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if a.Quiet {
		o.Level = slog.LevelWarn
	}
	if a.JSON {
		return slog.New(slog.NewJSONHandler(a.Err, o))
	}
	return slog.New(slog.NewTextHandler(a.Err, o))
}

// serve answers requests and works on jobs until ctx is done.
func (s *server) serve(ctx context.Context, listener net.Listener) error {
	listening := s.webServer()
	failed := make(chan error, 1)
	s.announceAddress(listener) // before a job that was interrupted says that it begins
	go func() { failed <- s.accept(listening, listener) }()
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var busy sync.WaitGroup
	busy.Go(func() { s.jobs.Run(working, s.work) })
	for _, l := range s.loops() {
		busy.Go(func() { s.repeat(working, l) })
	}
	web.NotifySystemd(s.Getenv, "READY=1")
	var err error
	select {
	case err = <-failed: // the address is lost: without it the server is of no use
		stop(err)
	case <-ctx.Done():
	}
	web.NotifySystemd(s.Getenv, "STOPPING=1")
	s.end(listening, &busy)
	return err
}

// announceAddress says where the server listens, in a line that scripts can read,
// whatever --quiet says.
func (s *server) announceAddress(listener net.Listener) {
	url := s.address.URL(listener, s.tls != nil)
	if s.JSON {
		s.log.Log(context.Background(), slog.LevelWarn, "listening", "address", url)
	} else {
		_, _ = fmt.Fprintln(s.Err, "listening on "+wording.Visible(url)) // there is nobody to tell
	}
	if s.address.Socket == "" {
		s.log.Info("the token is in the file", "path", web.TokenFile(&s.api.app.Run.Settings))
	}
}

func (s *server) webServer() *http.Server {
	limit := newConnections(web.MaxConnections)
	return &http.Server{
		Handler: s.handler, ReadHeaderTimeout: web.HeaderTimeout, ReadTimeout: web.ReadTimeout, WriteTimeout: web.WriteTimeout, IdleTimeout: web.IdleTimeout,
		MaxHeaderBytes: web.MaxRequestHeader, ConnState: limit.Changed, TLSConfig: s.tls,
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}, // HTTP/1.1 alone: its limits are known
		ErrorLog:     slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

func (s *server) accept(web *http.Server, listener net.Listener) error {
	err := error(nil)
	if s.tls != nil {
		err = web.ServeTLS(listener, "", "")
	} else {
		err = web.Serve(listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve: %w", err)
}

// answerTimeout is how long requests that are being served may take when the
// server is stopped.
const answerTimeout = 5 * time.Second

// end stops the server: the step of the job at hand may end, for as long as
// serve.shutdown_timeout says. What has not ended by then is treated by the next
// start as after a kill, which loses nothing.
func (s *server) end(web *http.Server, busy *sync.WaitGroup) {
	s.log.Info("stopping")
	ended := make(chan struct{})
	go func() {
		busy.Wait()
		close(ended)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	if web.Shutdown(ctx) != nil {
		_ = web.Close() // those who still wait are cut off
	}
	select {
	case <-ended:
	case <-time.After(s.Config.Serve.ShutdownTimeout):
		s.log.Warn("the job at hand did not end in time; the next start goes on with it", "timeout", s.Config.Serve.ShutdownTimeout.String())
	}
}
