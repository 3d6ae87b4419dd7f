package state

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Text renders the state in at most so many code points; 800 to 1,500 hold what an
// agent needs in order to go on. Each line names its place in the log.
func (s *State) Text(runes int) string {
	w := writer{left: runes}
	w.plan(s.Plan, runes*3/10)
	failing := s.lately()
	files := min(runes*22/100, 30+50*len(s.Files))
	errors := min(runes*12/100, 180*len(failing))
	steps := min(runes/4, 200*len(s.Steps))
	w.talk(s, w.left-files-errors-steps)
	w.failing(failing, errors)
	w.files(s.Files, files)
	w.steps(s.Steps, w.left)
	return strings.TrimRight(w.String(), "\n")
}

// talk writes what was said last, by both sides: what one does not need the others get.
func (w *writer) talk(s *State, runes int) {
	quotes := []*Quote{s.Before, s.Request, s.Word}
	titles := []string{"Asked before", "Asked last", "Agent's last word"}
	sides := 0
	for _, q := range quotes {
		if q != nil {
			sides++
		}
	}
	for i, q := range quotes {
		if q == nil {
			continue
		}
		later := 0
		for _, other := range quotes[i+1:] {
			if other != nil {
				later += min(utf8.RuneCountInString(other.Text)+30, runes/sides)
			}
		}
		before := w.left
		w.quote(titles[i], q, runes-later)
		runes -= before - w.left
		sides--
	}
}

// writer writes lines as long as there is room.
type writer struct {
	strings.Builder
	left int // code points
}

// line writes a line if it fits.
func (w *writer) line(text string) bool {
	n := utf8.RuneCountInString(text) + 1
	if n > w.left || text == "" {
		return false
	}
	w.left -= n
	w.WriteString(text + "\n")
	return true
}

func (w *writer) quote(title string, q *Quote, runes int) {
	lead := fmt.Sprintf("%s [%s]: ", title, q.Place)
	if room := min(runes, w.left-1) - utf8.RuneCountInString(lead); room >= 20 {
		w.line(lead + Both(q.Text, room))
	}
}

// plan writes the open items, all of them if they fit shortened.
func (w *writer) plan(p *Plan, runes int) {
	if p == nil || len(p.Items) == 0 {
		return
	}
	open, done := p.Open(), 0
	for _, item := range p.Items {
		if item.Status == StatusCompleted {
			done++
		}
	}
	head := fmt.Sprintf("Plan [%s], %d of %d done", p.Place, done, len(p.Items))
	if p.Since > 0 && len(open) > 0 {
		head += fmt.Sprintf(", not touched in the last %d requests", p.Since)
	}
	w.line(head)
	for i, item := range open {
		mark := "[ ] "
		if item.Status == StatusInProgress {
			mark = "[>] "
		}
		if !w.line(mark + Cut(item.Text, max(planLine, runes/len(open)-len(mark)-1))) {
			w.line(fmt.Sprintf("(%d more)", len(open)-i))
			return
		}
	}
}

// planLine is how many code points of an item of a plan are told at least.
const planLine = 60

// lately are the failures of the last requests that the last steps do not tell as well.
func (s *State) lately() (rest []Step) {
	last := s.Steps[max(0, len(s.Steps)-lastSteps):]
	for _, f := range s.Failing {
		if s.Request != nil && s.requests-f.requests < turnsBack && !slices.Contains(last, f) {
			rest = append(rest, f)
		}
	}
	return rest
}

// turnsBack is how many requests a failure is told for.
const turnsBack = 3

// lastSteps is how many steps a short text has.
const lastSteps = 3

// String is a step in one line: what was called, and how that ended unless it worked.
func (s Step) String() string { return s.short(stepRunes, errorRunes) }

func (s Step) short(runes, errors int) string {
	text := Cut(s.Text, runes)
	switch {
	case s.command:
		text = "$ " + Cut(withoutLead(s.Text), runes)
	case !strings.HasPrefix(text, s.Tool):
		text = s.Tool + " " + text
	}
	if s.Outcome == "ok" {
		return text
	}
	text += " → " + s.Outcome
	if s.Error != "" {
		text += ": " + Cut(s.Error, errors)
	}
	return text
}

// withoutLead is a command without the directory that it runs in.
func withoutLead(command string) string {
	if at := strings.Index(command, " && "); at > 0 && strings.HasPrefix(command, "cd ") {
		return command[at+4:]
	}
	return command
}

func (w *writer) failing(steps []Step, runes int) {
	if len(steps) == 0 || runes < 60 {
		return
	}
	keep := w.left - runes
	for i, s := range steps {
		if text := fmt.Sprintf("Failed last time [%s]: %s", s.Place, s.short(90, 90)); w.left-len(text)-1 < keep && i > 0 || !w.line(text) {
			return
		}
	}
}

// steps writes the last steps, oldest first, as many as fit.
func (w *writer) steps(steps []Step, runes int) {
	var lines []string
	const title = "Last steps:"
	room := runes - len(title) - 1
	for i := len(steps) - 1; i >= 0 && len(lines) < maxSteps; i-- {
		most := 100
		if i == len(steps)-1 {
			most = max(160, min(runes/2, 400))
		}
		text := fmt.Sprintf("[%s] %s", steps[i].Place, steps[i].short(most, 100))
		if room -= utf8.RuneCountInString(text) + 1; room < 0 {
			break
		}
		lines = append([]string{text}, lines...)
	}
	if len(lines) > 0 && w.line(title) {
		for _, text := range lines {
			w.line(text)
		}
	}
}

// files writes the files in hand in one line, without the directory that they share.
func (w *writer) files(files []File, runes int) {
	files = files[:min(len(files), maxNamed)]
	if len(files) == 0 {
		return
	}
	lead, dir := "Files: ", sharedDirectory(files)
	if dir != "" {
		lead = "Files in " + dir + ": "
	}
	room := min(max(runes, 60), w.left-1) - utf8.RuneCountInString(lead)
	var named []string
	for _, f := range files {
		one := strings.TrimPrefix(f.Path, dir) + f.done()
		if room -= utf8.RuneCountInString(one) + 2; room < -2 {
			break
		}
		named = append(named, one)
	}
	if len(named) > 0 {
		w.line(lead + strings.Join(named, ", "))
	}
}

// maxNamed is how many files are named at most.
const maxNamed = 12

// done is what was done with a file, and where.
func (f File) done() string {
	at := " [" + f.String() + "]"
	switch {
	case f.Removed:
		return " removed" + at
	case f.Edits > 1:
		return fmt.Sprintf(" edited ×%d%s", f.Edits, at)
	case f.Edits == 1:
		return " edited" + at
	}
	return at
}

// sharedDirectory is the directory that all paths begin with, "" for none that is
// worth telling apart.
func sharedDirectory(files []File) string {
	shared := files[0].Path
	for _, f := range files {
		for !strings.HasPrefix(f.Path, shared) {
			shared = shared[:len(shared)-1]
		}
	}
	shared = shared[:strings.LastIndexByte(shared, '/')+1]
	if len(files) < 2 || len(shared) < 6 {
		return ""
	}
	return shared
}

// Recent are the failures of the last requests, newest first.
func (s *State) Recent() (recent []Step) {
	for _, f := range s.Failing {
		if s.requests-f.requests < turnsBack {
			recent = append(recent, f)
		}
	}
	return recent
}
