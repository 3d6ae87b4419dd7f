package piformat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
)

// kind is what a record is.
type kind uint8

const (
	unknown       kind = iota
	header             // a session starts
	message            // somebody said something
	compaction         // a summary of what came before
	branchSummary      // a summary of a branch that was left
	customMessage      // an extension said something to the model
	reset              // the context starts empty from here
	contextEdit        // an earlier entry is sent no more, or with other content
	bookkeeping        // known, says nothing
)

// kindOf maps the value of "type" (docs/dev/formats.md, "pi"). "reset" is OpenClaw's,
// since 2026.9; "reset_boundary" and what follows "custom" are oh-my-pi's.
func kindOf(name []byte) kind {
	switch string(name) {
	case "session":
		return header
	case "message":
		return message
	case "compaction":
		return compaction
	case "branch_summary":
		return branchSummary
	case "custom_message":
		return customMessage
	case "reset", "reset_boundary":
		return reset
	case "context_edit":
		return contextEdit
	case "model_change", "thinking_level_change", "label", "session_info", "custom", "usage",
		"title", "title_change", "model_usage", "service_tier_change", "mode_change", "ttsr_injection", "credential_pin", "session_init":
		return bookkeeping
	}
	return unknown
}

// says reports whether records of the kind are messages for the reader.
func (k kind) says() bool {
	return k == message || k == compaction || k == branchSummary || k == customMessage
}

// ours reports whether the record tells that the file is of this format. Other
// runtimes, too, have records named "compaction".
func (e *entry) ours() bool {
	return e.kind == header || e.kind == message || (e.kind != unknown && len(e.id) > 0)
}

// entry is one decoded record. Its slices are valid until the next decode.
type entry struct {
	kind       kind
	name       []byte // the value of "type"
	id         []byte // empty if the record has none
	parent     []byte
	root       bool   // parentId is null
	time       []byte // raw JSON
	firstKept  []byte // of a compaction: the id of the first entry that stays
	keptIndex  int64  // of a compaction in version 1: the same as an index, header first
	hasKept    bool   // keptIndex is set
	version    int64  // of a header
	cwd        []byte
	parentFile []byte

	target      []byte // of a context edit: the id of the entry that it is about
	omits       bool   // it is sent no more
	replacement []byte // raw JSON: what is sent in the place of its content

	oddBlock []byte // the type of a block that is not known

	hasMessage bool
	customType []byte
	summary    []byte
	content    []byte // raw JSON of a custom_message
	details    []byte // raw JSON, of a compaction: its lists of files
	fromHook   bool   // an extension made the compaction: its details are its own
}

// decoder turns the text of a record into an entry and a message. It keeps
// its memory from record to record.
type decoder struct {
	thinking bool         // whether thinking parts are wanted
	unsent   bool         // whether output is wanted that the model was not sent
	details  bool         // whether what stands beside a tool's output is wanted
	cursor   jsonl.Cursor // of the record
	inner    jsonl.Cursor // of content that is read after the type is known
	entry    entry
	message  session.Message

	messageTime []byte // raw JSON
	aggregated  []byte // all that a command printed, raw JSON
	role        []byte
	shell       shellFields
	block       block
}

// records is what is read of a record (docs/dev/formats.md, "pi" and "openclaw").
var records = fields.New(func(d *decoder) []fields.Field {
	e, m := &d.entry, &d.message
	return []fields.Field{
		fields.Text("type", &e.name),
		fields.ID("id", &e.id),
		fields.ID("parentId", &e.parent),
		fields.Null("parentId", &e.root),
		fields.Raw("timestamp", &e.time),
		fields.Text("customType", &e.customType),
		fields.Raw("content", &e.content),
		fields.Text("summary", &e.summary),
		fields.Raw("details", &e.details),
		fields.Flag("fromHook", &e.fromHook),
		fields.ID("firstKeptEntryId", &e.firstKept),
		fields.Func("firstKeptEntryIndex", func(d *decoder, c *jsonl.Cursor) { d.entry.keptIndex, d.entry.hasKept = c.Int64() }),
		fields.ID("targetId", &e.target),
		fields.Null("replacement", &e.omits),
		fields.Value("replacement.content", &e.replacement),
		fields.Int("version", &e.version),
		fields.Text("cwd", &e.cwd),
		fields.Text("parentSession", &e.parentFile),

		fields.Begin("message", (*decoder).begin),
		fields.Text("message.role", &d.role),
		fields.Func("message.content", (*decoder).replaceContent),
		fields.Raw("message.timestamp", &d.messageTime),
		fields.ID("message.toolCallId", &m.CallID),
		fields.Text("message.toolName", &m.ToolName),
		fields.Flag("message.isError", &m.IsError),
		fields.Func("message.details", (*decoder).readDetails),
		fields.Begin("message.usage", func(d *decoder, object bool) { d.message.Usage, d.message.HasUsage = session.Usage{}, object }),
		fields.Count("message.usage.input", &m.Usage.Input),
		fields.Count("message.usage.output", &m.Usage.Output),
		fields.Count("message.usage.cacheRead", &m.Usage.CacheRead),
		fields.Count("message.usage.cacheWrite", &m.Usage.CacheWrite),
		fields.Count("message.usage.totalTokens", &m.Usage.Total),
		fields.Text("message.stopReason", &m.StopReason),
		fields.Text("message.errorMessage", &m.ErrorText),
		fields.Text("message.provider", &m.Provider),
		fields.Text("message.model", &m.Model),
		fields.Text("message.customType", &m.CustomType),
		fields.Text("message.command", &d.shell.command),
		fields.Text("message.output", &d.shell.output),
		fields.Text("message.summary", &d.shell.summary),
		fields.Func("message.exitCode", (*decoder).setExit),
		fields.Flag("message.excludeFromContext", &m.OutOfContext),
	}
})

// blocks is what is read of a block of content, into block.
var blocks = fields.New(func(d *decoder) []fields.Field {
	b := &d.block
	return []fields.Field{
		fields.Text("type", &b.kind),
		fields.Text("text", &b.text),
		fields.Text("thinking", &b.thinking).When(&d.thinking),
		fields.Text("name", &b.name),
		fields.ID("id", &b.id),
		fields.Value("arguments", &b.args),
		fields.Raw("data", &b.data),
	}
})

// outcomes is what is read of a tool's details.
var outcomes = fields.New(func(d *decoder) []fields.Field {
	return []fields.Field{fields.Func("exitCode", (*decoder).setExit), fields.Raw("aggregated", &d.aggregated)}
})

// decode reads one record. It returns an error that wraps [jsonl.ErrSyntax]
// if raw is not one JSON object.
func (d *decoder) decode(raw []byte) error {
	d.entry = entry{}
	d.clearMessage()
	if err := records.Read(d, &d.cursor, raw); err != nil {
		return err
	}
	d.classify()
	return nil
}

// classify settles what the record is, now that all of it was read.
func (d *decoder) classify() {
	e := &d.entry
	e.kind = kindOf(e.name)
	if len(d.message.CustomType) == 0 {
		d.message.CustomType = e.customType
	}
	if e.hasMessage {
		d.settleRole()
	}
	switch e.kind {
	case header:
		if len(e.id) == 0 {
			e.kind = unknown
		}
	case message:
		if !e.hasMessage {
			e.kind = unknown
		}
	case compaction, branchSummary:
		d.clearMessage()
		d.message.Role = session.RoleSummary
		d.message.Compaction, d.message.FirstKept = e.kind == compaction, e.firstKept
		d.message.AddText(e.summary)
		d.message.Sent = summaryAsSent(e.kind, e.summary)
		d.fileLists()
	case customMessage:
		d.customMessage()
	case contextEdit:
		if len(e.id) == 0 || len(e.target) == 0 || e.omits == (e.replacement != nil) {
			e.kind = unknown
		}
	}
	if e.kind != message {
		d.messageTime = nil // what such a record has as "message" is none
	}
	d.message.ID = e.id
}

// summaryAsSent is a summary with the words that pi puts around it.
func summaryAsSent(of kind, summary []byte) []byte {
	switch {
	case len(summary) == 0:
		return nil
	case of == branchSummary:
		return fmt.Appendf(nil, "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n%s</summary>", summary)
	}
	return fmt.Appendf(nil, "The conversation history before this point was compacted into the following summary:\n\n<summary>\n%s\n</summary>", summary)
}

// settleTime gives the message its time: its own, else its entry's, else that
// of the record before it (docs/dev/formats.md, "pi": two clocks). It returns the
// time for the record after it.
func (d *decoder) settleTime(previous int64) int64 {
	m := &d.message
	for _, raw := range [...][]byte{d.messageTime, d.entry.time} {
		if ms, naive, ok := session.ParseTime(raw); ok {
			m.Time, m.TimeInferred = ms, naive
			return ms
		}
	}
	m.Time, m.TimeInferred = previous, true
	return previous
}

// fileLists reads the lists of files of a summary that the runtime itself made:
// those of an extension are its own (docs/dev/formats.md, "pi").
func (d *decoder) fileLists() {
	c := &d.inner
	c.Reset(d.entry.details)
	if len(d.entry.details) == 0 || d.entry.fromHook || !c.EnterObject() {
		return
	}
	for c.NextKey() {
		switch string(c.Key()) {
		case "readFiles":
			d.message.ReadFiles = session.StringList(c)
		case "modifiedFiles":
			d.message.ModifiedFiles = session.StringList(c)
		case "summaryBy":
			by, _ := c.Bytes()
			d.message.Own = d.message.Compaction && string(by) == session.SummaryBy
		}
	}
}

func (d *decoder) customMessage() {
	customType := d.message.CustomType
	d.clearMessage()
	d.message.Role = session.RoleInjected
	d.message.CustomType = customType
	d.inner.Reset(d.entry.content)
	d.content(&d.inner)
}

// clearMessage empties the message and keeps its memory.
func (d *decoder) clearMessage() {
	d.message = session.Message{Parts: d.message.Parts[:0]}
	d.messageTime, d.role, d.aggregated, d.shell = nil, nil, nil, shellFields{}
}

// begin begins the value of "message". A second one in the same record replaces the
// first, as in JavaScript.
func (d *decoder) begin(object bool) {
	d.clearMessage()
	d.entry.hasMessage = object
}

// shellFields are the fields of a command that the user ran by hand, and the
// text of a summary that was written as a message.
type shellFields struct{ command, output, summary []byte }

// aggregate adds what OpenClaw's details of a command have beyond its result.
func (d *decoder) aggregate() {
	d.inner.Reset(d.aggregated)
	if whole, ok := d.inner.Bytes(); ok {
		d.message.AddUnsent(whole)
	}
}

// settleRole gives the message its role and what only that role has.
func (d *decoder) settleRole() {
	m, shell := &d.message, &d.shell
	switch string(d.role) {
	case "user":
		m.Role = session.RoleUser
	case "assistant":
		m.Role = session.RoleAssistant
		m.IsError = string(m.StopReason) == "error"
		if mirrored(m) {
			m.Role = session.RoleInjected
		}
	case "toolResult":
		m.Role = session.RoleToolResult
		if d.unsent && d.aggregated != nil {
			d.aggregate()
		}
	case "bashExecution":
		m.Role = session.RoleShell
		m.Parts = append(m.Parts, session.Part{Kind: session.PartCommand, Text: shell.command})
		d.message.AddText(shell.output)
	case "system":
		m.Role = session.RoleSystem
	case "branchSummary", "compactionSummary":
		m.Role = session.RoleSummary
		d.message.AddText(shell.summary)
	case "custom", "hookMessage":
		m.Role = session.RoleInjected
	default:
		d.unknownRole()
	}
	if m.Role == session.RoleInjected && string(m.Provider) == fromGateway {
		m.SentAs = session.RoleAssistant
	}
}

// unknownRole keeps what is said under a role that is not known.
func (d *decoder) unknownRole() {
	d.message.Role = session.RoleInjected
	if len(d.message.CustomType) == 0 {
		d.message.CustomType = append([]byte("role "), d.role...)
	}
	d.message.OddRole = append([]byte{}, d.role...)
}

// fromGateway is the provider of what OpenClaw's gateway says itself.
const fromGateway = "openclaw"

// mirrored reports whether OpenClaw's gateway put the message there, not the
// model (docs/dev/formats.md, "openclaw").
func mirrored(m *session.Message) bool {
	return string(m.Provider) == fromGateway &&
		(string(m.Model) == "delivery-mirror" || string(m.Model) == "gateway-injected")
}

func (d *decoder) setExit(c *jsonl.Cursor) {
	if code, ok := c.Int64(); ok {
		d.message.ExitCode, d.message.HasExit = int(code), true
	}
}

// readDetails takes the exit code out of a tool's details, and of a command
// all that it printed, which the result may have a part of.
func (d *decoder) readDetails(c *jsonl.Cursor) {
	if d.details {
		d.message.Details = c.Raw()
		d.inner.Reset(d.message.Details)
		c = &d.inner
	}
	outcomes.Take(d, c)
}

// block is one element of a message's content while it is read.
type block struct {
	kind, text, thinking, name, id []byte
	args, data                     []byte // raw JSON; data is an image in base64
}

// replaceContent reads content in the place of what was read before.
func (d *decoder) replaceContent(c *jsonl.Cursor) {
	d.message.Parts = d.message.Parts[:0]
	d.content(c)
}

func (d *decoder) content(c *jsonl.Cursor) {
	fields.Content(c, d.message.AddText, func(c *jsonl.Cursor) {
		d.block = block{}
		blocks.Take(d, c)
		d.addBlock()
	})
}

// addBlock adds the part that the block is. A block of an unknown type that
// has text is text.
func (d *decoder) addBlock() {
	b, m := &d.block, &d.message
	switch string(b.kind) {
	case "toolCall":
		m.Parts = append(m.Parts, session.Part{Kind: session.PartToolCall, Name: b.name, CallID: b.id, Text: b.args})
		return
	case "image":
		m.Parts = append(m.Parts, session.Part{Kind: session.PartImage, Size: int64(max(len(b.data)-2, 0)), Image: b.data})
		return
	case "thinking":
		if len(b.thinking) > 0 {
			m.Parts = append(m.Parts, session.Part{Kind: session.PartThinking, Text: b.thinking})
		}
		return
	case "text", "":
	default:
		d.entry.oddBlock = b.kind
	}
	d.message.AddText(b.text)
}

// Header is the record that starts a session.
type Header struct {
	ID            string
	Version       int    // of the format; 1 if the header names none
	CWD           string // where the agent worked
	ParentSession string // path of the log that this one was forked from, or ""
	Time          time.Time
	Line          int // 1-based; pi reads only a header on line 1 as such
	// Slot says that it is the second record, after oh-my-pi's slot for the title.
	Slot bool
}

var errFound = errors.New("found")

// ReadHeader returns the first header of a log; false if there is none in its
// first 256 KiB.
func ReadHeader(r io.Reader) (Header, bool, error) {
	var d decoder
	start := make([]byte, HeaderRoom)
	n, err := io.ReadFull(r, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Header{}, false, fmt.Errorf("read header: %w", err)
	}
	if h, ok := d.header(start[:n]); ok {
		return h, h.ID != "", nil
	}
	return searchHeader(io.MultiReader(bytes.NewReader(start[:n]), r))
}

// HeaderRoom is the room in bytes that a header on the first line takes: the
// reader of lines, with its buffer of 256 KiB, is for all others.
const HeaderRoom = 2 << 10

// header returns the header that is on the first line of start, if it is whole.
func (d *decoder) header(start []byte) (Header, bool) {
	line, _, whole := bytes.Cut(start, []byte("\n"))
	if !whole || d.decode(line) != nil || d.entry.kind != header {
		return Header{}, false
	}
	return newHeader(&d.entry, 1), true
}

// IsEntry reports whether a log of which these are the first bytes begins with
// an entry: a record with an id and a parent.
func IsEntry(start []byte) bool {
	first, _, whole := bytes.Cut(start, []byte("\n"))
	if !whole { // it is longer than what was read: runtimes write these three first
		return entryStart().Match(first)
	}
	var d decoder
	return d.decode(first) == nil && d.entry.kind != header && d.entry.kind != unknown && len(d.entry.id) > 0
}

var entryStart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\{"type":"[a-z_]+","id":"[^"]+","parentId":`) })

// searchHeader looks for a header anywhere in the first 256 KiB.
func searchHeader(r io.Reader) (Header, bool, error) {
	var d decoder
	var h Header
	before, slot := 0, false // records
	head := io.LimitReader(r, session.HeadSize)
	_, err := jsonl.Scan(context.Background(), head, jsonl.Options{}, func(record *jsonl.Record) error {
		if err := d.decode(record.Raw); err != nil {
			return err
		}
		if d.entry.kind != header {
			before++
			slot = record.Line == 1 && string(d.entry.name) == titleSlot
			return nil
		}
		h = newHeader(&d.entry, record.Line)
		h.Slot = slot && before == 1 && h.Line == 2
		return errFound
	})
	if err != nil && !errors.Is(err, errFound) && !errors.Is(err, jsonl.ErrUTF16) {
		return Header{}, false, fmt.Errorf("read header: %w", err)
	}
	return h, h.ID != "", nil
}

// titleSlot is the type of oh-my-pi's first record, which is overwritten in place
// when the title changes.
const titleSlot = "title"

func newHeader(e *entry, line int) Header {
	h := Header{
		ID: string(e.id), Version: e.formatVersion(), CWD: string(e.cwd),
		ParentSession: string(e.parentFile), Line: line,
	}
	if ms, _, ok := session.ParseTime(e.time); ok {
		h.Time = time.UnixMilli(ms).UTC()
	}
	return h
}

// Reader looks at many logs with the same memory, one after the other. The
// zero value is ready. What it returns does not share its memory.
type Reader struct {
	tail     tailReader
	backward *jsonl.BackwardReader
}

// Header is [ReadHeader]. start are the first bytes of the log, [HeaderRoom]
// or all there are; only a header that is not whole in them on the first line
// is looked for in the log itself, of size bytes.
func (r *Reader) Header(start []byte, log io.ReaderAt, size int64) (Header, bool, error) {
	if h, ok := r.tail.header(start); ok {
		return h, h.ID != "", nil
	}
	return searchHeader(io.NewSectionReader(log, 0, size))
}

// Tail is the function [Tail].
func (r *Reader) Tail(ctx context.Context, log io.ReaderAt, size int64, modTime time.Time) (session.Tail, error) {
	if r.backward == nil {
		r.backward = jsonl.NewBackwardReader(log, size, jsonl.Options{})
	} else {
		r.backward.Reset(log, size)
	}
	r.tail.begin(r.backward, log, size)
	return r.tail.run(ctx, modTime)
}

// begin forgets the log that was read before, and keeps the memory.
func (t *tailReader) begin(backward *jsonl.BackwardReader, log io.ReaderAt, size int64) {
	t.tailState = tailState{
		TailWalk: session.TailWalk{Runtime: "pi or OpenClaw", Size: size, Exact: session.ExactTail},
		backward: backward, log: log,
	}
	if t.records.Types == nil {
		t.records = messageRecords()
	}
	t.thinking = true
	t.walk.any = true
}
