package web

import (
	"encoding/json"
	"errors"
	"path/filepath"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/operate/jobs"
	"github.com/sessctl/sessctl/pkg/retention"
)

// KnownRuntime refuses the name of a runtime that nobody knows; none is any.
func KnownRuntime(name string) error {
	if name == "" {
		return nil
	}
	return CheckRuntime(name)
}

// Result is how a command ended: its exit code, its document and its error.
func Result(a *workspace.Run, err error, document []byte) jobs.Result {
	code := steps.CodeOf(a, err)
	r := jobs.Result{Outcome: steps.OutcomeOfCode(code), ExitCode: code}
	if json.Valid(document) {
		r.Document = document
	}
	var told *failure.Outcome
	if err != nil && !errors.As(err, &told) {
		body := failure.Explain(err)
		r.Error = &jobs.Failure{Code: body.Code, Message: body.Message, Hint: body.Hint, Path: body.Path}
	}
	return r
}

// AuditJob writes into the audit log who asked for a job, before it is accepted.
func AuditJob(a *workspace.Run, j jobs.Job) error {
	return a.Audit().Append(retention.Line{
		Time: a.Now().UTC(), Action: retention.ActionRequest, Kind: "job", Path: filepath.Join(JobsDir(&a.Settings), j.ID+".json"), Rule: j.Kind, Agent: j.Subject, Caller: j.Caller,
	})
}
