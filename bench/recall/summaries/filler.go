package main

import (
	"fmt"
	"strconv"
	"strings"
)

// expand writes what "%go 30" stands for: lines that look like a file or the
// output of a program, and say nothing that somebody has to know.
func expand(line string, seed int) []string {
	kind, count, found := strings.Cut(strings.TrimPrefix(line, "%"), " ")
	n, err := strconv.Atoi(count)
	if !strings.HasPrefix(line, "%") || !found || err != nil {
		return []string{line}
	}
	var all []string
	for i := range n {
		word := func(k int) string { return fillerWords()[(seed*7+i*3+k*5)%len(fillerWords())] }
		all = append(all, fillerLine(kind, i, word))
	}
	return all
}

func fillerWords() []string {
	return []string{"order", "status", "amount", "region", "cursor", "batch", "limit", "label", "state", "owner", "source", "target", "offset", "window", "total", "index", "queue", "value", "group", "entry", "scope", "level", "bucket"}
}

func fillerLine(kind string, i int, word func(int) string) string {
	switch kind {
	case "go":
		return fmt.Sprintf("%5d\tfunc (s *%s) %s(ctx context.Context, %s int) (%s, error) { return s.%s.load(ctx, %s) }", i+1, word(0), word(1), word(2), word(3), word(4), word(2))
	case "py":
		return fmt.Sprintf("%5d\tdef %s_%s(self, %s=None): return self._%s.get(%s, {})", i+1, word(0), word(1), word(2), word(3), word(2))
	case "ts":
		return fmt.Sprintf("%5d\texport const %s = (%s: string) => use%s(%s).%s ?? null;", i+1, word(0), word(1), word(2), word(1), word(3))
	case "yaml", "conf":
		return fmt.Sprintf("%s:\n  %s: %d", word(0), word(1), i*16)
	case "sql":
		return fmt.Sprintf("  %s_%s bigint NOT NULL DEFAULT %d,", word(0), word(1), i)
	case "test", "pytest", "jest", "vitest":
		return fmt.Sprintf("ok  %s/%s_%d  0.%03ds", word(0), word(1), i, i*17%400)
	case "table":
		return fmt.Sprintf("│ %-12s │ %-10s │ %8d │", word(0), word(1), i*977)
	}
	return fmt.Sprintf("The %s of a %s depends on its %s and %s.", word(0), word(1), word(2), word(3))
}

// fill adds rounds of work that leads nowhere, or of talk of no consequence, as
// most of a real session is.
func (s *script) fill(kind string, arguments []string) error {
	if len(arguments) == 0 {
		return fmt.Errorf("how many rounds of %s?", kind)
	}
	rounds, err := strconv.Atoi(arguments[0])
	if err != nil || kind == "%work" && len(arguments) < 3 {
		return fmt.Errorf("%s takes a number, a kind of file and a directory", kind)
	}
	for i := range rounds {
		at := len(s.events) + i
		if kind == "%chat" {
			pair := smallTalk()[at%len(smallTalk())]
			s.events = append(s.events, event{kind: said, filler: true, pieces: []piece{{text: pair[0]}}}, event{kind: replied, filler: true, pieces: []piece{{text: pair[1]}}})
			continue
		}
		s.look(at, arguments[1], arguments[2])
	}
	return nil
}

// look adds a look at a file, with what an agent says before it.
func (s *script) look(at int, kind, directory string) {
	words := fillerWords()
	name := directory + "/" + words[at%len(words)] + "_" + words[(at*5+2)%len(words)] + "." + strings.NewReplacer("ops", "log").Replace(kind)
	if at%3 != 0 {
		say := workTalk()[at%len(workTalk())]
		s.events = append(s.events, event{kind: replied, filler: true, pieces: []piece{{text: fmt.Sprintf(say, name)}}})
	}
	call := event{kind: called, filler: true, tool: 'R', target: name, joined: at%3 != 0, output: expand("%"+kind+" "+strconv.Itoa(15+at%30), at)}
	if at%4 == 1 {
		call.tool, call.target = '$', "grep -rn "+words[at%len(words)]+" "+directory
	}
	s.events = append(s.events, call)
}

func workTalk() []string {
	return []string{
		"Let me look at %s.", "Now let me check how this is used in %s.", "I want to see %s before I change anything.", "This might be relevant: %s.",
		"The problem could also be in %s, let me check.", "Next I'll read %s to understand the structure.", "Let me also check the tests beside %s.", "I need to find out where this comes from. Reading %s.",
		"OK, that is because the types live in %s instead of here. Let me see.", "I should always check the callers first, so %s is next.", "We need to know what %s expects.",
	}
}

func smallTalk() [][2]string {
	return [][2]string{
		{"how many toilets does one need for 120 people?", "Usually one for every 50 people, so three should be enough. You should also make sure that one of them is accessible."},
		{"my colleague thinks name badges are a waste of plastic", "You could use paper badges instead of plastic ones. Many events have decided to do that."},
		{"what is a good length for a talk", "Twenty minutes and ten for questions is a common choice. Longer talks should only go to experienced speakers."},
		{"it rained all day here", "Then I hope that the autumn will be kinder!"},
		{"do people still use hashtags?", "Less than they did. It's often better to use one that is short and not taken."},
		{"is coffee included normally?", "Caterers usually offer it as an extra. You'd want to ask for it in writing, because it is easily forgotten."},
		{"what did the other meetup in Antwerp do about recordings", "I don't know that one. Most events record the talks and publish them a few weeks after, with the speakers' consent."},
		{"I'm a bit tired of spreadsheets haha", "Understandable! We can keep it all in this conversation and make a list at the end."},
		{"somebody asked for a kids' corner", "That needs a room and one or two people who look after it. Next time it could be part of the call for volunteers."},
		{"how loud can music be in a library?", "Normally not loud at all; events there must end before it gets dark, and should stay below speaking volume."},
	}
}
