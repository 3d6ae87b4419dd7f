package copilot

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// injected is the CustomType of what the runtime puts around what a person has
// typed: the time, and reminders.
const injected = "copilot.context"

// Scan implements [session.Store]: what is said in a session, in file order. What
// an agent says that the session's agent has begun is never sent with the
// session: it is out of context. The summary of a compaction takes the place of
// everything before the compaction began, and keeps what people had typed until
// then. Memory grows by that.
func (s *Store) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	scan := &scanner{thinking: o.Thinking, details: o.Details, tools: map[string][]byte{}, starts: map[string]compactionStart{}}
	return scan.lines.Run(ctx, r, emit, scan.read)
}

// scanner is the state of one scan.
type scanner struct {
	decoder
	lines    session.LineScan
	thinking bool
	details  bool
	message  session.Message

	previous int64 // time of the record before
	time     int64
	inferred bool
	cwd      []byte

	usage  session.Usage              // of the model call whose answer comes next
	tools  map[string][]byte          // names, by the ids of calls that are not finished
	typed  []session.Message          // what people typed so far, for the summaries of compactions
	starts map[string]compactionStart // of compactions that are not finished, by attempt
	passed session.PassedRecords
}

// compactionStart is where a compaction began.
type compactionStart struct {
	record []byte // its id
	typed  int    // how many messages people had typed
}

// maxOpen bounds how many calls, or compactions, are waited for at a time.
const maxOpen = 4096

func (s *scanner) read(r *jsonl.Record) (known bool, err error) {
	if err := s.decode(r.Raw); err != nil {
		return false, err
	}
	s.settleTime()
	switch s.record.kind {
	case foreign:
		x := session.Strange{Runtime: session.RuntimeCopilot, Type: s.record.name, Line: r.Line, Raw: r.Raw, Data: s.record.data, Aside: s.record.agent}
		s.lines.Result.Meet(x)
		return false, nil
	case header:
		s.header()
	case asked:
		err = s.asked(r)
	case answered:
		err = s.answered(r)
	case thought:
		err = s.thought(r)
	case started:
		if t := s.toolCall(); len(s.tools) < maxOpen {
			s.tools[string(t.id)] = bytes.Clone(t.name)
		}
	case finished:
		err = s.finished(r)
	case counted:
		if !s.record.agent {
			s.usage = s.decoder.usage()
		}
	case asset:
		s.lines.Result.LeftOut += int64(len(s.record.data))
	case squeezing:
		s.squeezing()
	case squeezed:
		err = s.squeezed(r)
	case failure:
		err = s.failure(r)
	}
	return true, err
}

func (s *scanner) settleTime() {
	var ok bool
	if s.time, _, ok = session.ParseTime(s.record.time); !ok {
		s.time = s.previous
	}
	s.previous, s.inferred = s.time, !ok
}

func (s *scanner) header() {
	result, b := &s.lines.Result, s.beginning()
	if result.Headers++; result.Headers == 1 {
		result.SessionID, result.Version = b.id, int(b.version)
	}
	if b.cwd != "" {
		s.cwd = []byte(b.cwd)
	}
}

// start begins a message of the record.
func (s *scanner) start(role session.Role) *session.Message {
	s.message = session.Message{
		Parts: s.message.Parts[:0], Role: role, ID: s.record.id, Time: s.time, TimeInferred: s.inferred,
		Directory: s.cwd, OutOfContext: s.record.agent,
	}
	return &s.message
}

// say hands the message out. What was left out of the record counts once, with
// its first message.
func (s *scanner) say(r *jsonl.Record) error {
	if len(s.message.Parts) == 0 && len(s.message.ErrorText) == 0 && !s.message.Compaction {
		return nil
	}
	s.message.CutBytes, r.CutBytes = r.CutBytes, 0
	s.passed.Give(&s.message)
	return s.lines.Say(r, &s.message)
}

// add adds a text to the message, if it says anything.
func (s *scanner) add(text []byte) {
	if len(text) > 0 {
		s.message.Parts = append(s.message.Parts, session.Part{Kind: session.PartText, Text: text})
	}
}

// asked hands out what a person typed, between what the runtime put before and
// after it.
func (s *scanner) asked(r *jsonl.Record) error {
	q := s.question()
	before, after, within := q.around()
	if err := s.put(r, before, within); err != nil {
		return err
	}
	m := s.start(session.RoleUser)
	if s.record.agent {
		m.Role, m.CustomType = session.RoleInjected, []byte("agent.task") // the other agent's words
	}
	s.add(q.content)
	for _, a := range q.attachments {
		if len(a.asset) > 0 {
			m.Parts = append(m.Parts, session.Part{Kind: session.PartImage, Size: a.size})
		}
	}
	if m.OutOfContext = m.OutOfContext || !within; within {
		m.Sent = q.transformed
	}
	if !s.record.agent {
		s.remember(q.content)
	}
	s.lines.Result.Records++
	if err := s.say(r); err != nil {
		return err
	}
	return s.put(r, after, within)
}

// put hands out what the runtime put in, within what a person typed or in its place.
func (s *scanner) put(r *jsonl.Record, text []byte, within bool) error {
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return nil
	}
	m := s.start(session.RoleInjected)
	m.CustomType, m.Within = []byte(injected), within
	s.add(text)
	return s.say(r)
}

// remember notes what a person typed: the next summary is sent with it.
func (s *scanner) remember(content []byte) {
	if len(content) == 0 {
		return
	}
	s.typed = append(s.typed, session.Message{
		Role: session.RoleUser, Time: s.time, ID: slices.Clone(s.record.id), Within: true,
		Parts: []session.Part{{Kind: session.PartText, Text: slices.Clone(content)}},
	})
}

func (s *scanner) answered(r *jsonl.Record) error {
	m, a := s.start(session.RoleAssistant), s.answer()
	m.Model = a.model
	if s.thinking && len(a.reasoning) > 0 {
		m.Parts = append(m.Parts, session.Part{Kind: session.PartThinking, Text: a.reasoning})
	}
	s.add(a.content)
	m.Parts = append(m.Parts, a.calls...)
	if !s.record.agent {
		m.Usage, m.HasUsage = s.usage, s.usage.Total > 0
		s.usage = session.Usage{}
	}
	s.lines.Result.Records++
	return s.say(r)
}

// thought hands out a record of reasoning, if it was asked for.
func (s *scanner) thought(r *jsonl.Record) error {
	if !s.thinking {
		return nil
	}
	text := s.said("content")
	if len(text) == 0 {
		return nil
	}
	m := s.start(session.RoleAssistant)
	m.OutOfContext = true
	m.Parts = append(m.Parts, session.Part{Kind: session.PartThinking, Text: text})
	return s.say(r)
}

func (s *scanner) finished(r *jsonl.Record) error {
	m, o := s.start(session.RoleToolResult), s.output()
	m.CallID, m.ToolName, m.IsError = o.id, s.tools[string(o.id)], o.failed
	delete(s.tools, string(o.id))
	m.ExitCode, m.HasExit = int(o.exit), o.hasExit
	text := o.content
	if len(text) == 0 {
		text = o.failure
	}
	m.Parts = append(m.Parts, session.Part{Kind: session.PartText, Text: text})
	if unsent := session.Unsent(text, o.whole); len(unsent) > 0 {
		m.Parts = append(m.Parts, session.Part{Kind: session.PartUnsent, Text: unsent})
	}
	if s.details {
		m.Details = s.record.data
	}
	s.lines.Result.Records++
	return s.say(r)
}

// squeezing notes where a compaction begins: what comes from here on stays.
func (s *scanner) squeezing() {
	if s.record.agent || len(s.starts) >= maxOpen {
		return
	}
	s.passed.Add(s.record.id)
	s.starts[s.compaction().attempt] = compactionStart{record: slices.Clone(s.record.id), typed: len(s.typed)}
}

// squeezed hands out the summary of a compaction that was applied.
func (s *scanner) squeezed(r *jsonl.Record) error {
	x := s.compaction()
	from, known := s.starts[x.attempt]
	delete(s.starts, x.attempt)
	if !x.applied || s.record.agent {
		return nil
	}
	m := s.start(session.RoleSummary)
	m.Compaction, m.KeptFirst, m.Kept = true, true, s.typed
	if known {
		m.FirstKept, m.Kept = from.record, s.typed[:from.typed]
	}
	s.add(x.summary)
	m.Sent = summaryAsSent(m.Kept, x.summary)
	return s.say(r)
}

// summaryAsSent is a summary with the questions and the words that Copilot puts around it.
func summaryAsSent(asked []session.Message, summary []byte) []byte {
	text := []byte("Some of the conversation history has been summarized to free up context.\n\n")
	if len(asked) > 0 {
		text = append(text, "You were originally given instructions from a user over one or more turns. Here were the user messages:\n"...)
	}
	for i := range asked {
		text = fmt.Appendf(text, "<user_message>\n%s\n</user_message>\n", asked[i].FirstText())
	}
	return fmt.Appendf(text, "\nHere is a summary of the prior context:\n<summary>\n%s\n</summary>\n", summary)
}

func (s *scanner) failure(r *jsonl.Record) error {
	m := s.start(session.RoleAssistant)
	m.IsError, m.StopReason = true, []byte("error")
	m.ErrorText = s.trouble()
	m.OutOfContext = true
	return s.say(r)
}
