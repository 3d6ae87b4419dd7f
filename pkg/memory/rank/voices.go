package rank

import (
	"math"
	"strings"
)

// Who says it. Coding sessions are mostly what tools printed and what somebody
// pasted: it has many of the words of a question and seldom the answer. What the
// person and the agent said in words comes first, and a person's words before
// an agent's where they are few (docs/dev/ranking.md, Who says it).

// voice is who says a part of a record's text.
type voice byte

const (
	unknownVoice voice = iota // the text does not tell: it loses nothing
	personVoice               // a person, in words
	agentVoice                // an agent, in words
	dumpVoice                 // what a tool was asked, what it printed, what stands between fences
)

// labels are those of [session.Message.Label], as chunks have them at the
// beginning of a text and behind each blank line between two messages.
var labels = [...]struct {
	text  string
	voice voice
}{
	{"[Human]: ", personVoice}, {"[Agent]: ", agentVoice}, {"[Tool]: ", dumpVoice}, {"[Shell]: ", dumpVoice},
	{"[Custom]: ", dumpVoice}, {"[System]: ", dumpVoice}, {"[Summary]: ", agentVoice},
}

// labelAt is the voice of the label that a text begins with, and how long that
// is: 0 if there is none.
func labelAt(text string) (voice, int) {
	if !strings.HasPrefix(text, "[") {
		return unknownVoice, 0
	}
	for _, l := range labels {
		if strings.HasPrefix(text, l.text) {
			return l.voice, len(l.text)
		}
	}
	return unknownVoice, 0
}

// callMark begins the line of a tool call (session.Message.AppendText).
const callMark = "[tool call] "

// spoken is a part of a text that one voice says: up to end, from where the part
// before it ends.
type spoken struct {
	end   int
	voice voice
}

// voicesIn cuts a text by who says it.
func voicesIn(text string) (list []spoken) {
	speaker, fenced, first, at := unknownVoice, false, true, 0
	for line := range strings.Lines(text) {
		said := line
		if first {
			if v, n := labelAt(line); n > 0 {
				speaker, fenced, said = v, false, line[n:]
			}
		}
		first = line == "\n"
		at += len(line)
		v := speaker
		switch fence := isFence(said); {
		case speaker != personVoice && speaker != agentVoice:
		case fence || fenced || strings.HasPrefix(said, callMark):
			v, fenced = dumpVoice, fenced != fence
		}
		if last := len(list) - 1; last >= 0 && (list[last].voice == v || first) {
			list[last].end = at
			continue
		}
		list = append(list, spoken{at, v})
	}
	return list
}

// isFence says whether a line begins or ends a block in Markdown.
func isFence(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " "), "```") }

// shares are how much of a text is said by whom, in bytes.
type shares struct{ person, dump, all int }

func (s *shares) add(x shares) {
	s.person, s.dump, s.all = s.person+x.person, s.dump+x.dump, s.all+x.all
}

// of is a part as a share of all.
func (s shares) of(part int) float64 { return float64(part) / float64(max(s.all, 1)) }

// sharesIn are those between two places of a text.
func sharesIn(voices []spoken, from, to int) (s shares) {
	s.all = to - from
	start := 0
	for _, x := range voices {
		n := min(to, x.end) - max(from, start)
		switch start = x.end; {
		case n <= 0:
		case x.voice == personVoice:
			s.person += n
		case x.voice == dumpVoice:
			s.dump += n
		}
	}
	return s
}

// listen finds out who says what of the records of a list. Only pieces of logs
// have voices: a summary or a fact is somebody's words.
func listen(list []*Candidate) {
	for _, c := range list {
		if c.Position < 0 || c.OwnWords {
			continue
		}
		voices := voicesIn(c.Text)
		for i := range c.passages {
			p := &c.passages[i]
			p.said = sharesIn(voices, p.from, p.from+len(p.text))
		}
		c.said = sharesIn(voices, 0, len(c.Text))
	}
}

// favourSaid takes from the relevance of each record what it has not said in
// words, and adds what is worth more because a person said it.
func favourSaid(list []*Candidate) {
	var all shares
	for _, c := range list {
		all.add(c.said)
	}
	rarity := rarityOf(all)
	for _, c := range list {
		c.Relevance -= unsaidShare * (c.said.of(c.said.dump) + c.unsaid) / 2
		if c.byPerson {
			c.Relevance += personShare * rarity
		}
	}
}

// rarityOf is how rare persons' words are: 0 where they are half of all, as in a
// chat, 1 where they are a quarter, 4 where they are a thirty-second.
func rarityOf(all shares) float64 {
	if all.person == 0 {
		return 0
	}
	return max(0, -math.Log2(all.of(all.person))-1)
}
