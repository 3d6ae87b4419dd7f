package rank

import "testing"

// What was carried into a session is left out where the session that it was said in
// says what of it is asked for.
func TestWhatWasCarried(t *testing.T) {
	for name, x := range map[string]struct {
		change func(copied, piece *Candidate)
		want   string
	}{
		"as it is":                  {func(_, _ *Candidate) {}, "piece"},
		"behind the piece":          {func(c, _ *Candidate) { c.Score = 0.1 }, "piece"},
		"not carried":               {func(c, _ *Candidate) { c.Carried = false }, "copiedpiece"},
		"another copy":              {func(_, p *Candidate) { p.Carried = true }, "piece"},
		"of its own session":        {func(_, p *Candidate) { p.Session = "t" }, "copiedpiece"},
		"only it has a name":        {func(c, p *Candidate) { c.Holds, p.Holds = 3, 2 }, "copiedpiece"},
		"the line has another word": {func(_, p *Candidate) { p.Text = "[Human]: the heron goes to the attic\n\n[Agent]: noted" }, "copiedpiece"},
		"only the line is the same": {func(c, _ *Candidate) { c.Text += "\nwith the key\nof the shed\nin the hand" }, "copiedpiece"},
		"a tool by another name": {func(c, p *Candidate) {
			c.Text, p.Text = `[Agent]: [tool call] exec_command {"cmd":"find heron cellar"}`, `[Agent]: [tool call] bash {"command":"find heron cellar"}`
		}, "piece"},
		"another call": {func(c, p *Candidate) {
			c.Text, p.Text = `[Agent]: [tool call] exec_command {"cmd":"find heron cellar"}`, `[Agent]: [tool call] bash {"command":"find heron"}`
		}, "copiedpiece"},
		"a summary": {func(_, p *Candidate) { p.Position = -1 }, "copiedpiece"},
	} {
		copied, piece := &Candidate{}, &Candidate{}
		copied.ID, copied.Session, copied.Carried, copied.Text, copied.Score = "copied", "t", true, "[Human]: the heron goes to the cellar\n\n[Agent]: noted", 0.9
		piece.ID, piece.Session, piece.Text, piece.Score = "piece", "s", copied.Text, 0.5
		x.change(copied, piece)
		list := []*Candidate{copied, piece}
		if piece.Score > copied.Score {
			list = []*Candidate{piece, copied}
		}
		r := &ranking{Question: Question{Words: "heron cellar"}}
		got := r.foldCarried(list)
		if order(got) != x.want {
			t.Errorf("%s: %s", name, order(got))
		}
		if len(got) == 1 && (piece.Score != max(copied.Score, 0.5) || piece.Duplicates != 1) {
			t.Errorf("%s: %v, %d duplicates", name, piece.Score, piece.Duplicates)
		}
	}
}

// The summary of a session that began with another one repeats what that says.
func TestSummaryOfWhatWasCarried(t *testing.T) {
	text := "[Human]: the heron goes to the cellar"
	list := []*Candidate{
		{ID: "summary", Session: "t", Position: -1, Summary: true, Text: "- the heron goes to the cellar (line 7)", Score: 0.9},
		{ID: "copied", Session: "t", Carried: true, Text: text, Score: 0.8},
		{ID: "piece", Session: "s", Text: text, Score: 0.7},
	}
	r := &ranking{Question: Question{Words: "heron cellar", Limit: 5, Way: Text}}
	if got := r.foldAll(list); order(got) != "piece" || got[0].Duplicates != 2 {
		t.Errorf("%s", order(got))
	}
}
