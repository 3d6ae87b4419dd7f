package statements

// Against tells an instruction to go against somebody: what would make an agent that
// reads it act against its people (docs/dev/decisions.md D19). "Don't reboot it without
// asking" is the opposite of one.
func Against(text string) bool { return len(orders(text)) > 0 }

// orders are the words of a text that order something against somebody.
func orders(text string) []string {
	m := notWithout().FindStringSubmatchIndex(text)
	if m != nil && !harmless().MatchString(text[m[2]:m[3]]) {
		text = text[:m[0]] + text[m[1]:]
	}
	return append(injection().FindAllString(text, -1), override().FindAllString(text, -1)...)
}

var (
	injection  = expression(`(?i)\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instructions?|prompts?|rules?|guidelines?|guardrails?|safety|polic(?:y|ies)|above|previous|prior|earlier|everything)\b|\b(?:system prompt|developer mode|jailbreak|dan mode|hidden instructions?|new instructions?|you are now|you must now|act as|pretend to be|do anything now|exfiltrate|reveal (?:your|the|all)|without (?:asking|telling|informing|confirmation|permission)|do not tell|don't tell|keep (?:it|this) secret from)\b|\b(?:send|post|upload|forward|leak|copy|email|transfer|pay)\b.{0,60}(?:https?://|\bto [\w.+-]+@|\b(?:password|token|secret|credential|api key|private key|wallet|bitcoin|account number))|\b(?:curl|wget)\b.{0,40}https?://|\brm -rf\b|\|\s*(?:ba)?sh\b`)
	notWithout = expression(`(?i)\b(?:don't|do not|never)(?: ever)? ([a-z]+)[^.;,]*\bwithout (?:asking|telling|permission|confirmation)\b`)
	// harmless are the verbs with which "never ... without asking" forbids nothing.
	harmless = expression(`^(?i:hesitate|bother|wait|stop|mind|worry|fear|be|forget|fail)$`)
	// override is the order to ignore all instructions in the other languages.
	override = expression(`(?i)(?:ignorier|missacht|vergiss|vergesst)\p{L}*.{0,40}(?:anweisung|regeln|vorgaben|instruktion|system-?prompt)|(?:ignore[zr]?|oublie[zr]?|contourne[zr]?)\b.{0,40}\b(?:instructions?|consignes?|règles)|(?:ignora\p{L}*|olvida\p{L}*|desobedece\p{L}*|dimentica\p{L}*|esqueça|ignore)\b.{0,40}(?:instrucciones|instruções|istruzioni|indicaciones|reglas|regole|regras)|(?:negeer|vergeet)\b.{0,40}(?:instructies|aanwijzingen|regels)|(?:игнорир|забудь|забыть)\p{L}*.{0,40}(?:инструкц|указани|правил)|(?:忽略|无视|無視|忘记|忘掉).{0,20}(?:指令|指示|规则|提示)|(?:指示|命令|ルール|プロンプト).{0,12}(?:無視|忘れ)`)
)
