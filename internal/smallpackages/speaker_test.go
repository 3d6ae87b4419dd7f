package smallpackages_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/speaker"
)

const words = "Put it in Git before every change."

// TestSpeakerEnvelopes: of each row's sample only the person's words are left, and what
// is only the program's is empty.
func TestSpeakerEnvelopes(t *testing.T) {
	if len(speaker.Envelopes()) < 100 {
		t.Fatalf("%d rows: this sees too little", len(speaker.Envelopes()))
	}
	for _, e := range speaker.Envelopes() {
		text := strings.ReplaceAll(e.Sample, "WORDS", words)
		want := strings.TrimSuffix(strings.Repeat(words+"\n", strings.Count(e.Sample, "WORDS")), "\n")
		if got := string(speaker.Words([]byte(text))); got != want {
			t.Errorf("%s %s: of %q are said %q, want %q", e.Program, e.Name, text, got, want)
		}
		if plain := "I like it when it says " + e.Begins; e.Begins != "reply HEARTBEAT_OK" && len(speaker.Words([]byte(plain))) == 0 {
			t.Errorf("%s %s: %q within a sentence is taken for it", e.Program, e.Name, e.Begins)
		}
	}
}

// TestSpeakerOf: an envelope is found for its own program only.
func TestSpeakerOf(t *testing.T) {
	for _, x := range []struct{ program, text, want string }{
		{"codex", "  <environment_context>\n", "environment_context"}, {"codex", "<environment_contexts>", ""},
		{"claude", "<environment_context>", ""}, {"openclaw", "[Sun 2026-02-01 10:00 UTC] hello", "stamp"},
		{"openclaw", "[Sun 2026-02-01 hello", ""}, {"codex", "", ""},
	} {
		got := ""
		if e := speaker.Of(x.program, []byte(x.text)); e != nil {
			got = e.Name
		}
		if got != x.want {
			t.Errorf("Of(%s, %q) = %q, want %q", x.program, x.text, got, x.want)
		}
	}
}

// marked is a text with what is known of it: whose each byte is.
type marked struct {
	name, text string
	source     []speaker.Source
	agent      bool
}

// markedTexts reads testdata: a line begins with its source and a bar; a plus before the
// bar joins it with the next.
func markedTexts(t *testing.T) (all []marked) {
	t.Helper()
	file, err := os.ReadFile("testdata/speaker/marked.txt")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]speaker.Source{"said": speaker.Said, "shown": speaker.Shown, "program": speaker.Program}
	for line := range strings.Lines(string(file)) {
		if name, found := strings.CutPrefix(line, "-- "); found {
			all = append(all, marked{name: strings.TrimSuffix(name, " --\n"), agent: strings.HasPrefix(name, "agent")})
			continue
		}
		source, said, _ := strings.Cut(line, "|")
		name, joined := strings.CutSuffix(source, "+")
		if joined {
			said = strings.TrimSuffix(said, "\n")
		}
		x := &all[len(all)-1]
		x.text += said
		for range said {
			x.source = append(x.source, sources[name])
		}
		for len(x.source) < len(x.text) {
			x.source = append(x.source, sources[name])
		}
	}
	return all
}

// TestSpeakerMarked holds how many spans are right: each of which nine tenths are given
// to whom they are of.
func TestSpeakerMarked(t *testing.T) {
	right, all, wrong := 0, 0, map[string]bool{}
	for _, x := range markedTexts(t) {
		spans := speaker.Person([]byte(x.text))
		if x.agent {
			spans = speaker.Agent([]byte(x.text))
		}
		got := make([]speaker.Source, 0, len(x.text))
		for _, s := range spans {
			if s.From != len(got) {
				t.Fatalf("%s: a span begins at %d, want %d", x.name, s.From, len(got))
			}
			if s.Source == speaker.Document {
				s.Source = speaker.Shown
			}
			got = append(got, slices.Repeat([]speaker.Source{s.Source}, s.To-s.From)...)
		}
		if len(got) != len(x.text) {
			t.Fatalf("%s: spans of %d bytes, want %d", x.name, len(got), len(x.text))
		}
		for from := 0; from < len(x.text); {
			to, n, same := from, 0, 0
			for ; to < len(x.text) && x.source[to] == x.source[from]; to++ {
				if !unicode.IsSpace(rune(x.text[to])) {
					if n++; got[to] == x.source[to] {
						same++
					}
				}
			}
			if all++; 10*same >= 9*n {
				right++
			} else {
				wrong[x.name] = true
			}
			from = to
		}
	}
	t.Logf("%d of %d spans right", right, all)
	if all < 500 || 100*right < 95*all {
		t.Errorf("%d of %d spans are right, want 95 %% of at least 500; wrong ones in %v", right, all, wrong)
	}
}

// Every part of a text has the voice of whoever the label before it names; calls
// and fenced blocks are nobody's words.
func TestSpeakerTurns(t *testing.T) {
	text := "[Human]: look\n```\npasted\n\nstill pasted\n```\nand here\n\n[Agent]: I see.\n[tool call] read {}\n\n[Tool]: one\n\ntwo\n\n[Agent]: done"
	var got []string
	from := 0
	for _, x := range speaker.Turns(text) {
		got = append(got, [...]string{"unknown", "person", "agent", "dump"}[x.Voice]+" "+text[from:x.End])
		from = x.End
	}
	want := []string{
		"person [Human]: look\n", "dump ```\npasted\n\nstill pasted\n```\n", "person and here\n\n", "agent [Agent]: I see.\n",
		"dump [tool call] read {}\n\n[Tool]: one\n\ntwo\n\n", "agent [Agent]: done",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for text, want := range map[string]speaker.Voice{
		"went on\nas before\n": speaker.UnknownVoice, "[Human]: \n": speaker.PersonVoice, "[Other]: x": speaker.UnknownVoice, "\n[Tool]: x": speaker.ShownVoice, "x\n[Human]: y": speaker.UnknownVoice,
	} {
		list := speaker.Turns(text)
		if got := list[len(list)-1].Voice; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// Voices cover a text from its beginning to its end, each part once.
func TestSpeakerTurnsCoverTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"[Human]: ", "[Tool]: ", "[tool call] x", "```", "\n", "\n\n", "words", "配送"})).Draw(t, "parts"), "")
		end := 0
		for _, x := range speaker.Turns(text) {
			if x.End <= end {
				t.Fatalf("%q: a part ends at %d behind %d", text, x.End, end)
			}
			end = x.End
		}
		if end != len(text) {
			t.Fatalf("%q: %d of %d bytes", text, end, len(text))
		}
	})
}

// Every label that a session's messages have is known here.
func TestSpeakerKnowsLabels(t *testing.T) {
	for role := session.RoleUser; role <= session.RoleSystem; role++ {
		for _, custom := range []string{"", "ci"} {
			m := session.Message{Role: role, CustomType: []byte(custom)}
			if _, n := speaker.LabelAt(m.Label() + ": x"); n != len(m.Label())+len(": ") {
				t.Errorf("role %v: %s is not known", role, m.Label())
			}
		}
	}
}

// FuzzSpeaker: the spans of a text are the text, in its order, whatever it is.
func FuzzSpeaker(f *testing.F) {
	for _, e := range speaker.Envelopes() {
		f.Add([]byte(e.Sample))
	}
	f.Add([]byte("<task>\n<task>"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, cut := range []func([]byte) []speaker.Span{speaker.Person, speaker.Agent} {
			at := 0
			for _, s := range cut(text) {
				if s.From != at || s.To <= s.From {
					t.Fatalf("span %v at %d", s, at)
				}
				at = s.To
			}
			if at != len(text) {
				t.Fatalf("spans end at %d of %d", at, len(text))
			}
		}
	})
}
