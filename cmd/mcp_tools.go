package cmd

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/mcptool"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

// request is the program for one call of a tool: it has notes and open stores
// of its own, and prints nothing but what out gets. It is about the sessions in a
// scope.
func (s *mcpServer) request(out io.Writer, of selection.Scope) *app {
	a := s.app.printingTo(out)
	a.Width, a.Global.Runtime = 120, of.Runtime
	return a
}

// confined is the scope that a call for an agent is about.
func (s *mcpServer) confined(ctx context.Context, agent string) (selection.Scope, error) {
	a := s.request(io.Discard, selection.Scope{Runtime: s.options.Runtime})
	defer workspace.End(a.Run)
	own, err := s.options.Own(ctx, a.Run)
	if err != nil {
		return own, err
	}
	return mcptool.Confined(ctx, a.Run, own, agent)
}

func (s *mcpServer) recall(ctx context.Context, in mcptool.RecallInput) (string, error) {
	of, err := s.confined(ctx, in.Agent)
	if err != nil {
		return "", err
	}
	a := s.request(io.Discard, of)
	defer workspace.End(a.Run)
	limit := min(max(cmp.Or(in.Limit, recall.UsualHits), 1), recall.MostHits)
	o := recall.Options{Query: in.Query, Agent: of.Agent, Runtime: of.Runtime, Since: in.Since, Until: in.Until, Category: in.Category, Rank: memory.RankHybrid, Limit: limit, Elsewhere: true, Everywhere: in.Everywhere}
	if err := o.Validate(); err != nil {
		return "", err
	}
	if err := s.options.CheckKnown(ctx, a.Run, nil, of); err != nil {
		return "", err
	}
	doc, err := steps.Recall(ctx, a.Run, o)
	if err != nil {
		return "", err
	}
	return s.told.Keep(mcptool.RecallText(doc, mcptool.ReadingOf)), nil
}

// state says where the work of an agent stands.
func (s *mcpServer) state(ctx context.Context, in mcptool.StateInput) (string, error) {
	of, err := s.confined(ctx, in.Agent)
	if err != nil {
		return "", err
	}
	a := s.request(io.Discard, of)
	defer workspace.End(a.Run)
	o := steps.BriefOptions{Runtime: of.Runtime, Agent: of.Agent, Session: in.Session}
	if err := o.Validate(); err != nil {
		return "", err
	}
	if err := s.options.CheckKnown(ctx, a.Run, nil, of); err != nil {
		return "", err
	}
	doc, err := steps.Brief(ctx, a.Run, o)
	if err != nil {
		return "", err
	}
	return s.told.Keep(steps.Quoted(steps.DescribeBrief(doc.Standing) + "\n")), nil
}

func (s *mcpServer) read(ctx context.Context, in mcptool.ReadInput) (string, error) {
	of, err := s.confined(ctx, "")
	if err != nil {
		return "", err
	}
	a := s.request(io.Discard, of)
	defer workspace.End(a.Run)
	if in.FirstLine, in.LastLine, err = in.Range(); err != nil {
		return "", err
	}
	switch {
	case (in.Archive == "") == (in.Hit == ""):
		return "", failure.Usage("memory_recall prints such calls", `give an archive, memory_read {"archive":"ID"}, or a hit`)
	case in.FirstLine < 0 || in.LastLine < 0 || in.LastLine > 0 && in.LastLine < in.FirstLine:
		return "", failure.Usage("lines count from 1", "first_line %d and last_line %d are no range", in.FirstLine, in.LastLine)
	}
	in.Neighbors = min(max(in.Neighbors, 0), recall.MostNeighbors)
	if in.Hit != "" {
		return s.readHit(ctx, a, of, in)
	}
	return s.readArchive(ctx, a, of, in)
}

// readHit reads what a record of memory was made from, or where that was not
// archived the record.
func (s *mcpServer) readHit(ctx context.Context, a *app, of selection.Scope, in mcptool.ReadInput) (string, error) {
	store, err := recall.ReadMemory(ctx, a.Run)
	if err != nil {
		return "", err
	}
	defer store.Close()
	r, err := foundRecord(ctx, store, in.Hit)
	if s.options.IsConfined() && (err != nil || !of.Holds(r.Runtime, r.Agent)) { // an error may name ids of other agents
		return "", selection.IdKind{Noun: "record", List: "memory_recall"}.Unknown(in.Hit)
	}
	if err != nil {
		return "", err
	}
	if r.Archive != "" && r.FirstLine > 0 {
		in.Archive, in.FirstLine, in.LastLine = r.Archive, r.FirstLine, r.LastLine
		return s.readArchive(ctx, a, of, in)
	}
	near, err := store.Neighbors(ctx, r, in.Neighbors)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if own := audit.NewStoredBy(r); own != nil {
		b.WriteString("   " + recall.Line(own) + "\n\n")
	}
	for _, n := range slices.Concat(near.Before, []memory.Record{r}, near.After) {
		b.WriteString(recall.Indent(mcptool.CutMessage(steps.PlainText(n.Text))) + "\n\n")
	}
	return s.told.Keep(steps.Quoted(b.String())), nil
}

// foundRecord is the record that an id means.
func foundRecord(ctx context.Context, store *memory.Store, name string) (memory.Record, error) {
	id, err := selection.RecordID(ctx, store, name)
	if err != nil {
		return memory.Record{}, err
	}
	return store.Record(ctx, id)
}

func (s *mcpServer) readArchive(ctx context.Context, a *app, of selection.Scope, in mcptool.ReadInput) (string, error) {
	store, err := a.OpenArchive()
	if err != nil {
		return "", err
	}
	entry, err := s.findArchive(ctx, store, in.Archive, of)
	if err != nil {
		return "", err
	}
	if !steps.Readable(&a.Run.Settings, entry) {
		return "", failure.Usage("sessctl archives show "+entry.ID+" prints it", "archive %s is not a log of messages", entry.ID)
	}
	text, lines := newArchivedText(a, io.Discard, steps.LineRange{}, true), steps.LineRange{First: max(in.FirstLine, 1), Last: in.LastLine}
	reader := mcptool.MessageReader{Lines: lines, Neighbors: in.Neighbors, Known: text.redact}
	if err := text.each(ctx, store, entry, reader.Add); err != nil && !errors.Is(err, recall.ErrReadEnough) {
		return "", err
	}
	return s.told.Keep(reader.Text(entry)), nil
}

// findArchive is the archive that an id means: for a confined server one in its
// scope, and no other is named.
func (s *mcpServer) findArchive(ctx context.Context, store *archive.Store, name string, of selection.Scope) (archive.Entry, error) {
	if !s.options.IsConfined() {
		return selection.FindArchive(ctx, store, name)
	}
	return selection.FindArchiveOf(ctx, store, name, of)
}

func (s *mcpServer) facts(ctx context.Context, in mcptool.FactsInput) (string, error) {
	of, err := s.confined(ctx, in.Agent)
	if err != nil {
		return "", err
	}
	if err := recall.CheckKind(in.Kind); err != nil {
		return "", err
	}
	a := s.request(io.Discard, of)
	defer workspace.End(a.Run)
	store, err := recall.ReadMemory(ctx, a.Run)
	if err != nil {
		return "", err
	}
	defer store.Close()
	if _, err := recall.PartOfMemory(ctx, a.Run, store); err != nil {
		return "", err
	}
	if err := s.options.CheckKnown(ctx, a.Run, store, of); err != nil {
		return "", err
	}
	all, err := mcptool.FactAnswers(ctx, a.Run, store, of, in)
	if err != nil {
		return "", err
	}
	if len(all) == 0 && in.Query != "" {
		return "no fact answers that; without query all facts are listed", nil
	}
	l := mcptool.AnswerList{Most: recall.ListBytes - len(session.RecallBegin) - len(session.RecallEnd)}
	for _, f := range all {
		l.Add(f.Text)
	}
	if l.Lines == nil {
		return "no facts are known; sessctl extract-facts finds them", nil
	}
	return s.told.Keep(steps.Quoted("\n"+strings.Join(l.Lines, "")) + l.More("facts")), nil
}

func (s *mcpServer) sessions(ctx context.Context, in mcptool.SessionsInput) (string, error) {
	of, err := s.confined(ctx, in.Agent)
	if err != nil {
		return "", err
	}
	a := s.request(io.Discard, of)
	defer workspace.End(a.Run)
	since, err := audit.ParseTime(in.Since, a.Now())
	if err != nil {
		return "", failure.Usage("write 30d, 12h, 2026-03-01 or 2026-03-01T12:00:00Z", "since: %w", err)
	}
	if err := s.options.CheckKnown(ctx, a.Run, nil, of); err != nil {
		return "", err
	}
	all, err := mcptool.AllSessions(ctx, a.Run, of)
	if err != nil {
		return "", err
	}
	return in.Page(slices.DeleteFunc(all, func(x *mcptool.KnownSession) bool { return x.Last.UnixMilli() < since }))
}

func (s *mcpServer) sizes(ctx context.Context, in mcptool.SizesInput) (string, error) {
	of, err := s.confined(ctx, in.Agent)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	a := s.request(&out, of)
	defer workspace.End(a.Run)
	if err := s.options.CheckKnown(ctx, a.Run, nil, of); err != nil {
		return "", err
	}
	doc, err := selection.Sizes(ctx, a.Run, selection.SizesOptions{Agent: of.Agent, Over: in.Over, Sort: "tokens", Threshold: a.Config.Compaction.Due()})
	if err != nil {
		return "", err
	}
	if len(doc.Sessions) == 0 {
		return "no sessions", nil
	}
	if err := renderSizes(a, doc); err != nil {
		return "", err
	}
	l := mcptool.AnswerList{Most: recall.ListBytes}
	l.Add("runtime\tagent\tsession\ttokens\tsource\tstate\tbytes\tmessages\tlast activity\tbusy or idle\n")
	for line := range strings.Lines(out.String()) {
		l.Add(line)
	}
	return strings.Join(l.Lines, "") + l.More("lines"), nil
}

func (s *mcpServer) compact(ctx context.Context, in mcptool.CompactInput) (string, error) {
	of, err := s.confined(ctx, in.Agent)
	if err != nil {
		return "", err
	}
	if of.Agent == "" { // which would mean everybody's
		return "", failure.Usage("sessions lists the agents there are", "agent is empty")
	}
	var out strings.Builder
	a := s.request(&out, of)
	defer workspace.End(a.Run)
	a.Global.LockWait = cmp.Or(a.Global.LockWait, jobLockWait)
	o, err := parseCompact(a, steps.Whose(string(of.Agent)).Text("--session", in.Session).On("--force", in.Force).On("--dry-run", !in.Confirm))
	if err != nil {
		return "", err
	}
	if err = runCompact(ctx, a, o); errors.As(err, new(*failure.Outcome)) {
		err = nil // what there is to say was printed
	}
	return out.String() + mcptool.NotesText(s.options.Notes(a.Notes)), s.options.WithoutOthers(err, of)
}

func (s *mcpServer) goOn(ctx context.Context, in mcptool.ContinueInput) (string, error) {
	of, err := s.confined(ctx, in.Agent)
	if err != nil {
		return "", err
	}
	a := s.request(io.Discard, of)
	defer workspace.End(a.Run)
	a.Global.LockWait = cmp.Or(a.Global.LockWait, jobLockWait)
	doc, err := steps.Continue(ctx, a.Run, in.Options(of, a.Config.Compaction.Quiet))
	if err != nil {
		return "", s.options.WithoutOthers(err, of)
	}
	return steps.DescribeContinue(doc) + mcptool.NotesText(s.options.Notes(a.Notes)), nil
}
