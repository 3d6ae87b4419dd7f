package audit

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/pkg/report"
	"github.com/sessctl/sessctl/pkg/session"
)

// newReportSession is a session as the report shows it.
func newReportSession(row *selection.SessionRow) report.Session {
	state := row.State
	switch {
	case row.Unreadable:
		state = "unreadable"
	case row.Over && row.Compact == selection.ProspectIrreducible:
		state = selection.ProspectIrreducible // over, and nothing waits
	}
	return report.Session{
		Runtime: row.Runtime, Agent: row.Agent, Session: row.Name(), Title: row.Title, Project: row.Project, ProjectName: row.ProjectName, Tokens: row.Tokens, Window: int64(row.ContextWindow), Bytes: row.Bytes,
		Last: row.LastActivity, State: state, Over: row.Over, Unreadable: row.Unreadable, CarriedFrom: (*report.CarriedFrom)(row.CarriedFrom),
	}
}

// addRow adds a session to those of its agent.
func addRow(s *report.Share, row *selection.SessionRow) {
	s.Sessions++
	s.Bytes += row.Bytes
	if row.Over {
		s.Over++
	}
	if !row.Unreadable {
		s.Tokens += row.Tokens
	}
}

// sortedShares are shares, the most tokens first.
func sortedShares[K comparable](all map[K]*report.Share) (shares []report.Share) {
	for _, s := range all {
		shares = append(shares, *s)
	}
	slices.SortFunc(shares, func(x, y report.Share) int {
		return cmp.Or(cmp.Compare(y.Tokens, x.Tokens), cmp.Compare(y.Bytes, x.Bytes), strings.Compare(x.Runtime, y.Runtime), strings.Compare(x.Agent, y.Agent))
	})
	return shares
}

// continuous are the days up to today, without a gap.
func continuous(of map[string]*report.Day, now time.Time) []report.Day {
	days := []report.Day{}
	if len(of) == 0 {
		return days
	}
	first := slices.Min(slices.Collect(maps.Keys(of)))
	noon := time.Date(now.Local().Year(), now.Local().Month(), now.Local().Day(), 12, 0, 0, 0, time.Local)
	for back := range report.MostDays {
		date := noon.AddDate(0, 0, -back).Format(time.DateOnly)
		if date < first {
			break
		}
		if d := of[date]; d != nil {
			days = append(days, *d)
		} else {
			days = append(days, report.Day{Date: date})
		}
	}
	slices.Reverse(days)
	return days
}

// MostTypes bounds the types of records in a report: a log may hold any number of
// names.
const MostTypes = 100

// whatFills says what most of a record is.
func whatFills(r session.LargeRecord) string {
	kind := strings.ToLower(r.Type)
	switch {
	case r.Base64*2 >= r.Bytes:
		return "base64"
	case r.Duplicate*2 >= r.Bytes:
		return "repeated text"
	case strings.Contains(kind, "tool") || strings.Contains(kind, "output") || strings.Contains(kind, "shell"):
		return "tool output"
	case strings.Contains(kind, "summary") || strings.Contains(kind, "compact"):
		return "summary"
	}
	return "text"
}
