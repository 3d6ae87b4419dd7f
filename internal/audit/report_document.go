package audit

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/operate/monitor"
	"github.com/sessctl/sessctl/pkg/report"
	"github.com/sessctl/sessctl/pkg/session"
)

// GatherReport makes the document of one look: what sizes, usage, monitor, log and
// archives verify would say of the same moment. A quick one does not read the logs.
// refused is what is wrong with the configuration. Nothing is changed.
func GatherReport(ctx context.Context, a *workspace.Run, refused []error, quick bool) (report.Document, error) {
	doc := report.Document{Schema: 1, MadeAt: wording.StampText(a.Now()), Version: a.Version, Threshold: a.Config.Compaction.Due().Tokens, Share: a.Config.Compaction.Due().Percent}
	doc.Host, _ = os.Hostname() // without one the page does not name it
	settings, err := workspace.MonitorSettings(&a.Settings)
	if err != nil {
		return doc, err
	}
	state, err := monitor.Load(a.Pins, MonitorStatePath(&a.Settings))
	if err != nil {
		a.PassOver(workspace.Note{Path: MonitorStatePath(&a.Settings), Message: err.Error()})
	}
	look := NewObserver(a, LookOptions{Threshold: a.Config.Compaction.Due(), Earlier: state.Stores, Refused: refused})
	defer workspace.CloseStores(look.Run)
	err = look.Look(ctx)
	if workspace.NothingFound(a, err) {
		told := failure.Explain(err)
		a.Notice(workspace.Note{Message: told.Message, Hint: told.Hint}) // runs and archives are there without one
	} else if err != nil {
		return doc, err
	}
	r := reporter{Run: a, seen: look, doc: &doc}
	wellness := MonitorReport{Alerts: OneOfACause(WithoutDue(look.AlertsOf(state, settings)))}
	wellness.Count(&look.Observed)
	wellness.Sessions, wellness.Archives = len(look.Rows), len(look.Entries)
	r.alerts(wellness.Alerts)
	for _, gather := range []func(context.Context) error{r.context, r.disk, r.proof, r.runs} {
		if err := gather(ctx); err != nil {
			return doc, err
		}
	}
	r.growth()
	doc.Pending, doc.Purges = look.Waiting(), look.Purges()
	NamePurges(look.ProjectNames(), doc.Purges)
	if doc.Records.Read = !quick; doc.Records.Read {
		if err := r.records(ctx); err != nil {
			return doc, err
		}
	}
	r.notes()
	wellness.Waits = doc.Pending
	doc.Sentence = wellness.Sentence(a.Incomplete == 0 && look.Incomplete == 0)
	return doc, nil
}

// reporter puts what one look has found into a report.
type reporter struct {
	*workspace.Run
	seen *Observer
	doc  *report.Document
}

func (r *reporter) alerts(found []monitor.Alert) {
	r.doc.Alerts = []report.Alert{}
	for _, a := range found {
		r.doc.Alerts = append(r.doc.Alerts, report.Alert{Kind: string(a.Kind), Subject: r.Tilde(a.Subject), Since: wording.StampText(a.Since), Message: a.Message, Advice: a.Advice})
	}
}

// context adds up sessions by runtime and by agent.
func (r *reporter) context(context.Context) error {
	rows, names := slices.Clone(r.seen.Rows), r.seen.ProjectNames()
	selection.SortRows(rows, "tokens")
	c := &r.doc.Context
	runtimes, agents := map[string]*report.Share{}, map[[2]string]*report.Share{}
	whole := &report.Share{}
	c.List, c.Agents, c.Runtimes = []report.Session{}, []report.Share{}, []report.Share{}
	for i, row := range rows {
		row.ProjectName = names.Of(row.Runtime, row.Agent)
		owner := [2]string{row.Runtime, row.Agent}
		if agents[owner] == nil {
			agents[owner] = &report.Share{Runtime: row.Runtime, Agent: row.Agent, ProjectName: names.Of(row.Runtime, row.Agent)}
		}
		if runtimes[row.Runtime] == nil {
			runtimes[row.Runtime] = &report.Share{Runtime: row.Runtime}
		}
		of := []*report.Share{whole, runtimes[row.Runtime], agents[owner]}
		if i < report.MostRows {
			c.List = append(c.List, newReportSession(row))
		} else {
			of = append(of, &c.More)
		}
		for _, share := range of {
			addRow(share, row)
		}
	}
	c.Sessions, c.Over, c.Tokens, c.Bytes = whole.Sessions, whole.Over, whole.Tokens, whole.Bytes
	c.Carried = selection.Copies(rows)
	c.Runtimes, c.Agents = append(c.Runtimes, sortedShares(runtimes)...), append(c.Agents, sortedShares(agents)...)
	c.MoreAgents = max(len(c.Agents)-report.MostAgents, 0)
	c.Agents = c.Agents[:len(c.Agents)-c.MoreAgents]
	return nil
}

// disk is what usage says, of the same look, with what was saved.
func (r *reporter) disk(ctx context.Context) error {
	u := &Usage{App: r.Run, Doc: UsageDocument{Schema: 1}}
	u.CountSessions(r.seen.Sessions)
	for _, count := range []func(context.Context) error{u.Data, u.Trash} {
		if err := count(ctx); err != nil {
			return err
		}
	}
	u.CountArchives(r.seen.Entries)
	u.CountSaved(r.seen.AllReceipts)
	d := &r.doc.Disk
	for _, part := range []struct {
		what string
		use  DiskUse
	}{{"live logs", u.Doc.Live}, {"closed logs", u.Doc.Closed}, {"archives", u.Doc.Archives}, {"memory", u.Doc.Memory}, {"trash", u.Doc.Trash}, {"set aside", u.Doc.SetAside}, {"records", u.Doc.Records}} {
		d.Parts = append(d.Parts, report.DiskPart{What: part.what, Files: part.use.Files, Bytes: part.use.Bytes})
		d.Bytes += part.use.Bytes
	}
	d.Runtimes, d.Free = []report.RuntimeDisk{}, []report.Free{}
	for _, of := range u.Doc.Runtimes {
		d.Runtimes = append(d.Runtimes, report.RuntimeDisk{Runtime: of.Runtime, Live: of.Live.Bytes, Closed: of.Closed.Bytes, Archives: of.Archives.Bytes})
	}
	slices.SortFunc(d.Runtimes, func(x, y report.RuntimeDisk) int {
		return cmp.Or(cmp.Compare(y.Sum(), x.Sum()), strings.Compare(x.Runtime, y.Runtime))
	})
	for _, disk := range r.seen.Disks {
		d.Free = append(d.Free, report.Free{Path: r.Tilde(disk.Path), Bytes: disk.Free, Limit: disk.Limit})
	}
	r.saved(u.Doc.Saved)
	return nil
}

func (r *reporter) saved(saved SavedDocument) {
	s := &r.doc.Saved
	*s = report.Saved{Compactions: saved.Compactions, Tokens: saved.Tokens, LogBytes: saved.LogBytes, Compressed: saved.Compressed, Archives: len(r.seen.Entries), Runtimes: []report.ArchivedShare{}}
	of := map[string]*report.ArchivedShare{}
	for _, e := range r.seen.Entries {
		if of[e.Runtime] == nil {
			of[e.Runtime] = &report.ArchivedShare{Runtime: e.Runtime}
		}
		share := of[e.Runtime]
		share.Archives++
		share.Bytes += e.Bytes
		share.Stored += e.StoredBytes
		s.Bytes += e.Bytes
		s.Stored += e.StoredBytes
	}
	for _, runtime := range slices.Sorted(maps.Keys(of)) {
		s.Runtimes = append(s.Runtimes, *of[runtime])
	}
}

// proof says when archives were read back.
func (r *reporter) proof(context.Context) error {
	p := &r.doc.Proof
	p.Archives, p.Looked, p.Checks, p.Damaged = len(r.seen.Entries), r.seen.ArchivesSeen, []report.Check{}, []report.Damaged{}
	checks, err := RecordedChecks(r.Run)
	if err != nil {
		r.PassOver(workspace.Note{Path: ChecksPath(&r.Run.Settings), Message: "earlier checks of archives are not known: " + err.Error()})
	}
	for _, recorded := range slices.Backward(checks) {
		c := report.Check(recorded)
		if whole := c.All && c.ReadData; whole && p.Whole == nil {
			p.Whole = &c
		}
		if len(p.Checks) < MostChecks {
			p.Checks = append(p.Checks, c)
		}
	}
	for _, e := range r.seen.Entries {
		if p.Whole != nil && wording.StampText(e.CreatedAt) > p.Whole.At {
			p.Since++
		}
		if e.Remote != nil {
			p.OffSite++
		}
	}
	for _, d := range r.seen.Damaged {
		p.Damaged = append(p.Damaged, report.Damaged{ID: d.ID, Path: r.Tilde(d.Path), Message: d.Message})
	}
	return nil
}

// runs are the newest runs, and how those of the last 30 days ended.
func (r *reporter) runs(context.Context) error {
	runs := &r.doc.Runs
	runs.Known, runs.Outcomes, runs.List = r.seen.RunsSeen, map[string]int{}, []report.Run{}
	for _, run := range r.seen.Runs {
		if r.seen.At.Sub(run.Started) < 30*24*time.Hour {
			runs.Outcomes[string(run.Outcome)]++
		}
		if len(runs.List) < report.MostRuns {
			row := NewRunRow(run)
			runs.List = append(runs.List, report.Run{
				Started: wording.StampText(run.Started), Profile: run.Profile, Outcome: string(run.Outcome), Seconds: run.Seconds, Changed: row.Changed(), Why: row.Why(),
			})
		}
	}
	return nil
}

// growth says how much there was day by day.
func (r *reporter) growth() {
	of := map[string]*report.Day{}
	day := func(at time.Time) *report.Day {
		date := at.Local().Format(time.DateOnly)
		if of[date] == nil {
			of[date] = &report.Day{Date: date}
		}
		return of[date]
	}
	for _, run := range r.seen.Runs { // the newest first: of a day the last counts
		if d := day(run.Started); run.Ended() && !d.Known {
			d.Known, d.Logs, d.Archives, d.Memory = true, run.BytesAfter.Logs, run.BytesAfter.Archives, run.BytesAfter.Memory
		}
	}
	for _, e := range r.seen.Entries {
		day(e.CreatedAt).PutAway += e.Bytes
	}
	undone := compact.UndoneBy(r.seen.AllReceipts)
	for _, receipt := range r.seen.AllReceipts {
		if _, back := undone[receipt.ID]; !back {
			day(receipt.At).Freed += ReceiptRow(receipt, "").Freed
		}
	}
	r.doc.Growth.Days = continuous(of, r.seen.At)
}

// records reads the logs and says what they are made of.
func (r *reporter) records(ctx context.Context) error {
	logs := slices.DeleteFunc(slices.Clone(r.seen.Sessions), func(s workspace.Found) bool { return !workspace.Shown(s.Kind) || s.Kind == session.KindDatabase })
	t, err := selection.TypesOf(ctx, &r.seen.Run.Settings, logs, false)
	if err != nil {
		return err
	}
	for i, err := range t.Failed {
		selection.TellUnread(r.Run, logs[i].Path, err)
	}
	d, names := &r.doc.Records, r.seen.ProjectNames()
	d.Logs, d.Bytes, d.Base64, d.Duplicate = t.Doc.Sessions, t.Doc.Bytes, t.Doc.Base64, t.Doc.Duplicate
	d.Types, d.Largest = []report.TypeShare{}, []report.Record{}
	for _, row := range t.Doc.Types {
		d.Types = append(d.Types, report.TypeShare{Runtime: row.Runtime, Type: row.Type, Records: row.Records, Bytes: row.Bytes})
	}
	d.Types = d.Types[:min(len(d.Types), MostTypes)]
	for _, large := range t.Largest {
		s := logs[large.Log]
		d.Largest = append(d.Largest, report.Record{
			Runtime: s.Runtime, Agent: s.Agent, ProjectName: names.Of(s.Runtime, s.Agent), Session: s.ID, Path: r.Tilde(s.Path), Line: large.Line, Type: large.Type, What: whatFills(large),
			Bytes: large.Bytes, Base64: large.Base64, Duplicate: large.Duplicate,
		})
	}
	return nil
}

// notes are what could not be looked at, and what was told on the way.
func (r *reporter) notes() {
	for _, n := range r.seen.Failures {
		r.PassOver(n)
	}
	r.TellUnread(r.seen.Unread)
	r.doc.Unread = []report.Unread{}
	for _, u := range r.seen.Unread {
		r.doc.Unread = append(r.doc.Unread, report.Unread{Runtime: u.Runtime, Cause: string(u.Cause), Broken: u.Broken, Count: u.Count, Bytes: u.Bytes, Path: r.Tilde(u.Paths[0]), Message: u.Message, Hint: u.Hint})
	}
	r.doc.Notes = []report.Note{}
	for _, n := range r.Notes {
		r.doc.Notes = append(r.doc.Notes, report.Note{Path: r.Tilde(n.Path), Message: n.Message, Hint: n.Hint})
	}
}
