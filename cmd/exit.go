package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

// Exit codes (DESIGN: the command line). 75 is EX_TEMPFAIL of sysexits.h.
const (
	exitOK        = 0
	exitFailed    = 1
	exitUsage     = 2
	exitPartly    = 3
	exitIntegrity = 4
	exitBusy      = 75
	exitInterrupt = 130
	exitTerminate = 143
)

// exitHelp is the same table for people; it ends every command's help.
const exitHelp = `
Exit codes: 0 done or nothing to do, 1 failed, 2 wrong usage, 3 some sessions
failed, 4 an archive or the memory is damaged, 75 busy (try again later),
130/143 interrupted.`

// failure is an error with a hint for people and a code for machines.
type failure struct {
	code string // stable word for --json: "usage", "unknown_agent", ...
	exit int
	hint string
	path string
	err  error
}

// Error implements error.
func (f *failure) Error() string { return f.err.Error() }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

func usageError(hint, format string, args ...any) error {
	return &failure{code: "usage", exit: exitUsage, hint: hint, err: fmt.Errorf(format, args...)}
}

// outcomeError carries an exit code for something that was already rendered.
type outcomeError struct {
	exit int
}

// Error implements error.
func (o *outcomeError) Error() string { return fmt.Sprintf("exit code %d", o.exit) }

// exitCode is the only place that turns an error into a number.
func exitCode(err error) int {
	var outcome *outcomeError
	var f *failure
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &outcome):
		return outcome.exit
	case errors.As(err, &f):
		return f.exit
	case errors.Is(err, errTerminated):
		return exitTerminate
	case errors.Is(err, context.Canceled):
		return exitInterrupt
	case errors.Is(err, durable.ErrLocked), errors.Is(err, session.ErrBusy), errors.Is(err, memory.ErrBusy):
		return exitBusy
	case errors.Is(err, archive.ErrCorrupt), errors.Is(err, archive.ErrMissing), errors.Is(err, memory.ErrCorrupt), errors.Is(err, compact.ErrDamagedRecord):
		return exitIntegrity
	}
	return exitFailed
}

// errorDocument is what --json prints on stderr (docs/json.md).
type errorDocument struct {
	Schema int       `json:"schema"`
	Error  errorBody `json:"error"`
}

type errorBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
	Path    string `json:"path"`
}

// explain turns any error into what a person or a program needs to know.
func explain(err error) errorBody {
	body := errorBody{Code: "failed", Message: err.Error()}
	var f *failure
	if errors.As(err, &f) {
		body.Code, body.Hint, body.Path = f.code, f.hint, f.path
		return body
	}
	var space *durable.SpaceError
	var gateway *session.GatewayError
	var path *os.PathError
	switch {
	case errors.Is(err, context.Canceled):
		body.Code, body.Message = "interrupted", "interrupted"
		body.Hint = "nothing was lost; run the same command again to go on"
	case errors.Is(err, durable.ErrLocked):
		body.Code, body.Hint = "locked", "another sessctl is working on this data directory; try again when it is done"
	case errors.As(err, &gateway):
		body.Code, body.Hint, body.Path = "gateway", gateway.Hint, gateway.Store
	case errors.As(err, &space):
		body.Code, body.Path = "no_space", space.Dir
		body.Hint = fmt.Sprintf("%s free in %s; make room or point archive.dir elsewhere; the session was not changed", formatBytes(int64(space.Free)), space.Dir)
	case errors.Is(err, archive.ErrCorrupt), errors.Is(err, archive.ErrMissing):
		body.Code, body.Hint = "damaged", "restore the archive from a backup; sessctl archive verify lists all that is damaged"
	case errors.Is(err, compact.ErrDamagedRecord):
		body.Code, body.Hint = "damaged", "restore it from a backup; sessctl doctor lists all that is damaged"
	case errors.Is(err, memory.ErrCorrupt):
		body.Code, body.Hint = "damaged", "sessctl memory reindex --from-archives makes it again from the archives; the damaged one is kept"
	case errors.Is(err, memory.ErrFull):
		body.Code, body.Hint = "no_space", "make room, or point data_dir elsewhere; the session was not changed"
	case errors.Is(err, syscall.EROFS), errors.Is(err, os.ErrPermission):
		body.Code, body.Hint = "permission", "the session was not changed; check who owns the path"
	}
	if body.Path == "" && errors.As(err, &path) {
		body.Path = path.Path
	}
	return body
}

// reportError prints an error once: as one JSON object, or as "error:" and
// "hint:" lines.
func reportError(w io.Writer, err error, asJSON bool) {
	var outcome *outcomeError
	if err == nil || errors.As(err, &outcome) {
		return // what there is to say was said
	}
	body := explain(err)
	if asJSON {
		_ = writeJSON(w, "", errorDocument{Schema: 1, Error: body}) // there is nobody left to tell
		return
	}
	fmt.Fprintf(w, "sessctl: %s\n", visibleText(strings.TrimSpace(body.Message)))
	if body.Hint != "" {
		fmt.Fprintf(w, "hint: %s\n", visible(body.Hint))
	}
}
