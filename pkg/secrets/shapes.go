package secrets

import (
	"bytes"
	"math"
	"regexp"
	"strings"
	"sync"
)

// shape is what a token of a service looks like, or what stands between the name of
// a service and its key.
type shape struct {
	name     string
	keywords []string // in lower case, three bytes or more: one of them is in it
	// expression is tried where a keyword begins. The secret is its first group that
	// is not empty, or the one that group names; all of it if there is none.
	expression string
	around     bool    // a keyword may stand within: it is looked for around that
	entropy    float64 // bits that each byte of the secret has at least
	group      int
}

// The room around a keyword in which a shape is looked for, in bytes.
const (
	shapeBefore = 100
	shapeAfter  = 700
)

// token is the shape of a token that begins with its keyword.
func token(name, keyword, expression string) shape {
	return shape{name: name, keywords: []string{keyword}, expression: expression}
}

// ownShapes are those that the published table lacks.
func ownShapes() []shape { return append(cloudShapes(), serviceShapes()...) }

// cloudShapes are tokens of clouds, and of what builds and runs programs.
func cloudShapes() []shape {
	return []shape{
		token("aws-bedrock", "absk", `\bABSK[A-Za-z0-9+/=]{60,}`),
		token("google-oauth-secret", "gocspx-", `\bGOCSPX-[A-Za-z0-9_-]{20,}`),
		token("google-refresh", "1//0", `\b1//0[A-Za-z0-9_-]{30,}`),
		token("atlassian", "atatt3", `\bATATT3[A-Za-z0-9_=.-]{40,}`),
		token("atlassian-center", "atctt3", `\bATCTT3[A-Za-z0-9_=.-]{40,}`),
		token("bitbucket", "atbb", `\bATBB[A-Za-z0-9]{24,}`),
		token("databricks", "dapi", `\bdapi[a-f0-9]{32}(?:-\d)?`),
		token("heroku", "hrku-", `\bHRKU-[A-Za-z0-9_-]{30,}`),
		token("fly", "fm2_", `\bfm2_[A-Za-z0-9+/=]{40,}`),
		token("netlify", "nfp_", `\bnfp_[A-Za-z0-9]{30,}`),
		token("supabase", "sb_secret_", `\bsb_secret_[A-Za-z0-9_-]{20,}`),
		token("planetscale", "pscale_", `\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,}`),
		token("neon", "napi_", `\bnapi_[A-Za-z0-9]{40,}`),
		token("render", "rnd_", `\brnd_[A-Za-z0-9]{28,}`),
		token("pulumi", "pul-", `\bpul-[a-f0-9]{40}`),
		token("1password-service", "ops_eyj", `\bops_eyJ[A-Za-z0-9+/=_-]{100,}`),
		token("pinecone", "pcsk_", `\bpcsk_[A-Za-z0-9_]{40,}`),
		token("replicate", "r8_", `\br8_[A-Za-z0-9]{30,}`),
		token("langsmith", "lsv2_", `\blsv2_(?:pt|sk)_[A-Za-z0-9_]{32,}`),
		token("elevenlabs", "sk_", `\bsk_[a-f0-9]{40,}`),
		token("cerebras", "csk-", `\bcsk-[a-z0-9]{40,}`),
		token("posthog", "phx_", `\bphx_[A-Za-z0-9]{40,}`),
		token("sentry-user", "sntryu_", `\bsntryu_[a-f0-9]{40,}`),
		token("sonar", "sqp_", `\bsqp_[a-f0-9]{40}`),
		token("sonar-user", "squ_", `\bsqu_[a-f0-9]{40}`),
		token("sonar-analysis", "sqa_", `\bsqa_[a-f0-9]{40}`),
		token("sourcegraph", "sgp_", `\bsgp_(?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40}`),
		token("buildkite", "bkua_", `\bbkua_[a-f0-9]{40}`),
		token("buildkite-agent", "bkaj_", `\bbka[jt]_[A-Za-z0-9._-]{30,}`),
		token("circleci", "ccipat_", `\bCCIPAT_[A-Za-z0-9_]{30,}`),
		token("circleci-project", "cciprj_", `\bCCIPRJ_[A-Za-z0-9_]{30,}`),
		token("artifactory", "akcp8", `\bAKCp8[A-Za-z0-9]{50,}`),
		token("artifactory-reference", "cmvmdgtu", `\bcmVmdGtu[A-Za-z0-9]{40,}`),
		token("nuget", "oy2", `\boy2[a-z0-9]{43}\b`),
		token("crates", "cio", `\bcio[A-Za-z0-9]{32}\b`),
	}
}

// serviceShapes are tokens of other services.
func serviceShapes() []shape {
	return []shape{
		token("square", "sq0", `\bsq0(?:atp|csp|idp)-[A-Za-z0-9_-]{20,}`),
		token("square-access", "eaaa", `\bEAAA[A-Za-z0-9_-]{60}\b`),
		token("airtable", "pat", `\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}`),
		token("resend", "re_", `\bre_[A-Za-z0-9]{7,10}_[A-Za-z0-9]{20,}`),
		token("brevo", "xkeysib-", `\bxkeysib-[a-f0-9]{60,}-[A-Za-z0-9]{14,}`),
		token("brevo-smtp", "xsmtpsib-", `\bxsmtpsib-[a-f0-9]{60,}-[A-Za-z0-9]{14,}`),
		token("mailgun", "key-", `\bkey-[a-f0-9]{32}\b`),
		token("mailchimp", "-us", `[a-f0-9]{32}-us\d{1,2}\b`).within(),
		token("slack-cookie", "xoxd-", `\bxoxd-[A-Za-z0-9%+/=_-]{30,}`),
		token("gitlab-other", "glcbt-", `\bglcbt-[A-Za-z0-9_-]{16,}`),
		token("gitlab-feed", "glft-", `\bglft-[A-Za-z0-9_-]{16,}`),
		token("gitlab-agent", "glagent-", `\bglagent-[A-Za-z0-9_-]{20,}`),
		token("gitlab-trigger", "glptt-", `\bglptt-[A-Za-z0-9_-]{16,}`),
		token("anthropic-admin", "sk-ant-", `\bsk-ant-[A-Za-z0-9_-]{20,}`),
		token("doppler", "dp.", `\bdp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]+\.)?[A-Za-z0-9]{40,}`),
		token("terraform", ".atlasv1.", `[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}`).within(),
		token("cloudflared", "eyjhijoi", `\beyJhIjoi[A-Za-z0-9+/=_-]{60,}`),
		token("sentry-organization", "sntrys_", `\bsntrys_[A-Za-z0-9+/=_-]{20,}`),
		token("facebook", "eaa", `\bEAA[A-Za-z0-9]{80,}`),
		token("twitter", "aaaaaaaaaaaaaaaaaaaaa", `\bAAAAAAAAAAAAAAAAAAAAA[A-Za-z0-9%]{50,}`),
		token("docker-swarm", "swmtkn-1-", `\bSWMTKN-1-[a-z0-9-]{40,}`),
		token("k3s", "k10", `\bK10[0-9a-f]{64}::\w+:[0-9a-f]{20,}`),
		token("clickup", "pk_", `\bpk_\d+_[A-Z0-9]{32}`),
		token("typeform", "tfp_", `\btfp_[A-Za-z0-9_.-]{40,}`),
		token("jina", "jina_", `\bjina_[A-Za-z0-9_-]{40,}`),
		token("firecrawl", "fc-", `\bfc-[a-f0-9]{32}\b`),
		token("e2b", "e2b_", `\be2b_[a-f0-9]{40}`),
		token("runpod", "rpa_", `\brpa_[A-Z0-9]{30,}`),
		token("voyage", "pa-", `\bpa-[A-Za-z0-9_-]{40,}`),
		token("bitbucket-server", "bbdc-", `\bBBDC-[A-Za-z0-9+/]{40}`),
		token("docker-organization", "dckr_oat_", `\bdckr_oat_[A-Za-z0-9_-]{20,}`),
		{name: "vercel", keywords: []string{"vcp_", "vca_", "vci_", "vcr_", "vck_"}, expression: `\bvc[pairk]_[A-Za-z0-9]{40,}`},
		{name: "hubspot", keywords: []string{"pat-na1-", "pat-na2-", "pat-eu1-"}, expression: `\bpat-(?:na[12]|eu1)-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}`},
		token("contentful", "cfpat-", `\bCFPAT-[A-Za-z0-9_-]{40,}`),
		token("postman", "pmak-", `\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}`),
		token("composio", "ck_", `\bck_[A-Za-z0-9_-]{16,}`),
		token("notion", "secret_", `\bsecret_[A-Za-z0-9]{40,}`),
		token("flutterwave", "flwseck", `\bFLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?`),
		token("new-relic", "nrak-", `\bNRAK-[A-Z0-9]{27}`),
		token("dynatrace", "dt0c01.", `\bdt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}`),
		token("fireworks", "fw_", `\bfw_[A-Za-z0-9]{20,}`),
		token("twitch", "oauth:", `\boauth:[a-z0-9]{30}\b`),
		token("braintree", "access_token$", `\baccess_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}`),
		token("okta", "ssws ", `\bSSWS 00[A-Za-z0-9_-]{30,}`),
		token("firebase", ":apa91", `AAAA[A-Za-z0-9_-]{7}:APA91[A-Za-z0-9_-]{100,}`).within(),
		{name: "extended-private-key", keywords: []string{"xprv", "yprv", "zprv"}, expression: `\b[xyz]prv[1-9A-HJ-NP-Za-km-z]{80,}`},
		token("jwt-in-cookie", "eyj", `\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?`),
	}
}

// What stands between a word and the secret that it tells of, and the secret itself.
const (
	toldRest  = `[^\n|;&]{0,200}?`
	toldValue = `["']?([^\s"'$\\-][^\s"'\\]{3,})`
)

// told is the shape of what a word tells of.
func told(name, expression string, keywords ...string) shape {
	return shape{name: name, keywords: keywords, expression: expression}
}

// toldShapes are secrets that programs take as arguments and that their files hold, by
// the word that tells so.
func toldShapes() []shape { return append(argumentShapes(), fileShapes()...) }

// argumentShapes are secrets that programs take as arguments.
func argumentShapes() []shape {
	const rest, value = toldRest, toldValue
	return []shape{
		told("sshpass", `sshpass\s+-p\s*`+value, "sshpass"),
		told("redis", `redis-cli\b`+rest+`\s(?:-a|--pass)\s+`+value, "redis-cli"),
		told("docker", `docker login\b`+rest+`\s-p\s+`+value, "docker login"),
		told("ldap", `ldap(?:search|modify|add|delete|whoami|passwd)\b`+rest+`\s-w\s+`+value, "ldap"),
		told("smbclient", `smbclient\b`+rest+`\s-U\s*["']?[\w\\.-]+%`+value, "smbclient"),
		told("openssl", `-pass(?:in|out)?\s+["']?pass:`+value, "-pass"),
		told("keytool", `-(?:store|key)pass\s+`+value, "-storepass", "-keypass"),
		told("identified", `(?i:identified\s+(?:with\s+\S+\s+)?by\s+(?:password\s+)?(?:\\?['"]([^\s'";\\]{4,})|([^\s'";\\]*[0-9][^\s'";\\]{3,})))|IDENTIFIED BY ([^\s'";\\]{4,})`, "identified "),
		told("archive", `(?:zip|7za?)\b`+rest+`\s-[pP]\s*["']?([^\s"'$\\@/-][^\s"'\\@]{3,})`, "zip ", "7z ", "7za "),
		told("mongo", `mongo(?:dump|restore|export|import|sh)?\b`+rest+`\s-p\s*`+value, "mongo"),
		told("sqlcmd", `sqlcmd\b`+rest+`\s-P\s*`+value, "sqlcmd"),
		told("ssh-keygen", `ssh-keygen\b`+rest+`\s-N\s*`+value, "ssh-keygen"),
		told("rabbitmq", `rabbitmqctl\s+(?:add_user|change_password)\s+\S+\s+`+value, "rabbitmqctl"),
		told("sqlplus", `sqlplus\s+[^\s/]+/([^\s@]{4,})@`, "sqlplus"),
		told("mysqladmin", `mysqladmin\b`+rest+`\spassword\s+`+value, "mysqladmin"),
		told("htpasswd", `htpasswd\s+-[a-zA-Z]*b[a-zA-Z]*\s+\S+\s+\S+\s+`+value, "htpasswd"),
		told("piped", `(?:echo|printf)\s+(?:-\w+\s+)?(?:["']%s(?:\\n)?["']\s+)?["']?(?:[\w.-]+:)?([^\s"'$|\\:;&<>-][^\s"'$|\\:;<>]{5,})(?:\\n[^"'|\n]{0,80})?["']?\s*\|\s*[^\n]{0,60}?(?:sudo -S|passw|secret|login|chpasswd|passwd|cryptsetup|pass insert|kinit)`, "echo ", "printf "),
		told("here-string", `(?i)(?:passw|secret|login|auth|crypt|kinit|luks|vault)[^\n<]{0,80}<<<\s*["']?([^\s"'$<\\-][^\s"'\\]{3,})`, "<<<").within(),
		{name: "auth", keywords: []string{"auth "}, expression: `\bAUTH (?:PLAIN |LOGIN |default )?([^\s"'$<>\\(]*[0-9][^\s"'$<>\\(]*)`, entropy: 3},
		told("openssl-enc", `openssl\s+enc\b`+rest+`\s-k\s+`+value, "openssl enc"),
		told("rar", `(?:un)?rar\s+[a-z]+\b`+rest+`\s-h?p["']?([^\s"'$\\-][^\s"'\\]{3,})`, "rar a", "rar x", "rar e", "unrar "),
		told("unseal", `(?i)unseal\s+([A-Za-z0-9+/=]{16,})`, "unseal "),
		told("pdftk", `(?:user|owner)_pw\s+`+value, "user_pw ", "owner_pw "),
		told("redis-user", `user \S+ on >(\S{4,})`, " on >").within(),
		told("lftp", `lftp\b`+rest+`\s-u\s+[^\s,]+,`+value, "lftp "),
		told("net-user", `(?i)net user\s+\S+\s+([^\s/"'$]{4,})\s+/add`, "net user "),
		told("user-secrets", `user-secrets set\s+\S+\s+`+value, "user-secrets set"),
		told("setx", `(?i)setx\s+\w*(?:key|token|pass|secret|pwd)\w*\s+`+value, "setx "),
		told("snmp", `snmp\w+\b[^\n]{0,80}?\s-[AX]\s+`+value, " -a ", " -x ").within(),
		told("auth-by-id", `(?:snyk auth|GenieKey)\s+([0-9a-f]{8}-[0-9a-f-]{27})`, "snyk auth", "geniekey"),
		told("address-of-node", `(?:alchemy\.com/v2|infura\.io/v3|quiknode\.pro|maker\.ifttt\.com/trigger/[^/\s]+/with/key)/([\w-]{20,})`, "alchemy.com/v2/", "infura.io/v3/", "quiknode.pro/", "maker.ifttt.com/"),
		told("address-of-hook", `(?:hooks\.zapier\.com/hooks/catch|\.office\.com/webhookb?2?|hook\.\w+\.make\.com)/([\w@/-]{20,})`, "hooks.zapier.com/", ".office.com/webhook", "hook.eu", "hook.us"),
	}
}

// fileShapes are secrets that stand in files of programs.
func fileShapes() []shape {
	return []shape{
		told("pgpass", `(?m)^[\w.*-]+:(?:5432|5433|6432|\*):[\w.*-]+:[\w.*-]+:([^\s"'\x60:$<]{4,})`, ":5432:", ":5433:", ":6432:", ":*:").within(),
		told("go-sql", `\b[\w.-]+:([^\s"'@/]{4,})@(?:tcp|unix)\(`, "@tcp(", "@unix(").within(),
		told("crypt", `\$(?:[1567y]|2[aby]|apr1|argon2(?:id|i|d))\$[./A-Za-z0-9$=,+-]{16,}`, "$1$", "$5$", "$6$", "$y$", "$7$", "$2a$", "$2b$", "$2y$", "$apr1$", "$argon2"),
		told("putty", `(?i)Private-Lines: *\d+\s+((?:[A-Za-z0-9+/=]{20,}\s*)+)`, "private-lines:"),
		told("wireguard", `(?i)presharedkey\s*=\s*([A-Za-z0-9+/=]{40,})`, "presharedkey"),
		told("kubeconfig", `(?i)client-key-data["']?\s*:\s*["']?([A-Za-z0-9+/=]{16,})`, "client-key-data"),
		told("rails", `(?i)secret_key_base\\?["']?\s*(?:=>|[:=])\s*\\?["']?([A-Za-z0-9+/=_-]{16,})`, "secret_key_base"),
		told("laravel", `(?i)app_key=["']?(?:base64:)?([A-Za-z0-9+/=_-]{16,})`, "app_key="),
		told("router", `(?i)(?:isakmp key|(?:tacacs|radius)-server\b[^\n]{0,80}? key|authentication-key|message-digest-key \d+ md5)\s+(?:[0-7] )?([^\s"']{6,})`, "isakmp key", "tacacs-server", "radius-server", "authentication-key", "message-digest-key"),
		told("haproxy", `stats auth\s+[^\s:]+:(\S{4,})`, "stats auth"),
		told("postfix", `\]:\d+\s+[\w.@+-]+:(\S{6,})`, "]:587", "]:465", "]:25"),
		told("pbkdf2", `pbkdf2[_:-]sha\d+[$:]\d+[$:][A-Za-z0-9./+=$:]{16,}`, "pbkdf2"),
		told("scrypt", `scrypt:\d+:\d+:\d+\$[A-Za-z0-9./+=$]{16,}`, "scrypt:"),
		told("ldap-hash", `(?i)\{(?:ssha|sha|smd5|md5|crypt)\d*\}([A-Za-z0-9+/=$.]{16,})`, "{ssha", "{sha", "{smd5", "{md5", "{crypt"),
		told("openvpn", `(?is)openvpn static key v1-----\s*(.{16,}?)(?:-----end|$)`, "openvpn static key"),
		told("xml-key", `(?i)privatekey>\s*([A-Za-z0-9+/=\s]{16,})<`, "privatekey>"),
		told("secret-of-kubernetes", `(?:tls\.key|ssh-privatekey|id_rsa|id_ed25519|\.dockerconfigjson|\.dockercfg)["']?:\s*["']?([A-Za-z0-9+/=]{16,})`, "tls.key", "ssh-privatekey", "id_rsa", "id_ed25519", ".dockerc"),
		told("chap", `"?[\w.@-]+"?[ \t]+\*[ \t]+"?([^\s"]{4,})"?[ \t]+\*`, "\t*\t").within(),
		told("snmp-user", `(?:AES|DES)\s+"([^"\s]{8,})"`, `aes "`, `des "`),
		told("jwk", `(?:"kty"[^{}]{0,600}?"(?:d|k)"|"(?:dp|dq|qi)")\s*:\s*"([A-Za-z0-9_-]{20,})"`, `"kty"`, `"dp"`, `"dq"`, `"qi"`),
		told("jwk-private", `"d"\s*:\s*"([A-Za-z0-9_-]{30,})"`, `"d":`, `"d" :`),
		told("minisign", `(?i)encrypted secret key\s+([A-Za-z0-9+/=]{40,})`, "encrypted secret key"),
		told("mnemonic", "(?i)(?:seed phrase|recovery phrase|backup phrase|mnemonic)[\\w ]{0,20}[\"'\\s:=*`]+((?:[a-z]{3,8} ){11,23}[a-z]{3,8})", "seed phrase", "recovery phrase", "backup phrase", "mnemonic"),
		told("otp", `otpauth://[^\s"'<>]{0,200}?secret=([A-Za-z2-7]{10,})`, "otpauth://"),
		told("cookies", `\t(?:TRUE|FALSE)\t\S+\t(?:TRUE|FALSE)\t\d+\t\S+\t(\S{8,})`, "\ttrue\t", "\tfalse\t"),
		told("pwdump", `:\d+:([0-9a-f]{32}:[0-9a-f]{32}):::`, ":::").within(),
		told("scram", `SCRAM-SHA-\d+\$\d+:([A-Za-z0-9+/=]+\$[A-Za-z0-9+/=:]+)`, "scram-sha-"),
		told("postgres-md5", `\bmd5([0-9a-f]{32})\b`, "md5"),
		told("dovecot", `\{PLAIN\}([^\s:"']{4,})`, "{plain}"),
		told("wallet-key", `(?i)(?:privkey|private key|wif)\W{1,6}(?:is )?(?:0x[0-9a-f]{64}|[5KL][1-9A-HJ-NP-Za-km-z]{50,51})\b`, "privkey", "private key", "wif"),
		told("end-of-key", `(?:[A-Za-z0-9+/=]{40,}\s+)*[A-Za-z0-9+/=]{16,}\s+-----END [A-Z ]*PRIVATE KEY-----`, "-----end ").within(),
		told("encoded-key", `\bLS0tLS1CRUdJTi(?:BSU0EgUFJJVkFURSBLRVk|BQUklWQVRFIEtFWS|BFQyBQUklWQVRFIEtFWS|BPUEVOU1NIIFBSSVZBVEUgS0VZ)[A-Za-z0-9+/=]{16,}`, "ls0tls1crudjti"),
		told("dnssec", `(?:PrivateExponent|Prime[12]|Exponent[12]|Coefficient):\s*([A-Za-z0-9+/=]{16,})`, "privateexponent:", "prime1:", "prime2:", "exponent1:", "exponent2:", "coefficient:"),
		told("magento", `'crypt'\s*=>\s*\[\s*'key'\s*=>\s*'([^'\n]+)`, "'crypt'"),
		told("npmrc", `(?i)_auth\s*=\s*["']?([A-Za-z0-9+/=_-]{12,})`, "_auth"),
	}
}

// within is the shape with its keyword somewhere in it.
func (s shape) within() shape {
	s.around = true
	return s
}

// shapeSet finds tokens by their keywords.
type shapeSet struct {
	words  anchorSet // the bit of an anchor is the index of its shape
	shapes []shape
	// compiled are the expressions: most are never asked for.
	compiled []func() *regexp.Regexp
}

func newShapeSet(shapes []shape) shapeSet {
	s := shapeSet{words: newAnchorSet(), shapes: shapes}
	for i, one := range shapes {
		for _, word := range one.keywords {
			s.words.add(word, uint64(i))
		}
		expression := one.expression
		if !one.around {
			expression = `^(?:` + expression + `)`
		}
		s.compiled = append(s.compiled, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) }))
	}
	return s
}

// replace redacts the tokens of a text whose keywords stand at places. Text is not
// changed.
func (s *shapeSet) replace(text []byte, places []int, f *finding) (clean []byte) {
	done := 0 // how many bytes of text are in clean
	for _, i := range places {
		if i < done {
			continue
		}
		from, to := s.at(text, i, done)
		if to <= from {
			continue
		}
		f.add(text[from:to])
		clean = append(append(clean, text[done:from]...), Mark...)
		done = to
	}
	if done == 0 {
		return text
	}
	return append(clean, text[done:]...)
}

// at is the place of the secret of the first shape that a keyword at a place belongs
// to, behind what is done; to is 0 if there is none.
func (s *shapeSet) at(text []byte, i, done int) (from, to int) {
	for _, a := range s.words.beginning(text[i:]) {
		if !a.standsAt(text, i) {
			continue
		}
		if from, to = s.find(int(a.bit), text, i); to > from && from >= done {
			return from, to
		}
	}
	return 0, 0
}

// find tries one shape where a keyword of it stands.
func (s *shapeSet) find(index int, text []byte, i int) (from, to int) {
	one, begin := s.shapes[index], i
	if one.around {
		begin = max(0, i-shapeBefore)
	} else if beginsWord(one.expression) && !wordBegins(text, i) {
		return 0, 0 // the part that is searched does not tell
	}
	m := s.compiled[index]().FindSubmatchIndex(text[begin:min(len(text), i+shapeAfter)])
	if m == nil {
		return 0, 0
	}
	from, to = one.secretOf(m)
	from, to = from+begin, to+begin
	if secret := text[from:to]; bytes.Contains(secret, []byte(Mark)) || bitsOf(secret) < one.entropy {
		return 0, 0
	}
	return from, to
}

// beginsWord reports whether what an expression finds begins where a word does.
func beginsWord(expression string) bool {
	return strings.HasPrefix(strings.TrimPrefix(expression, "(?i)"), `\b`)
}

// secretOf is the group that is redacted.
func (s shape) secretOf(m []int) (from, to int) {
	if s.group > 0 {
		return m[2*s.group], m[2*s.group+1]
	}
	for i := 2; i+1 < len(m); i += 2 {
		if m[i] >= 0 && m[i+1] > m[i] {
			return m[i], m[i+1]
		}
	}
	return m[0], m[1]
}

// bitsOf is Shannon's entropy of a text, in bits a byte.
func bitsOf(text []byte) (bits float64) {
	var counts [256]int
	for _, c := range text {
		counts[c]++
	}
	for _, n := range counts {
		if n > 0 {
			share := float64(n) / float64(len(text))
			bits -= share * math.Log2(share)
		}
	}
	return bits
}
