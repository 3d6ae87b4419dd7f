package claude

import (
	"bytes"
	"slices"

	"github.com/sessctl/sessctl/pkg/session"
)

// class is what the text of a user record turns out to be.
type class uint8

const (
	typed       class = iota // by a person
	command                  // the echo of a command that a person typed (/compact)
	output                   // what such a command printed
	interrupted              // the person stopped the turn
	injected                 // put in by the runtime
)

// The runtime's own marks, as CustomType of messages. What begins with
// "claude." is not embedded.
var (
	customMeta        = []byte("claude.meta")
	customOutput      = []byte("claude.command-output")
	customInterrupted = []byte("claude.interrupted")
	customSynthetic   = []byte("claude.synthetic")
	customTask        = []byte("task-notification")
)

// classify settles what the record is, now that all of it was read.
func (d *decoder) classify() {
	r := &d.record
	r.kind = kindOf(r.name)
	switch {
	case (r.kind == user || r.kind == assistant) && !r.hasMessage:
		r.kind = unknown
	case r.kind == user:
		d.fromUser()
	case r.kind == assistant:
		d.fromAssistant()
	case string(r.name) == "system" && string(r.subtype) == "compact_boundary":
		r.kind = boundary
	case string(r.name) == "attachment" && string(r.attachment) == "queued_command":
		d.fromQueue()
	}
	d.message.ID = r.id
}

// ours reports whether the record tells that the file is of this format.
func (r *record) ours() bool {
	switch {
	case r.kind.says(), r.kind == boundary, r.kind == link:
		return len(r.id) > 0 || len(r.session) > 0
	case r.kind == unknown:
		return len(r.id) > 0 && len(r.session) > 0 && len(r.name) > 0
	}
	return len(r.session) > 0 || r.leaf
}

// counts reports whether the record is of the runtime's message types.
func (r *record) counts() bool { return r.kind == user || r.kind == assistant }

func (d *decoder) fromAssistant() {
	r, m := &d.record, &d.message
	m.Role = session.RoleAssistant
	switch {
	case r.failed:
		m.IsError = true
		m.ErrorText = d.joined()
		m.Parts = m.Parts[:0]
	case string(m.Model) == "<synthetic>":
		m.Role, m.CustomType = session.RoleInjected, customSynthetic
	}
}

// joined returns the texts of the message as one.
func (d *decoder) joined() []byte {
	parts := d.message.Parts
	if len(parts) == 1 && parts[0].Kind == session.PartText {
		return parts[0].Text
	}
	start := len(d.scratch)
	d.scratch = d.message.AppendText(d.scratch)
	return d.scratch[start:]
}

func (d *decoder) fromQueue() {
	r := &d.record
	r.kind = queued
	d.queue.Reset(r.prompt)
	d.content(&d.queue)
	d.message.Role = session.RoleUser
	if isTask(r.mode) || isTask(r.origin) {
		d.inject(customTask)
		return
	}
	d.typedText()
}

func isTask(name []byte) bool { return string(name) == "task-notification" }

func (d *decoder) fromUser() {
	r, m := &d.record, &d.message
	if m.Role == session.RoleToolResult {
		d.stripReminders()
		return
	}
	m.Role = session.RoleUser
	switch {
	case r.summary:
		m.Role, m.Compaction = session.RoleSummary, true
	case r.meta:
		d.inject(customMeta)
	case isTask(r.origin):
		d.inject(customTask)
	case r.sidechain:
		m.Role = session.RoleInjected // the agent gives a sub-agent its task
	default:
		d.typedText()
	}
}

func (d *decoder) inject(customType []byte) {
	d.message.Role, d.message.CustomType = session.RoleInjected, customType
	d.record.text = injected
}

// typedText tells what a person typed from what the runtime writes in a
// person's name.
func (d *decoder) typedText() {
	m := &d.message
	first := slices.IndexFunc(m.Parts, func(p session.Part) bool { return p.Kind == session.PartText })
	if first < 0 {
		return
	}
	text := bytes.TrimSpace(m.Parts[first].Text)
	switch {
	case startsWith(text, "<command-name>"), startsWith(text, "<command-message>"):
		d.echo(first, text)
	case startsWith(text, "<local-command-stdout>"), startsWith(text, "<local-command-stderr>"):
		d.inject(customOutput)
		d.record.text = output
	case startsWith(text, "<local-command-caveat>"):
		d.inject(customMeta)
	case startsWith(text, "[Request interrupted by user"):
		d.inject(customInterrupted)
		d.record.text = interrupted
	case startsWith(text, "<task-notification>"):
		d.inject(customTask)
	case startsWith(text, "<bash-input>"):
		m.Role, d.record.text = session.RoleShell, command
		m.Parts[first] = session.Part{Kind: session.PartCommand, Text: between(text, "bash-input")}
	case startsWith(text, "<bash-stdout>"), startsWith(text, "<bash-stderr>"):
		m.Role, d.record.text = session.RoleShell, output
		d.shellOutput(text)
	default:
		d.stripReminders()
	}
}

// echo makes what a person typed of the record that a command leaves:
// "/compact keep the order list".
func (d *decoder) echo(part int, text []byte) {
	name, args := between(text, "command-name"), between(text, "command-args")
	if len(name) == 0 {
		return
	}
	start := len(d.scratch)
	if name[0] != '/' {
		d.scratch = append(d.scratch, '/')
	}
	d.scratch = append(d.scratch, name...)
	if len(args) > 0 {
		d.scratch = append(append(d.scratch, ' '), args...)
	}
	d.message.Parts[part].Text = d.scratch[start:]
	d.record.text = command
}

func (d *decoder) shellOutput(text []byte) {
	d.message.Parts = d.message.Parts[:0]
	d.addText(between(text, "bash-stdout"))
	d.addText(between(text, "bash-stderr"))
}

// between returns what stands between <tag> and </tag>, without white space at
// its ends; to the end of the text if the tag is not closed.
func between(text []byte, tag string) []byte {
	_, rest, ok := bytes.Cut(text, []byte("<"+tag+">"))
	if !ok {
		return nil
	}
	inside, _, _ := bytes.Cut(rest, []byte("</"+tag+">"))
	return bytes.TrimSpace(inside)
}

func startsWith(text []byte, prefix string) bool { return bytes.HasPrefix(text, []byte(prefix)) }
