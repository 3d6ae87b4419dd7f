package cmd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/sessctl/sessctl/internal/front/web"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/operate/jobs"
)

// options are those of the command that does what the request asks for.
func options(ctx context.Context, q web.CompactRequest, a *app) (selection.CompactOptions, error) {
	return parseCompact(a, q.Flags(ctx, a.Run))
}

// checkRequest refuses what cannot become a job: options that do not go together,
// agents and sessions that are not there.
func checkRequest(ctx context.Context, a *app, q web.CompactRequest) error {
	if err := q.Check(); err != nil {
		return err
	}
	o, err := options(ctx, q, a)
	if err != nil {
		return err
	}
	return q.Choose(ctx, a.Run, o)
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
	case web.JobCompact, web.JobClear:
		q, err := web.Asked(j)
		if err != nil {
			return err
		}
		o, err := options(ctx, q, a)
		if err != nil {
			return err
		}
		return runCompact(ctx, a, o)
	case web.JobRun:
		return runProfileCommand(ctx, a, j.Subject)
	}
	return fmt.Errorf("job %s is of an unknown kind %q", j.ID, j.Kind)
}
