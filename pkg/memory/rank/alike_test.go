package rank

import (
	"fmt"
	"slices"
	"testing"
)

// ranking is a list of records of sessions of their own, each a little better than
// the next.
func ranked(texts ...string) (list []*Candidate) {
	for i, text := range texts {
		x := &Candidate{said: shares{all: len(text)}}
		x.ID, x.Text, x.Session, x.Score = fmt.Sprint(i), text, fmt.Sprint("session ", i), 0.9-0.01*float64(i)
		list = append(list, x)
	}
	return list
}

func order(list []*Candidate) (ids string) {
	for _, x := range list {
		ids += x.ID
	}
	return ids
}

// Behind the first five comes first what resembles the first three, as far as
// somebody said it, and what is of the sessions of the five. The scores say so.
func TestAlikeComesSixth(t *testing.T) {
	boats := []string{"our boat Marigold needs varnish", "Marigold got varnish on the keel", "the keel of Marigold", "a boat", "boat"}
	for name, x := range map[string]struct {
		change func(list []*Candidate)
		want   string
	}{
		"by words":      {func([]*Candidate) {}, "01234756"},
		"what is asked": {func(list []*Candidate) { list[7].Text = "our boat at the landing" }, "01234567"},
		"printed":       {func(list []*Candidate) { list[7].said.dump = list[7].said.all }, "01234567"},
		"of one session": {func(list []*Candidate) {
			list[6].Session = "session 0"
			list[3].Session = "session 0"
			list[7].Text = ""
		}, "01234657"},
		"in a long text": {func(list []*Candidate) {
			list[6].Text = list[7].Text + " beside the shed where ropes and oars and sails of other owners hang from old nails"
		}, "01234765"},
		"again and again": {func(list []*Candidate) { list[6].Text = "keel keel keel keel keel keel keel keel keel keel" }, "01234765"},
		"a summary among the first": {func(list []*Candidate) {
			list[3].Position, list[6].Session, list[7].Text = -1, "session 3", ""
		}, "01234567"},
		"a summary": {func(list []*Candidate) { list[6].Session = "session 0"; list[6].Position = -1; list[7].Text = "" }, "01234567"},
	} {
		list := ranked(append(boats, "the oven is hot", "cake for tea", "varnish for the keel of Marigold")...)
		x.change(list)
		(&ranking{Question: Question{Text: "our boat", Limit: 10}}).favourAlike(list)
		if got := order(list); got != x.want {
			t.Errorf("%s: %s, want %s", name, got, x.want)
		}
		for i := range list[1:] {
			if list[i+1].Score > list[i].Score {
				t.Errorf("%s: hit %d has a score of %v, the one before it %v", name, i+2, list[i+1].Score, list[i].Score)
			}
		}
	}
}

// The same list has the same scores to the last digit, and a short list stays as
// it is.
func TestAlikeIsTheSameEachTime(t *testing.T) {
	texts := []string{"a b c d e f g", "c d e f g h", "e f g h i j", "x", "y", "a c e g i k m", "b d f h j l n"}
	r := &ranking{Question: Question{Text: "k", Limit: 10}}
	first := ranked(texts...)
	r.favourAlike(first)
	for range 20 {
		again := ranked(texts...)
		r.favourAlike(again)
		for i := range first {
			if again[i].Score != first[i].Score {
				t.Fatalf("hit %d: %v and %v", i+1, first[i].Score, again[i].Score)
			}
		}
	}
	few := ranked(texts[:5]...)
	r.favourAlike(few)
	if got := order(few); got != "01234" {
		t.Error(got)
	}
}

// A word counts once in a text, and once for each text that has it.
func TestNumberedWords(t *testing.T) {
	w := numberedWords{numbers: map[string]int{}}
	if got := w.of("keel oak keel"); !slices.Equal(got, []int{0, 1}) {
		t.Error(got)
	}
	if got := w.of("oak elm oak"); !slices.Equal(got, []int{1, 2}) || !slices.Equal(w.texts, []int{1, 2, 1}) {
		t.Error(got, w.texts)
	}
}
