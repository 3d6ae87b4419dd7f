package embed

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// AppendTerms appends the terms of text to dst, each followed by a space, in
// the order and as often as they stand in text: what the lexical dimensions of
// [Builtin] are made of. A full-text index that holds them instead of the text
// (split at spaces, nothing else) stems, cuts identifiers and finds Chinese as
// the vectors do; a query goes through AppendTerms too.
//
// A term is lower-case, without accent and inflection, and holds letters and
// digits; between two digits also one of _ - . / \ : @ ("v1.2.3"). Compounds
// and the parts of camelCase names stand beside the whole ("sessionId" gives
// "sessionid", "session", "id"). Stop words give none.
func AppendTerms(dst []byte, text string) []byte {
	var word []byte
	s := scanner{emit: func(w []byte, _ bool) {
		if !isStop(w) {
			word = append(word[:0], w...)
			dst = append(append(dst, stem(word)...), ' ')
		}
	}}
	s.scan(text)
	return dst
}

// AppendNameParts appends the smallest parts of the names in text alone
// ("authMiddleware.ts" gives "auth", "middleware", "ts"): what to ask an index of
// what a [NameReader] appends for, one by one.
func AppendNameParts(dst []byte, text string) []byte {
	return newNameReader(inParts).AppendTerms(dst, text)
}

// NameReader is AppendTerms for names of files, commands and the lines of errors:
// runs are also cut where letters meet digits ("sha256sum" gives "sha256sum", "sha",
// "256", "sum"), and no word is left out, for "all.go" is a name. It reads many of
// them in the same room, and is for one goroutine.
type NameReader struct {
	scanner scanner
	dst     []byte
	word    []byte
}

// NewNameReader returns a reader of names.
func NewNameReader() *NameReader { return newNameReader(inNames) }

func newNameReader(cut cutting) *NameReader {
	r := &NameReader{}
	r.scanner = scanner{cut: cut, emit: func(w []byte, _ bool) {
		r.word = append(r.word[:0], w...)
		r.dst = append(append(r.dst, stem(r.word)...), ' ')
	}}
	return r
}

// AppendTerms appends the terms of the names in text, each followed by a space.
func (r *NameReader) AppendTerms(dst []byte, text string) []byte {
	r.dst = dst
	r.scanner.scan(text)
	dst, r.dst = r.dst, nil
	return dst
}

const (
	// maxWord is how many bytes of a run of letters and digits are looked at,
	// and how long a compound may be to be indexed whole.
	maxWord = 256
	// maxHumped is how long a word may be to be cut at its humps: what is
	// longer is encoded data, not a name.
	maxHumped = 64
	// maxBorders is how often letters may meet digits in a name: a hash is none.
	maxBorders = 3
)

// A scanner finds the words of a text.
//
// A word is a run of letters and digits, lower-cased, accents removed, without
// 's and its like ("Caroline's" is "caroline"). Runs tied by one of _ - . / \ : @
// are a compound, which is a word too, written without the ties unless they
// stand between digits ("session_id" and "sessionId" are both "sessionid", and
// "v1.2" is "v1.2"). The humps of a camelCase run are parts. Scripts written
// without spaces (Chinese, Japanese, Korean, Thai, ...) give every two
// neighbouring characters as a word.
type scanner struct {
	// emit takes a word, valid during the call. extra is true for compounds
	// and parts, which repeat what plain words have said.
	emit func(word []byte, extra bool)
	cut  cutting

	text  string
	pos   int    // in text
	name  []byte // the runs of the compound so far
	humps []int  // where parts of the last run begin in name
	pair  []byte
}

// cutting says how a scanner cuts runs and what it emits of them.
type cutting uint8

const (
	inText  cutting = iota // at humps; the whole stands beside its parts
	inNames                // also where letters meet digits
	inParts                // likewise, and the parts alone
)

// scan emits the words of text in the order they end.
func (s *scanner) scan(text string) {
	s.text, s.pos = text, 0
	for s.pos < len(s.text) {
		if c := s.text[s.pos]; c < utf8.RuneSelf && asciiKinds[c] == separator {
			s.pos++
			continue
		} else if c < utf8.RuneSelf && asciiKinds[c] != digit && s.plainWord() {
			continue
		}
		_, size, k := next(s.text[s.pos:])
		switch {
		case k.begins():
			s.compound()
		case k == unspaced:
			s.pairs()
		default:
			s.pos += size
		}
	}
	s.text = ""
}

// plainWord reads a run of ASCII letters that are small but for the first, if nothing
// behind it can belong to it: most words of a text are such. Else it reads nothing.
func (s *scanner) plainWord() bool {
	end := s.pos + 1
	for end < len(s.text) && isLower(s.text[end]) {
		end++
	}
	if end-s.pos > maxWord || !endsWord(s.text[end:]) {
		return false
	}
	s.name = append(s.name[:0], s.text[s.pos:end]...)
	s.name[0] |= 0x20
	s.pos = end
	s.emit(s.name, false)
	return true
}

// endsWord reports whether a word surely ends before a text.
func endsWord(rest string) bool {
	separates := func(c byte) bool { return c < utf8.RuneSelf && asciiKinds[c] == separator }
	switch {
	case rest == "":
		return true
	case !separates(rest[0]) || rest[0] == '\'':
		return false
	case isTie(rest[0]):
		return len(rest) == 1 || separates(rest[1]) && !isTie(rest[1])
	}
	return true
}

// compound reads runs and what ties them.
func (s *scanner) compound() {
	s.name = s.name[:0]
	runs := 0
	for {
		s.name = s.name[:min(len(s.name), maxWord+1)] // too long anyway
		s.run()
		runs++
		tie := s.tie()
		if tie == 0 {
			break
		}
		if tie == 1 && isDigit(s.name[len(s.name)-1]) && isDigit(s.text[s.pos+1]) {
			s.name = append(s.name, s.text[s.pos])
		}
		s.pos += tie
	}
	if runs > 1 && len(s.name) <= maxWord && s.cut != inParts {
		s.emit(s.name, true)
	}
}

// run reads letters and digits onto name and emits them and their parts.
func (s *scanner) run() {
	start := len(s.name)
	s.humps = append(s.humps[:0], start)
	borders := 0
	for last := separator; s.pos < len(s.text); {
		if (last == lower || last == separator) && s.lowers(start) {
			last = lower
			continue
		}
		r, size, k := next(s.text[s.pos:])
		if k != ignored {
			if !k.continues() {
				break
			}
			border := s.cut != inText && last != separator && (k == digit) != (last == digit)
			if border || k == upper && s.humpAt(last, size) {
				s.humps = append(s.humps, len(s.name))
			}
			if border {
				borders++
			}
			if len(s.name)-start < maxWord {
				s.name = utf8.AppendRune(s.name, r)
			}
			last = k
		}
		s.pos += size
	}
	word := s.name[start:]
	if s.clitic() == 't' && word[len(word)-1] == 'n' {
		return // don't, isn't: as good as stop words
	}
	cut := len(s.humps) > 1 && len(word) <= maxHumped && borders <= maxBorders
	if !cut || s.cut != inParts {
		s.emit(word, false)
	}
	if cut {
		s.parts()
	}
}

// lowers reads small letters of ASCII onto name, whose run begins at start, and
// reports whether there was one: most of a text are those that begin a word or
// follow another.
func (s *scanner) lowers(start int) bool {
	end := s.pos
	for end < len(s.text) && isLower(s.text[end]) {
		end++
	}
	if end == s.pos {
		return false
	}
	n := min(end-s.pos, max(0, maxWord-(len(s.name)-start)))
	s.name = append(s.name, s.text[s.pos:s.pos+n]...)
	s.pos = end
	return true
}

// humpAt says whether the upper-case letter at pos begins a part: after a
// lower-case one, or as the last of several if two lower-case ones follow
// (HTTPServer, but not URLs).
func (s *scanner) humpAt(last kind, size int) bool {
	if last == lower {
		return true
	}
	after := s.text[s.pos+size:]
	return last != separator && len(after) > 1 && isLower(after[0]) && isLower(after[1])
}

// parts emits the parts of the last run. A single letter says nothing in a text.
func (s *scanner) parts() {
	for i, from := range s.humps {
		to := len(s.name)
		if i+1 < len(s.humps) {
			to = s.humps[i+1]
		}
		if to-from > 1 || s.cut != inText {
			s.emit(s.name[from:to], true)
		}
	}
}

// clitic passes over 's, 't, 'd, 'm, 're, 've or 'll at pos and returns its
// first letter, or 0.
func (s *scanner) clitic() byte {
	rest := s.text[s.pos:]
	if rest == "" || rest[0] < utf8.RuneSelf && rest[0] != '\'' {
		return 0
	}
	quote, size := utf8.DecodeRuneInString(rest)
	if quote != '\'' && quote != '’' {
		return 0
	}
	for n := 2; n > 0; n-- {
		if len(rest) < size+n || !isClitic(rest[size:size+n]) {
			continue
		}
		if _, _, k := next(rest[size+n:]); !k.continues() {
			s.pos += size + n
			return rest[size] | 0x20
		}
	}
	return 0
}

func isClitic(s string) bool {
	switch s {
	case "s", "t", "d", "m", "re", "ve", "ll", "S", "T", "D", "M", "RE", "VE", "LL":
		return true
	}
	return false
}

// tie is how many bytes at pos tie the run before to a run after: one mark, or
// up to four with a slash among them, or a double colon. 0 is none.
func (s *scanner) tie() int {
	rest := s.text[s.pos:]
	n, slash := 0, false
	for n < len(rest) && n < 4 && isTie(rest[n]) {
		slash = slash || rest[n] == '/' || rest[n] == '\\'
		n++
	}
	if n == 0 || n > 1 && !slash && rest[:n] != "::" {
		return 0
	}
	if _, _, k := next(rest[n:]); !k.begins() {
		return 0
	}
	return n
}

// pairs reads a run of a script without spaces.
func (s *scanner) pairs() {
	count, before := 0, s.pos
	for at := s.pos; ; count++ {
		_, size, k := next(s.text[s.pos:])
		if k != unspaced {
			if count == 1 {
				s.pair = append(s.pair[:0], s.text[at:s.pos]...)
				s.emit(s.pair, false)
			}
			return
		}
		s.pos += size
		if count > 0 {
			s.pair = append(s.pair[:0], s.text[before:s.pos]...)
			s.emit(s.pair, false)
		}
		before = s.pos - size
	}
}

// kind is what a character is to the scanner.
type kind uint8

const (
	separator kind = iota
	lower          // a letter, not upper-case
	upper
	digit
	mark     // belongs to the letter before
	ignored  // as if it were not there
	unspaced // of a script without spaces between words
)

func (k kind) begins() bool { return k == lower || k == upper || k == digit }

func (k kind) continues() bool { return k.begins() || k == mark }

// next returns the first character of text as it is indexed (lower-cased,
// without accent), its bytes in text and its kind. At the end of text and for
// invalid UTF-8 it is a separator.
func next(text string) (rune, int, kind) {
	if text == "" {
		return 0, 0, separator
	}
	if c := text[0]; c < utf8.RuneSelf {
		k := asciiKinds[c]
		if k == upper {
			c |= 0x20
		}
		return rune(c), 1, k
	}
	return nextWide(text)
}

// nextWide is next of a character that is not ASCII.
func nextWide(text string) (rune, int, kind) {
	r, size := utf8.DecodeRuneInString(text)
	if isWideASCII(r) {
		narrow, _, k := next(string(r - wideOffset))
		return narrow, size, k
	}
	k := wide(r)
	switch {
	case k == upper || k == lower:
		r = fold(r)
	case k == separator && isIgnored(r):
		k = ignored
	}
	return r, size, k
}

// asciiKinds are the kinds of the characters of ASCII.
var asciiKinds = func() (kinds [utf8.RuneSelf]kind) {
	for c := byte(0); c < utf8.RuneSelf; c++ {
		switch {
		case isLower(c):
			kinds[c] = lower
		case 'A' <= c && c <= 'Z':
			kinds[c] = upper
		case isDigit(c):
			kinds[c] = digit
		}
	}
	return kinds
}()

// wide is the kind of a character that is not ASCII.
func wide(r rune) kind {
	switch {
	case isUnspaced(r):
		return unspaced
	case unicode.IsUpper(r):
		return upper
	case unicode.IsLetter(r):
		return lower
	case unicode.IsDigit(r):
		return digit
	case unicode.IsMark(r) && !isAccent(r):
		return mark
	}
	return separator
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isTie(c byte) bool {
	switch c {
	case '_', '-', '.', '/', '\\', ':', '@':
		return true
	}
	return false
}

// stem cuts the inflection from an English word in place and returns what is
// left: irregular forms, plural and third person, -ing and -ed, -ly, and the
// final e of all but short words ("invites", "invited" and "inviting" become
// "invit"). What is not lower-case English comes back as it is or loses a
// harmless end. Without stems and stop words recall falls by 8 points
// (docs/dev/decisions.md D6).
func stem(w []byte) []byte {
	if base := regular(w); base != "" {
		w = append(w[:0], base...)
	}
	if len(w) <= 3 {
		return w
	}
	w = cutPlural(w)
	switch {
	case hasEnd(w, "ied", 2):
		w = append(w[:len(w)-3], 'y')
	case hasEnd(w, "eed", 3):
		w = w[:len(w)-1]
	case hasEnd(w, "eed", 0):
		// speed, freed
	case hasEnd(w, "ing", 3) && hasVowel(w[:len(w)-3]):
		w = mend(w[:len(w)-3])
	case hasEnd(w, "ed", 3) && hasVowel(w[:len(w)-2]):
		w = mend(w[:len(w)-2])
	case hasEnd(w, "ly", 4):
		w = w[:len(w)-2]
	}
	if hasEnd(w, "e", 4) {
		w = w[:len(w)-1]
	}
	return w
}

func cutPlural(w []byte) []byte {
	switch {
	case hasEnd(w, "ies", 2):
		return append(w[:len(w)-3], 'y')
	case hasEnd(w, "sses", 0):
		return w[:len(w)-2]
	case hasEnd(w, "es", 3) && isOneOf(w[len(w)-3], "sxzh"):
		return w[:len(w)-2]
	case hasEnd(w, "ss", 0), hasEnd(w, "us", 0), hasEnd(w, "is", 0):
		return w
	case hasEnd(w, "s", 3):
		return w[:len(w)-1]
	}
	return w
}

// hasEnd says whether w ends so, with at least left bytes before.
func hasEnd(w []byte, end string, left int) bool {
	at := len(w) - len(end)
	return at >= left && string(w[at:]) == end
}

func hasVowel(w []byte) bool { return bytes.ContainsAny(w, vowels) }

// mend makes a word of what -ing or -ed left: "hopp" loses its double letter
// (l, s and z are double by nature), and "hik" gets back the e that "hike",
// too short to lose it, has kept.
func mend(w []byte) []byte {
	n := len(w)
	switch {
	case n > 3 && w[n-1] == w[n-2] && !isOneOf(w[n-1], "lsz"):
		return w[:n-1]
	case n == 3 && !isOneOf(w[0], vowels) && isOneOf(w[1], vowels) && !isOneOf(w[2], vowels+"wx"):
		return append(w, 'e')
	}
	return w
}

const vowels = "aeiouy"

func isOneOf(c byte, set string) bool { return strings.IndexByte(set, c) >= 0 }

// isStop says whether a word is so common that it says nothing.
func isStop(w []byte) bool {
	switch string(w) {
	case "a", "an", "and", "are", "as", "at", "be", "been", "but", "by",
		"can", "could", "did", "do", "does", "for", "from",
		"had", "has", "have", "he", "her", "hers", "him", "his", "how",
		"i", "if", "in", "into", "is", "it", "its", "just", "me", "my",
		"no", "not", "of", "on", "or", "our", "out", "she", "so", "some", "such",
		"than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "to", "too",
		"up", "us", "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom", "why", "will", "with", "would",
		"you", "your", "yours", "am", "being", "doing", "having", "here", "also", "more", "about":
		return true
	}
	return false
}

// wideOffset lies between ASCII and its full-width forms.
const wideOffset = 0xFEE0

func isWideASCII(r rune) bool { return 0xFF01 <= r && r <= 0xFF5E }

// isAccent says whether r is a combining diacritic, which is dropped so that
// a decomposed letter equals the folded one.
func isAccent(r rune) bool { return 0x300 <= r && r <= 0x36F }

// isIgnored says whether a word goes on over r: accents, soft hyphen, joiners.
func isIgnored(r rune) bool {
	return isAccent(r) || r == 0xAD || r == 0x200C || r == 0x200D || r == 0x2060
}

// isUnspaced says whether r is of a script that puts no spaces between words
// (or, as Korean, glues to a word what belongs to others).
func isUnspaced(r rune) bool {
	if r < 0xE00 || !inUnspacedBlock(r) {
		return false
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || r == '〇'
}

func inUnspacedBlock(r rune) bool {
	switch {
	case r <= 0xEFF, // Thai, Lao
		0x1000 <= r && r <= 0x109F,   // Myanmar
		0x1100 <= r && r <= 0x11FF,   // Hangul Jamo
		0x1780 <= r && r <= 0x17FF,   // Khmer
		0x3005 <= r && r <= 0x318F,   // 々 〇, Kana, Bopomofo, Jamo
		0x31A0 <= r && r <= 0x31FF,   // more Bopomofo and Kana
		0x3400 <= r && r <= 0x4DBF,   // Han, extension A
		0x4E00 <= r && r <= 0x9FFF,   // Han
		0xA960 <= r && r <= 0xA97F,   // more Jamo
		0xAC00 <= r && r <= 0xD7FF,   // Hangul
		0xF900 <= r && r <= 0xFAFF,   // Han, compatibility
		0xFF66 <= r && r <= 0xFFDC,   // half-width Kana and Jamo
		0x20000 <= r && r <= 0x3FFFF: // Han, extensions
		return true
	}
	return false
}

// fold returns the lower-case letter under r's accents ("É" is "e").
func fold(r rune) rune {
	base := byte('.')
	switch {
	case 0xC0 <= r && r < 0xC0+rune(len(latinBases)):
		base = latinBases[r-0xC0]
	case 0x1E00 <= r && r < 0x1E00+rune(len(vietnameseBases)):
		base = vietnameseBases[r-0x1E00]
	}
	if base != '.' {
		return rune(base)
	}
	return unicode.ToLower(r)
}

// The base letters of U+00C0 onward and U+1E00 onward (Unicode's canonical
// decompositions, and strokes), '.' where there is none.
const (
	latinBases = "aaaaaa.ceeeeiiiidnooooo.ouuuuy..aaaaaa.ceeeeiiiidnooooo.ouuuuy.y" +
		"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii..jjkk.llllll." +
		".llnnnnnn...oooooo..rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzz." +
		"b......................i........oo.............uu....zz........." +
		".............aaiioouuuuuuuuuu.aaaa....ggkkoooo..j...gg..nnaa...." +
		"aaaaeeeeiiiioooorrrruuuusstt..hh......aaeeooooooooyy............" +
		"...b............"
	vietnameseBases = "aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmm" +
		"mmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvv" +
		"wwwwwwwwwwxxxxyyzzzzzzhtwy......aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeee" +
		"eeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy......"
)
