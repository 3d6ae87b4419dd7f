package main

import (
	"bufio"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

//go:embed sessions/*.session
var scripts embed.FS

// sets are the sets of sessions, six by each of six authors, in the order of the
// table. Nobody has looked at the last three to make a rule.
func sets() []string {
	return []string{"one", "two", "three", "four", "five", "six"}
}

// script is one session as it is written down: what was said and done, marked
// with what it is worth, and what somebody has to know who goes on.
type script struct {
	name, runtime, kind, directory string
	set                            string // one of sets
	start                          time.Time
	events                         []event
	facts                          []wanted
	gone                           []string // files that do not exist at the end
}

// eventKind is what an event is.
type eventKind uint8

const (
	said    eventKind = iota // by a person
	replied                  // by the agent
	called                   // a tool, by the agent
)

// event is something that was said or called.
type event struct {
	kind   eventKind
	pieces []piece // of what was said
	joined bool    // a call in the same message as the words before it

	tool   byte // of a call: $ runs, R reads, W writes, E edits, G searches
	target string
	output []string
	exit   int
	filler bool // made by %work or %chat
	lasts  bool // it failed, and at the end that still matters

	// What rendering fills in: the line of the log of the words or the call, and
	// that of the result.
	line, result int
}

// piece is a part of what was said, with its marks: letters of what it is
// (g goal, c constraint, d decision, f finding, r result, o open, n next step,
// p in progress, x still failing), and ~ if the log overtakes it later. A number
// behind the letters is a subject: of pieces with the same one those without ~
// say how it is at the end.
type piece struct {
	text    string
	marks   string
	subject string
}

// wanted is a fact that one needs in order to go on. A statement of the summary
// holds it that matches all of must; it is wrong if a statement matches one of
// not.
type wanted struct {
	fact      string
	must, not []*regexp.Regexp
}

// load reads the scripts that summaries are measured on.
func load() ([]*script, error) {
	names, err := fs.Glob(scripts, "sessions/*.session")
	if err != nil {
		return nil, err
	}
	var all []*script
	for _, name := range names {
		raw, err := fs.ReadFile(scripts, name)
		if err != nil {
			return nil, err
		}
		s, err := parse(strings.TrimSuffix(path.Base(name), ".session"), string(raw))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, s)
	}
	return all, nil
}

func parse(name, text string) (*script, error) {
	s := &script{name: name}
	lines, blank := bufio.NewScanner(strings.NewReader(text)), true
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" {
			blank = true
			continue
		}
		if err := s.take(line, blank); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		blank = false
	}
	return s, lines.Err()
}

// take takes in one line of a script.
func (s *script) take(line string, blank bool) error {
	head, rest, _ := strings.Cut(line, " ")
	switch {
	case head == "@":
		return s.header(rest)
	case head == "%work" || head == "%chat":
		return s.fill(head, strings.Fields(rest))
	case strings.HasSuffix(head, ":") && len(head) > 2:
		return s.sheet(strings.TrimSuffix(head, ":"), strings.TrimSpace(rest))
	case head == "U:":
		s.events = append(s.events, event{kind: said, pieces: pieces(rest)})
	case head == "A:":
		s.events = append(s.events, event{kind: replied, pieces: pieces(rest)})
	case len(head) == 1 && strings.Contains("$RWEG", head):
		last := len(s.events) - 1
		s.events = append(s.events, event{kind: called, tool: head[0], target: rest, joined: !blank && last >= 0 && s.events[last].kind == replied})
	default:
		return s.more(line)
	}
	return nil
}

// more takes in what belongs to the event before it.
func (s *script) more(line string) (err error) {
	if len(s.events) == 0 {
		return fmt.Errorf("%q belongs to nothing", line)
	}
	e := &s.events[len(s.events)-1]
	switch text, continued := strings.CutPrefix(line, "  "); {
	case continued && e.kind != called:
		e.pieces = append(e.pieces, piece{text: "\n"})
		e.pieces = append(e.pieces, pieces(text)...)
	case strings.HasPrefix(line, ">"):
		e.output = append(e.output, expand(strings.TrimPrefix(strings.TrimPrefix(line, ">"), " "), len(s.events))...)
	case strings.HasPrefix(line, "!"):
		exit, lasts := strings.CutSuffix(line[1:], " x")
		e.lasts = lasts
		e.exit, err = strconv.Atoi(exit)
		return err
	default:
		return fmt.Errorf("%q is nothing that a script knows", line)
	}
	return nil
}

func (s *script) header(text string) (err error) {
	key, value, _ := strings.Cut(text, " ")
	switch key {
	case "runtime":
		s.runtime = value
	case "kind":
		s.kind = value
	case "set":
		s.set = value
	case "directory":
		s.directory = value
	case "start":
		s.start, err = time.Parse(time.RFC3339, value)
	default:
		err = fmt.Errorf("unknown header %q", key)
	}
	return err
}

// sheet takes in what is to be known of the session.
func (s *script) sheet(key, value string) error {
	switch last := len(s.facts) - 1; key {
	case "fact":
		s.facts = append(s.facts, wanted{fact: value})
	case "must", "not":
		p, err := pattern(value)
		if err != nil {
			return err
		}
		if key == "must" {
			s.facts[last].must = append(s.facts[last].must, p)
		} else {
			s.facts[last].not = append(s.facts[last].not, p)
		}
	case "gone":
		s.gone = strings.Fields(value)
	default:
		return fmt.Errorf("unknown key %q", key)
	}
	return nil
}

// pieces splits what was said at its marks.
func pieces(text string) []piece {
	var all []piece
	marks, subject := "", ""
	for text != "" {
		before, after, found := strings.Cut(text, "{")
		mark, rest, closed := strings.Cut(after, "} ")
		letters := strings.TrimRight(mark, "0123456789")
		if !found || !closed || strings.Trim(letters, "gcdfronpx~") != "" || letters == "" {
			return append(all, piece{text, marks, subject})
		}
		if before != "" {
			all = append(all, piece{before, marks, subject})
		}
		marks, subject, text = letters, mark[len(letters):], rest
	}
	return all
}

func (e *event) text() string {
	var b strings.Builder
	for _, p := range e.pieces {
		b.WriteString(p.text)
	}
	return b.String()
}
