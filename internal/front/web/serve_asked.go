package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/operate/jobs"
	"github.com/sessctl/sessctl/pkg/session"
)

// The kinds of jobs.
const (
	JobCompact = "compact"
	JobClear   = "clear"
	JobRun     = "run"
)

// agentAll is what a request calls all agents.
const agentAll = "all"

// Asked is the compaction that a job of either kind was asked for.
func Asked(j jobs.Job) (q CompactRequest, err error) {
	if j.Kind != JobClear {
		err = json.Unmarshal(j.Options, &q)
	} else {
		var clearing ClearRequest
		err = json.Unmarshal(j.Options, &clearing)
		q = clearing.Compact()
	}
	if err != nil {
		return q, fmt.Errorf("read the options of job %s: %w", j.ID, err)
	}
	return q, nil
}

// Flags are those of the command that does what the request asks for.
func (q CompactRequest) Flags(ctx context.Context, a *workspace.Run) steps.StepFlags {
	a.Global.Runtime = q.Runtime
	flags := steps.StepFlags{}
	switch q.Agent {
	case agentAll:
		flags = steps.Whose("")
	case "":
	default:
		flags = steps.Whose(string(Meant(ctx, a, q.Runtime, q.Agent)))
	}
	asked := compact.Threshold{Tokens: q.Threshold, Percent: q.Percent}
	flags = flags.Text("--session", q.Session).Text("--threshold", asked.String()).On("--skip-summary", q.SkipSummary)
	if q.Clear {
		flags = flags.On("--clear", true).On("--force", true).Text("--strategy", string(session.StrategyRotate))
	}
	return flags
}

// Check refuses what cannot become a job, whatever sessions there are.
func (q CompactRequest) Check() error {
	switch {
	case q.Agent == "" && q.Session == "" && q.Clear:
		return failure.Usage(`{"session": "ID"} means that session`, "session or agent is missing")
	case q.Agent == "" && q.Session == "":
		return failure.Usage(`{"agent": "all"} means every agent`, "agent or session is missing")
	case q.Agent == agentAll && q.Clear:
		return failure.Usage("name the agent, or the session", "one session is cleared at a time")
	case q.Agent == agentAll && q.Session != "":
		return failure.Usage("leave agent out, or name the agent that the session is of", `"agent": "all" does not go with a session`)
	}
	if err := KnownRuntime(q.Runtime); err != nil {
		return err
	}
	return CheckSession(q.Session)
}

// maxSession bounds what names a session, in bytes: ids and keys are shorter.
const maxSession = 512

// CheckSession refuses what can be no id and no key of a session; none is any.
func CheckSession(name string) error {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' })
	if len(name) <= maxSession && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl) && !slices.Contains(parts, "..") {
		return nil
	}
	return invalidSession(name)
}

func invalidSession(name string) error {
	return &failure.Error{Code: "invalid_session", Exit: failure.ExitUsage, Hint: "GET /api/v1/sessions/sizes names the sessions", Err: fmt.Errorf("%.64q is no id of a session", name)}
}

// Choose finds the sessions that the request means. One of the runtime agent that is
// not there and has no ULID for an id is no session at all.
func (q CompactRequest) Choose(ctx context.Context, a *workspace.Run, o selection.CompactOptions) error {
	_, err := selection.Choose(ctx, a, o)
	var told *failure.Error
	if errors.As(err, &told) && told.Code == "unknown_session" && q.Runtime == session.RuntimeAgent {
		if _, isID := ulid.ParseStrict(q.Session); isID != nil {
			return invalidSession(q.Session)
		}
	}
	return err
}
