package secrets

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// assignment is a way in which a value is given to a name. A search of a whole
// text for it costs half a microsecond a byte, because every letter may begin a
// name, and texts that speak of tokens have thousands of them. So the expression
// is only tried where a name that has one of assignedAnchors begins; which gives
// the same, because every name has one and a match can begin nowhere else.
type assignment struct {
	pattern *regexp.Regexp        // at the beginning of a text
	whole   func() *regexp.Regexp // anywhere in it
	// begins returns where a name with an anchor at a place begins, not before
	// from; -1 if there is none.
	begins func(text string, at, from int) int
	// may reports whether a value may be given to the name that begins at a place:
	// most names are followed by something else. The expression decides.
	may func(text string, begin int) bool
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
	way := func(before, expression string, begins func(string, int, int) int, may func(string, int) bool) assignment {
		return assignment{
			pattern: regexp.MustCompile(`^(?i:` + expression + `)`),
			whole:   sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(before + `(?i:` + expression + `)`) }),
			begins:  begins,
			may:     may,
		}
	}
	return []assignment{
		way(``, `([A-Za-z0-9_-]*(`+pass+`|pwd|`+key+`)\\*["']?)( {0,2}(?:=>|:=|={1,3}|[:：＝]) {0,4}(?:\r?\n|\\n)?)`+value, nameBegins, mayBeAssigned),
		way(``, `(--[a-z-]*(`+pass+`|`+key+`))( +)`+value, optionBegins, mayBeOption),
		way(`\b`, `((`+pass+`|secret|token|api key|access key))( (?:is|was|ist|lautet)(?: now)?:? )`+value, wordOf, mayBeTold),
	}
}

// nameBegins goes back over what a name is made of.
func nameBegins(text string, at, from int) int {
	for at > from && (isWord(text[at-1]) || text[at-1] == '-') {
		at--
	}
	return at
}

// optionBegins goes back over letters and dashes, to the first two dashes.
func optionBegins(text string, at, from int) int {
	begin := at
	for begin > from && isOptionByte(text[begin-1]) {
		begin--
	}
	dashes := strings.Index(text[begin:at], "--")
	if dashes < 0 {
		return -1
	}
	return begin + dashes
}

func isOptionByte(c byte) bool { return c == '-' || 'a' <= c|0x20 && c|0x20 <= 'z' }

// wordOf is the place itself, if a word begins there.
func wordOf(text string, at, _ int) int {
	if wordBegins(text, at) != isWord(text[at]) {
		return -1
	}
	return at
}

// mayBeAssigned: behind the whole name, its quote and blanks stands a sign. What is
// not ASCII may be a letter of a name, or a sign.
func mayBeAssigned(text string, begin int) bool {
	end := begin
	for end < len(text) && (isWord(text[end]) || text[end] == '-') {
		end++
	}
	if end < len(text) && text[end] >= utf8.RuneSelf {
		return true
	}
	if !endsName(text[begin:end]) {
		return false
	}
	for end < len(text) && text[end] == '\\' {
		end++
	}
	if end < len(text) && (text[end] == '"' || text[end] == '\'') {
		end++
	}
	for blanks := 0; blanks < 2 && end < len(text) && text[end] == ' '; blanks++ {
		end++
	}
	return end < len(text) && (text[end] == ':' || text[end] == '=' || text[end] >= utf8.RuneSelf)
}

// mayBeOption: behind the whole name stands a blank.
func mayBeOption(text string, begin int) bool {
	end := begin
	for end < len(text) && (isOptionByte(text[end]) || text[end] == '_') {
		end++
	}
	return end < len(text) && (text[end] >= utf8.RuneSelf || text[end] == ' ' && endsName(text[begin:end]))
}

// mayBeTold: behind the word stands a blank, and then "is", "was", "ist", "lautet",
// or the "key" of "api key".
func mayBeTold(text string, begin int) bool {
	end := begin
	for end < len(text) && isOptionByte(text[end]) && text[end] != '-' {
		end++
	}
	switch {
	case end < len(text) && text[end] >= utf8.RuneSelf:
		return true
	case end+1 >= len(text) || text[end] != ' ':
		return false
	}
	switch text[end+1] | 0x20 {
	case 'i', 'w', 'l', 'k':
		return true
	}
	return false
}

// endsName reports whether a name ends as one of those that newAssigned looks for,
// as far as they are of ASCII.
func endsName(name string) bool {
	for _, end := range [...]string{"token", "key", "secret", "password", "passwd", "pwd", "passwort", "passphrase", "passcode", "kennwort"} {
		if at := len(name) - len(end); at >= 0 && beginsWith([]byte(name[at:]), end) {
			return true
		}
	}
	return false
}

// searchAssigned redacts the values that are given to names, and counts them.
func (k *knowledge) searchAssigned(text string) (string, int) {
	found, places := 0, k.names.places([]byte(text))
	for _, a := range k.assigned {
		clean, n := a.replace(text, places, k)
		if n > 0 {
			text, found, places = clean, found+n, k.names.places([]byte(clean))
		}
	}
	return text, found
}

// replace redacts what is assigned in this way, and counts it. The anchors of
// names stand at places.
func (a assignment) replace(text string, places []int, k *knowledge) (string, int) {
	var clean strings.Builder
	found, done := 0, 0 // how many bytes of text are in clean
	for _, m := range a.matches(text, places) {
		value := k.redactValue(submatches(text, m))
		if value == text[m[0]:m[1]] {
			continue
		}
		clean.WriteString(text[done:m[0]])
		clean.WriteString(value)
		found, done = found+1, m[1]
	}
	if found == 0 {
		return text, 0
	}
	clean.WriteString(text[done:])
	return clean.String(), found
}

// matches are the places of what whole finds, in the form of the package regexp.
func (a assignment) matches(text string, places []int) (all [][]int) {
	if hasFolded([]byte(text)) {
		return a.whole().FindAllStringSubmatchIndex(text, -1)
	}
	from, tried := 0, -1
	for _, at := range places {
		if at < from {
			continue
		}
		begin := a.begins(text, at, from)
		if begin < 0 || begin == tried {
			continue // of all anchors in a name the last decides, and the expression tries each
		}
		tried = begin
		if !a.may(text, begin) {
			continue
		}
		m := a.pattern.FindStringSubmatchIndex(text[begin:])
		if m == nil {
			continue
		}
		for i := range m {
			m[i] += begin // each group takes part in every match
		}
		all, from = append(all, m), m[1]
	}
	return all
}

func submatches(text string, m []int) (groups []string) {
	for i := 0; i < len(m); i += 2 {
		groups = append(groups, text[m[i]:m[i+1]])
	}
	return groups
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
	return regexp.MustCompile(`^(?:await )?[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*(?:\(|\[[A-Za-z0-9_.:]*\])|^(?:process\.env|os\.environ|this|self)\b[.\[]|^\[\](?:byte|string|rune)\b|^[A-Za-z][A-Za-z0-9_.]*(?:Key|Token|Secret)\)*,?$`)
}

// redactValue keeps the name and replaces the value, unless it is a path,
// refers to a variable or is computed by a program. After "token" and the like,
// in comparisons, on the next line and behind words or a blank, prose and
// numbers stand as often as secrets: only a longer value with letters and digits
// counts.
func (k *knowledge) redactValue(m []string) string {
	found, name, kind, sign, value := m[0], m[1], strings.ToLower(m[2]), m[3], m[4]
	bare := strings.Trim(value, `"'\`)
	if strings.HasPrefix(bare, Mark) || strings.ContainsAny(bare[:min(1, len(bare))], "/$~`") || k.computed.MatchString(value) {
		return found
	}
	plain := strings.Trim(sign, " =:>：＝") != "" || strings.Contains(sign, "==") || strings.TrimSpace(sign) == ""
	password := !strings.Contains(kind, "key") && kind != "token" && kind != "secret"
	if (plain || !password) && !looksRandom(bare) {
		return found
	}
	return name + sign + Mark
}

func looksRandom(s string) bool {
	return len(s) >= 8 && strings.ContainsAny(s, "0123456789") && strings.ContainsAny(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz")
}
