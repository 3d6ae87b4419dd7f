package adapters_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
)

// The oracle reads a log with encoding/json, maps and copies, and none of the
// package's code. It is slow and does not salvage broken lines.

// piformatSaid is a message as plain values.
type piformatSaid struct {
	Ordinal, Line  int
	Offset, Length int64
	ID             string
	Role, Branch   string
	Time           int64
	Inferred       bool
	Parts          []saidPart
	Text           string

	ToolName, CallID, StopReason, Error string
	Provider, Model, Custom             string
	IsError, OutOfContext               bool
	Exit                                string
	Usage                               string
}

type saidPart struct {
	Kind               session.PartKind
	Text, Name, CallID string
	Size               int64
}

// saidOf copies a message.
func saidOf(m *session.Message) piformatSaid {
	s := piformatSaid{
		Ordinal: m.Ordinal, Line: m.Line, Offset: m.Offset, Length: m.Length, ID: string(m.ID),
		Role: m.Role.String(), Branch: m.Branch.String(), Time: m.Time, Inferred: m.TimeInferred,
		Text:     string(m.AppendText(nil)),
		ToolName: string(m.ToolName), CallID: string(m.CallID), StopReason: string(m.StopReason), Error: string(m.ErrorText),
		Provider: string(m.Provider), Model: string(m.Model), Custom: string(m.CustomType),
		IsError: m.IsError, OutOfContext: m.OutOfContext,
	}
	for _, p := range m.Parts {
		s.Parts = append(s.Parts, saidPart{p.Kind, string(p.Text), string(p.Name), string(p.CallID), p.Size})
	}
	if m.HasExit {
		s.Exit = strconv.Itoa(m.ExitCode)
	}
	if m.HasUsage {
		s.Usage = usageText(m.Usage.Input, m.Usage.Output, m.Usage.CacheRead, m.Usage.CacheWrite, m.Usage.Total)
	}
	return s
}

func usageText(n ...int64) string {
	var b strings.Builder
	for _, v := range n {
		b.WriteString(strconv.FormatInt(v, 10) + " ")
	}
	return b.String()
}

type piformatObject map[string]json.RawMessage

func piformatObjectOf(raw []byte) piformatObject {
	var o piformatObject
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

func (o piformatObject) text(key string) string {
	var s *string
	if json.Unmarshal(o[key], &s) != nil || s == nil {
		return ""
	}
	return *s
}

func (o piformatObject) name(key string) string {
	if n := strings.TrimSpace(string(o[key])); n != "" && strings.ContainsAny(n[:1], "-0123456789") {
		return n
	}
	return o.text(key)
}

func (o piformatObject) integer(key string) (int64, bool) {
	text := string(o[key])
	if s := o.text(key); s != "" && json.Valid([]byte(s)) && strings.ContainsAny(s[:1], "-0123456789") &&
		!strings.ContainsAny(s, " \t\r\n") {
		text = s
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok || text == "" || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}

func (o piformatObject) tokens(key string) int64 {
	n, _ := o.integer(key)
	return max(n, 0)
}

func (o piformatObject) flag(key string) bool { return string(o[key]) == "true" }

func (o piformatObject) null(key string) bool { return string(o[key]) == "null" }

// naiveRecord is one record of a log.
type naiveRecord struct {
	piformatObject
	line           int
	offset, length int64
	raw            string
	kind           string // "" for what is not known
	id             string
	message        *piformatSaid
	node           int // among the records with an id, -1 without
}

// naiveRead returns the records of a log that has no line to salvage.
func naiveRead(log []byte, thinking bool) []*naiveRecord {
	var records []*naiveRecord
	var offset, previous int64
	for number, line := range bytes.SplitAfter(log, []byte("\n")) {
		text, skipped := line, int64(0)
		if number == 0 {
			text = bytes.TrimPrefix(text, []byte("\xEF\xBB\xBF"))
		}
		skipped = int64(len(line) - len(text))
		trimmed := bytes.TrimLeft(text, "\x00\t\r\n ")
		skipped += int64(len(text) - len(trimmed))
		trimmed = bytes.TrimRight(trimmed, "\x00\t\r\n ")
		if o := piformatObjectOf(trimmed); o != nil && json.Valid(trimmed) {
			r := &naiveRecord{piformatObject: o, line: number + 1, offset: offset + skipped, length: int64(len(trimmed)), raw: string(trimmed), node: -1}
			r.read(thinking, &previous)
			records = append(records, r)
		}
		offset += int64(len(line))
	}
	naiveNumber(records)
	return records
}

// naiveNumber numbers messages and entries.
func naiveNumber(records []*naiveRecord) {
	messages, entries := 0, 0
	for _, r := range records {
		if r.id != "" && r.kind != "session" {
			r.node = entries
			entries++
		}
		if r.message != nil {
			r.message.Ordinal = messages
			messages++
		}
	}
}

var naiveKinds = map[string]bool{
	"session": true, "message": true, "compaction": true, "branch_summary": true, "custom_message": true, "reset": true,
	"model_change": true, "thinking_level_change": true, "label": true, "session_info": true, "custom": true,
}

func (r *naiveRecord) read(thinking bool, previous *int64) {
	r.id = r.name("id")
	if t := r.text("type"); naiveKinds[t] {
		r.kind = t
	}
	m := &piformatSaid{Line: r.line, Offset: r.offset, Length: r.length, ID: r.id, Branch: "active"}
	var times []json.RawMessage
	switch r.kind {
	case "session":
		if r.id == "" {
			r.kind = ""
		}
	case "message":
		body := piformatObjectOf(r.piformatObject["message"])
		if body == nil {
			r.kind = ""
			break
		}
		times = append(times, body["timestamp"])
		m.readBody(body, thinking)
		if m.Custom == "" {
			m.Custom = r.text("customType")
		}
		r.message = m
	case "compaction", "branch_summary":
		m.Role = "summary"
		m.addText(r.text("summary"))
		r.message = m
	case "custom_message":
		m.Role, m.Custom = "injected", r.text("customType")
		m.readContent(r.piformatObject["content"], thinking)
		r.message = m
	}
	m.Time, m.Inferred = *previous, true
	for _, raw := range append(times, r.piformatObject["timestamp"]) {
		if ms, naive, ok := naiveTime(raw); ok {
			m.Time, m.Inferred = ms, naive
			break
		}
	}
	*previous = m.Time
	m.Text = m.naiveText()
}
