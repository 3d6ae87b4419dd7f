package secrets

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"slices"
)

// A value that was redacted where a name told what it is stands elsewhere without the
// name: in the next message, in the output of a program, in a summary. A Session
// redacts it there, too.

// Session redacts the texts of one session: what it found in one it finds in all that
// follow. It is not safe for use by several goroutines at once.
type Session struct {
	values map[string]bool // those that are found again
	others map[string]bool // digests of those that other words resemble: only counted
	early  [][]byte        // of values, the longest first
	former *Values         // of sessions before, or nil
}

// NewSession begins a session. former are the values that were found in sessions
// before; nil if nothing is known of them.
func NewSession(former *Values) *Session {
	return &Session{values: map[string]bool{}, others: map[string]bool{}, former: former}
}

// RedactBytes replaces what looks like a secret, and the values that were found before,
// and returns how many values are in it that no text before had. What it returns is
// text itself if there is nothing to replace.
func (s *Session) RedactBytes(text []byte) (clean []byte, fresh int) {
	before := s.Values()
	clean, values := redactBytes(text)
	if len(values) == 0 {
		clean = text
	}
	for _, v := range values {
		s.know(v)
	}
	clean, _ = redactValues(clean, s.early)
	clean = s.redactFormer(clean)
	return clean, s.Values() - before
}

// Redact is RedactBytes for a string.
func (s *Session) Redact(text string) (clean string, fresh int) {
	own, fresh := s.RedactBytes([]byte(text))
	return string(own), fresh
}

// Values is how many values were found so far.
func (s *Session) Values() int { return len(s.values) + len(s.others) }

// Found calls visit with every value that may be found again in other texts.
func (s *Session) Found(visit func(value string)) {
	for _, v := range s.early {
		visit(string(v))
	}
}

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
	at, _ := slices.BinarySearchFunc(s.early, value, func(a, b []byte) int { return len(b) - len(a) })
	s.early = slices.Insert(s.early, at, value)
}

func (s *Session) redactFormer(text []byte) []byte {
	if s.former == nil || s.former.Len() == 0 {
		return text
	}
	clean, values := s.former.redact(text)
	for _, v := range values {
		s.know(v)
	}
	return clean
}

// isTelling reports a value that ordinary text does not have by chance: where it stands
// again it is the same secret.
func isTelling(value []byte) bool {
	const most = 4096
	return len(value) >= leastHuman && len(value) <= most && !bytes.Contains(value, []byte(Mark)) && !isPlaceholder(value) &&
		(isRandom(value) || isHex(value) || isHuman(value) || isPassphrase(value) || isChosen(value) || len(value) >= leastToken && looksRandom(value) && bitsOf(value) >= leastBits && !isName(value))
}

// redactValues replaces values wherever they stand alone, and counts the places.
func redactValues(text []byte, values [][]byte) (clean []byte, found int) {
	clean = text
	for _, v := range values {
		if !isTelling(v) || !bytes.Contains(clean, v) {
			continue
		}
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

// Values knows values that were found before without having them: of each the length
// and a digest that only who has the key can make. Text is compared word by word.
type Values struct {
	key     []byte
	digests map[string]bool
	lengths map[int]bool
}

// digestBytes is how much of a digest is kept.
const digestBytes = 16

// NewValues begins an empty set; key is secret, and the same in every run.
func NewValues(key []byte) *Values {
	return &Values{key: bytes.Clone(key), digests: map[string]bool{}, lengths: map[int]bool{}}
}

// Len is how many values are known.
func (v *Values) Len() int { return len(v.digests) }

// Digest is what is kept of a value.
func (v *Values) Digest(value []byte) []byte {
	sum := hmac.New(sha256.New, v.key)
	sum.Write(value)
	return sum.Sum(nil)[:digestBytes]
}

// Add adds a value by its digest and its length in bytes.
func (v *Values) Add(digest []byte, length int) {
	v.digests[string(digest)] = true
	v.lengths[length] = true
}

// redact replaces the words of a text that are known values, and returns them.
func (v *Values) redact(text []byte) (clean []byte, values [][]byte) {
	done := 0
	for at := 0; at < len(text); {
		if !isSecretByte(text[at]) {
			at++
			continue
		}
		stop := at
		for stop < len(text) && isSecretByte(text[stop]) {
			stop++
		}
		if from, to := v.within(text, at, stop); to > from {
			values = append(values, text[from:to])
			clean = append(append(clean, text[done:from]...), Mark...)
			done = to
		}
		at = stop
	}
	if done == 0 {
		return text, nil
	}
	return append(clean, text[done:]...), values
}

// within is the known value that a word is, with or without what belongs to the
// sentence or to a name before it; to is 0 if it is none.
func (v *Values) within(text []byte, at, stop int) (from, to int) {
	if stop-at < leastHuman {
		return 0, 0
	}
	if v.has(text[at:stop]) {
		return at, stop
	}
	if from, to = trimWord(text, at, stop); (from != at || to != stop) && v.has(text[from:to]) {
		return from, to
	}
	if to = at + len(bytes.TrimRight(text[at:stop], ".,;:!?")); to != stop && v.has(text[at:to]) {
		return at, to
	}
	return 0, 0
}

func (v *Values) has(word []byte) bool {
	return v.lengths[len(word)] && isTelling(word) && v.digests[string(v.Digest(word))]
}
