package smallpackages_test

import (
	"crypto/sha1"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/sessctl/sessctl/pkg/speaker"
)

// testdata/speaker/pastes.txt has what people paste, each under its name, and people.txt
// what they say around it, a line each. Both were written for this test and split in two
// halves by their hash before any was tried: one half may be looked at when
// pkg/speaker changes, the other never. Nothing of both is learned from.

// piece is a part of a text and whose it is.
type piece struct {
	text   string
	source speaker.Source
}

func isLookedAt(text string) bool {
	sum := sha1.Sum([]byte(text))
	return sum[len(sum)-1]&0xf < 8
}

// pastesOf are the pastes of a half, with their names, and what people say in it.
func pastesOf(t *testing.T, lookedAt bool) (names, pastes, people []string) {
	t.Helper()
	raw, err := os.ReadFile("testdata/speaker/pastes.txt")
	if err != nil {
		t.Fatal(err)
	}
	begins := regexp.MustCompile(`(?m)^-- (.*) --\n`)
	bodies := begins.Split(string(raw), -1)[1:]
	for i, m := range begins.FindAllStringSubmatch(string(raw), -1) {
		if body := strings.TrimSuffix(bodies[i], "\n"); isLookedAt(body) == lookedAt {
			names, pastes = append(names, m[1]), append(pastes, body)
		}
	}
	if raw, err = os.ReadFile("testdata/speaker/people.txt"); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSuffix(line, "\n"); isLookedAt(line) == lookedAt {
			people = append(people, line)
		}
	}
	return names, pastes, people
}

// wrapped puts the pieces of a person into a program's envelope.
func wrapped(e *speaker.Envelope, pieces []piece) []piece {
	before, after, _ := strings.Cut(e.Sample, "WORDS")
	return append(append([]piece{{before, speaker.Program}}, pieces...), piece{after, speaker.Program})
}

// arranged are the three ways in which a paste stands between words: below them, above
// them in an envelope, and between.
func arranged(i int, paste string, people []string, envelopes []*speaker.Envelope) [][]piece {
	said := func(k int) piece { return piece{people[(3*i+k)%len(people)], speaker.Said} }
	gap := piece{[]string{"\n\n", "\n"}[i%2], speaker.Said}
	blank, shown := piece{"\n\n", speaker.Said}, piece{paste, speaker.Shown}
	return [][]piece{
		{said(0), gap, shown},
		wrapped(envelopes[i%len(envelopes)], []piece{shown, blank, said(1)}),
		{said(2), blank, shown, gap, said(3)},
	}
}

// rightSpans counts how many spans of a text are right, of those by people and of all.
func rightSpans(t *testing.T, pieces []piece) (right, spans, rightOfAll, all int) {
	t.Helper()
	text := ""
	for _, p := range pieces {
		text += p.text
	}
	got := make([]speaker.Source, len(text))
	for _, s := range speaker.Person([]byte(text)) {
		for i := s.From; i < s.To; i++ {
			if got[i] = s.Source; s.Source == speaker.Document {
				got[i] = speaker.Shown
			}
		}
	}
	at := 0
	for _, p := range pieces {
		n, same := 0, 0
		for i := range len(p.text) {
			if !unicode.IsSpace(rune(p.text[i])) {
				if n++; got[at+i] == p.source {
					same++
				}
			}
		}
		if at += len(p.text); n == 0 {
			continue
		}
		ok := 0
		if 10*same >= 9*n {
			ok = 1
		}
		if all, rightOfAll = all+1, rightOfAll+ok; p.source != speaker.Program {
			spans, right = spans+1, right+ok
		}
	}
	return right, spans, rightOfAll, all
}

func TestSpeakerPastes(t *testing.T) {
	var envelopes []*speaker.Envelope
	for _, e := range speaker.Envelopes() {
		if strings.Count(e.Sample, "WORDS") == 1 {
			envelopes = append(envelopes, e)
		}
	}
	for _, half := range []struct {
		name     string
		lookedAt bool
		percent  int // of the spans by people
	}{{"looked at", true, 95}, {"never looked at", false, 95}} {
		names, pastes, people := pastesOf(t, half.lookedAt)
		right, spans, rightOfAll, all := 0, 0, 0, 0
		for i, paste := range pastes {
			for k, pieces := range arranged(i, paste, people, envelopes) {
				r, n, ra, na := rightSpans(t, pieces)
				right, spans, rightOfAll, all = right+r, spans+n, rightOfAll+ra, all+na
				if half.lookedAt && ra < na {
					t.Logf("%s, arranged in way %d: %d of %d spans", names[i], k, ra, na)
				}
			}
		}
		t.Logf("%s: %d texts, %d of %d spans by people are right (%.1f %%), %d of %d with envelopes (%.1f %%)", half.name, 3*len(pastes),
			right, spans, 100*float64(right)/float64(spans), rightOfAll, all, 100*float64(rightOfAll)/float64(all))
		if len(pastes) < 90 || 100*right < half.percent*spans {
			t.Errorf("%s: %d pastes, %d of %d spans are right, want %d %%", half.name, len(pastes), right, spans, half.percent)
		}
	}
}
