package rank

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/session"
)

// Every part of a text has the voice of whoever the label before it names; calls
// and fenced blocks are nobody's words.
func TestVoicesIn(t *testing.T) {
	text := "[Human]: look\n```\npasted\n\nstill pasted\n```\nand here\n\n[Agent]: I see.\n[tool call] read {}\n\n[Tool]: one\n\ntwo\n\n[Agent]: done"
	var got []string
	from := 0
	for _, x := range voicesIn(text) {
		got = append(got, [...]string{"unknown", "person", "agent", "dump"}[x.voice]+" "+text[from:x.end])
		from = x.end
	}
	want := []string{
		"person [Human]: look\n", "dump ```\npasted\n\nstill pasted\n```\n", "person and here\n\n", "agent [Agent]: I see.\n",
		"dump [tool call] read {}\n\n[Tool]: one\n\ntwo\n\n", "agent [Agent]: done",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for text, want := range map[string]voice{
		"went on\nas before\n": unknownVoice, "[Human]: \n": personVoice, "[Other]: x": unknownVoice, "\n[Tool]: x": dumpVoice, "x\n[Human]: y": unknownVoice,
	} {
		list := voicesIn(text)
		if got := list[len(list)-1].voice; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// Voices cover a text from its beginning to its end, each part once.
func TestVoicesCoverTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"[Human]: ", "[Tool]: ", "[tool call] x", "```", "\n", "\n\n", "words", "配送"})).Draw(t, "parts"), "")
		end := 0
		for _, x := range voicesIn(text) {
			if x.end <= end {
				t.Fatalf("%q: a part ends at %d behind %d", text, x.end, end)
			}
			end = x.end
		}
		if end != len(text) {
			t.Fatalf("%q: %d of %d bytes", text, end, len(text))
		}
	})
}

// Every label that a session's messages have is known here.
func TestLabelsAreKnown(t *testing.T) {
	for role := session.RoleUser; role <= session.RoleSystem; role++ {
		for _, custom := range []string{"", "ci"} {
			m := session.Message{Role: role, CustomType: []byte(custom)}
			if _, n := labelAt(m.Label() + ": x"); n != len(m.Label())+len(": ") {
				t.Errorf("role %v: %s is not known", role, m.Label())
			}
		}
	}
}

func TestRarity(t *testing.T) {
	for s, want := range map[shares]float64{{}: 0, {all: 8}: 0, {person: 4, all: 8}: 0, {person: 8, all: 8}: 0, {person: 2, all: 8}: 1, {person: 1, all: 32}: 4} {
		if got := rarityOf(s); got != want {
			t.Errorf("%+v: %v, want %v", s, got, want)
		}
	}
}
