package cmd

import (
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/retention"
)

// adviseStuck says what can be done about a change that no run can finish.
func (d *checkup) adviseStuck(in compact.Intent) string {
	advice := ""
	items, _ := d.ArchiveTrash().List() // what cannot be listed cannot be brought back either
	for _, item := range items {
		e, err := retention.ArchiveOf(item)
		if err == nil && e.Runtime == in.Rotation.Runtime && e.Agent == in.Rotation.Agent && e.Session == in.Rotation.Session {
			advice += "sessctl archive prune --undelete " + e.ID + " brings back an archive of the session; "
		}
	}
	return advice + "sessctl doctor --fix tries again; " + removal.AdviseGiveUp(in.ID)
}
