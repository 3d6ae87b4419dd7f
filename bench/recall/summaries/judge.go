package main

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// statement is one line of a summary that says something.
type statement struct {
	heading string
	text    string
	line    int // of the log
	struck  bool
}

// verdict is what a statement is worth to somebody who goes on.
type verdict uint8

const (
	right verdict = iota
	wrong         // not so, not so any more, or under the wrong heading
	noise         // so, but nobody needs it
)

func (v verdict) String() string { return [...]string{"right", "wrong", "noise"}[v] }

var (
	// sourceLine is a statement below a heading of a checkpoint, before its line.
	sourceLine = regexp.MustCompile(`(?s)^(?:-|1\.) (?:\[.\] )?(.*) \[(\d+)\]$`)
	// placedLine is a statement behind its line, and behind what it is where the work
	// stands.
	placedLine = regexp.MustCompile(`^(Asked before|Asked last|Agent's last word|Failed last time)? ?\[(\d+)\]:? (.*)$`)
	// overtaken is how a summary tells that something is over.
	overtaken = regexp.MustCompile(`~~|worked later|fixed|replaced|done (?:at|in) line|since (?:then|line)|now: |→`)
)

// indexHeading is a list of names, none of which states anything.
const indexHeading = "Also in the log"

// statements are those of a summary, in their order.
func statements(summary string) []statement {
	var all []statement
	heading := ""
	for line := range strings.Lines(summary) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
			continue
		}
		title, place, text := "", "", ""
		if m := placedLine.FindStringSubmatch(line); m != nil {
			title, place, text = m[1], m[2], m[3]
		} else if m := sourceLine.FindStringSubmatch(line); m != nil {
			text, place = m[1], m[2]
		}
		if n, err := strconv.Atoi(place); err == nil && heading != indexHeading {
			all = append(all, statement{heading: cmp.Or(title, heading), text: text, line: n, struck: overtaken.MatchString(text)})
		}
	}
	return all
}

// judged is how a summary does.
type judged struct {
	held                 int
	facts                []bool
	statements           []statement
	verdicts             []verdict
	wrong, noise, misled int // misled: facts that a statement contradicts
}

// judge compares a summary with what was written down before.
func (s *script) judge(summary string) judged {
	j := judged{statements: statements(summary)}
	for _, st := range j.statements {
		v := s.verdict(st)
		j.verdicts = append(j.verdicts, v)
		switch v {
		case wrong:
			j.wrong++
		case noise:
			j.noise++
		}
	}
	for i := range j.statements { // a later line that has not the last word strikes nothing
		j.statements[i].struck = j.statements[i].struck && j.verdicts[i] != wrong
	}
	for _, w := range s.facts {
		held, contradicted := w.in(j.statements)
		if contradicted {
			j.misled++
		}
		j.facts = append(j.facts, held && !contradicted)
		if held && !contradicted {
			j.held++
		}
	}
	return j
}

// in tells whether a statement holds a fact, and whether one contradicts it.
func (w wanted) in(all []statement) (held, contradicted bool) {
	for _, st := range all {
		matches := true
		for _, p := range w.must {
			matches = matches && found(p, st.text)
		}
		held = held || matches
		for _, p := range w.not {
			contradicted = contradicted || !st.struck && found(p, st.text)
		}
	}
	return held, contradicted
}

// found matches without regard to case and to the marks of Markdown.
func found(pattern *regexp.Regexp, text string) bool {
	return pattern.MatchString(unmarked.Replace(text))
}

// unmarked takes the marks of Markdown out of a text.
var unmarked = strings.NewReplacer("**", "", "`", "")

// pattern compiles what [found] looks for.
func pattern(text string) (*regexp.Regexp, error) { return regexp.Compile(`(?is)` + text) }

var (
	removed = regexp.MustCompile(`(?i)removed|deleted`)
	glance  = regexp.MustCompile("(?i)^[$`]? ?(?:ssh \\S+ )?(?:ls|cat|grep|sed|head|tail|df|du|git diff|git status)\\b")
)

// verdict judges one statement by the marks of the sentences that it quotes: it
// is right if one of them is right there, and wrong if one is a decision, a rule
// or a finding that was overtaken, or if nothing else is right.
func (s *script) verdict(st statement) verdict {
	e, result := s.at(st.line)
	switch {
	case e == nil:
		return wrong
	case isAction(st):
		return s.ofAction(st, e)
	case result || isError(st):
		return s.ofError(st, e)
	}
	best := noise
	if st.heading == "Key Decisions" || st.heading == "Decisions" {
		best = wrong // advice is no decision
	}
	for _, p := range e.quoted(st.text) {
		marks := p.marks
		over := strings.Contains(marks, "~") && !s.tellsEnd(st, p) && !isLast(st)
		switch {
		case marks == "":
		case over && strings.ContainsAny(marks, "dcf"):
			return wrong
		case !over && strings.ContainsAny(marks, belongs(st.heading)):
			best = right
		case best == noise:
			best = wrong
		}
	}
	return best
}

// belongs are the marks of what may stand under a heading.
func belongs(heading string) string {
	switch heading {
	case "Goals", "Goal":
		return "gdcnp"
	case "Rules people set", "Constraints and preferences", "Constraints & Preferences":
		return "cd"
	case "Answers people gave", "Decisions", "Key Decisions": // what a person asks to be kept to is decided
		return "dc"
	case "Open questions", "Blocked":
		return "onpx"
	case "Next steps", "Next Steps":
		return "np"
	case "In Progress":
		return "pnox"
	case "Done":
		return "rfdn"
	}
	return "gcdfronpx"
}

// isLast tells whether a statement only quotes what was said last.
func isLast(st statement) bool {
	return slices.Contains([]string{"Last messages", "Asked before", "Asked last", "Agent's last word"}, st.heading)
}

// isAction tells whether a statement is of a file or a command.
func isAction(st statement) bool {
	switch st.heading {
	case "Files", "Files changed", "Files read", "Commands", "Last steps":
		return true
	}
	return st.heading == "Done" && !strings.HasSuffix(st.text, ".")
}

// isError tells whether a statement is of a call that failed.
func isError(st statement) bool {
	return st.heading == "Failed last time" || st.heading == "Errors" || st.heading == "Blocked" && strings.Contains(st.text, "→")
}

// ofAction: files that do not exist any more mislead; commands that only look,
// and files that were read and led nowhere, are noise.
func (s *script) ofAction(st statement, e *event) verdict {
	for _, path := range s.gone {
		if strings.HasPrefix(st.text, "`"+path) && !st.struck && !found(removed, st.text) {
			return wrong
		}
	}
	if e.filler || glance.MatchString(st.text) {
		return noise
	}
	return right
}

// ofError: one that was overcome has to say so, unless it is of the last part of
// the log, or nobody has come back to it and it still matters.
func (s *script) ofError(st statement, e *event) verdict {
	last := s.events[len(s.events)-1]
	if st.struck || e.lasts || 5*st.line >= 4*max(last.line, last.result) {
		return right
	}
	return wrong
}

// at returns the event of a line, and whether the line is only its result.
func (s *script) at(line int) (e *event, result bool) {
	for i := range s.events {
		e := &s.events[i]
		if e.line == line && len(e.pieces) > 0 {
			return e, false
		}
	}
	for i := range s.events {
		if s.events[i].line == line || s.events[i].result == line {
			return &s.events[i], s.events[i].line != line
		}
	}
	return nil, false
}

// pointsTo is how a statement names the line that has a later word on it.
var pointsTo = regexp.MustCompile(`→ (?:[a-z, ]*)line (\d+)`)

// tellsEnd tells whether a statement says that what it quotes is over. One that
// points to a later line says so if the last word on the same subject stands there,
// or, where the script has no subjects, anything that holds at the end.
func (s *script) tellsEnd(st statement, quoted piece) bool {
	points := pointsTo.FindAllStringSubmatch(st.text, -1)
	if len(points) == 0 {
		return st.struck
	}
	for _, point := range points {
		line, err := strconv.Atoi(point[1])
		if err != nil {
			continue
		}
		if e, result := s.at(line); e != nil && !result && e.settles(quoted.subject) {
			return true
		}
	}
	return false
}

// settles tells whether something that was said has the last word on a subject.
func (e *event) settles(subject string) bool {
	return slices.ContainsFunc(e.pieces, func(p piece) bool {
		return p.marks != "" && !strings.Contains(p.marks, "~") && (subject == "" || p.subject == subject)
	})
}

// quoted are the pieces that a statement quotes; of what quotes no single one, all.
func (e *event) quoted(text string) (quoted []piece) {
	text, _, _ = strings.Cut(text, " → ")
	for _, p := range e.pieces {
		a, b := letters(text), letters(p.text)
		if len(a) < 8 || len(b) < 4 {
			continue
		}
		if strings.Contains(a, b[:min(len(b), 24)]) || strings.Contains(b, a[:min(len(a), 24)]) {
			quoted = append(quoted, p)
		}
	}
	if len(quoted) > 0 {
		return quoted
	}
	return e.pieces
}

// letters are the letters and digits of a text, in lower case.
func letters(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		}
	}
	return b.String()
}
