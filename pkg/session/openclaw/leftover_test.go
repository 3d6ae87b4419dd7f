package openclaw_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/fakeagentdb"
	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
)

// verdicts is what is said of each leftover: "contained", "unknown", or how
// many records are missing and the first of them.
func (s *state) verdicts() map[string]string {
	s.t.Helper()
	all, err := s.Leftovers(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	said := map[string]string{}
	for _, l := range all {
		said[filepath.Base(l.Path)] = inWords(l)
	}
	return said
}

func inWords(l session.Leftover) string {
	switch {
	case l.Err != nil:
		return "unknown"
	case l.Contained():
		return "contained"
	}
	return strings.Repeat("missing ", l.Missing) + l.First
}

func TestLeftovers(t *testing.T) {
	lines := fakeagentdb.Lines()
	whole := strings.Join(lines, "\n") + "\n"
	changed := strings.Replace(whole, "cold room", "warm room", 1)
	reordered := strings.Replace(whole, `{"type":"message","id"`, `{ "id"`, 1)
	reordered = strings.Replace(reordered, `"message":{"role":"user"`, `"type":"message","message":{"role":"user"`, 1)
	if reordered == whole {
		t.Fatal("the test changes nothing")
	}
	const other = "7b3a9d64-52c1-4f0e-8a77-0c5de1f20d99"
	for name, c := range map[string]struct{ file, text, want string }{
		"the same":                     {fakeagentdb.Current, whole, "contained"},
		"its beginning":                {fakeagentdb.Current, strings.Join(lines[:3], "\n") + "\n", "contained"},
		"other order of keys":          {fakeagentdb.Current, reordered, "contained"},
		"a blank line":                 {fakeagentdb.Current, whole + "\n", "contained"},
		"one more line":                {fakeagentdb.Current, whole + `{"type":"message","id":"x","message":{"role":"user","content":"y"}}` + "\n", "missing line 9"},
		"same id, another text":        {fakeagentdb.Current, changed, "missing line 5"},
		"named after another":          {other, whole, "contained"},
		"a session it does not have":   {other, strings.ReplaceAll(whole, fakeagentdb.Current, other), strings.Repeat("missing ", 8) + "line 1"},
		"records of another session":   {fakeagentdb.Earlier, strings.Join(lines[1:3], "\n") + "\n", "missing missing line 1"},
		"no header, right name":        {fakeagentdb.Current, strings.Join(lines[1:], "\n") + "\n", "contained"},
		"torn":                         {fakeagentdb.Current, whole[:len(whole)-9], "unknown"},
		"a line that is no record":     {fakeagentdb.Current, whole + "hello\n", "unknown"},
		"empty":                        {fakeagentdb.Current, "", "contained"},
		"a checkpoint of the file era": {fakeagentdb.Current + ".checkpoint.22222222-2222-4222-8222-222222222222", whole, "contained"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStored(t, fakeagentdb.Story(true))
			s.log(c.file+".jsonl", c.text)
			s.log(c.file+".jsonl.reset.2026-01-03T04-05-06.789Z", "closed: no leftover")
			before := s.tree()
			if diff := cmp.Diff(map[string]string{c.file + ".jsonl": c.want}, s.verdicts()); diff != "" {
				t.Error(diff)
			}
			wantTree(t, before, s.tree())
		})
	}
}

// A database that cannot be read contains nothing for certain, and in the file
// era there are no leftovers.
func TestLeftoversWithoutAnAnswer(t *testing.T) {
	c := fakeagentdb.Story(false)
	c.Version = 24
	s := newStored(t, c)
	s.log(mainID+".jsonl", transcript(mainID))
	if diff := cmp.Diff(map[string]string{mainID + ".jsonl": "unknown"}, s.verdicts()); diff != "" {
		t.Error(diff)
	}
	if said := newMain(t).verdicts(); len(said) > 0 {
		t.Error(said)
	}
}

// A log whose header and name disagree is told by both.
func TestLeftoverOfTwoNames(t *testing.T) {
	s := newStored(t, fakeagentdb.Story(false))
	const other = "7b3a9d64-52c1-4f0e-8a77-0c5de1f20d99"
	lines := fakeagentdb.Lines()
	s.log(other+".jsonl", lines[0]+"\n")
	s.log(fakeagentdb.Current+"-topic-42.jsonl", lines[0]+"\n")
	s.log(fakeagentdb.Earlier+".jsonl", lines[1]+"\n")
	all, err := s.Leftovers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got [][2]string
	for _, l := range all {
		got = append(got, [2]string{l.Named, l.Headed})
	}
	want := [][2]string{{fakeagentdb.Current, fakeagentdb.Current}, {fakeagentdb.Earlier, ""}, {other, fakeagentdb.Current}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSampleLeftovers(t *testing.T) {
	s := newState(t)
	copied(t, samples.Beside(t, "samples/openclaw/derived-sqlite-2026.8"), s.root)
	want := map[string]string{
		"11111111-1111-4111-8111-111111110021.jsonl": "contained",
		"11111111-1111-4111-8111-111111110022.jsonl": "missing line 22",
		// of a session that the database does not have, named after yet another
		"11111111-1111-4111-8111-111111110023.jsonl": strings.Repeat("missing ", 4) + "line 1",
	}
	if diff := cmp.Diff(want, s.verdicts()); diff != "" {
		t.Error(diff)
	}
}
