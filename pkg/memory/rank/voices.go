package rank

import (
	"math"

	"github.com/sessctl/sessctl/pkg/speaker"
)

// Who says it. Coding sessions are mostly what tools printed and what somebody
// pasted: it has many of the words of a question and seldom the answer. What the
// person and the agent said in words comes first, and a person's words before
// an agent's where they are few (docs/dev/ranking.md, Who says it).

// shares are how much of a text is said by whom, in bytes.
type shares struct{ person, dump, all int }

func (s *shares) add(x shares) {
	s.person, s.dump, s.all = s.person+x.person, s.dump+x.dump, s.all+x.all
}

// of is a part as a share of all.
func (s shares) of(part int) float64 { return float64(part) / float64(max(s.all, 1)) }

// sharesIn are those between two places of a text.
func sharesIn(turns []speaker.Turn, from, to int) (s shares) {
	s.all = to - from
	start := 0
	for _, x := range turns {
		n := min(to, x.End) - max(from, start)
		switch start = x.End; {
		case n <= 0:
		case x.Voice == speaker.PersonVoice:
			s.person += n
		case x.Voice == speaker.ShownVoice:
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
		turns := speaker.Turns(c.Text)
		for i := range c.passages {
			p := &c.passages[i]
			p.said = sharesIn(turns, p.from, p.from+len(p.text))
		}
		c.said = sharesIn(turns, 0, len(c.Text))
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
