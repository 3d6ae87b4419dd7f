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
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// The record types, and the only version of them (docs/formats.md, "agent").
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
		result.CountUnknown("", s.record.kind)
		return false, nil
	}
	if m.Role == session.RoleInjected {
		result.CountUnknown("role ", s.record.role)
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
	cursor  jsonl.Cursor
	record  record
	message session.Message
}

// decode reads one record. It returns an error that wraps [jsonl.ErrSyntax] if
// raw is not one JSON object.
func (d *decoder) decode(raw []byte) error {
	d.record = record{}
	d.message = session.Message{Parts: d.message.Parts[:0]}
	if err := d.cursor.Object(raw, d.member); err != nil {
		return err
	}
	d.settle()
	return nil
}

func (d *decoder) member(c *jsonl.Cursor) {
	r, m := &d.record, &d.message
	switch string(c.Key()) {
	case "recordType":
		r.kind, _ = c.Bytes()
	case "seq":
		r.seq = number(c)
	case "role":
		r.role, _ = c.Bytes()
	case "content":
		d.content(c)
	case "toolCallId":
		m.CallID, _ = c.Bytes()
	case "isError":
		m.IsError, _ = c.Bool()
	case "summary":
		r.summary, _ = c.Bytes()
	case "summaryBy":
		r.by, _ = c.Bytes()
	case "firstKeptSeq":
		r.firstKept = number(c)
	case "readFiles":
		m.ReadFiles = session.StringList(c)
	case "modifiedFiles":
		m.ModifiedFiles = session.StringList(c)
	case "timestamp":
		r.time = c.Raw()
	default:
		c.Skip()
	}
}

// number returns the digits of a whole number.
func number(c *jsonl.Cursor) []byte {
	if c.Kind() != jsonl.Number {
		c.Skip()
		return nil
	}
	return c.Raw()
}

// content reads an array of blocks. Bare strings are not in the format, but
// what they say is not thrown away.
func (d *decoder) content(c *jsonl.Cursor) {
	if c.Kind() == jsonl.String {
		text, _ := c.Bytes()
		d.message.AddText(text)
		return
	}
	if !c.EnterArray() {
		return
	}
	for c.NextElement() {
		d.block(c)
	}
}

func (d *decoder) block(c *jsonl.Cursor) {
	if c.Kind() == jsonl.String {
		text, _ := c.Bytes()
		d.message.AddText(text)
		return
	}
	if !c.EnterObject() {
		return
	}
	var kind, text []byte
	call := session.Part{Kind: session.PartToolCall}
	for c.NextKey() {
		switch string(c.Key()) {
		case "type":
			kind, _ = c.Bytes()
		case "text":
			text, _ = c.Bytes()
		case "id":
			call.CallID, _ = c.Bytes()
		case "name":
			call.Name, _ = c.Bytes()
		case "arguments":
			call.Text = c.Raw()
		default:
			c.Skip()
		}
	}
	switch string(kind) {
	case "toolCall":
		d.message.Parts = append(d.message.Parts, call)
		return
	case "text":
	default:
		d.record.oddBlock = kind
	}
	d.message.AddText(text)
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
		m.CustomType = append([]byte("role "), r.role...)
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
