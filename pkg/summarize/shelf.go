package summarize

import (
	"slices"
	"strings"
)

// candidate may become an item of a summary.
type candidate struct {
	text  string
	line  int
	score int
}

// shelf keeps a fixed number of candidates, in the order they came: the first
// ones, the newest ones, and the best of those in between.
type shelf struct {
	first, best, recent int
	items               []candidate
}

// add puts a candidate on the shelf. What is already there is not kept twice.
func (s *shelf) add(c candidate) {
	if i := slices.IndexFunc(s.items, func(o candidate) bool { return strings.EqualFold(o.text, c.text) }); i >= 0 {
		s.items[i].score = max(s.items[i].score, c.score)
		return
	}
	s.items = append(s.items, c)
	if len(s.items) <= s.first+s.best+s.recent {
		return
	}
	worst := s.first
	for i := s.first; i < len(s.items)-s.recent; i++ {
		if s.items[i].score < s.items[worst].score {
			worst = i
		}
	}
	s.items = slices.Delete(s.items, worst, worst+1)
}

// ranked returns the candidates with the most important first. The first ones
// lead; the newest gain a little, so that they win over their equals.
func (s *shelf) ranked() []candidate {
	ranked := slices.Clone(s.items)
	for i := range ranked {
		if i < s.first {
			ranked[i].score += 100
		}
		if i >= len(ranked)-s.recent {
			ranked[i].score++
		}
	}
	slices.SortStableFunc(ranked, func(a, b candidate) int {
		if a.score != b.score {
			return b.score - a.score
		}
		return b.line - a.line
	})
	return ranked
}
