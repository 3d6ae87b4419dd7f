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
	// Texts are not searched twice. They are known by their hashes.
	plain map[uint64]bool // show no secret
	found map[uint64]*redaction
	held  int // bytes of found
}

// NewSession begins a session of which no value is known.
func NewSession() *Session {
	return &Session{others: map[string]bool{}, seed: maphash.MakeSeed(), plain: map[uint64]bool{}, found: map[uint64]*redaction{}}
}

// RedactBytes replaces what looks like a secret, and the values that were found before,
// and returns in how many places. What it returns is text itself if there is none.
func (s *Session) RedactBytes(text []byte) (clean []byte, places int) {
	clean, places = s.search(text)
	clean, again := s.RedactKnown(clean)
	return clean, places + again
}

// RedactAlone is the RedactBytes of the package, which no other text has a part in. What
// was searched is not searched again. s may be nil.
func (s *Session) RedactAlone(text []byte) (clean []byte, places int) {
	if s == nil {
		return RedactBytes(text)
	}
	clean, values := s.look(text, false)
	if len(values) == 0 {
		return text, 0
	}
	return redactOwn(clean, values)
}

// Learn takes in the values of a text, for the texts that are redacted after it.
func (s *Session) Learn(text []byte) { s.search(text) }

// search replaces what looks like a secret in a text and takes in the values.
func (s *Session) search(text []byte) (clean []byte, places int) {
	clean, values := s.look(text, true)
	for _, v := range values {
		s.know(v)
	}
	return clean, len(values)
}

// look is redactBytes, unless it is known what that finds.
func (s *Session) look(text []byte, keep bool) (clean []byte, values [][]byte) {
	sum := s.sumOf(text)
	if s.plain[sum] {
		return text, nil
	}
	if r := s.found[sum]; r != nil {
		return r.of(text), r.values
	}
	if clean, values = redactBytes(text); keep {
		s.keep(sum, text, clean, values)
	}
	if len(values) == 0 {
		return text, nil
	}
	return clean, values
}

// sumOf is the hash of a text, 0 for one that is searched as fast as found.
func (s *Session) sumOf(text []byte) uint64 {
	const least = 64 // bytes
	if len(text) < least {
		return 0
	}
	return maphash.Bytes(s.seed, text)
}

// keep keeps what was found in a text: of so many texts without a secret at most, which
// take about 2 MB, and of the others so many bytes.
func (s *Session) keep(sum uint64, text, clean []byte, values [][]byte) {
	const most, mostHeld = 1 << 17, 1 << 20
	if sum == 0 {
		return
	}
	if len(values) == 0 {
		if len(s.plain) < most {
			s.plain[sum] = true
		}
		return
	}
	if r := newRedaction(text, clean, values); r != nil && s.held+r.size() <= mostHeld {
		s.found[sum] = r
		s.held += r.size()
	}
}

// redaction is what a search has found in a text.
type redaction struct {
	stays  [][2]int // the pieces of the text that stay; a mark stands between two
	values [][]byte
}

// newRedaction finds the pieces that stay; it returns nil if more was changed than
// values to marks.
func newRedaction(text, clean []byte, values [][]byte) *redaction {
	r := &redaction{}
	pieces := bytes.Split(clean, []byte(Mark))
	at := 0
	for i, piece := range pieces {
		n := bytes.Index(text[at:], piece)
		if i == len(pieces)-1 && bytes.HasSuffix(text[at:], piece) {
			n = len(text) - at - len(piece)
		}
		if n < 0 || i == 0 && n > 0 {
			return nil
		}
		r.stays = append(r.stays, [2]int{at + n, at + n + len(piece)})
		at += n + len(piece)
	}
	if at != len(text) {
		return nil
	}
	for _, v := range values {
		r.values = append(r.values, bytes.Clone(v))
	}
	return r
}

// of is the text without what was found.
func (r *redaction) of(text []byte) (clean []byte) {
	for i, piece := range r.stays {
		if i > 0 {
			clean = append(clean, Mark...)
		}
		clean = append(clean, text[piece[0]:piece[1]]...)
	}
	return clean
}

// size is how many bytes it takes.
func (r *redaction) size() (n int) {
	for _, v := range r.values {
		n += len(v) + 24
	}
	return n + 16*len(r.stays)
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
