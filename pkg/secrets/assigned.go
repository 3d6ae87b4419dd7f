package secrets

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// assignment is a way in which a value is given to a name. A search of a whole
// text for its expression costs half a microsecond a byte, because every letter may
// begin a name, and texts that speak of tokens have thousands of them. So it is only
// looked for where a name that has one of assignedAnchors begins; which gives the
// same, because every name has one and a match can begin nowhere else. There it is
// read by hand.
type assignment struct {
	whole func() *regexp.Regexp // anywhere in a text
	// begins returns where a name with an anchor at a place begins, not before
	// from; -1 if there is none.
	begins func(text []byte, at, from int) int
	// match returns the places of the groups of what the expression finds at the
	// beginning of a name, in the form of the package regexp; nil if it finds
	// nothing there. The text has none of foldedLetters.
	match func(text []byte, begin int) []int
}

// newAssigned are the ways in which a value is given to a name like "password":
// assigned to it, as the argument of an option, and told in a sentence. The
// groups are the name, its last part, what stands between, and the value.
// Quotes may be escaped: the arguments of tools are JSON in JSON.
func newAssigned() []assignment {
	const (
		pass  = `passw(?:or[dt]|d)|passphrase|passcode|kennwort|密码|密碼|パスワード|비밀번호|пароль`
		key   = `secret(?:[_-]?key)?|token|(?:api|access|private|signing|encryption|master)[_-]?key`
		value = `(\\+"[^"\\]+\\+"|\\+'[^'\\]+\\+'|"[^"]+"|'[^']+'|(?:[^\s"'&;,\\]|\\[^"'\\nrt])+)`
	)
	way := func(expression string, begins func([]byte, int, int) int, match func([]byte, int) []int) assignment {
		whole := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
		return assignment{whole: whole, begins: begins, match: match}
	}
	return []assignment{
		way(`(?i:([A-Za-z0-9_-]*(`+pass+`|pwd|`+key+`)\\*["']?)( {0,2}(?:=>|:=|={1,3}|[:：＝]) {0,4}(?:\r?\n|\\n)?)`+value+`)`, nameBegins, matchAssigned),
		way(`(?i:(--[a-z-]*(`+pass+`|`+key+`))( +)`+value+`)`, optionBegins, matchOption),
		way(`\b(?i:((`+pass+`|secret|token|api key|access key))( (?:is|was|ist|lautet)(?: now)?:? )`+value+`)`, wordOf, matchTold),
	}
}

// nameBegins goes back over what a name is made of.
func nameBegins(text []byte, at, from int) int {
	for at > from && (isWord(text[at-1]) || text[at-1] == '-') {
		at--
	}
	return at
}

// optionBegins goes back over letters and dashes, to the first two dashes.
func optionBegins(text []byte, at, from int) int {
	begin := at
	for begin > from && isOptionByte(text[begin-1]) {
		begin--
	}
	dashes := bytes.Index(text[begin:at], []byte("--"))
	if dashes < 0 {
		return -1
	}
	return begin + dashes
}

func isOptionByte(c byte) bool { return c == '-' || 'a' <= c|0x20 && c|0x20 <= 'z' }

// wordOf is the place itself, if a word begins there.
func wordOf(text []byte, at, _ int) int {
	if wordBegins(text, at) != isWord(text[at]) {
		return -1
	}
	return at
}

// searchAssigned redacts the values that are given to names.
func (k *knowledge) searchAssigned(text []byte, seen *sight, f *finding) []byte {
	for _, a := range k.assigned {
		text = a.replace(text, k.anchors.placesIn(text, seen, assignedBit), k, f)
	}
	return text
}

// replace redacts what is assigned in this way. The anchors of names stand at places.
// Text is not changed.
func (a assignment) replace(text []byte, places []int, k *knowledge, f *finding) (clean []byte) {
	done := 0 // how many bytes of text are in clean
	for _, m := range a.matches(text, places) {
		if !k.isSecret(text, m) {
			continue
		}
		if m[8] < done {
			continue // it was the rest of the one before
		}
		end := restOfValue(text, m[8], m[1])
		f.add(text[m[8]:end])
		clean = append(append(clean, text[done:m[8]]...), Mark...)
		done = end
	}
	if done == 0 {
		return text
	}
	return append(clean, text[done:]...)
}

// restOfValue is where a value without quotes ends that has one of the marks between
// the parameters of an address in it: what follows is no parameter.
func restOfValue(text []byte, from, to int) int {
	if c := text[from]; c == '"' || c == '\'' || c == '\\' {
		return to
	}
	for to+1 < len(text) && (text[to] == '&' || (text[to] == ',' || text[to] == ';') && !isWord(text[to+1])) {
		end := bareValueEnd(text, to+1)
		if end < 0 || bytes.ContainsAny(text[to+1:end], "=:") {
			return to
		}
		to = end
	}
	return to
}

// matches are the places of what whole finds, in the form of the package regexp.
func (a assignment) matches(text []byte, places []int) (all [][]int) {
	if hasFolded(text) {
		return a.whole().FindAllSubmatchIndex(text, -1)
	}
	from, tried := 0, -1
	for _, at := range places {
		if at < from {
			continue
		}
		begin := a.begins(text, at, from)
		if begin < 0 || begin == tried {
			continue // of all anchors in a name the last decides, and the match tries each
		}
		tried = begin
		if m := a.match(text, begin); m != nil {
			all, from = append(all, m), m[1]
		}
	}
	return all
}

// assignedAnchors are what the names that newAssigned looks for have in them,
// where their last part begins. Only letters of ASCII are found in any case.
func assignedAnchors() []string {
	anchors := []string{"passw", "passphrase", "passcode", "pwd", "kennwort", "密码", "密碼", "パスワード", "비밀번호", "па", "пА", "Па", "ПА", "secret", "token", "api key", "access key"}
	for _, kind := range []string{"api", "access", "private", "signing", "encryption", "master"} {
		anchors = append(anchors, kind+"key", kind+"_key", kind+"-key")
	}
	return anchors
}

// newComputed is a value of source code that calls something or reads a variable
// of a program: "pwd = process.cwd()", "password: process.env.PASSWORD".
func newComputed() *regexp.Regexp {
	return regexp.MustCompile(`^(?:var|local|config|cfg|conf|settings|env|secrets|data|module|each|input|args|opts|options|params|props|state|ctx|req|request|user|form|body)\.[A-Za-z_][\w.]*\)*[,;]?$|^(?:await )?[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*(?:\(|\[[A-Za-z0-9_.:]*\])|^(?:process\.env|os\.environ|this|self)\b[.\[]|^\[\](?:byte|string|rune)\b|^[A-Za-z][A-Za-z0-9_.]*(?:Key|Token|Secret)\)*,?$`)
}

// isSecret reports whether the value of a match is redacted, unless it is a path,
// refers to a variable or is computed by a program. After "token" and the like,
// in comparisons, on the next line and behind words or a blank, prose and
// numbers stand as often as secrets: only a longer value with letters and digits
// counts.
func (k *knowledge) isSecret(text []byte, m []int) bool {
	value := text[m[8]:m[9]]
	bare := bytes.Trim(value, `"'\`)
	if bytes.HasPrefix(bare, []byte(Mark)) || bytes.ContainsAny(bare[:min(1, len(bare))], "/$~`*|") || len(bare) < 3 || isPlaceholder(bare) || bytes.ContainsAny(bare[:1], "+)") && !looksRandom(bare) || isTag(bare) {
		return false
	}
	kind, sign := strings.ToLower(string(text[m[4]:m[5]])), string(text[m[6]:m[7]])
	plain := strings.Trim(sign, " =:>：＝") != "" || strings.Contains(sign, "==") || strings.TrimSpace(sign) == ""
	password := !strings.Contains(kind, "key") && kind != "token" && kind != "secret"
	return (password && !plain || looksRandom(bare)) && !k.computed.Match(value)
}

// looksRandom reports whether a value is long enough and has digits and letters,
// those of foldedLetters included.
func looksRandom(s []byte) bool {
	return len(s) >= 8 && bytes.ContainsAny(s, "0123456789") && bytes.ContainsAny(bytes.ToLower(s), "abcdefghijklmnopqrstuvwxyz")
}

// isTag reports a tag of YAML: what stands behind it names the value.
func isTag(value []byte) bool {
	return value[0] == '!' && len(value) > 1 && len(bytes.Trim(value[1:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")) == 0
}
