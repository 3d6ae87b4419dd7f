package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/internal/unattended"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/hooks"
)

// examineHooks tells of hooks that went wrong, and of registrations that call
// another sessctl.
func examineHooks(_ context.Context, run *workspace.Run, report *findings) error {
	if failures := unattended.HookFailures(&run.Settings); len(failures) > 0 {
		last := failures[len(failures)-1]
		report.warn(unattended.HookFailuresFile(&run.Settings), fmt.Sprintf("%s in the last week; the last one, %s: %s", wording.Plural(len(failures), "hook")+" failed", last.What(), last.Error),
			"sessctl hook status lists them; sessctl archive --all --remember takes in what they missed")
	}
	for _, runtime := range hooks.Names() {
		target, err := unattended.HookTarget(run, runtime, "")
		if err != nil {
			return err
		}
		state, err := hooks.Look(target, run.HooksDir())
		if errors.Is(err, hooks.ErrNoRecord) {
			report.warn(run.HooksDir(), err.Error(), unattended.AdviseNoRecord(runtime))
		}
		if unattended.NewHookStatus(state, err).State == "differs" {
			report.note(target.Dir, "sessctl's registration with "+runtime+" is incomplete, or calls another sessctl", "sessctl hook install "+runtime+" lets it call this one")
		}
	}
	return nil
}
