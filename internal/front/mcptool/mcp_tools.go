package mcptool

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/carry"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
)

// RecallInput is what memory_recall is asked.
type RecallInput struct {
	Query    string `json:"query" jsonschema:"what to look for: a question, or words and names as they were written"`
	Agent    string `json:"agent,omitempty" jsonschema:"only sessions of this agent"`
	Since    string `json:"since,omitempty" jsonschema:"only what was said from then on: 30d, 12h, 2026-03-01"`
	Until    string `json:"until,omitempty" jsonschema:"only what was said before then"`
	Category string `json:"category,omitempty" jsonschema:"only session_history, session_summary, fact or lesson"`
	Limit    int    `json:"limit,omitempty" jsonschema:"how many passages, 1 to 10 (default 5)"`
	// Everywhere asks the memory that hosts share.
	Everywhere bool `json:"everywhere,omitempty" jsonschema:"also what other hosts remember, if they share a memory"`
}

// RecallText is what memory_recall returns, in at most RecallBytes. Its lines
// have the shape of recall's, so that no later recall finds them in a session.
// reading says how a hit is read in full.
func RecallText(doc recall.Document, reading func(recall.Hit) string) string {
	if !doc.Answers() {
		return "nothing found that fits"
	}
	p := &recall.PassagePrinter{Terms: recall.QueryTerms(doc.Query)}
	heads := make([]string, len(doc.Hits))
	stands := ""
	if doc.State != nil {
		stands = steps.DescribeBrief(*doc.State) + "\n"
	}
	room := recall.RecallBytes - len(session.RecallBegin) - len(session.RecallEnd) - 8 - len(stands)
	for i, h := range doc.Hits {
		heads[i] = fmt.Sprintf("%d. %s\n   %s\n", i+1, recall.HitLine(h), reading(h))
		room -= len(heads[i]) + 2
	}
	var b strings.Builder
	b.WriteString(session.RecallBegin + "\n\n" + stands)
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

// ReadingOf says how a hit is read in full.
func ReadingOf(h recall.Hit) string {
	if h.Stored != nil {
		return recall.Line(h.Stored)
	}
	if h.Source.Archive == "" {
		return Call("memory_read", ReadInput{Hit: h.ID[:min(len(h.ID), ShownID)]})
	}
	return Call("memory_read", ReadInput{Archive: h.Source.Archive, FirstLine: h.Source.FirstLine, LastLine: h.Source.LastLine})
}

// ShownID is how many characters of a record's id are shown.
const ShownID = 16

// ReadInput is what memory_read is asked.
type ReadInput struct {
	Archive   string `json:"archive,omitempty" jsonschema:"id of an archive, as memory_recall and sessions name it"`
	FirstLine int    `json:"first_line,omitempty" jsonschema:"first line of the log to read (default 1)"`
	LastLine  int    `json:"last_line,omitempty" jsonschema:"last line to read (default: as far as one answer holds)"`
	Lines     string `json:"lines,omitempty" jsonschema:"the lines as a range, 29-32, instead of first_line and last_line"`
	Hit       string `json:"hit,omitempty" jsonschema:"id of a hit, instead of archive and lines"`
	Neighbors int    `json:"neighbors,omitempty" jsonschema:"how many messages before and after to show too, 0 to 10"`
}

// MessageReader collects the messages of a range of lines, and some beside.
type MessageReader struct {
	Lines     steps.LineRange
	Neighbors int
	Known     *secrets.Session // the secrets of the whole log, to be masked

	before []string // messages before the range, the last of them
	shown  []string
	after  int // messages behind the range
	bytes  int
	next   int // line of the first message that did not fit, or 0
}

// Add adds a message that is in the range.
func (r *MessageReader) Add(m *session.Message) error {
	text := r.messageText(m)
	switch {
	case m.Line < r.Lines.First:
		r.before = append(r.before, text)
		r.before = r.before[max(0, len(r.before)-r.Neighbors):]
		return nil
	case r.Lines.Last > 0 && m.Line > r.Lines.Last:
		if r.after++; r.after > r.Neighbors {
			return recall.ErrReadEnough
		}
	}
	for _, earlier := range r.before {
		r.bytes += len(earlier)
	}
	r.shown, r.before = append(r.shown, r.before...), nil
	if r.bytes += len(text); r.bytes > recall.ReadBytes && len(r.shown) > 0 {
		r.next = m.Line
		return recall.ErrReadEnough
	}
	r.shown = append(r.shown, text)
	return nil
}

// Text is what was read.
func (r *MessageReader) Text(e archive.Entry) string {
	if len(r.shown) == 0 {
		return fmt.Sprintf("archive %s has no message in these lines", e.ID)
	}
	head := fmt.Sprintf("   archive %s, %s, agent %s, session %s\n\n", e.ID, wording.Visible(e.Runtime), wording.Visible(e.Agent), wording.Visible(e.Session))
	text := steps.Quoted(head + strings.Join(r.shown, ""))
	if r.next > 0 {
		text += "\nmore: " + Call("memory_read", ReadInput{Archive: e.ID, FirstLine: r.next, LastLine: r.Lines.Last, Neighbors: r.Neighbors})
	}
	return text
}

// messageText is a message as memory_read shows it.
func (r *MessageReader) messageText(m *session.Message) string {
	said, _ := r.Known.RedactBytes(m.AppendText(nil))
	text := strings.TrimRight(steps.PlainText(string(said)), "\n")
	if text == "" {
		text = "(nothing to read)"
	}
	return "   " + wording.Visible(steps.MessageHeading(m)) + "\n" + recall.Indent(CutMessage(text)) + "\n\n"
}

// StateInput is what memory_state is asked.
type StateInput struct {
	Agent   string `json:"agent,omitempty" jsonschema:"whose work: the newest session of this agent (default: of all)"`
	Session string `json:"session,omitempty" jsonschema:"the session with this id or key"`
}

// FactsInput is what memory_facts is asked.
type FactsInput struct {
	Query string `json:"query,omitempty" jsonschema:"only facts that answer this, the best first; all facts without it"`
	Agent string `json:"agent,omitempty" jsonschema:"only facts of this agent's sessions"`
	Kind  string `json:"kind,omitempty" jsonschema:"only preference, background, pattern, project, contact, decision, environment or deadline"`
}

// AnswerList is a list that is cut where an answer is full.
type AnswerList struct {
	Lines   []string
	Most    int // bytes
	bytes   int
	leftOut int
}

// Add adds an answer, unless there is no room.
func (l *AnswerList) Add(line string) {
	if l.bytes+len(line) > l.Most || l.leftOut > 0 {
		l.leftOut++
		return
	}
	l.bytes += len(line)
	l.Lines = append(l.Lines, line)
}

// More says what did not fit.
func (l *AnswerList) More(what string) string {
	if l.leftOut == 0 {
		return ""
	}
	return fmt.Sprintf("\n%d more %s are not shown", l.leftOut, what)
}

// SessionsInput is what sessions is asked.
type SessionsInput struct {
	Agent  string `json:"agent,omitempty" jsonschema:"only sessions of this agent"`
	Since  string `json:"since,omitempty" jsonschema:"only sessions that were used since then: 30d, 12h, 2026-03-01"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many (default: as many as one answer holds)"`
	Offset int    `json:"offset,omitempty" jsonschema:"how many of the newest to pass over"`
}

// Page is the answer to what sessions is asked, of all sessions that fit.
func (in SessionsInput) Page(fit []*KnownSession) (string, error) {
	if in.Offset < 0 || in.Limit < 0 {
		return "", failure.Usage("offset and limit count sessions", "offset %d and limit %d are no page", in.Offset, in.Limit)
	}
	page := fit[min(in.Offset, len(fit)):]
	if in.Limit > 0 {
		page = page[:min(in.Limit, len(page))]
	}
	l := AnswerList{Most: recall.ListBytes}
	for _, x := range page {
		l.Add(x.line())
	}
	end := in.Offset + len(l.Lines)
	switch rest := len(fit) - end; {
	case len(l.Lines) == 0 && in.Offset > 0 && len(fit) > 0:
		return fmt.Sprintf("no more sessions: there are %d", len(fit)), nil
	case len(l.Lines) == 0:
		return "no sessions", nil
	case rest > 0:
		in.Offset = end
		l.Lines = append(l.Lines, fmt.Sprintf("\n%d more: %s", rest, Call("sessions", in)))
	}
	return strings.Join(l.Lines, ""), nil
}

// KnownSession is a session of which there is a log, an archive, or both.
type KnownSession struct {
	source   memory.Source
	Last     time.Time // when it was used last
	bytes    int64     // of its log
	live     bool      // its log is there
	archives []string  // ids
}

// AllSessions are the sessions of the stores and of the archive, those that were used
// last first. When an archive was made says nothing of that.
func AllSessions(ctx context.Context, a *workspace.Run, of selection.Scope) ([]*KnownSession, error) {
	known := map[memory.Source]*KnownSession{}
	at := func(source memory.Source) *KnownSession {
		if known[source] == nil {
			known[source] = &KnownSession{source: source}
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
		used := e.SourceModTime
		if used.IsZero() {
			used = e.CreatedAt
		}
		if !used.Before(x.Last) {
			x.Last, x.bytes = used, e.Bytes
		}
	}
	live, _, err := a.ListStores(ctx)
	if err != nil && len(entries) == 0 {
		return nil, err
	}
	for _, s := range live.Sessions {
		source := memory.Source{Runtime: s.Runtime, Agent: s.Agent, Session: s.ID}
		if workspace.Shown(s.Kind) || known[source] != nil {
			x := at(source)
			x.live, x.Last, x.bytes = true, s.ModTime, s.Bytes
		}
	}
	var all []*KnownSession
	for source, x := range known {
		if of.Holds(source.Runtime, source.Agent) {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(x, y *KnownSession) int {
		return cmp.Or(y.Last.Compare(x.Last), strings.Compare(x.source.Session, y.source.Session))
	})
	return all, nil
}

// line is the session as sessions shows it: with how its newest archive is read.
func (x *KnownSession) line() string {
	where := "not archived"
	if n := len(x.archives); n > 0 {
		where = Call("memory_read", ReadInput{Archive: x.archives[n-1]})
	}
	state := "live"
	if !x.live {
		state = "archived only"
	}
	return fmt.Sprintf("%s  %s  %s  session %s  %s  %s  %s\n", x.Last.UTC().Format("2006-01-02 15:04"), wording.Visible(x.source.Runtime), wording.Visible(x.source.Agent),
		wording.Visible(x.source.Session), wording.Bytes(x.bytes), state, where)
}

// SizesInput is what session_sizes is asked.
type SizesInput struct {
	Agent string `json:"agent,omitempty" jsonschema:"only sessions of this agent"`
	Over  bool   `json:"over,omitempty" jsonschema:"only sessions that are due for compaction"`
}

// CompactInput is what session_compact is asked.
type CompactInput struct {
	Agent   string `json:"agent" jsonschema:"whose main session"`
	Session string `json:"session,omitempty" jsonschema:"another session of the agent, by its id"`
	Force   bool   `json:"force,omitempty" jsonschema:"also if it is below the threshold"`
	Confirm bool   `json:"confirm,omitempty" jsonschema:"do it; without this only the plan is returned"`
}

// ContinueInput is what session_continue is asked.
type ContinueInput struct {
	Session string `json:"session" jsonschema:"id or key of a session, or of an archive's"`
	In      string `json:"in" jsonschema:"the runtime that goes on: claude, codex, gemini, openclaw, opencode, pi or qwen"`
	Agent   string `json:"agent,omitempty" jsonschema:"whose session it is"`
	Cwd     string `json:"cwd,omitempty" jsonschema:"the working directory in which it goes on (default: the session's)"`
	Budget  int64  `json:"budget,omitempty" jsonschema:"at most about this many tokens: a summary takes the place of older turns"`
	Confirm bool   `json:"confirm,omitempty" jsonschema:"do it; without this only what would arrive is returned"`
}

// Options are the same as those of the command continue. Secrets are always masked.
func (in ContinueInput) Options(of selection.Scope, quiet time.Duration) steps.ContinueOptions {
	return steps.ContinueOptions{Session: in.Session, In: in.In, Cwd: in.Cwd, Budget: in.Budget, Tools: string(carry.Mixed), DryRun: !in.Confirm, Of: of, Quiet: quiet}
}

// NotesText is what the notes of a call say.
func NotesText(notes []workspace.Note) string {
	var b strings.Builder
	for _, n := range notes {
		b.WriteString("note: " + wording.Visible(n.Text()) + "\n")
	}
	return b.String()
}
