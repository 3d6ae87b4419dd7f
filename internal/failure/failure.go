package failure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

// ErrTerminated is the cause of a cancellation by SIGTERM.
var ErrTerminated = errors.New("terminated")

// Exit codes (docs/dev/decisions.md D23). 75 is EX_TEMPFAIL of sysexits.h.
const (
	ExitOK        = 0
	ExitFailed    = 1
	ExitUsage     = 2
	ExitPartly    = 3
	ExitIntegrity = 4
	ExitBusy      = 75
	ExitInterrupt = 130
	ExitTerminate = 143
)

// Error is an error with a hint for people and a code for machines.
type Error struct {
	Code string // stable word for --json: "usage", "unknown_agent", ...
	Exit int
	Hint string
	Path string
	Err  error
}

// Error implements error.
func (f *Error) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Error) Unwrap() error { return f.Err }

// Usage is an error of whoever typed the command.
func Usage(hint, format string, args ...any) error {
	return &Error{Code: "usage", Exit: ExitUsage, Hint: hint, Err: fmt.Errorf(format, args...)}
}

// Outcome carries an exit code for something that was already rendered.
type Outcome struct {
	Exit int
}

// Error implements error.
func (o *Outcome) Error() string { return fmt.Sprintf("exit code %d", o.Exit) }

// ExitCode is the only place that turns an error into a number.
func ExitCode(err error) int {
	var outcome *Outcome
	var f *Error
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &outcome):
		return outcome.Exit
	case errors.As(err, &f):
		return f.Exit
	case errors.Is(err, ErrTerminated):
		return ExitTerminate
	case errors.Is(err, context.Canceled):
		return ExitInterrupt
	case errors.Is(err, durable.ErrLocked), errors.Is(err, session.ErrBusy), errors.Is(err, memory.ErrBusy):
		return ExitBusy
	case errors.Is(err, archive.ErrCorrupt), errors.Is(err, archive.ErrMissing), errors.Is(err, archive.ErrUnusableEntry), errors.Is(err, memory.ErrCorrupt), errors.Is(err, compact.ErrDamagedRecord):
		return ExitIntegrity
	}
	return ExitFailed
}

// plentyFree is so much room, in bytes, that a write which found none was refused
// for another reason.
const plentyFree = 8 << 20

// ErrorDocument is what --json prints on stderr (docs/json.md).
type ErrorDocument struct {
	Schema int       `json:"schema"`
	Error  ErrorBody `json:"error"`
}

// ErrorBody is an error as a program reads it.
type ErrorBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
	Path    string `json:"path"`
}

// Explain turns any error into what a person or a program needs to know.
func Explain(err error) ErrorBody {
	body := ErrorBody{Code: "failed", Message: err.Error()}
	var f *Error
	if errors.As(err, &f) {
		body.Code, body.Hint, body.Path = f.Code, f.Hint, f.Path
		return body
	}
	var space *durable.SpaceError
	var gateway *session.GatewayError
	var stuck *compact.StuckError
	var path *os.PathError
	switch {
	case errors.Is(err, context.Canceled):
		body.Code, body.Message = "interrupted", "interrupted"
		body.Hint = "nothing was lost; run the same command again to go on"
	case errors.Is(err, durable.ErrLocked):
		body.Code, body.Hint = "locked", "another sessctl is working on this data directory; try again when it is done"
	case errors.As(err, &stuck):
		body.Code, body.Hint = "unfinished", "sessctl doctor says what can be done about it"
	case errors.As(err, &gateway):
		body.Code, body.Hint, body.Path = "gateway", gateway.Hint, gateway.Store
	case errors.As(err, &space):
		body.Code, body.Path = "no_space", space.Dir
		body.Hint = "make room, or choose another place (archive.dir, data_dir, or the file that was named)"
		if space.Free > plentyFree {
			body.Hint = wording.Bytes(int64(space.Free)) + " are free: it may be out of inodes (df -i), or a quota is used up"
		}
	case errors.Is(err, archive.ErrCorrupt), errors.Is(err, archive.ErrMissing):
		body.Code, body.Hint = "damaged", "restore the archive from a backup; sessctl archives verify lists all that is damaged"
	case errors.Is(err, archive.ErrUnusableEntry):
		body.Code, body.Hint = "damaged", "sessctl archives verify lists all that is damaged; archiving the same bytes again writes the entry anew"
	case errors.Is(err, compact.ErrDamagedRecord):
		body.Code, body.Hint = "damaged", "restore it from a backup; sessctl doctor lists all that is damaged"
	case errors.Is(err, memory.ErrDamagedWords):
		body.Code, body.Hint = "damaged", "nothing is lost: sessctl memory reindex --from-archives reads the words of the texts anew; sessctl memory verify checks everything"
	case errors.Is(err, memory.ErrCorrupt):
		body.Code, body.Hint = "damaged", "sessctl memory reindex --from-archives makes it again from the archives; the damaged one is kept"
	case errors.Is(err, memory.ErrFull):
		body.Code, body.Hint = "no_space", "make room, or choose another place (data_dir)"
	case errors.Is(err, syscall.EROFS), errors.Is(err, os.ErrPermission):
		body.Code, body.Hint = "permission", "check who owns the path, and that its file system can be written"
	}
	if body.Path == "" && errors.As(err, &path) {
		body.Path = path.Path
	}
	return body
}
