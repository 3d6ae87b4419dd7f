package secrets

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"strings"
	"sync"
)

// Mark replaces what looked like a secret.
const Mark = "[redacted]"

// Redact replaces what looks like a secret by [Mark] and returns how many there
// were. Text without any is returned unchanged.
func Redact(text string) (string, int) {
	clean, n := redactBytes([]byte(text))
	if n == 0 {
		return text, 0
	}
	return clean, n
}

// RedactBytes is [Redact] for bytes. What it returns is text itself, unchanged,
// if there is no secret, and memory of its own else.
func RedactBytes(text []byte) ([]byte, int) {
	clean, n := redactBytes(text)
	if n == 0 {
		return text, 0
	}
	return []byte(clean), n
}

// redactBytes also finds what is disguised: where plain letters show more than
// the text does, the text is given in plain letters.
func redactBytes(text []byte) (clean string, n int) {
	k := known()
	if bits := k.anchors.in(text); bits != 0 {
		clean, n = k.search(string(text), bits)
	}
	bare, disguised := unmasked(text)
	if !disguised {
		return clean, n
	}
	bits := k.anchors.in(bare)
	if bits == 0 {
		return clean, n
	}
	if other, more := k.search(string(bare), bits); more > n {
		return other, more
	}
	return clean, n
}

// search looks for the shapes whose anchors the text has.
func (k *knowledge) search(text string, bits uint64) (string, int) {
	found := 0
	for i, r := range k.rules {
		if bits&(1<<i) == 0 {
			continue
		}
		for _, at := range r.pattern.FindAllStringIndex(text, -1) {
			if !strings.Contains(text[at[0]:at[1]], Mark) {
				found++
			}
		}
		text = r.pattern.ReplaceAllString(text, r.replace)
	}
	if bits&(1<<assignedBit) == 0 {
		return text, found
	}
	for _, assigned := range k.assigned {
		text = assigned.ReplaceAllStringFunc(text, func(s string) string {
			clean := k.redactValue(assigned.FindStringSubmatch(s))
			if clean != s {
				found++
			}
			return clean
		})
	}
	return text, found
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

// rule is one shape of secrets. Only a text that has one of the anchors, in
// any case, is searched for it.
type rule struct {
	anchors []string // lower case, of two bytes or more; nil: see anchorSet.dotted
	pattern *regexp.Regexp
	replace string
}

// newRules are the shapes, the ones with the longest prefixes first.
func newRules() []rule {
	return []rule{
		{[]string{"private key"}, regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)`), Mark},
		{[]string{"age-secret-key-1"}, regexp.MustCompile(`\bAGE-SECRET-KEY-1[A-Z0-9]{20,}`), Mark},
		{[]string{"sk-a", "sk-b", "sk-c", "sk-d", "sk-e", "sk-f", "sk-g", "sk-h", "sk-i", "sk-j", "sk-k", "sk-l", "sk-m", "sk-n", "sk-o", "sk-p", "sk-q", "sk-r", "sk-s", "sk-t", "sk-u", "sk-v", "sk-w", "sk-x", "sk-y", "sk-z", "sk-0", "sk-1", "sk-2", "sk-3", "sk-4", "sk-5", "sk-6", "sk-7", "sk-8", "sk-9"},
			regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{12,}`), Mark}, // OpenAI, Anthropic and others
		{[]string{"sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "whsec_"}, regexp.MustCompile(`\b(?:[srp]k_(?:live|test)_|whsec_)[A-Za-z0-9]{10,}`), Mark},
		{[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{16,}`), Mark},
		{[]string{"github_pat_"}, regexp.MustCompile(`\bgithub_pat_[A-Za-z0-9_]{16,}`), Mark},
		{[]string{"glpat-", "gldt-", "glrt-"}, regexp.MustCompile(`\bgl(?:pat|dt|rt)-[A-Za-z0-9_-]{12,}`), Mark},
		{[]string{"akia", "asia"}, regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{12,}`), Mark},
		{[]string{"xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xapp-"}, regexp.MustCompile(`\b(?:xox[abeprs]|xapp)-[A-Za-z0-9-]{8,}`), Mark},
		{[]string{"hooks.slack.com/services/"}, regexp.MustCompile(`(hooks\.slack\.com/services/)[A-Za-z0-9/_-]{12,}`), "${1}" + Mark},
		{[]string{"discord.com/api/webhooks/", "discordapp.com/api/webhooks/"}, regexp.MustCompile(`(discord(?:app)?\.com/api/webhooks/)[0-9]+/[A-Za-z0-9_-]{12,}`), "${1}" + Mark},
		{[]string{"aiza"}, regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{20,}`), Mark},
		{[]string{"ya29."}, regexp.MustCompile(`\bya29\.[A-Za-z0-9_-]{16,}`), Mark},
		{[]string{"gsk_"}, regexp.MustCompile(`\bgsk_[A-Za-z0-9]{20,}`), Mark},
		{[]string{"npm_"}, regexp.MustCompile(`\bnpm_[A-Za-z0-9]{20,}`), Mark},
		{[]string{"pypi-"}, regexp.MustCompile(`\bpypi-[A-Za-z0-9_-]{20,}`), Mark},
		{[]string{"dop_v1_", "doo_v1_", "dor_v1_"}, regexp.MustCompile(`\bdo[opr]_v1_[a-f0-9]{20,}`), Mark},
		{[]string{"shpat_", "shpss_", "shpca_", "shppa_"}, regexp.MustCompile(`\bshp(?:at|ss|ca|pa)_[A-Fa-f0-9]{16,}`), Mark},
		{[]string{"accountkey="}, regexp.MustCompile(`(?i)(AccountKey=)[A-Za-z0-9+/=]{20,}`), "${1}" + Mark},
		{[]string{"eyja", "eyjb", "eyjc", "eyjh", "eyjj", "eyjr", "eyjs", "eyjt", "eyj0"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}`), Mark},
		{[]string{"bearer ", "authorization:"}, regexp.MustCompile(`(?i)\b(bearer|authorization: *(?:token|basic)) +[A-Za-z0-9._~+/=-]{8,}`), "${1} " + Mark},
		{[]string{"cookie:"}, regexp.MustCompile(`(?i)\b((?:set-)?cookie: *)[^\s=;]+=[^\r\n"']{8,}`), "${1}" + Mark},
		{[]string{"x-api-key"}, regexp.MustCompile(`(?i)\b(x-api-key["']?: *["']?)[A-Za-z0-9._~+/=-]{8,}`), "${1}" + Mark},
		{[]string{"://"}, regexp.MustCompile(`(://[^/\s:@"']*:)[^/\s@"']+@`), "${1}" + Mark + "@"},
		{[]string{"lin_api_", "lin_oauth_", "secret_", "ntn_", "glsa_", "dckr_pat_", "figd_", "rubygems_", "sbp_", "sntrys_", "nvapi-", "pplx-", "tvly-", "xai-", "tskey-", "hvs.", "hvb.", "hvr.", "pmak-", "nrak-"},
			regexp.MustCompile(`\b(?:lin_(?:api|oauth)_|(?:glsa|dckr_pat|figd|rubygems|sbp|sntrys)_|ntn_|(?:nvapi|pplx|tvly|xai|tskey|PMAK|NRAK)-|hv[sbr]\.)[A-Za-z0-9_-]{20,}|\bsecret_[A-Za-z0-9]{40,}`), Mark},
		{[]string{"sk0", "sk1", "sk2", "sk3", "sk4", "sk5", "sk6", "sk7", "sk8", "sk9", "ska", "skb", "skc", "skd", "ske", "skf"}, regexp.MustCompile(`\bSK[0-9a-f]{32}\b`), Mark}, // Twilio
		{[]string{"sig=", "signature="}, regexp.MustCompile(`(?i)([?&](?:sig|x-amz-signature|x-goog-signature)=)[A-Za-z0-9%+/=_-]{20,}`), "${1}" + Mark},
		// Programs that take a secret as an argument.
		{[]string{"curl", "wget"}, regexp.MustCompile(`(?i)\b((?:curl|wget)\b[^\n]*?\s(?:-u|--user|--proxy-user)[ =]?\\*["']?[^\s:"'$]+:)[^\s"'$\\]{3,}`), "${1}" + Mark},
		{[]string{"mysql", "mariadb", "sshpass"}, regexp.MustCompile(`\b((?:mysql(?:dump|admin)?|mariadb(?:-dump|-admin)?)\b[^\n|;&]*?\s-p|sshpass\s+-p\s*)[^\s"'$=-][^\s"'\\]{3,}`), "${1}" + Mark},
		{[]string{"login "}, regexp.MustCompile(`(?i)\b(login\s+\S+\s+password\s+)[^\s"']{4,}`), "${1}" + Mark}, // .netrc
		{[]string{`"auth`}, regexp.MustCompile(`("auth\\*"\s*:\s*\\*")[A-Za-z0-9+/=]{16,}`), "${1}" + Mark},     // Docker
		{[]string{"password>", "passwd>", "passphrase>", "secret>", "token>", "key>"}, regexp.MustCompile(`(?i)(<[a-z0-9_:-]*(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key)>)[^<>\s]{4,}(</)`), "${1}" + Mark + "${2}"},
		// Tokens of bots have no letters to begin with, only their shapes:
		// Hugging Face, SendGrid, Telegram, Discord.
		{[]string{"hf_"}, regexp.MustCompile(`\bhf_[A-Za-z0-9]{20,}`), Mark},
		{[]string{"sg."}, regexp.MustCompile(`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`), Mark},
		{[]string{":aa"}, regexp.MustCompile(`\b[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}`), Mark},
		{nil, regexp.MustCompile(`\b[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}`), Mark}, // Discord
	}
}

// newAssigned are the ways in which a value is given to a name like "password":
// assigned to it, as the argument of an option, and told in a sentence. The
// groups are the name, its last part, what stands between, and the value.
// Quotes may be escaped: the arguments of tools are JSON in JSON.
func newAssigned() []*regexp.Regexp {
	const (
		pass  = `passw(?:or[dt]|d)|passphrase|passcode|kennwort|密码|密碼|パスワード|비밀번호|пароль`
		key   = `secret(?:[_-]?key)?|token|(?:api|access|private|signing|encryption|master)[_-]?key`
		value = `(\\+"[^"\\]+\\+"|\\+'[^'\\]+\\+'|"[^"]+"|'[^']+'|(?:[^\s"'&;,\\]|\\[^"'\\nrt])+)`
	)
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)([A-Za-z0-9_-]*(` + pass + `|pwd|` + key + `)\\*["']?)( {0,2}(?:=>|:=|={1,3}|[:：＝]) {0,4}(?:\r?\n|\\n)?)` + value),
		regexp.MustCompile(`(?i)(--[a-z-]*(` + pass + `|` + key + `))( +)` + value),
		regexp.MustCompile(`(?i)(\b(` + pass + `|secret|token|api key|access key))( (?:is|was|ist|lautet)(?: now)?:? )` + value),
	}
}

// assignedAnchors are what the names that newAssigned looks for have in them.
func assignedAnchors() []string {
	anchors := []string{"passw", "passphrase", "passcode", "pwd", "kennwort", "密码", "密碼", "パスワード", "비밀번호", "пароль", "Пароль", "ПАРОЛЬ", "secret", "token", "api key", "access key"}
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

// knowledge is everything that is known of how secrets look.
type knowledge struct {
	rules    []rule
	assigned []*regexp.Regexp
	computed *regexp.Regexp
	anchors  anchorSet
}

// assignedBit stands for assigned among the bits of an anchorSet; those of the
// rules are their indices.
const assignedBit = 63

// known is made when the first text is searched: most commands search none.
var known = sync.OnceValue(func() *knowledge {
	k := &knowledge{rules: newRules(), assigned: newAssigned(), computed: newComputed(), anchors: anchorSet{starts: map[uint32][]anchor{}}}
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

// filterBits is the size of the filter of anchors: small enough for the first
// cache, large enough that ordinary text seldom hits it by chance.
const filterBits = 15

// anchor is a word that a secret has in it, in lower case, and the bit that
// stands for what is to be searched then.
type anchor struct {
	word string
	bit  uint64
}

// anchorSet finds all its words in a text in one pass, in any case.
type anchorSet struct {
	// short has a bit for the first two bytes of every anchor of two or three
	// bytes, four one for the first four bytes of every other.
	short [1 << 16 / 64]uint64
	four  [1 << filterBits / 64]uint64
	// starts are the anchors by these two or four bytes.
	starts map[uint32][]anchor
	// dotted is for two dots with six bytes between them, the only thing that
	// tokens of Discord's bots have in common.
	dotted uint64
}

// fold makes letters lower-case, whatever it makes of other bytes.
const fold = 0x20202020

func (s *anchorSet) add(word string, bit uint64) {
	start := uint32(word[0]|0x20) | uint32(word[1]|0x20)<<8
	if len(word) < 4 {
		s.short[start/64] |= 1 << (start % 64)
	} else {
		start = binary.LittleEndian.Uint32([]byte(word)) | fold
		h := hash(start)
		s.four[h/64] |= 1 << (h % 64)
	}
	s.starts[start] = append(s.starts[start], anchor{word, bit})
}

// hash maps four bytes to a bit of the filter.
func hash(four uint32) uint32 { return four * 2654435761 >> (32 - filterBits) }

// in returns the bits of all anchors that stand in a text.
func (s *anchorSet) in(text []byte) (bits uint64) {
	if bytes.Contains(text, []byte(kelvin)) {
		text = bytes.ReplaceAll(text, []byte(kelvin), []byte("k"))
	}
	for i := 0; i+4 <= len(text); i++ {
		four := binary.LittleEndian.Uint32(text[i:]) | fold
		if h := hash(four); s.four[h/64]&(1<<(h%64)) != 0 {
			bits |= s.at(text[i:], four)
		}
		if short := four & 0xffff; s.short[short/64]&(1<<(short%64)) != 0 {
			bits |= s.at(text[i:], short)
		}
		if text[i] == '.' && i+7 < len(text) && text[i+7] == '.' {
			bits |= s.dotted
		}
	}
	for i := max(len(text)-3, 0); i+2 <= len(text); i++ { // where no four are left
		bits |= s.at(text[i:], uint32(text[i]|0x20)|uint32(text[i+1]|0x20)<<8)
	}
	return bits
}

// kelvin is the only character above ASCII that is a letter of an anchor, the
// k, in another case.
const kelvin = "\u212a"

// at returns the bits of the anchors that text begins with, of those that
// begin with start.
func (s *anchorSet) at(text []byte, start uint32) (bits uint64) {
	for _, a := range s.starts[start] {
		if beginsWith(text, a.word) {
			bits |= a.bit
		}
	}
	return bits
}

// beginsWith reports whether text begins with a word in any case.
func beginsWith(text []byte, word string) bool {
	if len(text) < len(word) {
		return false
	}
	for i := range len(word) {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != word[i] {
			return false
		}
	}
	return true
}
