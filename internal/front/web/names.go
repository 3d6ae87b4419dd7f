package web

import (
	"slices"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
)

// CheckRuntime refuses the name of a runtime that nobody knows.
func CheckRuntime(name string) error {
	if slices.ContainsFunc(workspace.Runtimes(), func(k workspace.RuntimeKind) bool { return k.Name == name }) {
		return nil
	}
	return failure.Usage(wording.DidYouMean(name, workspace.RuntimeList(), "known runtimes: "+workspace.RuntimeNames()), "unknown runtime %q", name)
}
