package report

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// messageView is a message as the template draws it.
type messageView struct {
	Message
	Anchor  bool  // it is the first of its line
	Lines   []int // further lines that it is made from, for their anchors
	Class   string
	Blocks  []block
	Nothing bool
}

// block is a piece of a message: some are folded.
type block struct {
	Folded  bool
	Summary string // of a folded one: what it is
	Preview string // of a folded one: how it begins
	Class   string
	Fields  []field // arguments of a tool
	Texts   []text
}

// field is one argument of a call.
type field struct {
	Name  string
	Short string // a value of one line
	Texts []text // a longer one
}

// text is a piece of text that is set in one way.
type text struct {
	Kind  string // prose, code, diff or note
	Lang  string
	Text  string
	Spans []span // of prose
	Lines []diffLine
}

// span is a stretch of prose; Code is set as such.
type span struct {
	Code bool
	Text string
}

// spansOf finds the code between single backticks, which both stand on one line.
func spansOf(prose string) (spans []span) {
	for prose != "" {
		from := strings.IndexByte(prose, '`')
		to := -1
		if from >= 0 {
			to = strings.IndexAny(prose[from+1:], "`\n")
		}
		if to < 1 || prose[from+1+to] == '\n' {
			end := len(prose)
			if to >= 0 {
				end = from + 1 + to + 1
			}
			spans = append(spans, span{Text: prose[:end]})
			prose = prose[end:]
			continue
		}
		if from > 0 {
			spans = append(spans, span{Text: prose[:from]})
		}
		spans = append(spans, span{Code: true, Text: prose[from+1 : from+1+to]})
		prose = prose[from+to+2:]
	}
	return spans
}

// diffLine is a line of a diff; Class says which side it is on.
type diffLine struct{ Class, Text string }

// mostAnchors bounds the anchors of a message that many lines make up.
const mostAnchors = 5000

func newMessageView(m Message, anchor bool) messageView {
	v := messageView{Message: m, Anchor: anchor, Class: m.Role}
	for line := m.Line + 1; anchor && line <= min(m.LastLine, m.Line+mostAnchors); line++ {
		v.Lines = append(v.Lines, line)
	}
	for _, p := range m.Parts {
		if b, ok := newBlock(&m, p); ok {
			v.Blocks = append(v.Blocks, b)
		}
	}
	v.Nothing = len(v.Blocks) == 0 && m.Error == ""
	return v
}

// newBlock sets one part. What tools were asked and said, what a model thought
// and what a runtime put in is folded: people read what people and agents said.
func newBlock(m *Message, p Part) (block, bool) {
	body := normalLines(p.Text)
	switch p.Kind {
	case PartCall:
		b := block{Folded: true, Summary: p.Name, Class: "call", Fields: fieldsOf(body)}
		b.Preview = previewOf(b.Fields, body)
		return b, true
	case PartThinking:
		return block{Folded: true, Summary: "thinking", Preview: firstLineOf(body), Class: "think", Texts: setText(body)}, body != ""
	case PartImage:
		return block{Texts: []text{{Kind: "note", Text: "[image, " + bytesText(p.Size) + ", not shown]"}}}, true
	case PartCommand:
		return block{Texts: []text{{Kind: "code", Lang: "shell", Text: "$ " + body}}}, body != ""
	case PartUnsent:
		return block{Folded: true, Summary: "output that the model was not sent, " + linesText(body), Preview: firstLineOf(body), Texts: setOutput(body)}, body != ""
	}
	if body == "" {
		return block{}, false
	}
	switch m.Role {
	case "tool_result":
		return block{Folded: true, Summary: "output, " + linesText(body), Preview: firstLineOf(body), Class: "output", Texts: setOutput(body)}, true
	case "shell":
		return block{Folded: strings.Count(body, "\n") > 12, Summary: "output, " + linesText(body), Preview: firstLineOf(body), Class: "output", Texts: setOutput(body)}, true
	case "injected", "system":
		return block{Folded: true, Summary: m.Label + ", " + linesText(body), Preview: firstLineOf(body), Texts: setText(body)}, true
	}
	if len(body) > mostProse {
		return block{Folded: true, Summary: "long text, " + bytesText(int64(len(body))), Preview: firstLineOf(body), Texts: setText(body)}, true
	}
	return block{Texts: setText(body)}, true
}

// mostProse is how much of what was said is shown unfolded, in bytes: what is
// longer was pasted, and hides what comes after it.
const mostProse = 50_000

// normalLines is text with line feeds alone, without white space at its ends.
func normalLines(s string) string {
	return strings.Trim(strings.ReplaceAll(s, "\r\n", "\n"), "\n\t ")
}

func linesText(s string) string { return pluralText(strings.Count(s, "\n")+1, "line") }

// previewRunes is how much of a folded block its summary shows.
const previewRunes = 120

func firstLineOf(s string) string {
	line, rest, _ := strings.Cut(s, "\n")
	runes := []rune(line[:min(len(line), 4*previewRunes)])
	if len(runes) > previewRunes {
		return string(runes[:previewRunes]) + " …"
	}
	if rest != "" {
		return line + " …"
	}
	return line
}

// fieldsOf are the arguments of a call, in their order, if they are an object.
func fieldsOf(args string) (fields []field) {
	dec := json.NewDecoder(strings.NewReader(args))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return plainArguments(args)
	}
	for dec.More() {
		key, err := dec.Token()
		var value json.RawMessage
		if err == nil {
			err = dec.Decode(&value)
		}
		name, ok := key.(string)
		if err != nil || !ok {
			return plainArguments(args)
		}
		fields = append(fields, newField(name, value))
	}
	return pairChange(fields)
}

func plainArguments(args string) []field {
	if args == "" {
		return nil
	}
	return []field{{Texts: []text{{Kind: "code", Text: args}}}}
}

func newField(name string, value json.RawMessage) field {
	var s string
	if json.Unmarshal(value, &s) != nil {
		var indented bytes.Buffer
		if s = string(value); json.Indent(&indented, value, "", "  ") == nil && len(value) > 80 {
			s = indented.String()
		}
	}
	s = normalLines(s)
	if !strings.Contains(s, "\n") && len(s) <= 200 {
		return field{Name: name, Short: s}
	}
	return field{Name: name, Texts: setOutput(s)}
}

// pairChange sets the two texts of a change as one diff: tools name them
// differently.
func pairChange(fields []field) []field {
	for _, names := range [][2]string{{"old_string", "new_string"}, {"old_str", "new_str"}, {"oldText", "newText"}, {"old_text", "new_text"}} {
		from := slices.IndexFunc(fields, func(f field) bool { return f.Name == names[0] })
		to := slices.IndexFunc(fields, func(f field) bool { return f.Name == names[1] })
		if from < 0 || to < 0 {
			continue
		}
		diff := text{Kind: "diff"}
		for i, side := range []field{fields[from], fields[to]} {
			for line := range strings.SplitSeq(side.whole(), "\n") {
				diff.Lines = append(diff.Lines, diffLine{[]string{"del", "add"}[i], []string{"-", "+"}[i] + line})
			}
		}
		fields[from] = field{Name: "change", Texts: []text{diff}}
		return slices.Delete(fields, to, to+1)
	}
	return fields
}

// whole is the value of a field as it was.
func (f field) whole() string {
	if len(f.Texts) == 0 {
		return f.Short
	}
	var b strings.Builder
	for _, t := range f.Texts {
		b.WriteString(t.Text)
		for i, line := range t.Lines {
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(line.Text)
		}
	}
	return b.String()
}

// previewOf is the argument that tells most of a call: the first of those that
// are known to, else the first of one line.
func previewOf(fields []field, args string) string {
	for _, name := range []string{"command", "cmd", "file_path", "path", "pattern", "query", "url", "description"} {
		for _, f := range fields {
			if f.Name == name {
				return firstLineOf(f.whole())
			}
		}
	}
	for _, f := range fields {
		if f.Short != "" {
			return firstLineOf(f.Short)
		}
	}
	return firstLineOf(args)
}

// setOutput sets what a tool said: as a diff if it is one, else as code.
func setOutput(s string) []text {
	if lines, ok := diffLines(s); ok {
		return []text{{Kind: "diff", Lines: lines}}
	}
	return []text{{Kind: "code", Text: s}}
}

// diffLines are the lines of a unified diff; false for text that is none.
func diffLines(s string) ([]diffLine, bool) {
	if !strings.HasPrefix(s, "@@ ") && !strings.Contains(s, "\n@@ ") && !strings.HasPrefix(s, "*** Begin Patch") {
		return nil, false
	}
	var lines []diffLine
	changed := false
	for line := range strings.SplitSeq(s, "\n") {
		class := ""
		switch {
		case strings.HasPrefix(line, "+++") || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "@@") || strings.HasPrefix(line, "diff "):
			class = "hunk"
		case strings.HasPrefix(line, "+"):
			class, changed = "add", true
		case strings.HasPrefix(line, "-"):
			class, changed = "del", true
		}
		lines = append(lines, diffLine{class, line})
	}
	return lines, changed
}

// setText sets what was said: prose, and the code between fences in it.
func setText(s string) (texts []text) {
	var prose, code []string
	fence, lang := "", ""
	flush := func() {
		if body := strings.Trim(strings.Join(prose, "\n"), "\n"); body != "" {
			texts = append(texts, text{Kind: "prose", Spans: spansOf(body)})
		}
		prose = nil
	}
	for line := range strings.SplitSeq(s, "\n") {
		mark := fenceOf(line)
		switch {
		case fence == "" && mark != "":
			flush()
			fence, lang, code = mark, strings.TrimSpace(strings.Trim(line, "`~ ")), nil
		case fence == "":
			prose = append(prose, line)
		case strings.HasPrefix(mark, fence) && strings.TrimLeft(strings.TrimSpace(line), "`~") == "":
			texts, fence = append(texts, newCode(lang, code)), ""
		default:
			code = append(code, line)
		}
	}
	if fence != "" { // it was never closed
		texts = append(texts, newCode(lang, code))
	}
	flush()
	return texts
}

// fenceOf is the mark of a line that opens or closes code, or "".
func fenceOf(line string) string {
	trimmed := strings.TrimLeft(line, " ")
	if len(line)-len(trimmed) > 3 {
		return ""
	}
	for _, sign := range []string{"`", "~"} {
		if n := len(trimmed) - len(strings.TrimLeft(trimmed, sign)); n >= 3 && !strings.Contains(trimmed[n:], "`") {
			return strings.Repeat(sign, n)
		}
	}
	return ""
}

// newCode sets the lines between two fences.
func newCode(lang string, lines []string) text {
	body := strings.Join(lines, "\n")
	if found, ok := diffLines(body); ok || lang == "diff" || lang == "patch" {
		if !ok {
			found = plainDiff(lines)
		}
		return text{Kind: "diff", Lang: lang, Lines: found}
	}
	return text{Kind: "code", Lang: lang, Text: body}
}

// plainDiff are lines that say of themselves that they are a diff.
func plainDiff(lines []string) (all []diffLine) {
	for _, line := range lines {
		class := ""
		if strings.HasPrefix(line, "+") {
			class = "add"
		} else if strings.HasPrefix(line, "-") {
			class = "del"
		}
		all = append(all, diffLine{class, line})
	}
	return all
}
