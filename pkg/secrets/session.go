package secrets

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash/maphash"
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
	values valueSet        // those that are found again
	others map[string]bool // digests of those that other words resemble: only counted
	seed   maphash.Seed
	plain  map[uint64]bool // hashes of texts that show no secret, not to search them twice
}

// NewSession begins a session of which no value is known.
func NewSession() *Session {
	return &Session{others: map[string]bool{}, seed: maphash.MakeSeed(), plain: map[uint64]bool{}}
}

// RedactBytes replaces what looks like a secret, and the values that were found before,
// and returns in how many places. What it returns is text itself if there is none.
func (s *Session) RedactBytes(text []byte) (clean []byte, places int) {
	clean, places = s.search(text)
	clean, again := s.RedactKnown(clean)
	return clean, places + again
}

// RedactAlone is the RedactBytes of the package, which no other text has a part in. It
// does not search again what showed no secret. s may be nil.
func (s *Session) RedactAlone(text []byte) (clean []byte, places int) {
	if s != nil && s.plain[s.sumOf(text)] {
		return text, 0
	}
	return RedactBytes(text)
}

// Learn takes in the values of a text, for the texts that are redacted after it.
func (s *Session) Learn(text []byte) { s.search(text) }

// search replaces what looks like a secret in a text and takes in the values.
func (s *Session) search(text []byte) (clean []byte, places int) {
	sum := s.sumOf(text)
	if s.plain[sum] {
		return text, 0
	}
	clean, values := redactBytes(text)
	if len(values) == 0 {
		s.keep(sum)
		return text, 0
	}
	for _, v := range values {
		s.know(v)
	}
	return clean, len(values)
}

// sumOf is the hash of a text, 0 for one that is searched as fast as found.
func (s *Session) sumOf(text []byte) uint64 {
	const least = 64 // bytes
	if len(text) < least {
		return 0
	}
	return maphash.Bytes(s.seed, text)
}

// keep keeps the hash of a text that shows no secret: of so many texts at most, which
// take about 2 MB.
func (s *Session) keep(sum uint64) {
	const most = 1 << 17
	if sum != 0 && len(s.plain) < most {
		s.plain[sum] = true
	}
}

// RedactKnown replaces only the values that were found before, and returns in how many
// places.
func (s *Session) RedactKnown(text []byte) (clean []byte, places int) {
	return s.values.redact(text)
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
func (s *Session) Values() int { return len(s.values.sorted) + len(s.others) }

// Recurring is how many values are found wherever they stand.
func (s *Session) Recurring() int { return len(s.values.sorted) }

func (s *Session) know(value []byte) {
	if !isTelling(value) {
		sum := sha256.Sum256(value)
		s.others[string(sum[:])] = true
		return
	}
	s.values.add(value)
}

// isTelling reports a value that ordinary text does not have by chance: where it stands
// again it is the same secret.
func isTelling(value []byte) bool {
	const most = 4096
	return len(value) >= leastHuman && len(value) <= most && !bytes.Contains(value, []byte(Mark)) && !isPlaceholder(value) &&
		(isRandom(value) || isHex(value) || isHuman(value) || isPassphrase(value) || isChosen(value) || len(value) >= leastToken && looksRandom(value) && bitsOf(value) >= leastBits && !isName(value))
}

// valueSet finds all its values in a text in one pass: by their first eight bytes, which
// all of them have (leastHuman).
type valueSet struct {
	sorted []*knownValue // the longest first
	starts map[uint64][]*knownValue
	filter [1 << filterBits / 64]uint64 // of the starts
	round  int                          // how many texts were searched
}

// knownValue is a value, and the last text that has it.
type knownValue struct {
	text  []byte
	round int
}

// add adds a value of leastHuman bytes or more that the set does not have yet.
func (s *valueSet) add(value []byte) {
	start := binary.LittleEndian.Uint64(value)
	if slices.ContainsFunc(s.starts[start], func(v *knownValue) bool { return bytes.Equal(v.text, value) }) {
		return
	}
	v := &knownValue{text: bytes.Clone(value)}
	if s.starts == nil {
		s.starts = map[uint64][]*knownValue{}
	}
	s.starts[start] = append(s.starts[start], v)
	mark(&s.filter, hashEight(start))
	at, _ := slices.BinarySearchFunc(s.sorted, v, func(a, b *knownValue) int { return len(b.text) - len(a.text) })
	s.sorted = slices.Insert(s.sorted, at, v)
}

// hashEight maps eight bytes to a bit of a filter.
func hashEight(eight uint64) uint32 { return uint32(eight * 0x9e3779b97f4a7c15 >> (64 - filterBits)) }

// find gives the values that a text has this round, and reports whether there are any.
func (s *valueSet) find(text []byte) (found bool) {
	if len(s.sorted) == 0 {
		return false
	}
	s.round++
	for i := 0; i+leastHuman <= len(text); i++ {
		start := binary.LittleEndian.Uint64(text[i:])
		if !has(&s.filter, hashEight(start)) {
			continue
		}
		for _, v := range s.starts[start] {
			if bytes.HasPrefix(text[i:], v.text) {
				v.round, found = s.round, true
			}
		}
	}
	return found
}

// redact replaces the values wherever they stand alone, and counts the places.
func (s *valueSet) redact(text []byte) (clean []byte, places int) {
	if !s.find(text) {
		return text, 0
	}
	clean = text
	for _, v := range s.sorted {
		if v.round == s.round {
			var n int
			clean, n = redactValue(clean, v.text)
			places += n
		}
	}
	return clean, places
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
