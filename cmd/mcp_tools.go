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

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/replay"
	"github.com/sessctl/sessctl/pkg/session"
)

// What the tools of the MCP server return at most (docs/agents.md). A client
// may put all of it into its model's context without a bound of its own.
const (
	recallBytes    = 4 << 10  // one memory_recall
	readBytes      = 16 << 10 // one memory_read
	listBytes      = 8 << 10  // one list
	messageRunes   = 2000     // one message
	mostHits       = 10
	mostNeighbors  = 10
	usualHits      = 5
	runningSession = 10 * time.Minute // a session that changed since then is running
)

// request is the program for one call of a tool: it has notes and open stores
// of its own, and prints nothing but what out gets.
func (s *mcpServer) request(out io.Writer) *app {
	a := s.app.printingTo(out)
	a.Width = 120
	return a
}

// known refuses an agent that nobody knows. A confined server names no others.
func (s *mcpServer) known(ctx context.Context, a *invocation, store *memory.Store, agent string) error {
	err := a.checkAgent(ctx, store, agent)
	if err != nil && s.options.Agent != "" {
		return &failure{code: "unknown_agent", exit: exitUsage, err: fmt.Errorf("agent %q has no session yet", agent)}
	}
	return err
}

// confined is the agent that a call is about. Another one than the server's is
// refused.
func (s *mcpServer) confined(agent string) (string, error) {
	if own := s.options.Agent; own != "" && agent != "" && agent != own {
		return "", &failure{code: "confined", exit: exitUsage, hint: "leave agent out, or say " + own, err: fmt.Errorf("this server is for agent %q only", own)}
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
	defer a.end()
	limit := min(max(cmp.Or(in.Limit, usualHits), 1), mostHits)
	o := recallOptions{Query: in.Query, Agent: agent, Since: in.Since, Until: in.Until, Category: in.Category, Rank: memory.RankHybrid, Limit: limit, Elsewhere: true, Everywhere: in.Everywhere}
	if err := o.validate(); err != nil {
		return "", err
	}
	if err := s.known(ctx, a.invocation, nil, agent); err != nil {
		return "", err
	}
	doc, err := a.recall(ctx, o)
	if err != nil {
		return "", err
	}
	return s.told.keep(recallText(doc, readingOf)), nil
}

// contexts are what running sessions have in their contexts now.
type contexts struct {
	refs  map[memory.Source]found
	lines map[memory.Source]map[int]bool // of the log, of those that were asked for
}

// runningSessions are the sessions that changed within the last ten minutes: one
// of them may be the one that asks. A store that cannot be listed has none.
func (a *invocation) runningSessions(ctx context.Context) *contexts {
	c := &contexts{refs: map[memory.Source]found{}, lines: map[memory.Source]map[int]bool{}}
	all, _, err := a.listStores(ctx)
	if err != nil {
		return c
	}
	for _, s := range all.sessions {
		if shown(s.Kind) && a.now().Sub(s.ModTime) < runningSession {
			c.refs[memory.Source{Runtime: s.Runtime, Agent: s.Agent, Session: s.ID}] = s
		}
	}
	return c
}

// without are the first hits that no running session would send anyway.
func (c *contexts) without(ctx context.Context, hits []memory.Hit, most int) []memory.Hit {
	hits = slices.DeleteFunc(hits, func(h memory.Hit) bool { return c.has(ctx, h.Record) })
	return hits[:min(len(hits), most)]
}

// has reports whether a record is of a session that waits for the answer to this
// question, and would send the record with its next turn anyway. Of a session
// whose context cannot be read everything is.
func (c *contexts) has(ctx context.Context, r memory.Record) bool {
	source := memory.Source{Runtime: r.Runtime, Agent: r.Agent, Session: r.Session}
	s, running := c.refs[source]
	if !running || r.OwnWords() {
		return false
	}
	lines, known := c.lines[source]
	if !known {
		lines = contextLines(ctx, s)
		c.lines[source] = lines
	}
	if lines == nil {
		return true
	}
	for line := r.FirstLine; line <= r.LastLine; line++ {
		if lines[line] {
			return true
		}
	}
	return false
}

// contextLines are the lines of a log whose messages the runtime would send, or
// nil if it cannot be read. A session whose last turn is complete asks nothing:
// it has none.
func contextLines(ctx context.Context, s found) map[int]bool {
	if tail, err := s.store.Tail(ctx, s.Ref); err == nil && tail.Answered {
		return map[int]bool{}
	}
	messages, _, err := replay.Read(ctx, s.store, func() (io.ReadCloser, error) { return openFound(ctx, s) })
	if err != nil {
		return nil
	}
	lines := map[int]bool{}
	for _, m := range messages {
		lines[m.Line] = true
	}
	return lines
}

// recallText is what memory_recall returns, in at most recallBytes. Its lines
// have the shape of recall's, so that no later recall finds them in a session.
// reading says how a hit is read in full.
func recallText(doc recallDocument, reading func(recallHit) string) string {
	if len(doc.Hits) == 0 {
		return "nothing found that fits"
	}
	p := &passagePrinter{terms: queryTerms(doc.Query)}
	heads := make([]string, len(doc.Hits))
	room := recallBytes - len(session.RecallBegin) - len(session.RecallEnd) - 8
	for i, h := range doc.Hits {
		heads[i] = fmt.Sprintf("%d. %s\n   %s\n", i+1, hitLine(h), reading(h))
		room -= len(heads[i]) + 2
	}
	var b strings.Builder
	b.WriteString(session.RecallBegin + "\n\n")
	for i, h := range doc.Hits {
		text := p.within(plainText(h.Text), max(room/(len(doc.Hits)-i), 0))
		room -= len(text)
		b.WriteString(heads[i] + text + "\n\n")
	}
	b.WriteString(session.RecallEnd)
	if doc.Notice != "" {
		b.WriteString("\nnote: " + visible(doc.Notice))
	}
	return b.String()
}

// readingOf says how a hit is read in full.
func readingOf(h recallHit) string {
	if h.Stored != nil {
		return h.Stored.line()
	}
	if h.Source.Archive == "" {
		return fmt.Sprintf("memory_read hit %s", visible(h.ID[:min(len(h.ID), shownID)]))
	}
	return fmt.Sprintf("memory_read archive %s lines %d to %d", visible(h.Source.Archive), h.Source.FirstLine, h.Source.LastLine)
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
	defer a.end()
	switch {
	case (in.Archive == "") == (in.Hit == ""):
		return "", usageError("memory_recall names them", "give either archive or hit")
	case in.FirstLine < 0 || in.LastLine < 0 || in.LastLine > 0 && in.LastLine < in.FirstLine:
		return "", usageError("lines count from 1", "first_line %d and last_line %d are no range", in.FirstLine, in.LastLine)
	}
	in.Neighbors = min(max(in.Neighbors, 0), mostNeighbors)
	if in.Hit != "" {
		return s.readHit(ctx, a, in)
	}
	return s.readArchive(ctx, a, in)
}

// readHit reads what a record of memory was made from, or where that was not
// archived the record.
func (s *mcpServer) readHit(ctx context.Context, a *app, in readInput) (string, error) {
	store, err := a.readMemory(ctx)
	if err != nil {
		return "", err
	}
	defer store.Close()
	id, err := recordID(ctx, store, in.Hit)
	if err != nil && s.options.Agent != "" { // it may name ids of other agents
		return "", idKind{noun: "record", list: "memory_recall"}.unknown(in.Hit)
	}
	if err != nil {
		return "", err
	}
	r, err := store.Record(ctx, id)
	if err != nil {
		return "", err
	}
	if _, err := s.confined(r.Agent); err != nil {
		return "", idKind{noun: "record", list: "memory_recall"}.unknown(in.Hit)
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
	if own := newStoredBy(r); own != nil {
		b.WriteString("   " + own.line() + "\n\n")
	}
	for _, n := range slices.Concat(near.Before, []memory.Record{r}, near.After) {
		b.WriteString(indent(cutMessage(plainText(n.Text))) + "\n\n")
	}
	return s.told.keep(quoted(b.String())), nil
}

func (s *mcpServer) readArchive(ctx context.Context, a *app, in readInput) (string, error) {
	store, err := a.openArchive()
	if err != nil {
		return "", err
	}
	entry, err := s.findArchive(ctx, store, in.Archive)
	if err != nil {
		return "", err
	}
	if !a.readable(entry) {
		return "", usageError("sessctl archive show "+entry.ID+" prints it", "archive %s is not a log of messages", entry.ID)
	}
	reader := messageReader{lines: lineRange{first: max(in.FirstLine, 1), last: in.LastLine}, neighbors: in.Neighbors}
	if err := a.newArchivedText(io.Discard, lineRange{}).each(ctx, store, entry, reader.add); err != nil && !errors.Is(err, errReadEnough) {
		return "", err
	}
	return s.told.keep(reader.text(entry)), nil
}

// findArchive is the archive that an id means: for a confined server one of its
// agent, and no other is named.
func (s *mcpServer) findArchive(ctx context.Context, store *archive.Store, name string) (archive.Entry, error) {
	if s.options.Agent == "" {
		return findArchive(ctx, store, name)
	}
	all, err := store.List(ctx, archive.Filter{Agent: s.options.Agent})
	if err != nil {
		return archive.Entry{}, err
	}
	var ids []candidate
	for _, e := range all {
		ids = append(ids, archiveCandidate(e))
	}
	id, err := archiveIDs().resolve(name, ids)
	if err != nil {
		return archive.Entry{}, err
	}
	return all[slices.IndexFunc(all, func(e archive.Entry) bool { return e.ID == id })], nil
}

// errReadEnough ends the reading of an archive.
var errReadEnough = errors.New("read enough")

// messageReader collects the messages of a range of lines, and some beside.
type messageReader struct {
	lines     lineRange
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
	case m.Line < r.lines.first:
		r.before = append(r.before, text)
		r.before = r.before[max(0, len(r.before)-r.neighbors):]
		return nil
	case r.lines.last > 0 && m.Line > r.lines.last:
		if r.after++; r.after > r.neighbors {
			return errReadEnough
		}
	}
	for _, earlier := range r.before {
		r.bytes += len(earlier)
	}
	r.shown, r.before = append(r.shown, r.before...), nil
	if r.bytes += len(text); r.bytes > readBytes && len(r.shown) > 0 {
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
	head := fmt.Sprintf("   archive %s, %s, agent %s, session %s\n\n", e.ID, visible(e.Runtime), visible(e.Agent), visible(e.Session))
	text := quoted(head + strings.Join(r.shown, ""))
	if r.next > 0 {
		text += fmt.Sprintf("\nmore: first_line %d", r.next)
	}
	return text
}

// messageText is a message as memory_read shows it.
func messageText(m *session.Message) string {
	text := strings.TrimRight(plainText(string(m.AppendText(nil))), "\n")
	if text == "" {
		text = "(nothing to read)"
	}
	return "   " + visible(messageHeading(m)) + "\n" + indent(cutMessage(text)) + "\n\n"
}

// quoted puts text between the marks that say what it is.
func quoted(text string) string {
	return session.RecallBegin + "\n\n" + text + session.RecallEnd
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
	if err := checkKind(in.Kind); err != nil {
		return "", err
	}
	a := s.request(io.Discard)
	defer a.end()
	store, err := a.readMemory(ctx)
	if err != nil {
		return "", err
	}
	defer store.Close()
	if _, err := a.partOfMemory(ctx, store); err != nil {
		return "", err
	}
	if err := s.known(ctx, a.invocation, store, agent); err != nil {
		return "", err
	}
	known, err := store.Facts(ctx, memory.FactFilter{Agent: agent, Kind: in.Kind})
	if err != nil {
		return "", err
	}
	replaced, err := replacedFacts(ctx, store, memory.FactFilter{Agent: agent})
	if err != nil {
		return "", err
	}
	slices.Reverse(known) // newest first
	l := answerList{most: listBytes - len(session.RecallBegin) - len(session.RecallEnd)}
	own, _, err := store.ListOwnWords(ctx, memory.OwnWordsFilter{Agent: agent, Category: memory.CategoryFact})
	if err != nil {
		return "", err
	}
	for _, r := range own {
		if in.Kind == "" {
			l.add(fmt.Sprintf("   %s\n%s\n", newStoredBy(r).line(), indent(cutMessage(plainText(r.Text)))))
		}
	}
	for _, f := range known {
		if !f.Damaged {
			text := plainText(f.Text)
			for _, before := range replaced[f.ID] {
				text += "\nbefore that, and not so any more: " + plainText(before.Text)
			}
			l.add(fmt.Sprintf("   %s  %s  confidence %.2f  agent %s\n%s\n", time.UnixMilli(f.CreatedAt).UTC().Format(time.DateOnly), visible(f.Kind), f.Confidence, visible(f.Agent), indent(cutMessage(text))))
		}
	}
	if l.lines == nil {
		return "no facts are known; sessctl extract-facts finds them", nil
	}
	return s.told.keep(quoted("\n"+strings.Join(l.lines, "")) + l.more("facts")), nil
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
	defer a.end()
	since, err := parseTime(in.Since, a.now())
	if err != nil {
		return "", usageError("write 30d, 12h, 2026-03-01 or 2026-03-01T12:00:00Z", "since: %w", err)
	}
	if err := s.known(ctx, a.invocation, nil, agent); err != nil {
		return "", err
	}
	all, err := a.allSessions(ctx, scope{agent: agent})
	if err != nil {
		return "", err
	}
	l := answerList{most: listBytes}
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
func (a *invocation) allSessions(ctx context.Context, of scope) ([]*sessionAnswer, error) {
	known := map[memory.Source]*sessionAnswer{}
	at := func(source memory.Source) *sessionAnswer {
		if known[source] == nil {
			known[source] = &sessionAnswer{source: source}
		}
		return known[source]
	}
	entries, err := a.archived(ctx, archive.Filter{})
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
	live, _, err := a.listStores(ctx)
	if err != nil && len(entries) == 0 {
		return nil, err
	}
	for _, s := range live.sessions {
		if shown(s.Kind) {
			x := at(memory.Source{Runtime: s.Runtime, Agent: s.Agent, Session: s.ID})
			x.live, x.last, x.bytes = true, s.ModTime, s.Bytes
		}
	}
	var all []*sessionAnswer
	for source, x := range known {
		if of.holds(source.Runtime, source.Agent) {
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
	return fmt.Sprintf("%s  %s  %s  session %s  %s  %s  %s\n", x.last.UTC().Format("2006-01-02 15:04"), visible(x.source.Runtime), visible(x.source.Agent),
		visible(x.source.Session), formatBytes(x.bytes), state, where)
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
	defer a.end()
	if err := s.known(ctx, a.invocation, nil, agent); err != nil {
		return "", err
	}
	doc, err := a.sizes(ctx, sizesOptions{Agent: agent, Over: in.Over, Sort: "tokens", Threshold: a.config.Compaction.Threshold})
	if err != nil {
		return "", err
	}
	if len(doc.Sessions) == 0 {
		return "no sessions", nil
	}
	if err := renderSizes(a, doc); err != nil {
		return "", err
	}
	l := answerList{most: listBytes}
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
		return "", usageError("sessions lists the agents there are", "agent is empty")
	}
	var out strings.Builder
	a := s.request(&out)
	defer a.end()
	a.global.LockWait = cmp.Or(a.global.LockWait, jobLockWait)
	o, err := parseCompact(a, whose(agent).text("--session", in.Session).on("--force", in.Force).on("--dry-run", !in.Confirm))
	if err != nil {
		return "", err
	}
	if err = runCompact(ctx, a, o); errors.As(err, new(*outcomeError)) {
		err = nil // what there is to say was printed
	}
	return out.String() + notesText(a.notes), err
}

// notesText is what the notes of a call say.
func notesText(notes []note) string {
	var b strings.Builder
	for _, n := range notes {
		b.WriteString("note: " + visible(n.text()) + "\n")
	}
	return b.String()
}
