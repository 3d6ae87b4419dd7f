package secrets

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How far from a label a value is looked for that no sign leads to, in bytes, and over
// how many ends of lines.
const (
	nearStrong = 140
	nearWeak   = 120
	nearBefore = 110
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
	line := bytes.LastIndexByte(text[:begin], '\n') + 1
	if !l.strong && !l.login {
		return explained(text, max(line, begin-nearBefore), begin, l)
	}
	return firstSecret(text, max(line, begin-nearBefore), begin, l)
}

// explained is a value that a comment or a sentence behind it says to be a key: from and
// to are 0 if there is none.
func explained(text []byte, line, label int, l label) (from, to int) {
	if l.option {
		return 0, 0
	}
	from, to = firstSecret(text, line, label, l)
	if to <= from || to > label {
		return 0, 0
	}
	for _, word := range []string{"//", "# ", "-- ", "/*", " as ", " is ", " was ", ", that", "←", "<-", " (", " = "} {
		if bytes.Contains(text[to:label], []byte(word)) {
			return from, to
		}
	}
	return 0, 0
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
		if b-a >= leastHuman && (at == 0 || at > from || l.option || text[at] == '=' || !isSecretByte(text[at-1])) && stop <= end+64 && l.mayBe(text[a:b], lines, true) && l.fits(text[a:b], lines, (words == 0 || words == 1 && l.strong) && from > 0 || isMarked(text, from, a) || isAlone(text, at, stop)) && !insideName(text, a, b) {
			return a, b
		}
		at = stop
		if bytes.IndexByte([]byte(":=-"), text[stop-1]) < 0 || b > a {
			words++
		}
	}
	return 0, 0
}

// belowFileName is the value on the lines below a file that is named: what was printed
// of it.
func belowFileName(text []byte, at int, l label) (from, to int) {
	line := bytes.IndexByte(text[at:], '\n')
	if line < 0 || line > nearWeak {
		return 0, 0
	}
	at += line
	return firstSecret(text, at, min(len(text), at+nearWeak), l)
}

// isInFileName reports whether a label is a part of the name of a file.
func isInFileName(behind []byte) bool {
	at := 0
	for at < len(behind) && (isWord(behind[at]) || behind[at] == '-') {
		at++
	}
	if at == len(behind) || behind[at] != '.' {
		return false
	}
	rest := behind[at+1:]
	ending := 0
	for ending < len(rest) && isWord(rest[ending]) {
		ending++
	}
	return ending >= 2 && ending <= 4 && (ending == len(rest) || rest[ending] != '.')
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
	if at := bytes.LastIndexByte(text[from:to], ':'); at > 0 && at < to-from-1 && !bytes.Contains(text[from:to], []byte("://")) {
		from += at + 1 // "admin:value"
	}
	if at := bytes.IndexByte(text[from:to], '='); at > 0 && at < to-from-2 && isNameOnly(text[from:from+at]) {
		from += at + 1 // "name=value"
	}
	if at := bytes.IndexByte(text[from:to], '/'); at > 0 && isNameOnly(text[from:from+at]) && isMemorable(text[from+at+1:to]) {
		from += at + 1 // "admin/value"
	}
	return from, to
}

func isMemorable(word []byte) bool { return isHuman(word) || isPassphrase(word) }

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
	if bytes.IndexByte([]byte("\"'`:=(>/|"), before[len(before)-1]) >= 0 {
		return true
	}
	for _, sign := range []string{"：", "«", "「", "“", "„", "→", "—"} {
		if bytes.HasSuffix(before, []byte(sign)) {
			return true
		}
	}
	for _, verb := range []string{"use", "enter", "try", "type"} {
		if bytes.EqualFold(before[max(0, len(before)-len(verb)):], []byte(verb)) {
			return true
		}
	}
	return isTold(text[from:at])
}

// isTold reports whether a text ends in a verb that says what something is.
func isTold(before []byte) bool {
	for _, v := range verbs() {
		if len(v) > len("- ") && len(before) > len(v) && bytes.EqualFold(before[len(before)-len(v):], []byte(v)) && (v[0] >= utf8.RuneSelf || before[len(before)-len(v)-1] == ' ') {
			return true
		}
	}
	return false
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
	if l.strong && !l.signed && marked && lines <= 1 && isChosen(word) {
		return true
	}
	return !l.signed && (l.strong || l.login || marked) && isHuman(word) || (!l.signed && !l.option || l.strong && lines == 0) && marked && (!l.many && isPassphrase(word) || isHuman(word))
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

// isRandom reports a word that no one has chosen: its letters do not follow each other as
// those of words do, or letters of both cases and digits change from one to the next as
// by chance. Without digits its capital letters stand together, as those of a name that
// is put together do not.
func isRandom(word []byte) bool {
	const least, most = 14, 200
	if len(word) < least || len(word) > most || isFileName(word) || isConstant(word) {
		return false
	}
	if isGibberish(word) {
		return true
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

// isConstant reports a name of four parts and more of which each but one is a number or
// has letters of one case: that of a constant, a cipher, a label.
func isConstant(word []byte) bool {
	parts := bytes.FieldsFunc(word, func(c rune) bool { return c == '-' || c == '_' || c == '/' || c == '.' })
	odd := 0
	for _, p := range parts {
		kinds := 0
		for _, c := range p[1:] {
			kinds |= 1 << classOf(c)
		}
		if kinds&0b110 == 0b110 || kinds&0b1110 != 0 && len(p) > 12 {
			odd += len(p)
		}
	}
	return len(parts) >= 4 && odd*3 <= len(word)
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
	word, isNumber := bytes.CutPrefix(word, []byte("0x"))
	if isNumber && len(word) != 64 {
		return false // the address of an account
	}
	if len(word) < 32 || len(word) > 128 {
		return false
	}
	lower, upper := 0, 0
	for _, c := range word {
		switch {
		case 'a' <= c && c <= 'f':
			lower++
		case 'A' <= c && c <= 'F':
			upper++
		case c < '0' || c > '9':
			return false
		}
	}
	return lower > 4 && upper == 0 || upper > 4 && lower == 0
}

// isPassphrase reports words of lower case with a small number, joined by dashes or the
// like, as generators of passwords make them.
func isPassphrase(word []byte) bool {
	const leastWords, leastLetters, mostDigits = 3, 3, 4
	parts := bytes.FieldsFunc(word, func(c rune) bool { return c == '-' || c == '_' || c == '.' })
	words, numbers := 0, 0
	for _, p := range parts {
		switch {
		case len(bytes.Trim(p, "0123456789")) == 0:
			if numbers++; len(p) > mostDigits || p[0] == '0' {
				return false
			}
		case len(p) < leastLetters || isOfPrograms(string(p)) || len(bytes.Trim(p[1:], "abcdefghijklmnopqrstuvwxyz")) > 0:
			return false
		default:
			words++
		}
	}
	return words >= leastWords && numbers == 1
}

// isChosen reports a word with a number as people choose it for a password, without any
// sign that other words do not have: "rosebud1941", "P4ssw0rd".
func isChosen(word []byte) bool {
	const leastLetters, mostDigits = 4, 4
	letters, upper, digits, inner := 0, 0, 0, false
	for i, c := range word {
		switch class := classOf(c); {
		case class == 3:
			digits++
		case class == 1 || class == 2:
			letters, inner = letters+1, inner || digits > 0
			if class == 2 && i > 0 {
				upper++
			}
		case c != '-' && c != '_':
			return false
		}
	}
	if len(word) < leastHuman || letters < leastLetters || digits == 0 || digits > mostDigits || isFileName(word) || isTechnical(word) {
		return false
	}
	last := classOf(word[len(word)-1]) == 3
	if joined := bytes.TrimRight(word, "0123456789"); last && !inner && len(word)-len(joined) != digits {
		return false // a version
	}
	return last && digits > 1 && !inner || inner && (classOf(word[0]) == 2 || upper > 0)
}

// isTechnical reports names of methods and hosts that end in a number, and words that
// are put together of those of programs.
func isTechnical(word []byte) bool {
	lower := string(bytes.ToLower(word))
	for _, name := range []string{"sha", "utf", "base", "argon", "ed25519", "rsa", "aes", "hmac", "pbkdf", "bcrypt", "oauth", "http", "ipv", "win", "python", "node", "postgres", "mysql", "port", "line", "user", "test", "host", "server", "web", "worker", "iso", "rfc", "cve", "error", "code", "page", "step", "version", "release", "x86", "amd64", "arm64", "int", "uint", "float", "varchar", "char", "localhost", "http2", "s3", "ec2", "k8s", "i18n", "l10n", "e2e", "p2p"} {
		if strings.HasPrefix(lower, name) {
			return true
		}
	}
	for _, p := range strings.FieldsFunc(lower, func(c rune) bool { return c == '-' || c == '_' || c == '.' }) {
		if isOfPrograms(p) {
			return true
		}
	}
	return false
}

// isOfPrograms reports words that names of accounts, forms and hosts are made of.
func isOfPrograms(word string) bool {
	switch word {
	case "password", "passwd", "passphrase", "login", "signin", "token", "secret", "key", "auth", "oauth", "user", "role", "account", "reset", "confirm", "test", "prod", "staging", "dev", "linux", "ubuntu", "node", "build", "cache", "view", "form", "page", "panel", "app", "server", "service", "client", "api", "config", "default", "model", "embedding", "version", "release", "docker", "index", "table", "input", "button":
		return true
	}
	return false
}

// leastHuman is how many bytes a word has at least that stands near a label.
const leastHuman = 8

// isExpression reports what programs write without blanks: "x.flags&1", "Last+1".
func isExpression(word []byte) bool {
	at := bytes.IndexAny(word, "&+*")
	if at < 0 {
		return false
	}
	return bytes.IndexByte(word, '.') > 0 || len(bytes.Trim(word[at+1:], "0123456789")) == 0
}

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
	return letters >= 3 && digits > 0 && signs > 0 && bytes.IndexByte([]byte("#@$%-&*+"), word[0]) < 0 && !isExpression(word)
}
