package audit

import (
	"slices"

	"github.com/sessctl/sessctl/pkg/operate"
)

// StepTitle is a step, with the agent that it is about.
func StepTitle(s operate.StepRecord) string {
	if i := slices.Index(s.Command, "--agent"); i >= 0 && i+1 < len(s.Command) {
		return s.Step + " " + s.Command[i+1]
	}
	return s.Step
}
