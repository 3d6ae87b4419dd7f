package secrets

import (
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// examples are made up: each has the shape of a secret and is none.
var examples = []struct{ text, secret string }{
	{"-----BEGIN RSA PRIVATE KEY-----\nMIIEabcdef\nghijklmn\n-----END RSA PRIVATE KEY-----", "MIIEabcdef"},
	{"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r", "b3BlbnNzaC1r"},
	{"AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQ", "1QQQQ"},
	{"sk-abcdefghijklmnopqrstuvwx", "abcdefghijkl"},
	{"sk-ant-api03-AAAABBBBCCCCDDDD", "AAAABBBB"},
	{"sk_live_" + "0123456789abcdef", "0123456789"},
	{"whsec_0123456789abcdef", "0123456789"},
	{"ghp_abcdefghijklmnopqrstuvwxyz0123456789", "klmnopqrst"},
	{"github_pat_11ABCDEFG0abcdefghij_klmnop", "11ABCDEFG0"},
	{"glpat-abcdefghij0123456789", "abcdefghij01"},
	{"AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"},
	{"xoxb-123456789012-abcdefghijkl", "123456789012"},
	{"https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXX", "XXXXXXXX"},
	{"https://discord.com/api/webhooks/123456789/abcdefghijklmnopqrst", "abcdefghij"},
	{"AIzaSyA0123456789abcdefghijklmnopq", "SyA0123456"},
	{"ya29.a0AfH6SMBabcdefghijklmnop", "a0AfH6SMB"},
	{"gsk_abcdefghijklmnopqrstuvwxyz", "abcdefghij"},
	{"npm_abcdefghijklmnopqrstuvwxyz", "abcdefghij"},
	{"pypi-AgEIcHlwaS5vcmcCJGFiY2Rl", "AgEIcHlwaS5"},
	{"dop_v1_0123456789abcdef0123456789", "0123456789"},
	{"shpat_0123456789abcdef0123", "0123456789"},
	{"AccountName=x;AccountKey=abcdefghijklmnopqrstuvwxyz0123==;", "abcdefghij"},
	{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP", "eyJzdWIi"},
	{"curl -H 'Authorization: Bearer abcdef.123456'", "abcdef.123456"},
	{"Authorization: token 0123456789abcdef0123", "0123456789abcdef"},
	{"Set-Cookie: sid=38afes7a8abcdef; Path=/", "38afes7a8"},
	{`"x-api-key": "abcdefgh12345"`, "abcdefgh12345"},
	{"postgres://shed:s3cretpw@db.example/shed", "s3cretpw"},
	{"hf_abcdefghijklmnopqrstuvwx", "abcdefghij"},
	{"sessctl fleet join sessctl-fleet-1:eyJ1cmwiOiJwb3N0Z3JlczovL2EifQ", "eyJ1cmwi"},
	{"SG.abcdefghijklmnopqrst.uvwxyz0123456789ab", "uvwxyz0123"},
	{"123456789:AAabcdefghijklmnopqrstuvwxyz0123456", "abcdefghij"},
	{"password=herbst-laub-2019", "herbst"},
	{"Server=db;Uid=sa;Pwd=winter.rain;", "winter"},
	{"password=self-made.bread", "bread"},
	{"DB_PASSWORD='two words'", "two words"},
	{`{"password": "correcthorse"}`, "correcthorse"},
	{"api_key=0123456789abcdef", "0123456789"},
	{"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG", "wJalrXUtnFEMI"},
	{"token=a1b2c3d4e5f6", "a1b2c3d4"},
	{"ｐassword=correcthorse", "correcthorse"},
	{"ＰＡＳＳＷＯＲＤ＝correcthorse", "correcthorse"},
	{"gh\u200bp_abcdefghijklmnopqrstuvwxyz0123456789", "klmnopqrst"},
	{`{"command":"gh\u200bp_abcdefghijklmnopqrstuvwxyz0123456789"}`, "klmnopqrst"},
	{"pass\u00adword=correcthorse", "correcthorse"},
	{"-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQOYBGabcdef\n-----END PGP PRIVATE KEY BLOCK-----", "lQOYBGabcdef"},
	{`{\"command\":\"export API_TOKEN=\\\"a1b2c3d4e5f6\\\"\"}`, "a1b2c3d4"},
	{`{\"password\": \"correcthorse\"}`, "correcthorse"},
	{`export API_TOKEN=\"a1b2c3d4e5f6\"`, "a1b2c3d4"},
	{"secret_key = 'a1b2c3d4e5f6'", "a1b2c3d4"},
	{"password => 'correcthorse'", "correcthorse"},
	{"Password:\na1b2c3d4e5", "a1b2c3d4"},
	{"the password is a1b2c3d4e5 now", "a1b2c3d4"},
	{"Das Passwort lautet a1b2c3d4e5.", "a1b2c3d4"},
	{"密码：correcthorse", "correcthorse"},
	{"my密码 is correct1horse", "correct1horse"},
	{"Пароль: correcthorse", "correcthorse"},
	{"ПАРОЛЬ: correcthorse", "correcthorse"},
	{"<password>correcthorse</password>", "correcthorse"},
	{"gh auth login --token a1b2c3d4e5f6", "a1b2c3d4"},
	{"curl -s --user admin:correct1horse https://x.example", "correct1horse"},
	{`curl -u \"admin:correct1horse\" https://x.example`, "correct1horse"},
	{"mysql -uroot -pcorrecthorse shop", "correcthorse"},
	{"machine x login y password correcthorse", "correcthorse"},
	{`{"auths":{"r":{"auth":"dTpwYXNzd29yZA=="}}}`, "dTpwYXNzd29"},
	{"redis://:correcthorse@cache:6379", "correcthorse"},
	{"https://x.blob.example/c?sv=2022&sig=abcdefghijklmnopqrstuvwx%3D", "abcdefghij"},
	{"lin_" + "api_abcdefghijklmnopqrstuvwxyz01", "abcdefghij"},
	{"hvs" + ".abcdefghijklmnopqrstuvwxyz01", "abcdefghij"},
	{"tskey-" + "auth-abcdefghij-klmnopqrstuvwxyz", "klmnopqr"},
	{"xai-" + "abcdefghijklmnopqrstuvwxyz", "abcdefghij"},
	{"SK" + "0123456789abcdef0123456789abcdef", "0123456789"},
	{"MTIzNDU2Nzg5MDEyMzQ1Njc4" + ".Gabcde.abcdefghijklmnopqrstuvwxyz01", "abcdefghijkl"},
	{"that took a while longer ... MTIzNDU2Nzg5MDEyMzQ1Njc4" + ".Gabcde.abcdefghijklmnopqrstuvwxyz01", "abcdefghijkl"},
	{"password=a/bcdefgh", "bcdefgh"},
	{"token=abcd1234", "abcd1234"},
}

func TestSecretsAreRedacted(t *testing.T) {
	for _, e := range examples {
		for _, text := range []string{e.text, "Use " + e.text + " please.", "a\n" + e.text + "\nb"} {
			clean, n := Redact(text)
			if strings.Contains(clean, e.secret) || n == 0 || !strings.Contains(clean, Mark) {
				t.Errorf("%q became %q, %d found", text, clean, n)
			}
		}
	}
}

func TestOrdinaryTextIsKept(t *testing.T) {
	for _, s := range []string{
		"token too long", "error: token: expected ';'", "max_tokens=4096", "the tokens: 150000", "wrong password or no key found",
		"SMTP_PASS_FILE=/run/secrets/smtp", "let pwd = process.cwd();", `pwd = "~" + pwd.slice(n)`, "pwd = `${start}...${end}`", "password: process.env.DB_PASSWORD,", "PWD=~/work",
		"password = getpass.getpass(", "password=self.password", "password=$PASSWORD", "PASSWORD_FILE=/run/x", "the secret: never hurry",
		"risk-averse and task-oriented work-in-progress", "https://example.org/a:b@c", "Asia and Akia", "cookie: a recipe",
		"http://localhost:8080/path@2", "a 12:AA battery", "npm_config_cache=/tmp", "", "a", "ab", "abc", "sk-", "ratio 1:AAA",
		"if password == confirm {", "use --token to sign in", "docker run -u 1000:1000 x", "the token is invalid", "the password was wrong", "--password-stdin", "Password:\nsudo: no password was provided",
		"mysql -u root -p shop", "<token>abc</token", "PrivateKey: testRSA2048PrivateKey,", "password := args[3]", "secret := []byte{0, 1}", "SKU0123", "a.b.c.d.e.f.g", "see pkg.Config.go and x.", "grep -p password:", "curl -u $USER:$PASS https://x",
		"token=abc1234", "token=12345678",
		"ＡＢＣ株式会社の資料（１２３）", "👨\u200d👩\u200d👧 family", "a\u200bb", `{"text":"\u200b"}`, "ｔｏｋｅｎ too long",
	} {
		if clean, n := Redact(s); clean != s || n != 0 {
			t.Errorf("%q became %q", s, clean)
		}
	}
}

// All anchors of a text are found, wherever they stand and in whatever case,
// and no others: as by looking for one after the other in lower case.
func TestAnchorsAreFound(t *testing.T) {
	k := known()
	all := map[string]uint64{}
	for i, r := range k.rules {
		for _, word := range r.anchors {
			all[word] |= 1 << i
		}
	}
	for _, word := range assignedAnchors() {
		all[word] |= 1 << assignedBit
	}
	for _, s := range k.shapes.shapes {
		for _, word := range s.keywords {
			all[word] |= 1 << shapeBit
		}
	}
	for _, l := range labels() {
		all[l.word] |= 1 << labelBit
	}
	words := slices.Sorted(maps.Keys(all))
	if len(k.rules) >= labelBit || len(words) < 80 {
		t.Fatalf("%d rules, %d anchors", len(k.rules), len(words))
	}
	rapid.Check(t, func(t *rapid.T) {
		text := ""
		for range rapid.IntRange(0, 4).Draw(t, "words") {
			word := strings.TrimPrefix(rapid.SampledFrom(words).Draw(t, "anchor"), `\b`)
			word = word[:rapid.IntRange(0, len(word)).Draw(t, "cut")] + rapid.SampledFrom([]string{"", word}).Draw(t, "whole")
			switch rapid.IntRange(0, 3).Draw(t, "case") {
			case 0:
				word = strings.ToUpper(word)
			case 1:
				word = strings.NewReplacer("k", "\u212a", "s", "\u017f").Replace(word)
			}
			text += rapid.StringN(0, 5, 10).Draw(t, "before") + word
		}
		if rapid.Bool().Draw(t, "dotted") {
			text += rapid.StringMatching(`[ .Ma_-]?[Ma0_-]{20,24}\.[a0_.-]{5,7}\.[A-Z0_-]{26,28}[ .]?`).Draw(t, "token")
		}
		want, plain := uint64(0), strings.NewReplacer("\u212a", "k", "\u017f", "s")
		for word, bits := range all {
			if exact, ok := strings.CutPrefix(word, `\b`); ok && regexp.MustCompile(`\b`+regexp.QuoteMeta(exact)).MatchString(text+"\x00"+plain.Replace(text)) ||
				!ok && strings.Contains(lower(text), word) {
				want |= bits
			}
		}
		for _, text := range []string{text, plain.Replace(text)} {
			if regexp.MustCompile(`[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}`).MatchString(text) {
				want |= k.anchors.dotted
			}
		}
		if got := k.anchors.in([]byte(text)); got != want {
			t.Fatalf("anchors of %q: %x, want %x", text, got, want)
		}
	})
}

// lower makes letters of ASCII lower-case, and those that stand for one.
func lower(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z':
			return r | 0x20
		case r == '\u212a':
			return 'k'
		case r == '\u017f':
			return 's'
		}
		return r
	}, text)
}

// searchedWhole is [knowledge.search] the slow way: every expression over the
// whole text, whatever anchors it has.
func searchedWhole(k *knowledge, text string) (string, int) {
	found := 0
	for _, r := range k.rules {
		for _, at := range r.pattern.FindAllString(text, -1) {
			if !strings.Contains(at, Mark) {
				found++
			}
		}
		text = r.pattern.ReplaceAllString(text, r.replace)
	}
	for _, a := range k.assigned {
		clean, done := "", 0
		for _, m := range a.whole().FindAllStringSubmatchIndex(text, -1) {
			if k.isSecret([]byte(text), m) && m[8] >= done {
				clean, done = clean+text[done:m[8]]+Mark, restOfValue([]byte(text), m[8], m[1])
				found++
			}
		}
		text = clean + text[done:]
	}
	return text, found
}

func sameAsWhole(t interface{ Fatalf(string, ...any) }, text string) {
	k := known()
	want, n := searchedWhole(k, text)
	var f finding
	seen := k.anchors.look([]byte(text))
	if got := k.searchRules(seen.text, &seen, &f); string(got) != want || len(f.values) != n {
		t.Fatalf("%q became\n%q (%d), searched whole\n%q (%d)", text, got, len(f.values), want, n)
	}
}

// A rule that is tried in the lines of its anchors alone finds nothing that goes over
// more: each end of a line that its expression can take is one line more.
func TestRulesKeepToTheirLines(t *testing.T) {
	for _, r := range newRules() {
		parsed, err := syntax.Parse(r.pattern.String(), syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if ends := lineEnds(parsed); r.first == nil && r.lines > 0 && ends != r.lines-1 {
			t.Errorf("%s goes over %d ends of lines, and is tried in %d lines", r.pattern, ends, r.lines)
		}
	}
}

// lineEnds is how many ends of lines an expression can take.
func lineEnds(r *syntax.Regexp) (ends int) {
	switch r.Op {
	case syntax.OpAnyChar:
		return 1
	case syntax.OpLiteral:
		return strings.Count(string(r.Rune), "\n")
	case syntax.OpCharClass:
		for i := 0; i < len(r.Rune); i += 2 {
			if r.Rune[i] <= '\n' && '\n' <= r.Rune[i+1] {
				return 1
			}
		}
	}
	for _, sub := range r.Sub {
		ends += lineEnds(sub)
	}
	if repeated := r.Op == syntax.OpStar || r.Op == syntax.OpPlus || r.Op == syntax.OpRepeat; repeated && ends > 0 {
		return 100
	}
	return ends
}

// pieces are what texts with secrets are made of.
func pieces() []string {
	return append(assignedAnchors(), "password", "passwort", "passwd", "passphrase", "пАРоль", "密码", "secret_key", "api_key", "--", "-", "_", " ", "  ", "=", ":", "：", "=>", " := ", "==", " is ", " is now: ", "\n", "\\n", "\r\n",
		`"`, `'`, `\"`, `\\"`, `\`, "hunter2", "hunter2a9", "abc123def456", "$X", "/run/x", "f(", ",", ";", "&", "\u212a", "\u017f", "é", Mark, "SK0123456789abcdef0123456789abcdef", "sk-abcdefghijklmnop", "AGE-SECRET-KEY-1ABCDEFGHIJKLMNOPQRSTU", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.abcdefgh", "ghp_abcdefghijklmnop1", "AKIA0123456789AB", ".", "x",
		"curl", "wget", " -u", "\n-u", "ada:hunter2", "Bearer ", "authorization: basic", "x-api-key: ", "mysqldump", "sshpass", " -p", "hf_abcdefghijklmnopqrst", "lin_api_", "secret_", "SG.abcdefghijklmnop.", "abcdefghijklmnopqrstu", "login", "\t")
}

// Searching only where names begin finds what searching everywhere finds.
func TestSearchIsThatOfTheWholeText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sameAsWhole(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces()), 0, 14).Draw(t, "pieces"), ""))
	})
}

// Letters that stand for others, and words that begin where something before them
// was redacted, are rare: each has its text.
func TestSearchOfRareTexts(t *testing.T) {
	for _, text := range []string{
		"pa\u017f\u017fword=correcthorse", "to\u212aen=a1b2c3d4e5f6", "x-api-\u212aey: abcdefghijkl",
		"AKIA0123456789ABeyJhbGciOiJIUzI1NiJ9.abcdefghijkl.abcdefgh",
	} {
		sameAsWhole(t, text)
	}
}

// Where nothing is disguised that is a secret the text keeps its own letters.
func TestRedactedTextKeepsItsLetters(t *testing.T) {
	if clean, n := Redact("a\u200bb password=correcthorse"); n != 1 || clean != "a\u200bb password="+Mark {
		t.Errorf("%q, %d found", clean, n)
	}
}

// sameAsExpressions holds what is read by hand to the expressions, wherever a name
// may begin.
func sameAsExpressions(t interface{ Fatalf(string, ...any) }, text []byte) {
	if hasFolded(text) {
		return
	}
	for begin := range text {
		sameWhereItBegins(t, text, begin)
	}
}

func sameWhereItBegins(t interface{ Fatalf(string, ...any) }, text []byte, begin int) {
	for i, pattern := range atBeginning() {
		got, want := known().assigned[i].match(text, begin), pattern.FindSubmatchIndex(text[begin:])
		for i := range want {
			want[i] += begin
		}
		if !slices.Equal(got, want) {
			t.Fatalf("in %q at %d by hand %v, by %v %v", text, begin, got, pattern, want)
		}
	}
}

// atBeginning are the expressions of newAssigned at the beginning of a text.
var atBeginning = sync.OnceValue(func() (all []*regexp.Regexp) {
	for _, a := range newAssigned() {
		all = append(all, regexp.MustCompile(`^`+strings.TrimPrefix(a.whole().String(), `\b`)))
	}
	return all
})

func TestNamesAreReadAsByExpressions(t *testing.T) {
	parts := append(pieces(), "--api-key", "--my_api_key", "token", "is now", " is", " ist ", " was:", "access-key", "secret", "pwd", "===", "=", ":", ":=", ">", " ", `\n`, `\N`, "\r", `\x`, "a b", "пароль", "паРᲂль", "ＰＡ", "\xff", "\t")
	rapid.Check(t, func(t *rapid.T) {
		sameAsExpressions(t, []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 9).Draw(t, "pieces"), "")))
	})
}

// Every name, what may stand behind it, and every value: what is read by hand is
// what the expressions find where the name begins.
func TestAssignmentsAreReadAsByExpressions(t *testing.T) {
	names := []string{
		"password", "DB_PASSWORD", "my-pwd", "PassWd", "passwordx", "token", "tokens", "secret", "key", "_key", "x_key", "apikey", "api_key", "api__key", "api-Key", "secret_key", "my_signing-key", "api key", "access key", "kennwort", "passphrase", "pass",
		"密码", "x密码", "пАРоль", "--token", "--my-token", "--my_token", "--api-key", "--api_key", "--pwd", "--x密码", "--x_密码", "-token", "--", "--to",
	}
	behind := []string{
		"", "=", ":", " =", "  =", "   =", "=>", ":=", "==", "===", "====", "= ", "=    ", "=     ", "：", "＝", "=\n", "=\r\n", "=\r", `=\n`, `=\N`, `=\r`, "=>\n", " ", "  ", "     ",
		`"=`, `\"=`, "'=", `""=`, `\\'=`, `\=`, " is ", " was ", " ist ", " lautet ", " IS ", " is: ", " is now ", " is now: ", " is nowhere ", " is", " is:", " is now", " is  ", "is ",
	}
	values := []string{
		"", "x", "x y", "x,", "x;", "x&", "x\ty", "x\fy", `x"`, "x'", ",", `"`, `""`, `"x"`, `"x`, `"x y"z`, "'x'", "''", `'x"`, `\`, `\x`, `\n`, `\\`, `x\`, `x\ny`, `x\Ry`, `x\yz`, `\xa\xb`, `x\\y`, `\"x\"`, `\"x\"y`, `\"x"`, `\"\"`, `\"x\'`, `\'x y\'`, `\"x\`, `\"x`, `\"x"y\"`, `\\"x\"`, `\"x\\"y`, "=x", "é", "now",
	}
	for _, name := range names {
		for _, between := range behind {
			for _, value := range values {
				sameWhereItBegins(t, []byte(name+between+value), 0)
			}
		}
	}
}

func FuzzNamesAreReadAsByExpressions(f *testing.F) {
	for _, e := range examples {
		f.Add([]byte(e.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { sameAsExpressions(t, text) })
}

func FuzzSearchIsThatOfTheWholeText(f *testing.F) {
	for _, e := range examples {
		f.Add(e.text)
	}
	f.Fuzz(func(t *testing.T, text string) { sameAsWhole(t, text) })
}

// What was redacted once has nothing to redact, and a text only changes where
// a mark stands.
func TestRedactTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			b.WriteString(rapid.StringN(0, 10, 30).Draw(t, "text"))
			b.WriteString(rapid.SampledFrom([]string{" ", "\n", "", ", "}).Draw(t, "space"))
			b.WriteString(examples[rapid.IntRange(0, len(examples)-1).Draw(t, "example")].text)
		}
		once, n := Redact(b.String())
		twice, _ := Redact(once)
		if again, m := Redact(twice); again != twice || m != 0 {
			t.Fatalf("%q became %q, then %q, and then %q", b.String(), once, twice, again)
		}
		if n == 0 && once != b.String() {
			t.Fatalf("%q became %q, nothing found", b.String(), once)
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	text := []byte(strings.Repeat("The importer listens on port 7001, because the old one was taken by the metrics exporter. ", 100))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		RedactBytes(text)
	}
}

// A line of one anchor after the other is read in time that grows with its length,
// not with its square: then this test would take many minutes.
func TestLineOfAnchors(t *testing.T) {
	for _, r := range newRules() {
		for _, word := range r.anchors {
			word = strings.TrimPrefix(word, `\b`) + " x "
			text := strings.Repeat(word, 1<<16/len(word))
			if got, n := Redact(text); n != 0 || got != text {
				t.Errorf("%q: %d secrets in a line of it", word, n)
			}
		}
	}
}
