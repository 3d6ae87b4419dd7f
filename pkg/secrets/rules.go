package secrets

import "regexp"

// rule is one shape of secrets. Only a text that has one of the anchors, in
// any case, is searched for it. Anchors have at least four bytes.
type rule struct {
	anchors []string // lower case
	pattern *regexp.Regexp
	replace string
}

// newRules are the shapes, the ones with the longest prefixes first.
func newRules() []rule {
	return []rule{
		{[]string{"private key"}, regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(-----END [A-Z ]*PRIVATE KEY-----|$)`), Mark},
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
		{[]string{"://"}, regexp.MustCompile(`(://[^/\s:@"']+:)[^/\s@"']+@`), "${1}" + Mark + "@"},
		// Tokens of bots have no letters to begin with, only their shapes:
		// Hugging Face, SendGrid, Telegram.
		{[]string{"hf_"}, regexp.MustCompile(`\bhf_[A-Za-z0-9]{20,}`), Mark},
		{[]string{"sg."}, regexp.MustCompile(`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`), Mark},
		{[]string{":aa"}, regexp.MustCompile(`\b[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}`), Mark},
	}
}

// newAssigned is a value that is given to a name like "password".
func newAssigned() *regexp.Regexp {
	return regexp.MustCompile(`(?i)([A-Za-z0-9_-]*(passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key)["']?)( ?[=:] ?)("[^"]+"|'[^']+'|[^\s"'&;,]+)`)
}

// assignedAnchors are what the names that newAssigned looks for have in them.
func assignedAnchors() []string {
	return []string{"passw", "passphrase", "pwd", "secret", "token", "api_key", "api-key", "apikey", "access_key", "access-key", "accesskey"}
}

// newComputed is a value of source code that calls something or reads a variable
// of a program: "pwd = process.cwd()", "password: process.env.PASSWORD".
func newComputed() *regexp.Regexp {
	return regexp.MustCompile(`^(?:await )?[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*\(|^(?:process\.env|os\.environ|this|self)\b[.\[]`)
}
