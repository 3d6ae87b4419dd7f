package main

import (
	"context"
	"strings"
	"unicode/utf8"
)

// budget is how many characters B8k looks at.
const budget = 8000

// score is the sum, and later the mean, over questions.
type score struct {
	at5, at10, reciprocal, budget float64
	hard                          float64 // recall@10 of the hard ones
	questions, hards              int
}

func (s *score) add(x score) {
	s.at5, s.at10, s.reciprocal, s.budget = s.at5+x.at5, s.at10+x.at10, s.reciprocal+x.reciprocal, s.budget+x.budget
	s.hard, s.questions, s.hards = s.hard+x.hard, s.questions+x.questions, s.hards+x.hards
}

func (s score) mean() score {
	n, h := float64(max(s.questions, 1)), float64(max(s.hards, 1))
	return score{at5: s.at5 / n, at10: s.at10 / n, reciprocal: s.reciprocal / n, budget: s.budget / n, hard: s.hard / h, questions: s.questions, hards: s.hards}
}

// examine asks all questions of a conversation.
func examine(ctx context.Context, a asker, number int, c conversation, rank string) (score, error) {
	var sum score
	for _, q := range c.questions {
		hits, err := a.ask(ctx, q.text, rank)
		if err != nil {
			return sum, err
		}
		s := judge(c, number, q, hits)
		s.questions = 1
		if q.hard {
			s.hard, s.hards = s.at10, 1
		}
		sum.add(s)
	}
	return sum, nil
}

// judge scores the answer to one question.
func judge(c conversation, number int, q question, hits []hit) (s score) {
	got, characters := map[place]bool{}, 0
	share := func() float64 { return float64(len(got)) / float64(len(q.evidence)) }
	open := true // the budget
	for i, h := range hits {
		n := utf8.RuneCountInString(h.Text)
		if open && i > 0 && characters+n > budget {
			s.budget, open = share(), false
		}
		characters += n
		for _, p := range q.evidence {
			if h.Session == sessionID(number, p.session) && holdsHalf(h.Text, c.sessions[p.session][p.turn].text) {
				got[p] = true
			}
		}
		if len(got) > 0 && s.reciprocal == 0 {
			s.reciprocal = 1 / float64(i+1)
		}
		if i < 5 {
			s.at5 = share()
		}
		if i < 10 {
			s.at10 = share()
		}
	}
	if open {
		s.budget = share()
	}
	return s
}

// holdsHalf says whether half of a turn, in one piece, stands in a text.
func holdsHalf(text, turn string) bool {
	text, turn = strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(turn), " ")
	half := (len(turn) + 1) / 2
	return strings.Contains(text, turn[:half]) || strings.Contains(text, turn[len(turn)-half:])
}
