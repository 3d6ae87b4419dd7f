package secrets

import (
	"bytes"
	"crypto/sha256"
	"slices"
)

// A value that was redacted where a name told what it is stands elsewhere without the
// name: in the next message, in the output of a program, in a summary. A Session
// redacts it there, too. It keeps its values in memory only: a file of them, or of
// their digests, would let whoever has it try out passwords.

// Session redacts the texts of one session: what it found in one it finds in all that
// follow. Who reads the texts twice finds it in those before, too. It is not safe for
// use by several goroutines at once.
type Session struct {
	values map[string]bool // those that are found again
	others map[string]bool // digests of those that other words resemble: only counted
	sorted [][]byte        // values, the longest first
}

// NewSession begins a session of which no value is known.
func NewSession() *Session {
	return &Session{values: map[string]bool{}, others: map[string]bool{}}
}

// RedactBytes replaces what looks like a secret, and the values that were found before,
// and returns in how many places. What it returns is text itself if there is none.
func (s *Session) RedactBytes(text []byte) (clean []byte, places int) {
	clean, values := redactBytes(text)
	if len(values) == 0 {
		return s.RedactKnown(text)
	}
	for _, v := range values {
		s.know(v)
	}
	clean, again := s.RedactKnown(clean)
	return clean, len(values) + again
}

// RedactKnown replaces only the values that were found before, and returns in how many
// places.
func (s *Session) RedactKnown(text []byte) (clean []byte, places int) {
	return redactValues(text, s.sorted)
}

// Redact is RedactBytes for a string.
func (s *Session) Redact(text string) (clean string, places int) {
	own, places := s.RedactBytes([]byte(text))
	if places == 0 {
		return text, 0
	}
	return string(own), places
}

// Values is how many values were found so far; one that was found in several places is
// one.
func (s *Session) Values() int { return len(s.values) + len(s.others) }

// Recurring is how many values are found wherever they stand.
func (s *Session) Recurring() int { return len(s.values) }

func (s *Session) know(value []byte) {
	if !isTelling(value) {
		sum := sha256.Sum256(value)
		s.others[string(sum[:])] = true
		return
	}
	if s.values[string(value)] {
		return
	}
	s.values[string(value)] = true
	value = bytes.Clone(value)
	at, _ := slices.BinarySearchFunc(s.sorted, value, func(a, b []byte) int { return len(b) - len(a) })
	s.sorted = slices.Insert(s.sorted, at, value)
}

// isTelling reports a value that ordinary text does not have by chance: where it stands
// again it is the same secret.
func isTelling(value []byte) bool {
	const most = 4096
	return len(value) >= leastHuman && len(value) <= most && !bytes.Contains(value, []byte(Mark)) && !isPlaceholder(value) &&
		(isRandom(value) || isHex(value) || isHuman(value) || isPassphrase(value) || isChosen(value) || len(value) >= leastToken && looksRandom(value) && bitsOf(value) >= leastBits && !isName(value))
}

// redactValues replaces values that are telling wherever they stand alone, and counts
// the places.
func redactValues(text []byte, values [][]byte) (clean []byte, found int) {
	clean = text
	for _, v := range values {
		var n int
		clean, n = redactValue(clean, v)
		found += n
	}
	return clean, found
}

// redactValue replaces one value where no letter or digit stands beside it.
func redactValue(text, value []byte) (clean []byte, found int) {
	done := 0
	for at := 0; ; {
		n := bytes.Index(text[at:], value)
		if n < 0 {
			break
		}
		from, to := at+n, at+n+len(value)
		at = from + 1
		if from > 0 && isAlphanumeric(text[from-1]) && isAlphanumeric(value[0]) && !isEscape(text, from) || to < len(text) && isAlphanumeric(text[to]) && isAlphanumeric(value[len(value)-1]) {
			continue
		}
		clean = append(append(clean, text[done:from]...), Mark...)
		done, at, found = to, to, found+1
	}
	if found == 0 {
		return text, 0
	}
	return append(clean, text[done:]...), found
}

func isAlphanumeric(c byte) bool { return isWord(c) && c != '_' }

// isEscape reports whether the letter before a place belongs to an escape such as \n.
func isEscape(text []byte, at int) bool {
	return at > 1 && text[at-2] == '\\' && (text[at-1] == 'n' || text[at-1] == 't' || text[at-1] == 'r')
}
