package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/report"
)

// MostOfStatus bounds the lines of a kind: the rest is counted.
const MostOfStatus = 5

// Told are what runtimes delete and what grew as one project after the other, in which a
// runtime may have several agents.
func (d *StatusDocument) Told() (purges []report.Purge, grew []StatusGrowth) {
	type project struct{ runtime, name string }
	goes, grows := map[project]int{}, map[project]int{}
	for _, p := range d.Purges {
		of := project{p.Runtime, cmp.Or(p.ProjectName, p.Agent)}
		i, known := goes[of]
		if !known {
			goes[of], purges = len(purges), append(purges, p)
			continue
		}
		purges[i].Sessions += p.Sessions // they are in the order in which they go
		purges[i].Unarchived += p.Unarchived
	}
	for _, g := range d.Grew {
		of := project{g.Runtime, cmp.Or(g.ProjectName, g.Agent)}
		i, known := grows[of]
		if !known {
			grows[of], grew = len(grew), append(grew, g)
			continue
		}
		grew[i].Bytes += g.Bytes
	}
	return purges, grew
}

// Going says what runtimes delete: a line for each project of which something would be
// lost, most of it first, and one for all that is archived. day is how the time of a log
// is shown.
func (d *StatusDocument) Going(day func(string) string) (lines []string) {
	purges, _ := d.Told()
	lost := slices.DeleteFunc(slices.Clone(purges), func(p report.Purge) bool { return p.Unarchived == 0 })
	slices.SortStableFunc(lost, func(x, y report.Purge) int {
		return cmp.Or(cmp.Compare(y.Unarchived, x.Unarchived), cmp.Compare(y.Sessions, x.Sessions))
	})
	shown := min(len(lost), MostOfStatus)
	for _, p := range lost[:shown] {
		lines = append(lines, going(p, cmp.Or(p.ProjectName, p.Agent), day)+unarchivedText(p))
	}
	if more := lost[shown:]; len(more) > 0 {
		lines = append(lines, moreGoing(more))
	}
	return append(lines, safeGoing(purges, day)...)
}

func going(p report.Purge, whose string, day func(string) string) string {
	return fmt.Sprintf("%s deletes %s of %s, the first: %s; ", p.Runtime, wording.Plural(p.Sessions, "log"), whose, day(p.First))
}

// safeGoing says of each runtime what it deletes of projects of which all is archived.
func safeGoing(purges []report.Purge, day func(string) string) (lines []string) {
	var all []report.Purge
	projects := map[string]int{}
	for _, p := range purges {
		if p.Unarchived > 0 {
			continue
		}
		if projects[p.Runtime]++; projects[p.Runtime] == 1 {
			all = append(all, p)
			continue
		}
		sum := &all[slices.IndexFunc(all, func(s report.Purge) bool { return s.Runtime == p.Runtime })]
		sum.Sessions, sum.First = sum.Sessions+p.Sessions, min(sum.First, p.First)
	}
	for _, p := range all {
		whose := cmp.Or(p.ProjectName, p.Agent)
		if n := projects[p.Runtime]; n > 1 {
			whose = wording.Plural(n, "project")
		}
		lines = append(lines, going(p, whose, day)+"all are archived")
	}
	return lines
}

// moreGoing counts projects that are not shown, of which something would be lost.
func moreGoing(more []report.Purge) string {
	logs, unarchived := 0, 0
	for _, p := range more {
		logs, unarchived = logs+p.Sessions, unarchived+p.Unarchived
	}
	return fmt.Sprintf("and %s with %s, of which %s no archive as they are now; sessctl report --html FILE lists all",
		wording.Plural(len(more), "more project"), wording.Plural(logs, "log"), wording.Count(int64(unarchived))+map[bool]string{true: " has", false: " have"}[unarchived == 1])
}

func unarchivedText(p report.Purge) string {
	if p.Unarchived == p.Sessions {
		return "none has an archive as it is now"
	}
	return fmt.Sprintf("%s of them without an archive as it is now", wording.Count(int64(p.Unarchived)))
}

// nameAmong is what people call the agent, with its runtime if another has the name.
func (g StatusGrowth) nameAmong(all []StatusGrowth) string {
	name := cmp.Or(g.ProjectName, g.Agent)
	if slices.ContainsFunc(all, func(x StatusGrowth) bool { return cmp.Or(x.ProjectName, x.Agent) == name && x.Runtime != g.Runtime }) {
		return name + " (" + g.Runtime + ")"
	}
	return name
}

// Growth says what agents wrote that no archive has yet; "" for nothing.
func (d *StatusDocument) Growth() string {
	_, grew := d.Told()
	var parts []string
	for _, g := range grew[:min(len(grew), MostOfStatus)] {
		parts = append(parts, fmt.Sprintf("%s %s", g.nameAmong(grew), wording.Bytes(g.Bytes)))
	}
	if more := len(grew) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + " that no archive has yet"
}

// Verified says when the archives were last read.
func (d *StatusDocument) Verified() string {
	switch {
	case d.Archives == 0:
		return "there is no archive yet"
	case d.Checked.At == "":
		return "each archive when it was made, never since; sessctl archives verify reads them all"
	}
	text := "all archives were read on " + wording.ShownTime(d.Checked.At)
	if d.Checked.Problems > 0 {
		text += ", with " + wording.Plural(d.Checked.Problems, "problem")
	}
	if d.Checked.Since > 0 {
		text += fmt.Sprintf("; %s later", wording.Plural(d.Checked.Since, "archive"))
	}
	return text
}
