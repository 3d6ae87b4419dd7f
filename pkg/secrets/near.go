package secrets

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// How far from a label a value is looked for that no sign leads to, in bytes, and over
// how many ends of lines.
const (
	nearStrong = 140
	nearWeak   = 90
	nearBefore = 70
	nearLines  = 3
)

// nearLabel is the value that stands near a label and that has the form of a secret: in
// prose and in calls no sign stands between. from and to are 0 if there is none.
func nearLabel(text []byte, begin, end int, l label) (from, to int) {
	reach := nearWeak
	if l.strong {
		reach = nearStrong
	}
	if l.option {
		reach = 2
	}
	if from, to = firstSecret(text, end, min(len(text), end+reach), l); to > from {
		return from, to
	}
	if !l.strong && !l.login {
		return 0, 0
	}
	line := bytes.LastIndexByte(text[:begin], '\n') + 1
	return firstSecret(text, max(line, begin-nearBefore), begin, l)
}

// firstSecret is the first word between two places that has the form of a secret.
func firstSecret(text []byte, from, end int, l label) (int, int) {
	lines, words := 0, 0
	for at := from; at < end; {
		r, size := utf8.DecodeRune(text[at:])
		if r == '\n' {
			if lines++; lines > nearLines {
				return 0, 0
			}
		}
		if !isSecretRune(r) {
			at += size
			continue
		}
		stop := at
		for stop < len(text) && isSecretByte(text[stop]) {
			stop++
		}
		a, b := trimWord(text, at, stop)
		if b-a >= leastHuman && (at == 0 || at > from || !isSecretByte(text[at-1])) && stop <= end+64 && l.fits(text[a:b], lines, words == 0 && from > 0 || isMarked(text, from, a) || isAlone(text, at, stop)) && !insideName(text, a, b) {
			return a, b
		}
		at = stop
		if bytes.IndexByte([]byte(":=-"), text[stop-1]) < 0 || b > a {
			words++
		}
	}
	return 0, 0
}

// isSecretRune reports the characters that a value without blanks and quotes is made of.
func isSecretRune(r rune) bool { return r < utf8.RuneSelf && isSecretByte(byte(r)) }

func isSecretByte(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', '\f', '"', '\'', '`', '<', '>', '(', ')', '[', ']', '{', '}', '|', ',', ';', '\\':
		return false
	}
	return c > ' ' && c < 0x7f
}

// trimWord leaves out what belongs to the sentence, and the name before a sign.
func trimWord(text []byte, from, to int) (int, int) {
	for from < to && bytes.IndexByte([]byte("*_.:!?-=~"), text[from]) >= 0 {
		from++
	}
	for to > from && bytes.IndexByte([]byte("*_.:?~"), text[to-1]) >= 0 {
		to--
	}
	if at := bytes.LastIndexByte(text[from:to], ':'); at > 0 && at < to-from-1 && !bytes.Contains(text[from:to], []byte("//")) {
		from += at + 1 // "admin:value"
	}
	if at := bytes.IndexByte(text[from:to], '='); at > 0 && at < to-from-2 && isNameOnly(text[from:from+at]) {
		from += at + 1 // "name=value"
	}
	return from, to
}

func isNameOnly(text []byte) bool {
	for _, c := range text {
		if !isWord(c) && c != '-' && c != '.' {
			return false
		}
	}
	return len(text) < 24
}

// isMarked reports whether a quote, a mark of code or a sign stands before a word.
func isMarked(text []byte, from, at int) bool {
	before := bytes.TrimRight(text[from:at], " *")
	if len(before) == 0 {
		return false
	}
	return bytes.IndexByte([]byte("\"'`:=(>"), before[len(before)-1]) >= 0 || bytes.HasSuffix(before, []byte("：")) || bytes.HasSuffix(before, []byte("«"))
}

// isAlone reports whether a word is all that stands on its line, behind another.
func isAlone(text []byte, from, to int) bool {
	before := bytes.TrimRight(text[:from], " \t>`")
	behind := bytes.TrimLeft(text[to:], " \t`")
	return len(before) > 0 && before[len(before)-1] == '\n' && (len(behind) == 0 || behind[0] == '\n')
}

// insideName reports whether a word goes on before or behind: it is a part of a path or
// of an address.
func insideName(text []byte, from, to int) bool {
	return from > 0 && (text[from-1] == '/' || text[from-1] == '@' || text[from-1] == '$') || to < len(text) && (text[to] == '(' || text[to] == '@')
}

// fits reports whether a word has the form of a secret that the label may stand for.
// marked says that a sign or a mark leads to it.
func (l label) fits(word []byte, lines int, marked bool) bool {
	return l.mayBe(word, lines, marked) && !isPlaceholder(word) && !bytes.Contains(word, []byte("://")) && !isIdentifier(word)
}

func (l label) mayBe(word []byte, lines int, marked bool) bool {
	switch {
	case len(word) < leastHuman:
		return false
	case isRandom(word):
		return true
	case isHex(word) && l.option:
		return l.word == " -p" || l.word == " -w"
	case isHex(word):
		return lines == 0 && (l.strong || l.login) || marked
	}
	return !l.signed && !l.option && (l.strong || l.login || marked) && isHuman(word)
}

// isIdentifier reports the ids that runtimes and services give: their letters are as
// random, and everybody may know them.
func isIdentifier(word []byte) bool {
	for _, prefix := range []string{"toolu_", "call_", "msg_", "req_", "resp_", "chatcmpl-", "fc_", "rs_", "run_", "ses_", "session_", "evt_", "item_", "prt_", "thread_", "asst_", "gen-", "srvtoolu_"} {
		if bytes.HasPrefix(word, []byte(prefix)) {
			return true
		}
	}
	return false
}

// isRandom reports a word that no one has chosen: letters of both cases and digits that
// change from one to the next as by chance. Without digits its capital letters stand
// together, as those of a name that is put together do not.
func isRandom(word []byte) bool {
	const least, most = 14, 200
	if len(word) < least || len(word) > most || isFileName(word) {
		return false
	}
	changes, classes, last, capitals, singles, run := 0, 0, 0, 0, 0, 0
	for i, c := range word {
		class := classOf(c)
		if class == 0 {
			return false
		}
		if class == last {
			run++
		} else {
			changes++
			if last == 1 && run == 1 && i > 1 {
				singles++
			}
			run = 1
		}
		if class == 2 && run == 2 {
			capitals++
		}
		classes |= 1 << class
		last = class
	}
	switch {
	case changes*5 < len(word)*2 || bitsOf(word) < leastBits:
		return false
	case classes&0b1110 == 0b1110:
		return capitals+singles > 0
	}
	return classes&0b110 == 0b110 && capitals > 1 && singles > 1
}

// isFileName reports a word that ends as the names of files do.
func isFileName(word []byte) bool {
	dot := bytes.LastIndexByte(word, '.')
	return dot > 0 && len(word)-dot <= 5
}

// classOf is the kind of a byte of a random value: 1 lower, 2 upper, 3 digit, 4 sign; 0
// for what has no place in one.
func classOf(c byte) int {
	switch {
	case 'a' <= c && c <= 'z':
		return 1
	case 'A' <= c && c <= 'Z':
		return 2
	case '0' <= c && c <= '9':
		return 3
	case c == '+' || c == '/' || c == '=' || c == '-' || c == '_' || c == '.' || c == '~':
		return 4
	}
	return 0
}

// isHex reports a hexadecimal number of 16 bytes and more.
func isHex(word []byte) bool {
	if len(word) < 32 || len(word) > 128 {
		return false
	}
	letters := 0
	for _, c := range word {
		switch {
		case 'a' <= c && c <= 'f':
			letters++
		case c < '0' || c > '9':
			return false
		}
	}
	return letters > 4
}

// leastHuman is how many bytes a word has at least that stands near a label.
const leastHuman = 8

// isHuman reports a password as people make them: letters and digits with a sign that no
// word, number or address has.
func isHuman(word []byte) bool {
	if len(word) < leastHuman || len(word) > 40 || bytes.ContainsAny(word, "/=:") {
		return false
	}
	letters, digits, signs := 0, 0, 0
	for _, c := range word {
		switch {
		case unicode.IsLetter(rune(c)):
			letters++
		case unicode.IsDigit(rune(c)):
			digits++
		case bytes.IndexByte([]byte("!@#$%&*+?^~"), c) >= 0:
			signs++
		}
	}
	if at := bytes.IndexByte(word, '@'); at > 0 && bytes.IndexByte(word[at:], '.') > 0 {
		return false // an address of mail
	}
	return letters >= 3 && digits > 0 && signs > 0 && word[0] != '#' && word[0] != '@' && word[0] != '$' && word[0] != '%' && word[0] != '-'
}
