package browse

import (
	"fmt"
	"strings"
)

// findPrompt asks what to look for in the text.
func (s *textScreen) findPrompt() *promptScreen {
	return &promptScreen{
		name: "search in this text", text: []rune(s.find), does: "search",
		about: []string{"Large and small letters are the same. n goes to the next, N to the one before; m asks the memory."},
		enter: func(m *Model, text string) Request {
			s.find, s.found = strings.ToLower(safe(text)), -1
			if s.find == "" {
				return Request{}
			}
			return s.next(m, 1)
		},
	}
}

// has reports whether a row has what is looked for. What is longer than a row, or
// broken between two, is found in the first of its line.
func (s *textScreen) has(row int) bool {
	if s.find == "" || row < 0 || row >= len(s.wrapped) {
		return false
	}
	if strings.Contains(strings.ToLower(s.wrapped[row].text), s.find) {
		return true
	}
	of := s.wrapped[row].of
	if row > 0 && s.wrapped[row-1].of == of || !strings.Contains(strings.ToLower(safe(s.lines[of].Text)), s.find) {
		return false
	}
	for i := row; i < len(s.wrapped) && s.wrapped[i].of == of; i++ {
		if strings.Contains(strings.ToLower(s.wrapped[i].text), s.find) {
			return false
		}
	}
	return true
}

// next goes to the next row that has what is looked for, in the direction by. Beyond
// the end of a part of a session the next part is read.
func (s *textScreen) next(m *Model, by int) Request {
	if s.find == "" {
		m.show(s.findPrompt())
		return Request{}
	}
	from := s.found + by
	if s.found < 0 {
		from = s.top
	}
	if row := s.search(from, by); row >= 0 {
		s.reach(m, row)
		return Request{}
	}
	if s.page != nil && (by > 0 && s.page.After || by < 0 && s.page.Before) {
		s.seeking = by
		if by > 0 {
			return s.read(m, func(p *Place) { p.From = s.page.Last + 1 })
		}
		return s.read(m, func(p *Place) { p.Until = s.page.First - 1 })
	}
	m.say(map[bool]string{true: "not found below: N searches above", false: "not found above: n searches below"}[by > 0])
	return Request{}
}

// search returns the first row from one on that has it, -1 if there is none.
func (s *textScreen) search(from, by int) int {
	for row := from; row >= 0 && row < len(s.wrapped); row += by {
		if s.has(row) {
			return row
		}
	}
	return -1
}

// reach shows a row that has it, and says which of how many it is.
func (s *textScreen) reach(m *Model, row int) {
	s.found = row
	if row < s.top || row >= s.top+s.height {
		s.top = max(row-s.height/3, 0)
	}
	at, all := 0, 0
	for i := range s.wrapped {
		if s.has(i) {
			all++
			if i <= row {
				at++
			}
		}
	}
	m.say(fmt.Sprintf("%d of %d", at, all))
}

// arrive goes on with a search in a part of a session that was just read.
func (s *textScreen) arrive(m *Model, by int) {
	s.wrap(max(m.width-2, 1))
	from := 0
	if by < 0 {
		from = len(s.wrapped) - 1
	}
	if row := s.search(from, by); row >= 0 {
		s.reach(m, row)
		return
	}
	m.say(fmt.Sprintf("not in lines %d to %d: %s goes on", s.page.First, s.page.Last, map[bool]string{true: "n", false: "N"}[by > 0]))
	if s.found = 0; by > 0 {
		s.found = len(s.wrapped) - 1
	}
}
