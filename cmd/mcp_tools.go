package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

// request is the program for one call of a tool: it has notes and open stores
// of its own, and prints nothing but what out gets.
func (s *mcpServer) request(out io.Writer) *app {
	a := s.app.printingTo(out)
	a.Width = 120
	return a
}

// known refuses an agent that nobody knows. A confined server names no others.
func (s *mcpServer) known(ctx context.Context, a *workspace.Run, store *memory.Store, agent string) error {
	err := selection.CheckAgent(ctx, a, store, agent)
	if err != nil && s.options.Agent != "" {
		return &failure.Error{Code: "unknown_agent", Exit: failure.ExitUsage, Err: fmt.Errorf("agent %q has no session yet", agent)}
	}
	return err
}

// confined is the agent that a call is about. Another one than the server's is
// refused.
func (s *mcpServer) confined(agent string) (string, error) {
	if own := s.options.Agent; own != "" && agent != "" && agent != own {
		return "", &failure.Error{Code: "confined", Exit: failure.ExitUsage, Hint: "leave agent out, or say " + own, Err: fmt.Errorf("this server is for agent %q only", own)}
	}
	return cmp.Or(agent, s.options.Agent), nil
}

// recallInput is what memory_recall is asked.
type recallInput struct {
	Query    string `json:"query" jsonschema:"what to look for: a question, or words and names as they were written"`
	Agent    string `json:"agent,omitempty" jsonschema:"only sessions of this agent"`
	Since    string `json:"since,omitempty" jsonschema:"only what was said from then on: 30d, 12h, 2026-03-01"`
	Until    string `json:"until,omitempty" jsonschema:"only what was said before then"`
	Category string `json:"category,omitempty" jsonschema:"only session_history, session_summary, fact or lesson"`
	Limit    int    `json:"limit,omitempty" jsonschema:"how many passages, 1 to 10 (default 5)"`
	// Everywhere asks the memory that hosts share.
	Everywhere bool `json:"everywhere,omitempty" jsonschema:"also what other hosts remember, if they share a memory"`
}

func (s *mcpServer) recall(ctx context.Context, in recallInput) (string, error) {
	agent, err := s.confined(in.Agent)
	if err != nil {
		return "", err
	}
	a := s.request(io.Discard)
	defer workspace.End(a.Run)
	limit := min(max(cmp.Or(in.Limit, recall.UsualHits), 1), recall.MostHits)
	o := recall.RecallOptions{Query: in.Query, Agent: agent, Since: in.Since, Until: in.Until, Category: in.Category, Rank: memory.RankHybrid, Limit: limit, Elsewhere: true, Everywhere: in.Everywhere}
	if err := o.Validate(); err != nil {
		return "", err
	}
	if err := s.known(ctx, a.Run, nil, agent); err != nil {
		return "", err
	}
	doc, err := recall.Recall(ctx, a.Run, o)
	if err != nil {
		return "", err
	}
	return s.told.keep(recallText(doc, readingOf)), nil
}

// recallText is what memory_recall returns, in at most RecallBytes. Its lines
// have the shape of recall's, so that no later recall finds them in a session.
// reading says how a hit is read in full.
func recallText(doc recall.RecallDocument, reading func(recall.RecallHit) string) string {
	if len(doc.Hits) == 0 {
		return "nothing found that fits"
	}
	p := &recall.PassagePrinter{Terms: recall.QueryTerms(doc.Query)}
	heads := make([]string, len(doc.Hits))
	room := recall.RecallBytes - len(session.RecallBegin) - len(session.RecallEnd) - 8
	for i, h := range doc.Hits {
		heads[i] = fmt.Sprintf("%d. %s\n   %s\n", i+1, recall.HitLine(h), reading(h))
		room -= len(heads[i]) + 2
	}
	var b strings.Builder
	b.WriteString(session.RecallBegin + "\n\n")
	for i, h := range doc.Hits {
		text := within(p, steps.PlainText(h.Text), max(room/(len(doc.Hits)-i), 0))
		room -= len(text)
		b.WriteString(heads[i] + text + "\n\n")
	}
	b.WriteString(session.RecallEnd)
	if doc.Notice != "" {
		b.WriteString("\nnote: " + wording.Visible(doc.Notice))
	}
	return b.String()
}

// readingOf says how a hit is read in full.
func readingOf(h recall.RecallHit) string {
	if h.Stored != nil {
		return recall.Line(h.Stored)
	}
	if h.Source.Archive == "" {
		return fmt.Sprintf("memory_read hit %s", wording.Visible(h.ID[:min(len(h.ID), shownID)]))
	}
	return fmt.Sprintf("memory_read archive %s lines %d to %d", wording.Visible(h.Source.Archive), h.Source.FirstLine, h.Source.LastLine)
}

// shownID is how many characters of a record's id are shown.
const shownID = 16

// readInput is what memory_read is asked.
type readInput struct {
	Archive   string `json:"archive,omitempty" jsonschema:"id of an archive, as memory_recall and sessions name it"`
	FirstLine int    `json:"first_line,omitempty" jsonschema:"first line of the log to read (default 1)"`
	LastLine  int    `json:"last_line,omitempty" jsonschema:"last line to read (default: as far as one answer holds)"`
	Hit       string `json:"hit,omitempty" jsonschema:"id of a hit, instead of archive and lines"`
	Neighbors int    `json:"neighbors,omitempty" jsonschema:"how many messages before and after to show too, 0 to 10"`
}

func (s *mcpServer) read(ctx context.Context, in readInput) (string, error) {
	a := s.request(io.Discard)
	defer workspace.End(a.Run)
	switch {
	case (in.Archive == "") == (in.Hit == ""):
		return "", failure.Usage("memory_recall names them", "give either archive or hit")
	case in.FirstLine < 0 || in.LastLine < 0 || in.LastLine > 0 && in.LastLine < in.FirstLine:
		return "", failure.Usage("lines count from 1", "first_line %d and last_line %d are no range", in.FirstLine, in.LastLine)
	}
	in.Neighbors = min(max(in.Neighbors, 0), recall.MostNeighbors)
	if in.Hit != "" {
		return s.readHit(ctx, a, in)
	}
	return s.readArchive(ctx, a, in)
}

// readHit reads what a record of memory was made from, or where that was not
// archived the record.
func (s *mcpServer) readHit(ctx context.Context, a *app, in readInput) (string, error) {
	store, err := recall.ReadMemory(ctx, a.Run)
	if err != nil {
		return "", err
	}
	defer store.Close()
	id, err := selection.RecordID(ctx, store, in.Hit)
	if err != nil && s.options.Agent != "" { // it may name ids of other agents
		return "", selection.IdKind{Noun: "record", List: "memory_recall"}.Unknown(in.Hit)
	}
	if err != nil {
		return "", err
	}
	r, err := store.Record(ctx, id)
	if err != nil {
		return "", err
	}
	if _, err := s.confined(r.Agent); err != nil {
		return "", selection.IdKind{Noun: "record", List: "memory_recall"}.Unknown(in.Hit)
	}
	if r.Archive != "" && r.FirstLine > 0 {
		in.Archive, in.FirstLine, in.LastLine = r.Archive, r.FirstLine, r.LastLine
		return s.readArchive(ctx, a, in)
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
		b.WriteString(recall.Indent(cutMessage(steps.PlainText(n.Text))) + "\n\n")
	}
	return s.told.keep(steps.Quoted(b.String())), nil
}

func (s *mcpServer) readArchive(ctx context.Context, a *app, in readInput) (string, error) {
	store, err := a.OpenArchive()
	if err != nil {
		return "", err
	}
	entry, err := s.findArchive(ctx, store, in.Archive)
	if err != nil {
		return "", err
	}
	if !steps.Readable(&a.Run.Settings, entry) {
		return "", failure.Usage("sessctl archive show "+entry.ID+" prints it", "archive %s is not a log of messages", entry.ID)
	}
	reader := messageReader{lines: steps.LineRange{First: max(in.FirstLine, 1), Last: in.LastLine}, neighbors: in.Neighbors}
	if err := a.newArchivedText(io.Discard, steps.LineRange{}).each(ctx, store, entry, reader.add); err != nil && !errors.Is(err, errReadEnough) {
		return "", err
	}
	return s.told.keep(reader.text(entry)), nil
}

// findArchive is the archive that an id means: for a confined server one of its
// agent, and no other is named.
func (s *mcpServer) findArchive(ctx context.Context, store *archive.Store, name string) (archive.Entry, error) {
	if s.options.Agent == "" {
		return selection.FindArchive(ctx, store, name)
	}
	all, err := store.List(ctx, archive.Filter{Agent: s.options.Agent})
	if err != nil {
		return archive.Entry{}, err
	}
	var ids []selection.Candidate
	for _, e := range all {
		ids = append(ids, selection.ArchiveCandidate(e))
	}
	id, err := selection.ArchiveIDs().Resolve(name, ids)
	if err != nil {
		return archive.Entry{}, err
	}
	return all[slices.IndexFunc(all, func(e archive.Entry) bool { return e.ID == id })], nil
}

// errReadEnough ends the reading of an archive.
var errReadEnough = errors.New("read enough")

// messageReader collects the messages of a range of lines, and some beside.
type messageReader struct {
	lines     steps.LineRange
	neighbors int

	before []string // messages before the range, the last of them
	shown  []string
	after  int // messages behind the range
	bytes  int
	next   int // line of the first message that did not fit, or 0
}

func (r *messageReader) add(m *session.Message) error {
	text := messageText(m)
	switch {
	case m.Line < r.lines.First:
		r.before = append(r.before, text)
		r.before = r.before[max(0, len(r.before)-r.neighbors):]
		return nil
	case r.lines.Last > 0 && m.Line > r.lines.Last:
		if r.after++; r.after > r.neighbors {
			return errReadEnough
		}
	}
	for _, earlier := range r.before {
		r.bytes += len(earlier)
	}
	r.shown, r.before = append(r.shown, r.before...), nil
	if r.bytes += len(text); r.bytes > recall.ReadBytes && len(r.shown) > 0 {
		r.next = m.Line
		return errReadEnough
	}
	r.shown = append(r.shown, text)
	return nil
}

func (r *messageReader) text(e archive.Entry) string {
	if len(r.shown) == 0 {
		return fmt.Sprintf("archive %s has no message in these lines", e.ID)
	}
	head := fmt.Sprintf("   archive %s, %s, agent %s, session %s\n\n", e.ID, wording.Visible(e.Runtime), wording.Visible(e.Agent), wording.Visible(e.Session))
	text := steps.Quoted(head + strings.Join(r.shown, ""))
	if r.next > 0 {
		text += fmt.Sprintf("\nmore: first_line %d", r.next)
	}
	return text
}

// messageText is a message as memory_read shows it.
func messageText(m *session.Message) string {
	text := strings.TrimRight(steps.PlainText(string(m.AppendText(nil))), "\n")
	if text == "" {
		text = "(nothing to read)"
	}
	return "   " + wording.Visible(steps.MessageHeading(m)) + "\n" + recall.Indent(cutMessage(text)) + "\n\n"
}

// factsInput is what memory_facts is asked.
type factsInput struct {
	Agent string `json:"agent,omitempty" jsonschema:"only facts of this agent's sessions"`
	Kind  string `json:"kind,omitempty" jsonschema:"only preference, background, pattern, project, contact, decision, environment or deadline"`
}

func (s *mcpServer) facts(ctx context.Context, in factsInput) (string, error) {
	agent, err := s.confined(in.Agent)
	if err != nil {
		return "", err
	}
	if err := recall.CheckKind(in.Kind); err != nil {
		return "", err
	}
	a := s.request(io.Discard)
	defer workspace.End(a.Run)
	store, err := recall.ReadMemory(ctx, a.Run)
	if err != nil {
		return "", err
	}
	defer store.Close()
	if _, err := recall.PartOfMemory(ctx, a.Run, store); err != nil {
		return "", err
	}
	if err := s.known(ctx, a.Run, store, agent); err != nil {
		return "", err
	}
	known, err := store.Facts(ctx, memory.FactFilter{Agent: agent, Kind: in.Kind})
	if err != nil {
		return "", err
	}
	replaced, err := steps.ReplacedFacts(ctx, store, memory.FactFilter{Agent: agent})
	if err != nil {
		return "", err
	}
	slices.Reverse(known) // newest first
	l := answerList{most: recall.ListBytes - len(session.RecallBegin) - len(session.RecallEnd)}
	own, _, err := store.ListOwnWords(ctx, memory.OwnWordsFilter{Agent: agent, Category: memory.CategoryFact})
	if err != nil {
		return "", err
	}
	for _, r := range own {
		if in.Kind == "" {
			l.add(fmt.Sprintf("   %s\n%s\n", recall.Line(audit.NewStoredBy(r)), recall.Indent(cutMessage(steps.PlainText(r.Text)))))
		}
	}
	for _, f := range known {
		if !f.Damaged {
			text := steps.PlainText(f.Text)
			for _, before := range replaced[f.ID] {
				text += "\nbefore that, and not so any more: " + steps.PlainText(before.Text)
			}
			l.add(fmt.Sprintf("   %s  %s  confidence %.2f  agent %s\n%s\n", time.UnixMilli(f.CreatedAt).UTC().Format(time.DateOnly), wording.Visible(f.Kind), f.Confidence, wording.Visible(f.Agent), recall.Indent(cutMessage(text))))
		}
	}
	if l.lines == nil {
		return "no facts are known; sessctl extract-facts finds them", nil
	}
	return s.told.keep(steps.Quoted("\n"+strings.Join(l.lines, "")) + l.more("facts")), nil
}

// answerList is a list that is cut where an answer is full.
type answerList struct {
	lines   []string
	most    int // bytes
	bytes   int
	leftOut int
}

func (l *answerList) add(line string) {
	if l.bytes+len(line) > l.most || l.leftOut > 0 {
		l.leftOut++
		return
	}
	l.bytes += len(line)
	l.lines = append(l.lines, line)
}

// more says what did not fit.
func (l *answerList) more(what string) string {
	if l.leftOut == 0 {
		return ""
	}
	return fmt.Sprintf("\n%d more %s are not shown", l.leftOut, what)
}

// sessionsInput is what sessions is asked.
type sessionsInput struct {
	Agent string `json:"agent,omitempty" jsonschema:"only sessions of this agent"`
	Since string `json:"since,omitempty" jsonschema:"only sessions that were used since then: 30d, 12h, 2026-03-01"`
}

// knownSessions are a session's log, if there is one, and its archives.
type sessionAnswer struct {
	source   memory.Source
	last     time.Time
	bytes    int64
	live     bool
	archives []string
}

func (s *mcpServer) sessions(ctx context.Context, in sessionsInput) (string, error) {
	agent, err := s.confined(in.Agent)
	if err != nil {
		return "", err
	}
	a := s.request(io.Discard)
	defer workspace.End(a.Run)
	since, err := audit.ParseTime(in.Since, a.Now())
	if err != nil {
		return "", failure.Usage("write 30d, 12h, 2026-03-01 or 2026-03-01T12:00:00Z", "since: %w", err)
	}
	if err := s.known(ctx, a.Run, nil, agent); err != nil {
		return "", err
	}
	all, err := allSessions(ctx, a.Run, selection.Scope{Agent: agent})
	if err != nil {
		return "", err
	}
	l := answerList{most: recall.ListBytes}
	for _, x := range all {
		if x.last.UnixMilli() >= since {
			l.add(x.line())
		}
	}
	if l.lines == nil {
		return "no sessions", nil
	}
	return strings.Join(l.lines, "") + l.more("sessions"), nil
}

// allSessions are the sessions of the stores and of the archive, newest first.
func allSessions(ctx context.Context, a *workspace.Run, of selection.Scope) ([]*sessionAnswer, error) {
	known := map[memory.Source]*sessionAnswer{}
	at := func(source memory.Source) *sessionAnswer {
		if known[source] == nil {
			known[source] = &sessionAnswer{source: source}
		}
		return known[source]
	}
	entries, err := selection.Archived(ctx, a, archive.Filter{})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		x := at(memory.Source{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session})
		x.archives = append(x.archives, e.ID)
		if e.CreatedAt.After(x.last) {
			x.last, x.bytes = e.CreatedAt, e.Bytes
		}
	}
	live, _, err := a.ListStores(ctx)
	if err != nil && len(entries) == 0 {
		return nil, err
	}
	for _, s := range live.Sessions {
		if workspace.Shown(s.Kind) {
			x := at(memory.Source{Runtime: s.Runtime, Agent: s.Agent, Session: s.ID})
			x.live, x.last, x.bytes = true, s.ModTime, s.Bytes
		}
	}
	var all []*sessionAnswer
	for source, x := range known {
		if of.Holds(source.Runtime, source.Agent) {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(x, y *sessionAnswer) int {
		return cmp.Or(y.last.Compare(x.last), strings.Compare(x.source.Session, y.source.Session))
	})
	return all, nil
}

// line is the session as sessions shows it: its newest archives last.
func (x *sessionAnswer) line() string {
	where := "not archived"
	if n := len(x.archives); n > 0 {
		where = "archives " + strings.Join(x.archives[max(0, n-3):], " ")
	}
	state := "live"
	if !x.live {
		state = "archived only"
	}
	return fmt.Sprintf("%s  %s  %s  session %s  %s  %s  %s\n", x.last.UTC().Format("2006-01-02 15:04"), wording.Visible(x.source.Runtime), wording.Visible(x.source.Agent),
		wording.Visible(x.source.Session), wording.Bytes(x.bytes), state, where)
}

// sizesInput is what session_sizes is asked.
type sizesInput struct {
	Agent string `json:"agent,omitempty" jsonschema:"only sessions of this agent"`
	Over  bool   `json:"over,omitempty" jsonschema:"only sessions that are due for compaction"`
}

func (s *mcpServer) sizes(ctx context.Context, in sizesInput) (string, error) {
	agent, err := s.confined(in.Agent)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	a := s.request(&out)
	defer workspace.End(a.Run)
	if err := s.known(ctx, a.Run, nil, agent); err != nil {
		return "", err
	}
	doc, err := selection.Sizes(ctx, a.Run, selection.SizesOptions{Agent: agent, Over: in.Over, Sort: "tokens", Threshold: a.Config.Compaction.Threshold})
	if err != nil {
		return "", err
	}
	if len(doc.Sessions) == 0 {
		return "no sessions", nil
	}
	if err := renderSizes(a, doc); err != nil {
		return "", err
	}
	l := answerList{most: recall.ListBytes}
	l.add("runtime\tagent\tsession\ttokens\tsource\tstate\tbytes\tmessages\tlast activity\tbusy or idle\n")
	for line := range strings.Lines(out.String()) {
		l.add(line)
	}
	return strings.Join(l.lines, "") + l.more("lines"), nil
}

// compactInput is what session_compact is asked.
type compactInput struct {
	Agent   string `json:"agent" jsonschema:"whose main session"`
	Session string `json:"session,omitempty" jsonschema:"another session of the agent, by its id"`
	Force   bool   `json:"force,omitempty" jsonschema:"also if it is below the threshold"`
	Confirm bool   `json:"confirm,omitempty" jsonschema:"do it; without this only the plan is returned"`
}

func (s *mcpServer) compact(ctx context.Context, in compactInput) (string, error) {
	agent, err := s.confined(in.Agent)
	if err != nil {
		return "", err
	}
	if agent == "" { // which would mean everybody's
		return "", failure.Usage("sessions lists the agents there are", "agent is empty")
	}
	var out strings.Builder
	a := s.request(&out)
	defer workspace.End(a.Run)
	a.Global.LockWait = cmp.Or(a.Global.LockWait, jobLockWait)
	o, err := parseCompact(a, steps.Whose(agent).Text("--session", in.Session).On("--force", in.Force).On("--dry-run", !in.Confirm))
	if err != nil {
		return "", err
	}
	if err = runCompact(ctx, a, o); errors.As(err, new(*failure.Outcome)) {
		err = nil // what there is to say was printed
	}
	return out.String() + notesText(a.Notes), err
}

// notesText is what the notes of a call say.
func notesText(notes []workspace.Note) string {
	var b strings.Builder
	for _, n := range notes {
		b.WriteString("note: " + wording.Visible(n.Text()) + "\n")
	}
	return b.String()
}
