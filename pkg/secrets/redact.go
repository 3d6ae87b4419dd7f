package secrets

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Mark replaces what looked like a secret.
const Mark = "[redacted]"

// Version names the rules: what is redacted by others has other texts. A change of any
// rule makes it another.
const Version = "5+" + publishedVersion

// Redact replaces what looks like a secret by [Mark] and returns how many places
// there were. Text without any is returned unchanged.
func Redact(text string) (string, int) {
	clean, n := RedactBytes([]byte(text))
	if n == 0 {
		return text, 0
	}
	return string(clean), n
}

// RedactBytes is [Redact] for bytes. What it returns is text itself, unchanged,
// if there is no secret, and memory of its own else.
func RedactBytes(text []byte) ([]byte, int) {
	clean, values := redactBytes(text)
	if len(values) == 0 {
		return text, 0
	}
	return redactOwn(clean, values)
}

// redactOwn replaces the values that were found in a text wherever they stand in it.
func redactOwn(clean []byte, values [][]byte) ([]byte, int) {
	s := NewSession()
	for _, v := range values {
		s.know(v)
	}
	clean, again := s.RedactKnown(clean)
	return clean, len(values) + again
}

// redactBytes also finds what is disguised: where plain letters show more than
// the text does, the text is given in plain letters. It does not change text, and
// what it finds secrets in is memory of its own. values has an entry for each place.
func redactBytes(text []byte) (clean []byte, values [][]byte) {
	k := known()
	clean, values = k.search(text)
	if bare, disguised := unmasked(text); disguised {
		if other, more := k.search(bare); len(more) > len(values) {
			return other, more
		}
	}
	return clean, values
}

// search looks for what the anchors of a text stand for. It returns text itself if it
// finds nothing.
func (k *knowledge) search(text []byte) ([]byte, [][]byte) {
	seen := k.anchors.look(text)
	bits := seen.bits
	if bits == 0 {
		return text, nil
	}
	f := &finding{}
	text = k.searchRules(text, &seen, f)
	if bits&(1<<shapeBit) != 0 {
		text = k.shapes.replace(text, k.anchors.placesIn(text, &seen, shapeBit), f)
	}
	if bits&(1<<labelBit) != 0 {
		text = k.searchTables(text, f)
		text = k.searchLabels(text, k.anchors.placesIn(text, &seen, labelBit), f)
	}
	return text, f.values
}

// finding collects the values that are replaced.
type finding struct{ values [][]byte }

func (f *finding) add(value []byte) {
	f.values = append(f.values, bytes.Trim(value, `"'\`))
}

// searchRules looks for the rules whose anchors the text has, and for what is assigned
// to names.
func (k *knowledge) searchRules(text []byte, seen *sight, f *finding) []byte {
	bits := seen.bits
	for i, r := range k.rules {
		if bits&(1<<i) == 0 || r.first != nil && !k.begins(text, i) {
			continue
		}
		if clean := r.search(text, k.around(text, i), f); !isSame(clean, text) {
			text = clean
			bits |= k.anchors.in(text) // a word may begin behind a mark
		}
	}
	if bits&(1<<assignedBit) == 0 {
		return text
	}
	return k.searchAssigned(text, seen, f)
}

// search redacts what a rule finds in some parts of a text. Text is not changed.
func (r rule) search(text []byte, parts [][2]int, f *finding) (clean []byte) {
	done := 0 // how many bytes of text are in clean
	for _, p := range parts {
		part := text[p[0]:p[1]]
		all := r.pattern.FindAllSubmatchIndex(part, -1)
		for _, m := range all {
			if !bytes.Contains(part[m[0]:m[1]], []byte(Mark)) {
				f.add(r.valueOf(part, m))
			}
		}
		if len(all) > 0 {
			clean = append(append(clean, text[done:p[0]]...), r.pattern.ReplaceAll(part, []byte(r.replace))...)
			done = p[1]
		}
	}
	if done == 0 {
		return text
	}
	return append(clean, text[done:]...)
}

// around are the parts of a text in which a rule can find something: the lines that have
// one of its anchors, and those that follow as far as its shape goes on.
func (k *knowledge) around(text []byte, rule int) (parts [][2]int) {
	if k.rules[rule].lines == 0 || hasFolded(text) {
		return [][2]int{{0, len(text)}}
	}
	line := 0 // where the line behind the last one with an anchor begins
	for i := k.anchors.next(text, 0); i < len(text); i = k.anchors.next(text, i+1) {
		if i < line || k.anchors.at(text, i)&(1<<rule) == 0 {
			continue
		}
		from := line + bytes.LastIndexByte(text[line:i], '\n') + 1
		line = lineBehind(text, i)
		to := line
		for range k.rules[rule].lines - 1 {
			to = lineBehind(text, to)
		}
		if n := len(parts); n > 0 && from < parts[n-1][1] {
			parts[n-1][1] = to
		} else {
			parts = append(parts, [2]int{from, to})
		}
	}
	return parts
}

// lineBehind is where the next line begins.
func lineBehind(text []byte, at int) int {
	if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(text)
}

// valueOf is the part of a match that the mark takes the place of.
func (r rule) valueOf(text []byte, m []int) []byte {
	from, to := m[0], m[1]
	if strings.HasPrefix(r.replace, "${1}") {
		from = m[3]
	}
	if strings.HasSuffix(r.replace, "${2}") {
		to = m[4]
	}
	value := bytes.TrimSpace(text[from:to])
	if strings.HasSuffix(r.replace, "@") {
		value = bytes.TrimSuffix(value, []byte("@"))
	}
	return value
}

// begins reports whether the shape of a rule begins at one of its anchors, where all
// of its kind begin.
func (k *knowledge) begins(text []byte, rule int) bool {
	if hasFolded(text) {
		return true // perhaps
	}
	for i := k.anchors.next(text, 0); i < len(text); i = k.anchors.next(text, i+1) {
		if k.anchors.at(text, i)&(1<<rule) != 0 && wordBegins(text, i) && k.rules[rule].first.Match(text[i:]) {
			return true
		}
	}
	return false
}

// rule is one shape of secrets. Only a text that has one of the anchors is
// searched for it.
type rule struct {
	// anchors have three bytes or more; nil: see anchorSet.dotted. One that begins
	// with \b stands where a word begins, in just this case; the others are in
	// lower case and stand in any.
	anchors []string
	pattern *regexp.Regexp
	replace string
	// lines is how many lines the shape goes over at most, from that of an anchor; 0
	// for any number.
	lines int
	// first is pattern at the beginning of a text, for a shape that always begins
	// with one of the anchors, where a word begins; else nil. It is tried before
	// pattern, which goes over a whole text.
	first *regexp.Regexp
}

// anywhere is a rule of a shape that has one of the anchors somewhere, in one line.
func anywhere(anchors []string, expression, replace string) rule {
	return rule{anchors: anchors, pattern: regexp.MustCompile(expression), replace: replace, lines: 1}
}

// over lets the shape of a rule go over so many lines; 0 for any number.
func (r rule) over(lines int) rule {
	r.lines = lines
	return r
}

// starting is a rule of a shape that always begins with one of the anchors. It is
// tried at each of them, so the shape must not read on to the end of a line: a
// line of many anchors would be read as many times.
func starting(anchors []string, expression, replace string) rule {
	return rule{anchors: anchors, pattern: regexp.MustCompile(expression), replace: replace, first: regexp.MustCompile(`^(?:` + expression + `)`)}
}

// newRules are the shapes, the ones with the longest prefixes first.
func newRules() []rule {
	return []rule{
		anywhere([]string{"private key"}, `----[- ]BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?[- ]----(?s:.*?)(----[- ]END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?[- ]----|$)`, Mark).over(0),
		anywhere([]string{"age-secret-key-1"}, `\bAGE-SECRET-KEY-1[A-Z0-9]{20,}`, Mark),
		anywhere([]string{`\bsk-`}, `\bsk-[A-Za-z0-9_-]{12,}`, Mark), // OpenAI, Anthropic and others
		anywhere([]string{"sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "whsec_"}, `\b(?:[srp]k_(?:live|test)_|whsec_)[A-Za-z0-9]{10,}`, Mark),
		anywhere([]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, `\bgh[pousr]_[A-Za-z0-9]{16,}`, Mark),
		anywhere([]string{"github_pat_"}, `\bgithub_pat_[A-Za-z0-9_]{16,}`, Mark),
		anywhere([]string{"glpat-", "gldt-", "glrt-"}, `\bgl(?:pat|dt|rt)-[A-Za-z0-9_-]{12,}`, Mark),
		anywhere([]string{`\bAKIA`, `\bASIA`}, `\b(?:AKIA|ASIA)[A-Z0-9]{12,}(?::[A-Za-z0-9/+=]{30,})?`, Mark),
		anywhere([]string{"xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xapp-"}, `\b(?:xox[abeprs]|xapp)-[A-Za-z0-9-]{8,}`, Mark),
		anywhere([]string{"hooks.slack.com/services/"}, `(hooks\.slack\.com/services/)[A-Za-z0-9/_-]{12,}`, "${1}"+Mark),
		anywhere([]string{"discord.com/api/webhooks/", "discordapp.com/api/webhooks/"}, `(discord(?:app)?\.com/api/webhooks/)[0-9]+/[A-Za-z0-9_-]{12,}`, "${1}"+Mark),
		anywhere([]string{`\bAIza`}, `\bAIza[A-Za-z0-9_-]{20,}`, Mark),
		anywhere([]string{"ya29."}, `\bya29\.[A-Za-z0-9_-]{16,}`, Mark),
		anywhere([]string{"gsk_"}, `\bgsk_[A-Za-z0-9]{20,}`, Mark),
		anywhere([]string{"npm_"}, `\bnpm_[A-Za-z0-9]{20,}`, Mark),
		anywhere([]string{"pypi-"}, `\bpypi-[A-Za-z0-9_-]{20,}`, Mark),
		anywhere([]string{"dop_v1_", "doo_v1_", "dor_v1_"}, `\bdo[opr]_v1_[a-f0-9]{20,}`, Mark),
		anywhere([]string{"shpat_", "shpss_", "shpca_", "shppa_"}, `\bshp(?:at|ss|ca|pa)_[A-Fa-f0-9]{16,}`, Mark),
		anywhere([]string{"accountkey="}, `(?i)(AccountKey=)[A-Za-z0-9+/=]{20,}`, "${1}"+Mark),
		anywhere([]string{`\beyJ`}, `\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}`, Mark),
		starting([]string{"bearer ", "authorization:"}, `(?i)\b(bearer|authorization: *(?:token|basic)) +(?:[A-Za-z._~+/=-]{0,60}[0-9][A-Za-z0-9._~+/=-]{5,}|[A-Za-z._~+/=-]{6,60}[0-9][A-Za-z0-9._~+/=-]*|[A-Za-z+/]{16,}={1,2})`, "${1} "+Mark),
		anywhere([]string{"cookie:"}, `(?i)\b((?:set-)?cookie: *)[^\s=;]+=[^\r\n"']{8,}`, "${1}"+Mark),
		starting([]string{"x-api-key"}, `(?i)\b(x-api-key["']?: *["']?)[A-Za-z0-9._~+/=-]{8,}`, "${1}"+Mark),
		anywhere([]string{"://"}, `(://[^/\s:@"']*:)[^/\s@"'<$\{][^/\s@"']*@`, "${1}"+Mark+"@").over(0),
		starting([]string{"lin_api_", "lin_oauth_", "secret_", "ntn_", "glsa_", "dckr_pat_", "figd_", "rubygems_", "sbp_", "nvapi-", "pplx-", "tvly-", "xai-", "tskey-", "hvs.", "hvb.", "hvr.", "pmak-", "nrak-"},
			`\b(?:lin_(?:api|oauth)_|(?:glsa|dckr_pat|figd|rubygems|sbp)_|ntn_|(?:nvapi|pplx|tvly|xai|tskey|PMAK|NRAK)-|hv[sbr]\.)[A-Za-z0-9_-]{20,}|\bsecret_[A-Za-z0-9]{40,}`, Mark),
		anywhere([]string{`\bSK0`, `\bSK1`, `\bSK2`, `\bSK3`, `\bSK4`, `\bSK5`, `\bSK6`, `\bSK7`, `\bSK8`, `\bSK9`, `\bSKa`, `\bSKb`, `\bSKc`, `\bSKd`, `\bSKe`, `\bSKf`}, `\bSK[0-9a-f]{32}\b`, Mark), // Twilio
		anywhere([]string{"sig=", "signature="}, `(?i)([?&](?:sig|x-amz-signature|x-goog-signature)=)[A-Za-z0-9%+/=_-]{20,}`, "${1}"+Mark),
		// Programs that take a secret as an argument.
		anywhere([]string{"curl", "wget"}, `(?i)\b((?:curl|wget)\b[^\n]*?\s(?:-u|--user|--proxy-user)[ =]?\\*["']?[^\s:"'$]+:)[^\s"'$\\]{3,}`, "${1}"+Mark).over(2),
		anywhere([]string{"mysql", "mariadb", "sshpass"}, `\b((?:mysql(?:dump|admin)?|mariadb(?:-dump|-admin)?)\b[^\n|;&]*?\s-p|sshpass\s+-p\s*)[^\s"'$=-][^\s"'\\]{3,}`, "${1}"+Mark).over(0),
		anywhere([]string{"login "}, `(?i)\b(login\s+\S+\s+password\s+)[^\s"']{4,}`, "${1}"+Mark).over(0), // .netrc
		anywhere([]string{`"auth`}, `("auth\\*"\s*:\s*\\*")[A-Za-z0-9+/=]{16,}`, "${1}"+Mark).over(0),     // Docker
		anywhere([]string{"password>", "passwd>", "passphrase>", "secret>", "token>", "key>"}, `(?i)(<[a-z0-9_:-]*(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key)>)[^<>\s]{4,}(</)`, "${1}"+Mark+"${2}"),
		// Tokens of bots have no letters to begin with, only their shapes:
		// Hugging Face, SendGrid, Telegram, Discord.
		starting([]string{"sessctl-fleet-1:"}, `\bsessctl-fleet-1:[A-Za-z0-9_=-]{20,}`, Mark), // with which a host joins a fleet
		starting([]string{`\bhf_`}, `\bhf_[A-Za-z0-9]{20,}`, Mark),
		starting([]string{`\bSG.`}, `\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`, Mark),
		anywhere([]string{":aa"}, `(?:\b|bot)[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}`, Mark),
		anywhere(nil, `\b[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}`, Mark).over(0), // Discord
	}
}

// knowledge is everything that is known of how secrets look.
type knowledge struct {
	rules    []rule
	assigned []assignment
	computed *regexp.Regexp
	anchors  anchorSet // of everything
	shapes   shapeSet
	labels   labelSet
}

// known is made when the first text is searched: most commands search none.
var known = sync.OnceValue(func() *knowledge {
	k := &knowledge{rules: newRules(), assigned: newAssigned(), computed: newComputed(), anchors: newAnchorSet(), labels: newLabelSet()}
	k.shapes = newShapeSet(slices.Concat(ownShapes(), toldShapes(), publishedShapes()))
	for _, s := range k.shapes.shapes {
		for _, word := range s.keywords {
			k.anchors.add(word, 1<<shapeBit)
		}
	}
	for _, l := range labels() {
		k.anchors.add(l.word, 1<<labelBit)
	}
	for i, r := range k.rules {
		for _, word := range r.anchors {
			k.anchors.add(word, 1<<i)
		}
		if r.anchors == nil {
			k.anchors.dotted |= 1 << i
		}
	}
	for _, word := range assignedAnchors() {
		k.anchors.add(word, 1<<assignedBit)
	}
	return k
})
