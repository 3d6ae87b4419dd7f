package rank

import (
	"slices"
	"testing"
)

// A summary is left out if a piece of its session says all of it that is asked
// for, and whatever it holds word for word.
func TestWhatASummaryRepeats(t *testing.T) {
	for name, x := range map[string]struct {
		change func(summary, piece *Candidate)
		want   string
	}{
		"as it is":           {func(_, _ *Candidate) {}, "piece"},
		"both hold a name":   {func(s, p *Candidate) { s.Holds, p.Holds = 1, 3 }, "piece"},
		"only it has a name": {func(s, p *Candidate) { s.Holds, p.Holds = 3, 2 }, "summarypiece"},
		"of another session": {func(_, p *Candidate) { p.Session = "t" }, "summarypiece"},
		"no piece":           {func(_, p *Candidate) { p.Position = -1 }, "summarypiece"},
		"one word more":      {func(s, _ *Candidate) { s.Text += " and the lark" }, "summarypiece"},
		"taken up later": {func(s, _ *Candidate) {
			s.Text = "- the heron goes to the cellar → line 9: no word of that, but a lot of others that nobody asked for (line 7)"
		}, "piece"},
		"quoted from what comes later": {func(s, _ *Candidate) {
			s.Text = "- a bird goes into the house at last → line 9 → line 12: the heron goes to the cellar (line 7)"
		}, "piece"},
		"in an agent's words": {func(s, _ *Candidate) { s.OwnWords = true }, "summarypiece"},
	} {
		summary, piece := &Candidate{}, &Candidate{}
		summary.ID, summary.Session, summary.Position, summary.Summary, summary.Text, summary.Score = "summary", "s", -1, true, "- the heron goes to the cellar (line 7)", 0.9
		piece.ID, piece.Session, piece.Text, piece.Score = "piece", "s", "we said that the heron goes to the cellar", 0.5
		x.change(summary, piece)
		r := &ranking{Question: Question{Words: "heron lark cellar"}}
		got := r.foldSummaries([]*Candidate{summary, piece}, 5)
		if order(got) != x.want {
			t.Errorf("%s: %s", name, order(got))
		}
		if len(got) == 1 && (piece.Score != 0.9 || piece.Duplicates != 1) {
			t.Errorf("%s: %v, %d duplicates", name, piece.Score, piece.Duplicates)
		}
	}
}

func TestStatementsOfASummary(t *testing.T) {
	text := "Goal\n- sail at 9: no later → line 30: 12: too early → line 41 (line 7)\nas is\n[12] User: sail at 9 → line 30: too early\nAsked last [7]: when?\n- [x] sailed [9]\n[message 3] Agent: it sailed"
	want := []string{"Goal", "- sail at 9: no later", "12: too early", "41", "as is", "sail at 9", "too early", "when?", "- [x] sailed", "it sailed"}
	if got := slices.Collect(statements(text)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Sessions are the same if everything that names them is.
func TestSameSession(t *testing.T) {
	of := func(host, runtime, agent, session string) (h *Candidate) {
		h = &Candidate{}
		h.Host, h.Runtime, h.Agent, h.Session = host, runtime, agent, session
		return h
	}
	x := of("h", "pi", "a", "s")
	if !x.sameSession(of("h", "pi", "a", "s")) {
		t.Error("another session")
	}
	for _, y := range []*Candidate{of("i", "pi", "a", "s"), of("h", "goose", "a", "s"), of("h", "pi", "b", "s"), of("h", "pi", "a", "t")} {
		if x.sameSession(y) {
			t.Errorf("the same: %+v", y)
		}
	}
}
