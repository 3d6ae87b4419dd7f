package summarize_test

import (
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/summarize"
)

// everywhere makes a summary of a text that somebody said, an agent repeated,
// a command contained, a file was called, and an error printed.
func everywhere(t *testing.T, s string) string {
	quoted := strings.NewReplacer(`"`, `\"`, "\n", `\n`).Replace(s)
	return sum(t, summarize.Options{Focus: "please"},
		user("Please use this: "+s), agent("We decided to use "+s, call("c", "bash", `{"command":"deploy `+quoted+`"}`)),
		result("c", "error: refused "+s, true), agent("", call("d", "write", `{"path":"x"}`)), result("d", "error: "+s, true), user("Next: "+s)).Text
}

func TestSecretsAreNotRepeated(t *testing.T) {
	for _, tt := range []struct{ text, secret string }{
		{"sk-abcdefghijklmnopqrstuvwx", "abcdefghijkl"},
		{"sk-ant-REDACTED", "AAAABBBB"},
		{"ghp_abcdefghijklmnopqrstuvwxyz0123456789", "klmnopqrst"},
		{"github_pat_11ABCDEFG0abcdefghij_klmnop", "11ABCDEFG0"},
		{"glpat-abcdefghij0123456789", "abcdefghij01"},
		{"AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"},
		{"xoxb-123456789012-abcdefghijkl", "123456789012"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP", "eyJzdWIi"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIEabcdef\nghijklmn\n-----END RSA PRIVATE KEY-----", "MIIEabcdef"},
		{"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r", "b3BlbnNzaC1r"},
		{"password=herbst-laub-2019", "herbst"},
		{"DB_PASSWORD='two words'", "two words"},
		{`{"password": "correcthorse"}`, "correcthorse"},
		{"Password: hunter2hunter2", "hunter2"},
		{"api_key=0123456789abcdef", "0123456789"},
		{"token=a1b2c3d4e5f6", "a1b2c3d4"},
		{"curl -H 'Authorization: Bearer abcdef.123456'", "abcdef.123456"},
		{"Authorization: token 0123456789abcdef0123", "0123456789abcdef"},
		{"postgres://shed:s3cretpw@db.example/shed", "s3cretpw"},
	} {
		got := everywhere(t, tt.text)
		if strings.Contains(got, tt.secret) {
			t.Errorf("%q stands in\n%s", tt.secret, got)
		}
		if !strings.Contains(got, summarize.Redacted) {
			t.Errorf("%q: nothing says that something was left out\n%s", tt.text, got)
		}
	}
}

func TestOrdinaryTextIsKept(t *testing.T) {
	for _, s := range []string{
		"token too long", "error: token: expected ';'", "max_tokens=4096", "the tokens: 150000", "wrong password or no key found", "SMTP_PASS_FILE=/run/secrets/smtp",
		"password=$PASSWORD", "PASSWORD_FILE=/run/x", "the secret: never hurry", "risk-averse and task-oriented work-in-progress", "https://example.org/a:b@c", "Asia and Akia",
	} {
		if got := everywhere(t, s); !strings.Contains(got, s) || strings.Contains(got, summarize.Redacted) {
			t.Errorf("%q was changed in\n%s", s, got)
		}
	}
}
