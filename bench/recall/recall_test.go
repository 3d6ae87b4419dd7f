package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sessctl/sessctl/bench/product"
	"github.com/sessctl/sessctl/internal/tier"
)

// small is a conversation of two sessions.
func small() conversation {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return conversation{name: "small", sessions: [][]turn{
		{{id: "a", text: "we grow tomatoes on the roof", user: true, time: at}, {id: "b", text: "and herons come by in the evening", time: at}},
		{{id: "c", text: "the boat is called Marigold", time: at.Add(time.Hour)}},
	}, questions: []question{{text: "name of the boat", evidence: []place{{1, 0}}}, {text: "tomatoes and herons", evidence: []place{{0, 0}, {0, 1}}}}}
}

// The figures are those that the definitions give by hand.
func TestJudge(t *testing.T) {
	c := small()
	one, two := sessionID(0, 0), sessionID(0, 1)
	other := hit{Session: two, Text: "something else"}
	for name, x := range map[string]struct {
		hits []hit
		want score
	}{
		"none":           {nil, score{}},
		"first":          {[]hit{{one, c.sessions[0][0].text + "\n" + c.sessions[0][1].text}}, score{at5: 1, at10: 1, reciprocal: 1, budget: 1}},
		"half of it":     {[]hit{other, {one, c.sessions[0][0].text}}, score{at5: 0.5, at10: 0.5, reciprocal: 0.5, budget: 0.5}},
		"half a turn":    {[]hit{{one, c.sessions[0][0].text[:15]}}, score{at5: 0.5, at10: 0.5, reciprocal: 1, budget: 0.5}},
		"another's text": {[]hit{{two, c.sessions[0][0].text}}, score{}},
		"sixth":          {[]hit{other, other, other, other, other, {one, c.sessions[0][0].text}}, score{at10: 0.5, reciprocal: 1.0 / 6, budget: 0.5}},
		"beyond 8000":    {[]hit{{two, string(make([]byte, 8000))}, {one, c.sessions[0][0].text}}, score{at5: 0.5, at10: 0.5, reciprocal: 0.5}},
	} {
		if got := judge(c, 0, c.questions[1], x.hits); got != x.want {
			t.Errorf("%s: %+v, want %+v", name, got, x.want)
		}
	}
}

// The whole way: sessions written, compacted by the program, asked.
func TestMeasure(t *testing.T) {
	tier.SkipSmoke(t, "builds the program")
	dir := t.TempDir()
	path, err := product.Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	homes, err := writeHomes(t.Context(), options{program: path}, dir, []conversation{small()})
	if err != nil {
		t.Fatal(err)
	}
	for _, library := range []bool{false, true} {
		table := &table{homes: homes}
		if err := table.measure(t.Context(), options{library: library}, "hybrid"); err != nil {
			t.Fatal(err)
		}
		if got := table.row("hybrid").total.mean(); got.at5 != 1 || got.questions != 2 {
			t.Errorf("library %v: %+v", library, got)
		}
	}
}

func TestSections(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.md")
	if err := os.WriteFile(path, []byte("before\n# One\ntext\n```\n# not a heading\n```\n## `Two` #\nmore\n# Three\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := sections(path)
	if len(got) != 2 || got[0] != (section{"One", "text\n```\n# not a heading\n```"}) || got[1] != (section{"Two", "more"}) {
		t.Errorf("%q", got)
	}
}

// A hit answers a question with its lines, those of the result of an action
// included.
func TestAnsweredBy(t *testing.T) {
	q := codingQuestion{Kind: "file", Answers: [][2]int{{10, 12}, {30, 30}}}
	for want, hits := range map[bool][]codingHit{
		true:  {codingLines("a", 1, 10, 0), codingLines("a", 12, 40, 0), codingLines("a", 11, 11, 0), codingLines("a", 29, 29, 30)},
		false: {codingLines("a", 1, 9, 0), codingLines("a", 13, 29, 0), codingLines("a", 31, 31, 32), codingLines("b", 10, 12, 0)},
	} {
		for _, h := range hits {
			if got := q.answeredBy(h, "a"); got != want {
				t.Errorf("%+v: %v", h, got)
			}
		}
	}
	var s codingScore
	for _, at := range []int{-1, 0, 4, 5} {
		s.add(at)
	}
	if got := s.String(); got != "0.25 / 0.50 / 0.75 (4)" || !q.aboutWork() {
		t.Error(got)
	}
}

func codingLines(session string, first, last, result int) codingHit {
	h := codingHit{Session: session, ResultLast: result}
	h.Source.First, h.Source.Last = first, last
	return h
}
