package cmd

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/operate/monitor"
	"github.com/sessctl/sessctl/pkg/report"
	"github.com/sessctl/sessctl/pkg/session"
)

// gatherReport makes the document of one look: what sizes, usage, monitor, log and
// archive verify would say of the same moment. Nothing is changed.
func (a *app) gatherReport(ctx context.Context, o reportOptions) (report.Document, error) {
	doc := report.Document{Schema: 1, MadeAt: stampText(a.now()), Version: a.version, Threshold: a.config.Compaction.Threshold}
	doc.Host, _ = os.Hostname() // without one the page does not name it
	settings, err := a.monitorSettings()
	if err != nil {
		return doc, err
	}
	state, err := monitor.Load(a.pins, a.monitorStatePath())
	if err != nil {
		a.passOver(note{Path: a.monitorStatePath(), Message: err.Error()})
	}
	look := a.newObserver(lookOptions{threshold: doc.Threshold, earlier: state.Stores})
	defer look.closeStores()
	err = look.look(ctx)
	if f := (*failure)(nil); errors.As(err, &f) && f.code == "no_store" && len(a.global.Stores) == 0 {
		a.notice(note{Message: f.Error(), Hint: f.hint}) // runs and archives are there without one
	} else if err != nil {
		return doc, err
	}
	r := reporter{app: a, seen: look, doc: &doc}
	r.alerts(state.Step(look.observed.look(), settings))
	for _, gather := range []func(context.Context) error{r.context, r.disk, r.proof, r.runs, r.pending} {
		if err := gather(ctx); err != nil {
			return doc, err
		}
	}
	r.growth()
	r.purges()
	if doc.Records.Read = !o.Quick; doc.Records.Read {
		if err := r.records(ctx); err != nil {
			return doc, err
		}
	}
	r.notes()
	return doc, nil
}

// reporter puts what one look has found into a report.
type reporter struct {
	*app
	seen *observer
	doc  *report.Document
}

// stampText is a time of a document, "" for none.
func stampText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

func (r *reporter) alerts(found []monitor.Alert) {
	r.doc.Alerts = []report.Alert{}
	for _, a := range found {
		r.doc.Alerts = append(r.doc.Alerts, report.Alert{Kind: string(a.Kind), Subject: r.tilde(a.Subject), Since: stampText(a.Since), Message: a.Message, Advice: a.Advice})
	}
}

// context adds up sessions by runtime and by agent.
func (r *reporter) context(context.Context) error {
	rows := slices.Clone(r.seen.rows)
	sortRows(rows, "tokens")
	c := &r.doc.Context
	runtimes, agents := map[string]*report.Share{}, map[[2]string]*report.Share{}
	whole := &report.Share{}
	c.List, c.Agents, c.Runtimes = []report.Session{}, []report.Share{}, []report.Share{}
	for i, row := range rows {
		owner := [2]string{row.Runtime, row.Agent}
		if agents[owner] == nil {
			agents[owner] = &report.Share{Runtime: row.Runtime, Agent: row.Agent}
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
	c.Runtimes, c.Agents = append(c.Runtimes, sortedShares(runtimes)...), append(c.Agents, sortedShares(agents)...)
	c.MoreAgents = max(len(c.Agents)-report.MostAgents, 0)
	c.Agents = c.Agents[:len(c.Agents)-c.MoreAgents]
	return nil
}

func newReportSession(row *sessionRow) report.Session {
	state := row.State
	switch {
	case row.Unreadable:
		state = "unreadable"
	case row.Over && row.Compact == prospectIrreducible:
		state = prospectIrreducible // over, and nothing waits
	}
	return report.Session{
		Runtime: row.Runtime, Agent: row.Agent, Session: row.name(), Tokens: row.Tokens, Window: int64(row.ContextWindow), Bytes: row.Bytes,
		Last: row.LastActivity, State: state, Over: row.Over, Unreadable: row.Unreadable,
	}
}

func addRow(s *report.Share, row *sessionRow) {
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

// disk is what usage says, of the same look, with what was saved.
func (r *reporter) disk(ctx context.Context) error {
	u := &usage{app: r.app.invocation, doc: usageDocument{Schema: 1}}
	u.countSessions(r.seen.sessions)
	for _, count := range []func(context.Context) error{u.data, u.trash} {
		if err := count(ctx); err != nil {
			return err
		}
	}
	u.countArchives(r.seen.entries)
	u.countSaved(r.seen.allReceipts)
	d := &r.doc.Disk
	for _, part := range []struct {
		what string
		use  diskUse
	}{{"live logs", u.doc.Live}, {"closed logs", u.doc.Closed}, {"archives", u.doc.Archives}, {"memory", u.doc.Memory}, {"trash", u.doc.Trash}, {"set aside", u.doc.SetAside}, {"records", u.doc.Records}} {
		d.Parts = append(d.Parts, report.DiskPart{What: part.what, Files: part.use.Files, Bytes: part.use.Bytes})
		d.Bytes += part.use.Bytes
	}
	d.Runtimes, d.Free = []report.RuntimeDisk{}, []report.Free{}
	for _, of := range u.doc.Runtimes {
		d.Runtimes = append(d.Runtimes, report.RuntimeDisk{Runtime: of.Runtime, Live: of.Live.Bytes, Closed: of.Closed.Bytes, Archives: of.Archives.Bytes})
	}
	slices.SortFunc(d.Runtimes, func(x, y report.RuntimeDisk) int {
		return cmp.Or(cmp.Compare(y.Sum(), x.Sum()), strings.Compare(x.Runtime, y.Runtime))
	})
	for _, disk := range r.seen.disks {
		d.Free = append(d.Free, report.Free{Path: r.tilde(disk.Path), Bytes: disk.Free, Limit: disk.Limit})
	}
	r.saved(u.doc.Saved)
	return nil
}

func (r *reporter) saved(saved savedDocument) {
	s := &r.doc.Saved
	*s = report.Saved{Compactions: saved.Compactions, Tokens: saved.Tokens, LogBytes: saved.LogBytes, Compressed: saved.Compressed, Archives: len(r.seen.entries), Runtimes: []report.ArchivedShare{}}
	of := map[string]*report.ArchivedShare{}
	for _, e := range r.seen.entries {
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
	p.Archives, p.Looked, p.Checks, p.Damaged = len(r.seen.entries), r.seen.archivesSeen, []report.Check{}, []report.Damaged{}
	checks, err := r.recordedChecks()
	if err != nil {
		r.passOver(note{Path: r.checksPath(), Message: "earlier checks of archives are not known: " + err.Error()})
	}
	for _, c := range slices.Backward(checks) {
		if whole := c.All && c.ReadData; whole && p.Whole == nil {
			p.Whole = &c
		}
		if len(p.Checks) < mostChecks {
			p.Checks = append(p.Checks, c)
		}
	}
	for _, e := range r.seen.entries {
		if p.Whole != nil && stampText(e.CreatedAt) > p.Whole.At {
			p.Since++
		}
		if e.Remote != nil {
			p.OffSite++
		}
	}
	for _, d := range r.seen.damaged {
		p.Damaged = append(p.Damaged, report.Damaged{ID: d.ID, Path: r.tilde(d.Path), Message: d.Message})
	}
	return nil
}

// runs are the newest runs, and how those of the last 30 days ended.
func (r *reporter) runs(context.Context) error {
	runs := &r.doc.Runs
	runs.Known, runs.Outcomes, runs.List = r.seen.runsSeen, map[string]int{}, []report.Run{}
	for _, run := range r.seen.runs {
		if r.seen.at.Sub(run.Started) < 30*24*time.Hour {
			runs.Outcomes[string(run.Outcome)]++
		}
		if len(runs.List) < report.MostRuns {
			runs.List = append(runs.List, report.Run{
				Started: stampText(run.Started), Profile: run.Profile, Outcome: string(run.Outcome), Seconds: run.Seconds, Changed: run.Changed(), Why: whyOf(run),
			})
		}
	}
	return nil
}

// pending is what waits, and for what.
func (r *reporter) pending(context.Context) error {
	r.doc.Pending = []report.Pending{}
	add := func(count int, what, advice string) {
		if count > 0 {
			r.doc.Pending = append(r.doc.Pending, report.Pending{What: what, Count: count, Advice: advice})
		}
	}
	begun, err := r.journal().List()
	if err != nil {
		r.passOver(note{Path: r.journalDir(), Message: err.Error(), Hint: "sessctl doctor says more"})
	}
	add(len(begun), "compactions that an earlier run began", "the next run finishes them; sessctl doctor says more")
	of := map[string]int{}
	for _, row := range r.seen.mainRows() {
		if row.Over {
			of[row.Compact]++
		}
	}
	add(of[prospectDue], "sessions due for compaction", "sessctl compact --all")
	add(of[prospectRuntime], "sessions to archive and remember; only their runtime makes them smaller", "sessctl compact --all")
	add(of[prospectBusy], "sessions that are due and in use", "a later sessctl compact --all")
	add(r.seen.pending(), "records that wait for an embedding", "sessctl memory reindex --pending")
	if r.seen.events != nil {
		add(r.seen.events.Waiting, "events that were not sent yet", "the next run sends them; sessctl events list")
		add(r.seen.events.Dead, "events that could not be delivered", "sessctl events retry")
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
	for _, run := range r.seen.runs { // the newest first: of a day the last counts
		if d := day(run.Started); run.Ended() && !d.Known {
			d.Known, d.Logs, d.Archives, d.Memory = true, run.BytesAfter.Logs, run.BytesAfter.Archives, run.BytesAfter.Memory
		}
	}
	for _, e := range r.seen.entries {
		day(e.CreatedAt).PutAway += e.Bytes
	}
	undone := compact.UndoneBy(r.seen.allReceipts)
	for _, receipt := range r.seen.allReceipts {
		if _, back := undone[receipt.ID]; !back {
			day(receipt.At).Freed += receiptRow(receipt, "").Freed
		}
	}
	r.doc.Growth.Days = continuous(of, r.seen.at)
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

// purges are what runtimes delete by themselves, by agent.
func (r *reporter) purges() {
	archived := archivedStates(r.seen.entries)
	at := map[owner]*report.Purge{}
	for i := range r.seen.sessions {
		s := &r.seen.sessions[i]
		if s.Expires.IsZero() || s.Bytes == 0 {
			continue
		}
		p := at[s.owner()]
		if p == nil {
			p = &report.Purge{Runtime: s.Runtime, Agent: s.Agent, First: stampText(s.Expires)}
			at[s.owner()] = p
		}
		p.Sessions++
		p.Bytes += s.Bytes
		p.First, p.Last = min(p.First, stampText(s.Expires)), max(p.Last, stampText(s.Expires))
		if !archived[s.state()] {
			p.Unarchived++
			if s.Expires.Sub(r.seen.at) <= purgeWarning {
				p.Soon++
			}
		}
	}
	r.doc.Purges = []report.Purge{}
	for _, p := range at {
		r.doc.Purges = append(r.doc.Purges, *p)
	}
	slices.SortFunc(r.doc.Purges, func(x, y report.Purge) int {
		return cmp.Or(strings.Compare(x.First, y.First), strings.Compare(x.Runtime, y.Runtime), strings.Compare(x.Agent, y.Agent))
	})
}

// records reads the logs and says what they are made of.
func (r *reporter) records(ctx context.Context) error {
	logs := slices.DeleteFunc(slices.Clone(r.seen.sessions), func(s found) bool { return !shown(s.Kind) || s.Kind == session.KindDatabase })
	t, err := r.seen.typesOf(ctx, logs)
	if err != nil {
		return err
	}
	for i, err := range t.failed {
		r.tellUnread(logs[i].Path, err)
	}
	d := &r.doc.Records
	d.Logs, d.Bytes, d.Base64, d.Duplicate = t.doc.Sessions, t.doc.Bytes, t.doc.Base64, t.doc.Duplicate
	d.Types, d.Largest = []report.TypeShare{}, []report.Record{}
	for _, row := range t.doc.Types {
		d.Types = append(d.Types, report.TypeShare{Runtime: row.Runtime, Type: row.Type, Records: row.Records, Bytes: row.Bytes})
	}
	d.Types = d.Types[:min(len(d.Types), mostTypes)]
	for _, large := range t.largest {
		s := logs[large.Log]
		d.Largest = append(d.Largest, report.Record{
			Runtime: s.Runtime, Agent: s.Agent, Session: s.ID, Path: r.tilde(s.Path), Line: large.Line, Type: large.Type, What: whatFills(large),
			Bytes: large.Bytes, Base64: large.Base64, Duplicate: large.Duplicate,
		})
	}
	return nil
}

// mostTypes bounds the types of records in a report: a log may hold any number of
// names.
const mostTypes = 100

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

// notes are what could not be looked at, and what was told on the way.
func (r *reporter) notes() {
	for _, n := range r.seen.failures {
		r.passOver(n)
	}
	for _, u := range r.seen.unread {
		r.passOver(note{Path: u.Path, Message: u.Message})
	}
	r.doc.Notes = []report.Note{}
	for _, n := range r.app.notes {
		r.doc.Notes = append(r.doc.Notes, report.Note{Path: r.tilde(n.Path), Message: n.Message, Hint: n.Hint})
	}
}
