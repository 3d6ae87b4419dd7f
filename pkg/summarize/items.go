package summarize

import (
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/summarize/state"
)

// Item is one thing that was said or done.
type Item struct {
	Text  string // Markdown, one line, without its place
	Line  int    // 1-based line of the log
	Place string // as the text names it; "" for none
}

// room is how many code points may still be used.
type room struct{ left int }

// take reports whether an item fits, with the mark before it, and uses the room.
func (r *room) take(x Item) bool {
	n := utf8.RuneCountInString(x.written(""))
	if n > r.left {
		return false
	}
	r.left -= n
	return true
}

// written is the item as a line of a list: behind its place, or, where a mark is wanted,
// before it.
func (x Item) written(mark string) string {
	place := "[" + strings.TrimPrefix(x.Place, "line ") + "]"
	switch {
	case x.Place == "":
		return mark + x.Text + "\n"
	case mark == "":
		return place + " " + x.Text + "\n"
	}
	return mark + x.Text + " " + place + "\n"
}

// placeName names a place as the items of a list do.
func placeName(p state.Place) string {
	if p.Message > 0 {
		return p.String()
	}
	return "line " + p.String()
}

// Titles of the sections.
const (
	standTitle    = "Where it stands"
	rulesTitle    = "Rules people set"
	choicesTitle  = "Answers people gave"
	peopleTitle   = "Said by people"
	messagesTitle = "Last messages"
	stepsTitle    = "Last steps"
	filesTitle    = "Files"
	commandsTitle = "Commands"
	earlierTitle  = "From the summary before"
	saidTitle     = "Said before"
	workTitle     = "From the work"
	doneTitle     = "Done"
)

// sentence is a sentence of a person that is to be kept to.
type sentence struct {
	text  string
	event int
}

// How an extractive summary begins.
const (
	extractiveTitle = "# Session summary (extractive)"
	notWritten      = "Quoted and counted, not written by a model"
)

// leastMessage is how long a message is at least that is told short, in code points.
const leastMessage = 60
