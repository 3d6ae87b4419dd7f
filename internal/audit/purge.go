package audit

import (
	"slices"

	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
)

// Meant are the sessions that a run is about: all, or those of the agents whose
// sessions it compacts.
func Meant(s selection.Selection, o selection.CompactOptions) []workspace.Found {
	if o.All {
		return s.All.Sessions
	}
	return slices.DeleteFunc(slices.Clone(s.All.Sessions), func(f workspace.Found) bool {
		chosen := slices.ContainsFunc(s.Targets, func(t workspace.Found) bool { return t.Owner() == f.Owner() })
		return !chosen && (o.Agent == "" || f.Agent != o.Agent)
	})
}
