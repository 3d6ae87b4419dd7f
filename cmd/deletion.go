package cmd

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/sessctl/sessctl/pkg/retention"
)

// checkClock refuses to tell ages while the clock is behind the last thing that
// was deleted, or behind the last run (research/reliability.md A4 row 14).
func (a *app) checkClock(now time.Time) error {
	audit := a.audit()
	if err := audit.CheckClock(now); err != nil {
		return &failure{code: "clock", exit: exitFailed, path: audit.Path, hint: "nothing is deleted by age until the clock is right", err: err}
	}
	receipts := a.receipts()
	ids, err := receipts.IDs()
	if err != nil {
		return err
	}
	for _, text := range ids {
		id, err := ulid.ParseStrict(text)
		if at := ulid.Time(id.Time()); err == nil && at.After(now.Add(time.Minute)) {
			return &failure{
				code: "clock", exit: exitFailed, path: receipts.Path(text), hint: "nothing is deleted by age until the clock is right",
				err: fmt.Errorf("%w: it is %s, and there is a receipt of %s", errClock, now.UTC().Format(time.RFC3339), at.UTC().Format(time.RFC3339)),
			}
		}
	}
	return nil
}

var errClock = errors.New("the clock runs behind the last run")

// refuseTooMuch is the error for a plan that takes more than half of what an
// owner has, or nil. what is "sessions" or "archives".
func refuseTooMuch(what string, verdicts []retention.Verdict) *failure {
	owners := retention.MoreThanHalf(verdicts)
	if len(owners) == 0 {
		return nil
	}
	return &failure{
		code: "too_much", exit: exitFailed, hint: "see the plan with --dry-run; --force allows it",
		err: fmt.Errorf("more than half of the %s of %s would go; nothing was done", what, strings.Join(owners, ", ")),
	}
}

// noteTooMuch says in a dry run what the real run would refuse.
func (a *app) noteTooMuch(what string, verdicts []retention.Verdict) {
	if owners := retention.MoreThanHalf(verdicts); len(owners) > 0 {
		a.notice(note{Message: fmt.Sprintf("more than half of the %s of %s would go: without --force nothing is done", what, strings.Join(owners, ", "))})
	}
}
