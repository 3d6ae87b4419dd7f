package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// The record types, and the only version of them (docs/dev/formats.md, "agent").
const (
	kindMessage    = "message"
	kindCompaction = "compaction"
	schemaVersion  = 1
)

// Scan implements [session.Store]: every message and every compaction summary,
// in file order. A partial last line is ignored, as the runtime ignores it.
func (s *Store) Scan(ctx context.Context, r io.Reader, _ session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	scan := &scanner{}
	scan.lines.Result.Version = schemaVersion
	return scan.lines.Run(ctx, r, emit, scan.read)
}

type scanner struct {
	decoder
	lines    session.LineScan
	previous int64   // time of the record before
	seqs     []int64 // of the messages so far
}

func (s *scanner) read(r *jsonl.Record) (bool, error) {
	if err := s.decode(r.Raw); err != nil {
		return false, err
	}
	m := &s.message
	m.CutBytes = r.CutBytes
	var ok bool
	if m.Time, _, ok = session.ParseTime(s.record.time); !ok {
		m.Time, m.TimeInferred = s.previous, true
	}
	s.previous = m.Time
	result := &s.lines.Result
	switch string(s.record.kind) {
	case kindMessage:
		result.Records++
		if seq, err := strconv.ParseInt(string(m.ID), 10, 64); err == nil {
			s.seqs = append(s.seqs, seq)
		}
	case kindCompaction:
		m.FirstKept = s.firstKept()
	default:
		result.Meet(session.Strange{Type: s.record.kind, Line: r.Line, Sent: true})
		return false, nil
	}
	if s.record.oddBlock != nil {
		result.CountUnknown("block ", s.record.oddBlock)
	}
	return true, s.lines.Say(r, m)
}

// firstKept is the seq of the first message that a compaction keeps: the first
// whose seq is not below firstKeptSeq, which may be that of a compaction. It is
// empty if none before it stays.
func (s *scanner) firstKept() []byte {
	least, err := strconv.ParseInt(string(s.record.firstKept), 10, 64)
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(s.seqs, func(seq int64) bool { return seq >= least })
	if i < 0 {
		return nil
	}
	return strconv.AppendInt(nil, s.seqs[i], 10)
}

// record is one decoded line. Its slices are valid until the next decode.
type record struct {
	kind      []byte // recordType
	seq       []byte // the digits, which are a message's id
	role      []byte
	summary   []byte
	firstKept []byte
	by        []byte // who wrote the summary
	time      []byte // raw JSON
	oddBlock  []byte
}

// decoder turns the text of a record into a message.
type decoder struct {
	cursor  jsonl.Cursor // of the record
	block   block
	record  record
	message session.Message
}

// decode reads one record. It returns an error that wraps [jsonl.ErrSyntax] if
// raw is not one JSON object.
func (d *decoder) decode(raw []byte) error {
	d.record = record{}
	d.message = session.Message{Parts: d.message.Parts[:0]}
	if err := records.Read(d, &d.cursor, raw); err != nil {
		return err
	}
	d.settle()
	return nil
}

// records is what is read of a record (docs/dev/formats.md, "agent").
var records = fields.New(func(d *decoder) []fields.Field {
	r, m := &d.record, &d.message
	return []fields.Field{
		fields.Text("recordType", &r.kind),
		fields.Func("seq", func(d *decoder, c *jsonl.Cursor) { d.record.seq = number(c) }),
		fields.Text("role", &r.role),
		fields.Func("content", func(d *decoder, c *jsonl.Cursor) {
			if c.Kind() != jsonl.Object { // one block alone is not in the format
				fields.Content(c, d.message.AddText, d.addBlock)
			}
		}),
		fields.Text("toolCallId", &m.CallID),
		fields.Flag("isError", &m.IsError),
		fields.Text("summary", &r.summary),
		fields.Text("summaryBy", &r.by),
		fields.Func("firstKeptSeq", func(d *decoder, c *jsonl.Cursor) { d.record.firstKept = number(c) }),
		fields.Func("readFiles", func(d *decoder, c *jsonl.Cursor) { d.message.ReadFiles = session.StringList(c) }),
		fields.Func("modifiedFiles", func(d *decoder, c *jsonl.Cursor) { d.message.ModifiedFiles = session.StringList(c) }),
		fields.Raw("timestamp", &r.time),
	}
})

// block is one block of content while it is read.
type block struct{ kind, text, id, name, arguments []byte }

// blocks is what is read of a block.
var blocks = fields.New(func(b *block) []fields.Field {
	return []fields.Field{
		fields.Text("type", &b.kind),
		fields.Text("text", &b.text),
		fields.Text("id", &b.id),
		fields.Text("name", &b.name),
		fields.Raw("arguments", &b.arguments),
	}
})

// number returns the digits of a whole number.
func number(c *jsonl.Cursor) []byte {
	if c.Kind() != jsonl.Number {
		c.Skip()
		return nil
	}
	return c.Raw()
}

func (d *decoder) addBlock(c *jsonl.Cursor) {
	b, m := &d.block, &d.message
	*b = block{}
	blocks.Take(&d.block, c)
	switch string(b.kind) {
	case "toolCall":
		m.Parts = append(m.Parts, session.Part{Kind: session.PartToolCall, Name: b.name, CallID: b.id, Text: b.arguments})
		return
	case "text":
	default:
		d.record.oddBlock = b.kind
	}
	m.AddText(b.text)
}

// settle gives the message its role.
func (d *decoder) settle() {
	r, m := &d.record, &d.message
	m.ID = r.seq
	if string(r.kind) == kindCompaction {
		m.Role, m.Compaction, m.FirstKept = session.RoleSummary, true, r.firstKept
		m.Own = string(r.by) == session.SummaryBy
		d.message.AddText(r.summary)
		return
	}
	switch string(r.role) {
	case "user":
		m.Role = session.RoleUser
	case "assistant":
		m.Role = session.RoleAssistant
	case "toolResult":
		m.Role = session.RoleToolResult
	default:
		m.Role = session.RoleInjected
		m.CustomType, m.OddRole = append([]byte("role "), r.role...), r.role
	}
}

// countKey is the member of metadata.json that counts the messages of the log.
const countKey = "messageCount"

// recorded is what metadata.json says of the log's length: what a rotation
// resets, and its reversal brings back. nil if it does not say.
func recorded(d *logfile.Dir) ([]session.IndexEntry, error) {
	raw, _, err := d.ReadSmall(metadataName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read metadata: %w", err)
	}
	start, end, ok := memberOf(raw, countKey)
	if !ok {
		return nil, nil
	}
	return []session.IndexEntry{{Key: metadataName, Reset: `{"` + countKey + `":` + string(raw[start:end]) + `}`}}, nil
}

// Record implements [session.Recorder]: metadata.json counts the messages of
// the log again, and nothing else in it changes.
func (s *Store) Record(ctx context.Context, live string, before []session.IndexEntry) error {
	d, _, err := s.Live(live)
	if err != nil {
		return err
	}
	defer d.Close()
	for _, entry := range before {
		start, end, ok := memberOf([]byte(entry.Reset), countKey)
		if ok && entry.Key == metadataName {
			return setCount(d, entry.Reset[start:end])
		}
	}
	log, _, err := d.OpenLog(logName)
	if err != nil {
		return err
	}
	defer log.Close()
	scan, err := s.Scan(ctx, log, session.ScanOptions{}, func(*session.Message) error { return nil })
	if err != nil {
		return fmt.Errorf("count the messages: %w", err)
	}
	return setCount(d, strconv.Itoa(scan.Records))
}

// setCount sets messageCount in metadata.json. Every other byte of it stays,
// and one that cannot be read stays whole: the log is what counts.
func setCount(d *logfile.Dir, count string) error {
	raw, info, err := d.ReadSmall(metadataName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read metadata: %w", err)
	}
	start, end, ok := memberOf(raw, countKey)
	if !ok || string(raw[start:end]) == count {
		return nil
	}
	return durable.ReplaceFileIn(d.Root, metadataName, info.Mode().Perm(), func(w io.Writer) error {
		_, err := w.Write(slices.Concat(raw[:start], []byte(count), raw[end:]))
		return err
	})
}

// memberOf finds the value of a member of the object that raw is.
func memberOf(raw []byte, name string) (start, end int64, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') || !json.Valid(raw) {
		return 0, 0, false
	}
	for dec.More() {
		key, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return 0, 0, false
		}
		if key == name { // of several the last counts, as for the runtime
			end = dec.InputOffset()
			start, ok = end-int64(len(value)), true
		}
	}
	return start, end, ok
}
