package facts

import (
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
)

// speakers are the names that people put before what they write where several of
// them write to one agent: "Anna: ...", "(Anna) ...", "[Anna] ...".
type speakers map[string]bool

// leastSpoken is how often a name must stand there: "Colour: blue" is said once.
const leastSpoken = 2

// speakersOf finds the speakers of a session.
func speakersOf(messages []Message) speakers {
	spoken := map[string]int{}
	for _, m := range messages {
		if m.Role != session.RoleUser {
			continue
		}
		if name := speakerIn(m.Text); name != "" {
			spoken[name]++
		}
	}
	all := speakers{}
	for name, n := range spoken {
		if n >= leastSpoken {
			all[name] = true
		}
	}
	return all
}

// speakerIn is the name before a text, or "".
func speakerIn(text string) string {
	m := spokenBy().FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1] + m[2] + m[3]
}

// without is what a person's message says, without who writes it.
func (s speakers) without(text string) string {
	if !s[speakerIn(text)] {
		return text
	}
	return strings.TrimSpace(spokenBy().ReplaceAllString(text, ""))
}

// withoutSounds takes from sentences the sounds with which they begin.
func withoutSounds(all []sentence) []sentence {
	for i := range all {
		if rest := all[i].text[len(sounds().FindString(all[i].text)):]; rest != "" {
			all[i].text = rest
		}
	}
	return all
}

var (
	spokenBy = expression(`^(?:\((\p{Lu}\p{L}*\.?)(?: again| here)?\)|((?:(?:Dr|Mrs?|Ms|Prof)\.? )?\p{Lu}\p{L}+):|\[(\p{Lu}\p{L}+)\]:?) `)
	sounds   = expression(`^(?i:(?:m{2,}|uff|pff|ugh|oof|argh|haha|hehe|lol|oh|ah|aha|phew)[,.!… ]+)+`)
)
