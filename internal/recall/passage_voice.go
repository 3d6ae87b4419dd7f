package recall

import (
	"strings"

	"github.com/sessctl/sessctl/pkg/speaker"
)

// Opening is what stands before a part of a text that does not begin with it: a mark,
// and whose words follow, as far as the text tells: "(shown)" is what they pasted,
// code, or a call, and not said.
func Opening(text string, from int) string {
	if from <= 0 {
		return ""
	}
	begin, label := messageAt(text, from)
	if label == "" || begin == from {
		return "… "
	}
	if voice, n := speaker.LabelAt(text[begin:]); shownAt(voice, text[begin+n:], from-begin-n) {
		return "… " + label + " (shown) "
	}
	return "… " + label + " "
}

// messageAt is the message of a text that is put together of messages which a place
// is in: where it begins, and its label.
func messageAt(text string, at int) (begin int, label string) {
	behind := true // a blank line, where a label may stand
	for from := 0; from <= at; {
		if _, n := speaker.LabelAt(text[from:]); behind && n > 0 {
			begin, label = from, text[from:from+n-1]
		}
		line := strings.IndexByte(text[from:], '\n')
		if line < 0 {
			break
		}
		behind = line == 0
		from += line + 1
	}
	return begin, label
}

// shownAt tells whether a place of a message is in what it shows and does not say.
func shownAt(voice speaker.Voice, message string, at int) bool {
	at = max(at, 0)
	if next, _, found := strings.Cut(message[at:], "\n\n["); found {
		message = message[:at+len(next)]
	}
	cut := speaker.Person
	switch voice {
	case speaker.AgentVoice:
		if strings.HasPrefix(message, speaker.CallMark) {
			return true
		}
		cut = speaker.Agent
	case speaker.PersonVoice:
	default:
		return false
	}
	for _, s := range cut([]byte(message)) {
		if at < s.To {
			return s.Source == speaker.Shown
		}
	}
	return false
}
