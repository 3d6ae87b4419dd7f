package cmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/web"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/operate/jobs"
)

// The kinds of jobs.
const (
	jobCompact = "compact"
	jobRun     = "run"
)

// agentAll is what a request calls all agents.
const agentAll = "all"

// options are those of the command that does what the request asks for.
func options(ctx context.Context, q web.CompactRequest, a *app) (selection.CompactOptions, error) {
	a.Global.Runtime = q.Runtime
	flags := steps.StepFlags{}
	switch q.Agent {
	case agentAll:
		flags = steps.Whose("")
	case "":
	default:
		flags = steps.Whose(string(web.Meant(ctx, a.Run, q.Runtime, q.Agent)))
	}
	asked := compact.Threshold{Tokens: q.Threshold, Percent: q.Percent}
	return parseCompact(a, flags.Text("--session", q.Session).Text("--threshold", asked.String()).On("--skip-summary", q.SkipSummary))
}

// checkRequest refuses what cannot become a job: options that do not go together,
// agents and sessions that are not there.
func checkRequest(ctx context.Context, a *app, q web.CompactRequest) error {
	if q.Agent == "" && q.Session == "" {
		return failure.Usage(`{"agent": "all"} means every agent`, "agent or session is missing")
	}
	if q.Agent == agentAll && q.Session != "" {
		return failure.Usage("leave agent out, or name the agent that the session is of", `"agent": "all" does not go with a session`)
	}
	if err := web.KnownRuntime(q.Runtime); err != nil {
		return err
	}
	o, err := options(ctx, q, a)
	if err != nil {
		return err
	}
	_, err = selection.Choose(ctx, a.Run, o)
	return err
}

// jobLockWait is how long a job waits for another sessctl if --lock-wait does not
// say: nobody waits for the answer.
const jobLockWait = time.Minute

// work does what a job asks for, as the command does it: with the same functions,
// under the same lock.
func (s *server) work(ctx context.Context, j jobs.Job) (jobs.Result, error) {
	s.log.Info("job begins", "job", j.ID, "kind", j.Kind, "subject", wording.Visible(j.Subject), "caller", wording.Visible(j.Caller))
	var out bytes.Buffer
	own := s.printingTo(&out)
	defer workspace.End(own.Run)
	own.JSON, own.Global.LockWait = true, cmp.Or(own.Global.LockWait, jobLockWait)
	err := perform(ctx, own, j)
	if ctx.Err() != nil && err != nil {
		s.log.Info("job waits for the next start", "job", j.ID)
		return jobs.Result{}, ctx.Err()
	}
	result := web.Result(own.Run, err, out.Bytes())
	s.log.Info("job ended", "job", j.ID, "outcome", string(result.Outcome), "exit_code", result.ExitCode)
	return result, nil
}

// perform is the command of a job.
func perform(ctx context.Context, a *app, j jobs.Job) error {
	switch j.Kind {
	case jobCompact:
		var q web.CompactRequest
		if err := json.Unmarshal(j.Options, &q); err != nil {
			return fmt.Errorf("read the options of job %s: %w", j.ID, err)
		}
		o, err := options(ctx, q, a)
		if err != nil {
			return err
		}
		return runCompact(ctx, a, o)
	case jobRun:
		return runProfileCommand(ctx, a, j.Subject)
	}
	return fmt.Errorf("job %s is of an unknown kind %q", j.ID, j.Kind)
}
