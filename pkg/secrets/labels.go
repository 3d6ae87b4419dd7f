package secrets

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// People and models tell credentials as labels of prose and Markdown: "**Password:**
// x", "| API key | `x` |", "la contraseña es x", "Token:" and a fenced block. What
// stands between name and value there is no sign of a program alone, and marks stand
// around both. Here the value is read, and its marks are kept.

// label is a word that names a secret, in the languages served.
type label struct {
	word   string
	strong bool // a password: any value behind a sign is one
	login  bool // what is told beside it may be one: by its form alone
	stem   bool // endings stand behind it
	option bool // of a command: its argument may be one
	many   bool // names keys that are no secrets too
	signed bool // an ordinary word too: near it only what is random is one
}

func labels() (all []label) {
	add := func(kind label, words ...string) {
		for _, kind.word = range words {
			all = append(all, kind)
		}
	}
	add(label{strong: true}, "password", "passwd", "passphrase", "passcode", "passkey", "contraseña", "contrasena", "mot de passe", "mots de passe", "mdp", "senha", "palavra-passe", "wachtwoord",
		"密码", "密碼", "口令", "パスワード", "パスコード", "合言葉", "暗証番号", "비밀번호", "비번", "암호", "contraseÑa", "requirepass", "masterauth", "rootpw", "bindpw", "authtok", "_pass", "_pwd", "_pw", "pass phrase", "pass-phrase", "pass word", "pass code", "p/w", "psw", "pw:", "pw ", "pw=", "dein pin", "código de acceso", "codice di accesso", "código de acesso")
	add(label{strong: true, stem: true}, "passwort", "kennwort", "парол", "Парол", "hasło", "hasła", "hasłe", "haslo", "şifre", "Şifre", "ŞIFRE", "ŞİFRE", "ПАРОЛ", "sifre", "parolas", "zugangscode", "toegangscode", "code d'acc")
	add(label{strong: true, signed: true}, "pwd", "pass")
	add(label{}, "token", "secret", "api key", "api-key", "api_key", "apikey", "access key", "access-key", "access_key", "accesskey", "secret key", "private key", "signing key", "encryption key", "license key", "shared key", "unseal key", "master key",
		"recovery key", "recovery code", "backup code", "reset code", "wi-fi key", "the key", "this key", "that key", "my key", "your key", "our key", "new key", "old key", "account key", "storage key", "auth key", "auth code", "activation key", "key-string", "validationkey", "decryptionkey", "master.key", "jwtkey", "authkey", "authtoken", "_salt", "salt", "psk", "_pat", "secret_id", "key_base", "creds", "community", "createuser", "clé api", "clé d'api", "clé secrète", "clave", "chave", "chiave", "sleutel",
		"密钥", "密鑰", "令牌", "金鑰", "凭证", "トークン", "シークレット", "キー", "秘密鍵", "토큰", "api 키", "비밀 키", "인증키", "geheim", "jeton", "segredo", "segreto", "parola", "_secrets", "refresh_token", "bearer_token", "credentials:", "認証", "访问码")
	add(label{many: true}, "_key", "-key")
	add(label{stem: true}, "schlüssel", "ключ", "Ключ", "токен", "Токен", "секрет", "Секрет", "klucz", "anahtar", "geheimnis", "zugangscode")
	add(label{login: true}, "log in", "login", "log into", "sign in", "logged in", "credential", "basic_auth", "bearer_auth", "basicauth", "bearer ", "twine ", "obscure ", "http-basic", "kinit ", "net use", "xfreerdp", "wg genkey", "new pdo", " eap ", " psk ",
		"snmp", "hmac", "jwt.sign", "encrypt(", "decrypt(", "cipher", "radius", "sasl", "authenticat", "authorization\"", "securestring", "_connect(", ".connect(", "getconnection(", "plainauth(", "basiccredential", "auth = (", "auth=(", "auth(", "http -a", "chpasswd", "set_password", "send_keys(", "digest(", "mysqli(", "zugangsdaten", "anmeldung", "einloggen", "anmelden", "melde dich", "connecte", "identifiant", "inicia sesi", "credencia", "accedi", "credenzial", "anmeldedaten", "inloggegevens", "dane logowania", "учётные данные", "учетные данные", "凭据", "認証情報", "자격 증명", "inloggen", "войти", "войди", "логин",
		"登录", "登入", "ログイン", "로그인", "zaloguj", "giriş")
	add(label{signed: true}, "--auth", "--key", "--pat")
	add(label{option: true}, " -p", " -w", " -a", " -k", " -t", " -n", " -x", " -s")
	return all
}

// labelSet finds the labels of a text.
type labelSet struct {
	words anchorSet // the bit of an anchor is the index of its label
	all   []label
}

func newLabelSet() labelSet {
	s := labelSet{words: newAnchorSet(), all: labels()}
	for i, l := range s.all {
		s.words.add(l.word, uint64(i))
	}
	return s
}

// searchLabels redacts the values that labels tell, which stand at places.
func (k *knowledge) searchLabels(text []byte, places []int, f *finding) (clean []byte) {
	done, next := 0, 0
	for _, i := range places {
		if i < next {
			continue
		}
		from, to := k.labelledAt(text, i)
		if to <= from || from < done {
			continue
		}
		f.add(text[from:to])
		clean = append(append(clean, text[done:from]...), Mark...)
		done, next = to, to
	}
	if done == 0 {
		return text
	}
	return append(clean, text[done:]...)
}

// labelledAt is the value of the label that stands at a place; to is 0 without one.
func (k *knowledge) labelledAt(text []byte, i int) (from, to int) {
	for _, a := range k.labels.words.beginning(text[i:]) {
		if !a.standsAt(text, i) {
			continue
		}
		l := k.labels.all[a.bit]
		r := labelReader{text: text, at: i + len(l.word), strong: l.strong, signed: l.signed, many: l.many, begin: i, word: i + len(l.word)}
		switch {
		case l.stem:
			r.skipLetters()
		case l.option && i+len(l.word) < len(text) && isWord(text[i+len(l.word)]) && l.word != " -p":
			continue // the name of an option goes on
		case l.login:
			if isWord(l.word[len(l.word)-1]) || l.word[len(l.word)-1] >= utf8.RuneSelf {
				r.skipLetters()
			}
			r.skip("*_`", 3)
			r.word = r.at
		case !l.option && !r.isWhole():
			continue
		}
		if from, to = r.value(); !l.login && !l.option && to > from && !k.computed.Match(text[from:to]) {
			return from, to
		}
		if l.login && isField(text[r.word:]) {
			continue
		}
		if isInFileName(text[r.word:]) {
			from, to = belowFileName(text, r.word, l)
		} else {
			from, to = nearLabel(text, i, r.word, l)
		}
		if to > from {
			return from, to
		}
	}
	return 0, 0
}

// isField reports whether a word is the name of a field: its value is the name of an
// account.
func isField(behind []byte) bool {
	behind, isQuoted := bytes.CutPrefix(bytes.TrimLeft(behind, `\`), []byte(`"`))
	return isQuoted && bytes.HasPrefix(bytes.TrimLeft(behind, " "), []byte(":"))
}

// labelReader reads from behind a label to the value.
type labelReader struct {
	text   []byte
	begin  int // of the label
	word   int // where it ends
	at     int
	strong bool
	signed bool
	many   bool
	told   bool // by a verb, or by blanks alone: prose goes on so as well
	cell   bool // of a table
	opener []byte
}

// value is the place of the value; to is 0 if none is told.
func (r *labelReader) value() (from, to int) {
	r.skip("*_`\"')]", 5)
	r.qualifier()
	if !r.sign() {
		return 0, 0
	}
	r.open()
	from = r.at
	to = r.end(from)
	if to <= from || !r.isSecret(r.text[from:to]) {
		return 0, 0
	}
	return from, to
}

// isWhole reports whether the label ends where its word does: one within another word
// is none. "pass" and the like begin where a word does, too, or with a capital letter.
func (r *labelReader) isWhole() bool {
	word := r.text[r.begin:r.at]
	last, _ := utf8.DecodeLastRune(word)
	next, size := utf8.DecodeRune(r.text[r.at:])
	if isLetter(last) && last < 0x2e80 && isLetter(next) && next < 0x2e80 {
		return false
	}
	if next == 's' && size == 1 { // plural
		return false
	}
	return len(word) > len("pass") || word[0] >= utf8.RuneSelf || !isWord(word[0]) || word[0] == '_' || wordBegins(r.text, r.begin) || word[0] == 'P' || r.isCompound()
}

// isCompound reports a label behind other letters, as in "rootpw" and "mailpass", and a
// sign behind it.
func (r *labelReader) isCompound() bool {
	behind := bytes.TrimLeft(r.text[r.at:], " ")
	if !r.strong || len(behind) == 0 || behind[0] != '=' && behind[0] != ':' && !bytes.ContainsAny(r.text[r.begin:r.at], "=:") {
		return false
	}
	before := bytes.ToLower(r.text[max(0, r.begin-len("encom")):r.begin])
	for _, other := range []string{"com", "by", "sur", "tres", "over", "under"} {
		if bytes.HasSuffix(before, []byte(other)) {
			return false
		}
	}
	return true
}

// skipLetters steps over the ending of a word.
func (r *labelReader) skipLetters() {
	const most = 6
	for range most {
		c, size := utf8.DecodeRune(r.text[r.at:])
		if !unicode.IsLetter(c) {
			break
		}
		r.at += size
	}
	r.word = r.at
}

// qualifier steps over a remark in parentheses.
func (r *labelReader) qualifier() {
	at := skipBlanks(r.text, r.at, 1)
	if at == r.at || at >= len(r.text) || r.text[at] != '(' {
		return // a call
	}
	const longest = 40
	if n := bytes.IndexAny(r.text[at:min(len(r.text), at+longest)], ")\n"); n > 0 && r.text[at+n] == ')' {
		r.at = at + n + 1
		r.skip("*_`", 3)
	}
}

// skip steps over marks, so many at most.
func (r *labelReader) skip(marks string, most int) (n int) {
	for n < most && r.at < len(r.text) && bytes.IndexByte([]byte(marks), r.text[r.at]) >= 0 {
		r.at++
		n++
	}
	return n
}

// sign steps over what says that a value comes: a sign, the border of a cell, a verb, a
// tab or some blanks.
func (r *labelReader) sign() bool {
	blanks := r.skip(" \t", 8)
	tab := blanks > 0 && bytes.IndexByte(r.text[r.at-blanks:r.at], '\t') >= 0
	rest := r.text[r.at:]
	for _, s := range []string{"=>", ":=", "->", "→", ":", "：", "=", "＝"} {
		if bytes.HasPrefix(rest, []byte(s)) {
			r.at += len(s)
			if r.at < len(r.text) && (r.text[r.at] == '=' || r.text[r.at] == ':') {
				return false // compared, or a scope
			}
			r.told = s == "->" || s == "→"
			if r.skip("*_", 3) > 2 {
				return false // a value that somebody has masked
			}
			r.gap()
			return true
		}
	}
	switch {
	case bytes.HasPrefix(rest, []byte("|")) && r.inCell():
		r.at++
		r.skip(" \t", 40)
		r.cell = true
		return true
	case r.verb():
		r.told = true
		return true
	case tab || blanks > 2, r.strong && !r.signed && blanks > 0 && len(rest) > 0 && bytes.IndexByte([]byte("\"'`"), rest[0]) >= 0:
		r.told = true
		return true
	}
	return false
}

// gap steps over the blanks behind a sign, over a tag of HTML, and over the line that opens a fenced block.
func (r *labelReader) gap() {
	r.skip(" \t", 8)
	if n := bytes.IndexByte(r.text[r.at:min(len(r.text), r.at+12)], '>'); n > 0 && bytes.HasPrefix(r.text[r.at:], []byte("</")) {
		r.at += n + 1
		r.skip(" \t", 8)
	}
	at := skipLineEnd(r.text, r.at)
	if at == r.at {
		return
	}
	at = skipLineEnd(r.text, skipBlanks(r.text, at, 4))
	at = skipBlanks(r.text, at, 4)
	if !bytes.HasPrefix(r.text[at:], []byte("```")) {
		return
	}
	line := bytes.IndexByte(r.text[at:], '\n')
	width := 1
	if escaped := bytes.Index(r.text[at:], []byte(`\n`)); escaped >= 0 && (line < 0 || escaped < line) {
		line, width = escaped, 2
	}
	if line < 0 {
		return
	}
	r.at = skipBlanks(r.text, at+line+width, 8)
	r.told = true
}

// inCell reports whether the label is the first text of a cell of a table.
func (r *labelReader) inCell() bool {
	line := r.text[bytes.LastIndexByte(r.text[:r.begin], '\n')+1 : r.begin]
	return bytes.IndexByte(line, '|') >= 0
}

// verbs say in prose what something is, in the languages served.
func verbs() []string {
	return []string{
		"is now set to ", "is now ", "is set to ", "reads ", "equals ", "was set to ", "was changed to ", "has been set to ", "is: ", "is ", "was: ", "was ", "set to ", "to ",
		"lautet ", "ist jetzt ", "ist: ", "ist ", "war ", "es ahora ", "es: ", "es ", "est : ", "est maintenant ", "c'est ", "est ", "è: ", "è ", "é: ", "é ", "jest ", "это ", "— ", "– ", "- ", "是：", "是:", "是 ", "是", "为", "は、", "は ", "は", "が", "는 ", "은 ",
	}
}

func (r *labelReader) verb() bool {
	for _, v := range verbs() {
		if beginsFoldedWord(r.text[r.at:], v) {
			r.at += len(v)
			r.skip(" :", 2)
			return true
		}
	}
	return false
}

func beginsFoldedWord(text []byte, word string) bool {
	return len(text) >= len(word) && bytes.EqualFold(text[:len(word)], []byte(word))
}

// open steps over the marks before a value and keeps them.
func (r *labelReader) open() {
	from := r.at
	r.skip("\\", 3)
	for _, quote := range []string{"“", "„", "«", "「", "『", "‹"} {
		if bytes.HasPrefix(r.text[r.at:], []byte(quote)) {
			r.at += len(quote)
		}
	}
	r.skip("*`\"'_", 3)
	r.opener = r.text[from:r.at]
}

// end is where the value ends: at the mark that closes it, or before a blank, without
// the marks of a sentence.
func (r *labelReader) end(from int) int {
	rest := r.text[from:]
	if n := len(r.opener); n > 0 {
		if c := r.opener[n-1]; c == '`' || c == '"' || c == '\'' {
			end := bytes.IndexByte(rest, c)
			if end < 0 || bytes.IndexByte(rest[:end], '\n') >= 0 {
				return 0
			}
			return from + len(bytes.TrimRight(rest[:end], `\`))
		}
	}
	end := bytes.IndexFunc(rest, unicode.IsSpace)
	if end < 0 {
		end = len(rest)
	}
	for _, stop := range []string{`\n`, `\r`, `\t`, `\"`, `"`, "`", "<", "|", "，", "。", "、", "」", "»", "”"} {
		if at := bytes.Index(rest[:end], []byte(stop)); at >= 0 {
			end = at
		}
	}
	if !r.told {
		return from + len(bytes.TrimRight(rest[:end], "*_.,;:)]}'\\"))
	}
	return from + len(bytes.TrimRight(rest[:end], "*_.,;:!?)]}'\\"))
}

// isSecret judges a value by how it is told.
func (r *labelReader) isSecret(value []byte) bool {
	const least, most = 4, 400
	if len(value) < least || len(value) > most || bytes.Contains(value, []byte(Mark)) || bytes.IndexByte([]byte("/$~<{[(%#@&!|>-"), value[0]) >= 0 && !looksRandom(value) {
		return false
	}
	if isPlaceholder(value) || bytes.IndexByte([]byte("$<{"), value[0]) >= 0 || bytes.ContainsAny(value, " \t(){}<>[]") {
		return false
	}
	marked := len(r.opener) > 0
	switch {
	case r.strong && !r.told && marked && isASCII(value):
		return true
	case r.strong:
		return hasShape(value)
	}
	if isRandom(value) || len(value) >= leastToken && looksRandom(value) && bitsOf(value) >= leastBits && !isName(value) {
		return true
	}
	return (marked || !r.told) && (isHuman(value) || !r.many && isChosen(value)) || (marked || !r.told && !r.many) && isPassphrase(value)
}

// What the value of a key or token has at least: letters and digits, this many bytes,
// and this many bits a byte.
const (
	leastToken = 12
	leastBits  = 3.0
)

// hasShape reports whether a word of prose would hardly be written so: with a digit or
// a sign within, or with letters of both cases.
func hasShape(value []byte) bool {
	if len(value) < 6 {
		return false
	}
	lower, upper, other := false, false, false
	for i, c := range value {
		switch {
		case 'a' <= c && c <= 'z':
			lower = true
		case 'A' <= c && c <= 'Z':
			upper = upper || i > 0
		case c >= utf8.RuneSelf:
			return false
		case c != '\'' && c != '/' && c != '.' && c != ':' && c != '-' && c != '_' && c != '=' && c != ',':
			other = true
		}
	}
	return (lower || upper) && other || lower && upper
}

// isName reports names of programs, paths, versions and addresses: words that are put
// together, of which few have digits.
func isName(value []byte) bool {
	if bytes.Contains(value, []byte("://")) || bytes.HasPrefix(value, []byte("sha256:")) || bytes.HasPrefix(value, []byte("SHA256:")) {
		return true
	}
	parts := bytes.FieldsFunc(value, func(c rune) bool { return c == '-' || c == '_' || c == '.' || c == '/' || c == ':' })
	if len(parts) < 2 {
		return false
	}
	plain := 0
	for _, p := range parts {
		if !bytes.ContainsAny(p, "0123456789") || len(p) <= 4 {
			plain++
		}
	}
	return plain*2 > len(parts) || plain == len(parts)
}

func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// isPlaceholder reports what stands for a value, and words that are none: the type of
// a parameter, what a service says of a password.
func isPlaceholder(value []byte) bool {
	if bytes.HasPrefix(value, []byte("!vault")) || bytes.HasPrefix(value, []byte("!secret")) {
		return true
	}
	lower := bytes.ToLower(bytes.Trim(bytes.TrimRight(value, "})"), "\"'`,;:)*_|\\!?"))
	if len(lower) == 0 {
		return true
	}
	for _, word := range []string{"your_", "your-", "yourpass", "process.env", "os.environ", "getenv", "required|", "|string", "xxxx", "****", "••••", "...", "…"} {
		if bytes.Contains(lower, []byte(word)) {
			return true
		}
	}
	for _, word := range []string{"your", "changeme", "change-me", "change_me", "placeholder", "redacted", "env.", "example", "replace", "{{", "#{", "%("} {
		if bytes.HasPrefix(lower, []byte(word)) {
			return true
		}
	}
	if lower[0] == '%' && (len(lower) < 3 || lower[len(lower)-1] == '%') || !hasASCIIWord(lower) {
		return true // a variable of a shell; a word that a page shows for the field
	}
	switch string(lower) {
	case "raise", "return", "yes", "no", "erforderlich", "obligatorisch", "obligatoire", "requis", "requerido", "obligatorio", "obrigatório", "richiesto", "verplicht", "none", "null", "nil", "true", "false", "string", "str", "bool", "boolean", "bytes", "any", "undefined", "optional", "required", "number", "object", "missing", "invalid", "incorrect", "expired", "files", "systemd", "valid", "empty", "unknown", "text", "varchar", "char", "integer", "password", "passwort", "secret", "token", "hidden":
		return true
	}
	return false
}

// hasASCIIWord reports whether a value has letters or digits of ASCII that are no part
// of a word with others.
func hasASCIIWord(value []byte) bool {
	if bytes.ContainsAny(value, "0123456789") || isASCII(value) {
		return true
	}
	return false
}
