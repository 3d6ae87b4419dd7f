package summarize

import (
	"bytes"
	"regexp"
	"strings"
)

// Redacted stands where something looked like a secret.
const Redacted = "[redacted]"

// shape is a shape of secrets. Only a text that contains one of the anchors,
// in lower case, is searched for it.
type shape struct {
	anchors []string
	pattern *regexp.Regexp
	replace string
}

// shapes are the prefixes of common keys, private keys, and credentials in
// headers and addresses.
var shapes = []shape{
	{[]string{"private key"}, regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(-----END [A-Z ]*PRIVATE KEY-----|$)`), Redacted},
	{[]string{"sk-"}, regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{12,}`), Redacted},
	{[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{16,}`), Redacted},
	{[]string{"github_pat_"}, regexp.MustCompile(`\bgithub_pat_[A-Za-z0-9_]{16,}`), Redacted},
	{[]string{"glpat-"}, regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{12,}`), Redacted},
	{[]string{"akia", "asia"}, regexp.MustCompile(`\b(AKIA|ASIA)[A-Z0-9]{12,}`), Redacted},
	{[]string{"xox"}, regexp.MustCompile(`\bxox[abprs]-[A-Za-z0-9-]{8,}`), Redacted},
	{[]string{"aiza"}, regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{20,}`), Redacted},
	{[]string{"eyj"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}`), Redacted},
	{[]string{"bearer ", "authorization:"}, regexp.MustCompile(`(?i)\b(bearer|authorization: *(?:token|basic)) +[A-Za-z0-9._~+/=-]{8,}`), "${1} " + Redacted},
	{[]string{"://"}, regexp.MustCompile(`(://[^/\s:@]+:)[^/\s@]+@`), "${1}" + Redacted + "@"},
}

// assigned is a value that is given to a name like "password".
var assigned = regexp.MustCompile(`(?i)([A-Za-z0-9_-]*(passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key)["']?)( ?[=:] ?)("[^"]+"|'[^']+'|[^\s"'&;,]+)`)

// assignedAnchors are what assigned matches begin with.
func assignedAnchors() []string {
	return []string{"passw", "passphrase", "pwd", "secret", "token", "api_key", "api-key", "apikey"}
}

// redact replaces what looks like a secret. It is for summaries; archives
// keep every byte.
func redact(text string) string { return redactLower(text, bytes.ToLower([]byte(text))) }

// redactLower is redact with the text in lower case at hand.
func redactLower(text string, lower []byte) string {
	for _, s := range shapes {
		if containsAny(lower, s.anchors) {
			text = s.pattern.ReplaceAllString(text, s.replace)
		}
	}
	if containsAny(lower, assignedAnchors()) {
		text = assigned.ReplaceAllStringFunc(text, redactValue)
	}
	return text
}

// mayHoldSecret tells whether a text in lower case has any anchor.
func mayHoldSecret(lower []byte) bool {
	for _, s := range shapes {
		if containsAny(lower, s.anchors) {
			return true
		}
	}
	return containsAny(lower, assignedAnchors())
}

func containsAny(text []byte, words []string) bool {
	for _, w := range words {
		if bytes.Contains(text, []byte(w)) {
			return true
		}
	}
	return false
}

// redactValue keeps the name and replaces the value, unless it is a path or
// refers to a variable. After "token" and the like, prose and numbers stand
// as often as secrets: only a longer value with letters and digits counts.
func redactValue(found string) string {
	m := assigned.FindStringSubmatch(found)
	name, kind, sign, value := m[1], strings.ToLower(m[2]), m[3], m[4]
	bare := strings.Trim(value, `"'`)
	if strings.HasPrefix(bare, "/") || strings.HasPrefix(bare, "$") || strings.HasPrefix(bare, Redacted) {
		return found
	}
	if !strings.HasPrefix(kind, "pass") && kind != "pwd" && !looksRandom(bare) {
		return found
	}
	return name + sign + Redacted
}

func looksRandom(s string) bool {
	return len(s) >= 8 && strings.ContainsAny(s, "0123456789") && strings.ContainsAny(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz")
}
