package cmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/operate/jobs"
	"github.com/sessctl/sessctl/pkg/retention"
)

// The kinds of jobs.
const (
	jobCompact = "compact"
	jobRun     = "run"
)

// agentAll is what a request calls all agents.
const agentAll = "all"

// options are those of the command that does what the request asks for.
func (q compactRequest) options(a *app) (compactOptions, error) {
	a.global.Runtime = q.Runtime
	flags := stepFlags{}
	switch q.Agent {
	case agentAll:
		flags = whose("")
	case "":
	default:
		flags = whose(q.Agent)
	}
	return parseCompact(a, flags.text("--session", q.Session).number("--threshold", q.Threshold).on("--skip-summary", q.SkipSummary))
}

// checkRequest refuses what cannot become a job: options that do not go together,
// agents and sessions that are not there.
func (a *app) checkRequest(ctx context.Context, q compactRequest) error {
	if q.Agent == "" && q.Session == "" {
		return usageError(`{"agent": "all"} means every agent`, "agent or session is missing")
	}
	if q.Agent == agentAll && q.Session != "" {
		return usageError("leave agent out, or name the agent that the session is of", `"agent": "all" does not go with a session`)
	}
	if err := knownRuntime(q.Runtime); err != nil {
		return err
	}
	o, err := q.options(a)
	if err != nil {
		return err
	}
	_, err = a.choose(ctx, o)
	return err
}

// knownRuntime refuses the name of a runtime that nobody knows; none is any.
func knownRuntime(name string) error {
	if name == "" {
		return nil
	}
	return checkRuntime(name)
}

// jobLockWait is how long a job waits for another sessctl if --lock-wait does not
// say: nobody waits for the answer.
const jobLockWait = time.Minute

// work does what a job asks for, as the command does it: with the same functions,
// under the same lock.
func (s *server) work(ctx context.Context, j jobs.Job) (jobs.Result, error) {
	s.log.Info("job begins", "job", j.ID, "kind", j.Kind, "subject", visible(j.Subject), "caller", visible(j.Caller))
	var out bytes.Buffer
	own := s.printingTo(&out)
	defer own.end()
	own.JSON, own.global.LockWait = true, cmp.Or(own.global.LockWait, jobLockWait)
	err := own.perform(ctx, j)
	if ctx.Err() != nil && err != nil {
		s.log.Info("job waits for the next start", "job", j.ID)
		return jobs.Result{}, ctx.Err()
	}
	result := own.result(err, out.Bytes())
	s.log.Info("job ended", "job", j.ID, "outcome", string(result.Outcome), "exit_code", result.ExitCode)
	return result, nil
}

// perform is the command of a job.
func (a *app) perform(ctx context.Context, j jobs.Job) error {
	switch j.Kind {
	case jobCompact:
		var q compactRequest
		if err := json.Unmarshal(j.Options, &q); err != nil {
			return fmt.Errorf("read the options of job %s: %w", j.ID, err)
		}
		o, err := q.options(a)
		if err != nil {
			return err
		}
		return runCompact(ctx, a, o)
	case jobRun:
		return runProfileCommand(ctx, a, j.Subject)
	}
	return fmt.Errorf("job %s is of an unknown kind %q", j.ID, j.Kind)
}

// result is how a command ended: its exit code, its document and its error.
func (a *invocation) result(err error, document []byte) jobs.Result {
	code := a.codeOf(err)
	r := jobs.Result{Outcome: outcomeOfCode(code), ExitCode: code}
	if json.Valid(document) {
		r.Document = document
	}
	var told *outcomeError
	if err != nil && !errors.As(err, &told) {
		body := explain(err)
		r.Error = &jobs.Failure{Code: body.Code, Message: body.Message, Hint: body.Hint, Path: body.Path}
	}
	return r
}

// auditJob writes into the audit log who asked for a job, before it is accepted.
func (a *invocation) auditJob(j jobs.Job) error {
	return a.audit().Append(retention.Line{
		Time: a.now().UTC(), Action: retention.ActionRequest, Kind: "job", Path: filepath.Join(a.jobsDir(), j.ID+".json"), Rule: j.Kind, Agent: j.Subject, Caller: j.Caller,
	})
}
