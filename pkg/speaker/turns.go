package speaker

import "strings"

// Voice is who says a part of a text that is put together of messages.
type Voice uint8

// The voices.
const (
	UnknownVoice Voice = iota // the text does not tell
	PersonVoice               // a person, in words
	AgentVoice                // an agent, in words
	ShownVoice                // what a tool was asked, what it printed, what stands between fences
)

// CallMark begins the line of a tool call in a text that is put together of messages.
const CallMark = "[tool call] "

// labels begin messages in a text that is put together of them, at its beginning and
// behind blank lines.
var labels = [...]struct {
	text  string
	voice Voice
}{
	{"[Human]: ", PersonVoice}, {"[Agent]: ", AgentVoice}, {"[Tool]: ", ShownVoice}, {"[Shell]: ", ShownVoice},
	{"[Custom]: ", ShownVoice}, {"[System]: ", ShownVoice}, {"[Summary]: ", AgentVoice},
}

// LabelAt is the voice of the label that a text begins with, and how long that is: 0 if
// there is none.
func LabelAt(text string) (Voice, int) {
	if !strings.HasPrefix(text, "[") {
		return UnknownVoice, 0
	}
	for _, l := range labels {
		if strings.HasPrefix(text, l.text) {
			return l.voice, len(l.text)
		}
	}
	return UnknownVoice, 0
}

// Turn is a part of a text that one voice says: up to End, from where the part before
// it ends.
type Turn struct {
	End   int
	Voice Voice
}

// Turns cuts a text that is put together of messages by who says it. It looks for
// labels, calls and fences alone: ranking by the spans of [Person] and [Agent] was tried,
// and found less (docs/dev/ranking.md).
func Turns(text string) (list []Turn) {
	speaker, fenced, first, at := UnknownVoice, false, true, 0
	for line := range strings.Lines(text) {
		said := line
		if first {
			if v, n := LabelAt(line); n > 0 {
				speaker, fenced, said = v, false, line[n:]
			}
		}
		first = line == "\n"
		at += len(line)
		v := speaker
		switch fence := strings.HasPrefix(strings.TrimLeft(said, " "), fenceMark); {
		case speaker != PersonVoice && speaker != AgentVoice:
		case fence || fenced || strings.HasPrefix(said, CallMark):
			v, fenced = ShownVoice, fenced != fence
		}
		if last := len(list) - 1; last >= 0 && (list[last].Voice == v || first) {
			list[last].End = at
			continue
		}
		list = append(list, Turn{at, v})
	}
	return list
}

// fenceMark begins the lines around a block in Markdown.
const fenceMark = "```"
