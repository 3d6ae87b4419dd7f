package workspace

import (
	"context"
	"log/slog"

	"github.com/sessctl/sessctl/pkg/session"
)

// Decision is what a command decided about a session, for the log of --verbose. It
// has nothing of what a session says.
type Decision struct {
	Ref     session.Ref
	Asked   string // by which command: compact, sizes, archive or clean
	Outcome string // as the command's document has it
	Reason  string // as the command's document has it: a sentence of the table, or an error
	// Values are the numbers that were compared, as slog takes them.
	Values []any
}

// Decided logs which test decided about a session: its code, the values that it
// compared, and where the session lies. Nothing is logged unless somebody asked.
func Decided(ctx context.Context, run *Run, d Decision) {
	if run.Log == nil || !run.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	values := []any{
		"by", d.Asked, "runtime", d.Ref.Runtime, "agent", d.Ref.Agent, "session", d.Ref.ID, "path", d.Ref.Path,
		"kind", string(d.Ref.Kind), "bytes", d.Ref.Bytes, "outcome", d.Outcome,
	}
	if d.Reason != "" {
		code := session.ReasonOf(d.Reason)
		values = append(values, "code", string(code), "reason", d.Reason)
		if hint := code.Hint(); hint != "" {
			values = append(values, "hint", hint)
		}
	}
	run.Log.DebugContext(ctx, "decided", append(values, d.Values...)...)
}
