package facts

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/secrets"
)

// sentence is one sentence of what somebody said, on one line.
type sentence struct {
	text     string
	question bool
	listed   bool // an item of a list
}

// maxSentence is the length of the longest sentence, in code points; anything
// longer is none.
const maxSentence = 320

// sentences cuts a text at line ends and at marks that a space follows. Code,
// quotations, tables and lines of programs are left out.
func sentences(text string) []sentence {
	var all []sentence
	text = withoutFences(known(), text)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !prose(line) {
			continue
		}
		bare, listed := withoutMarks(line)
		for len(bare) > 0 {
			n := sentenceEnd(bare)
			s := strings.TrimSpace(bare[:n])
			bare = bare[n:]
			if s != "" && utf8.RuneCountInString(s) <= maxSentence {
				all = append(all, sentence{text: s, question: strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？"), listed: listed})
			}
		}
	}
	return all
}

// prose tells what people write from quotations, tables and output.
func prose(line string) bool {
	switch {
	case line == "", strings.HasPrefix(line, ">"), strings.HasPrefix(line, "|"), strings.HasPrefix(line, "$ "), strings.HasPrefix(line, "//"), strings.HasPrefix(line, "--"):
		return false
	}
	odd := 0
	for _, r := range strings.ReplaceAll(line, "==", "") { // of a version that is fixed
		if strings.ContainsRune("{}<>|\\;=[]^~", r) {
			odd++
		}
	}
	return odd*12 <= len(line)
}

// withoutMarks removes the mark of a list item or heading, and emphasis.
func withoutMarks(line string) (bare string, listed bool) {
	bare = strings.TrimLeft(line, "# ")
	for _, mark := range []string{"- ", "* ", "+ ", "• ", "– "} {
		bare = strings.TrimPrefix(bare, mark)
	}
	digits := 0
	for digits < len(bare) && digits < 2 && bare[digits] >= '0' && bare[digits] <= '9' {
		digits++
	}
	if digits > 0 && len(bare) > digits+1 && (bare[digits] == '.' || bare[digits] == ')') && bare[digits+1] == ' ' {
		bare = bare[digits+2:]
	}
	listed = len(bare) < len(line)
	return strings.ReplaceAll(bare, "**", ""), listed
}

// sentenceEnd returns where the first sentence of a line ends. A dot after an
// abbreviation or a single letter is none.
func sentenceEnd(line string) int {
	for i, r := range line {
		switch r {
		case '。', '！', '？':
			return i + utf8.RuneLen(r)
		case '.', '!', '?':
			rest := line[i+1:]
			if rest == "" || rest[0] != ' ' || r == '.' && (abbreviated(line[:i]) || dayGoesOn(line[:i], rest)) {
				continue
			}
			return i + 1
		}
	}
	return len(line)
}

func abbreviated(before string) bool {
	last := before[strings.LastIndexAny(before, " (")+1:]
	switch strings.ToLower(last) {
	case "e.g", "i.e", "etc", "vs", "dr", "mr", "mrs", "ms", "prof", "adv", "arch", "ing", "mag", "dipl", "hr", "fr", "sig", "dott", "st", "no", "approx", "ca", "z.b", "inc", "ltd", "co", "jr", "sr", "tel":
		return true
	}
	return utf8.RuneCountInString(last) == 1 && strings.IndexFunc(last, unicode.IsUpper) == 0 && last != "I"
}

// clause is a part of a sentence that says one thing.
type clause struct {
	text     string // without what it opens with, and without its last mark
	explicit bool   // "remember that": the person wants it kept
	request  bool   // and it was the whole form "remember that ..."
}

// speech are the patterns of how sentences begin and go on.
type speech struct {
	opener, remember, remembered, filler, next, aside *regexp.Regexp
}

var spoken = sync.OnceValue(func() *speech {
	return &speech{
		opener:     regexp.MustCompile(`^(?i:(?:hi|hey|hello)(?: (?:there|all|team|\p{L}+))?[,.!]\s+|(?:hi|hey|hello|ok|okay|so|and|but|also|well|yes|yep|no|nope|yeah|right|cool|great|good|perfect|thanks|thank you|btw|by the way|fyi|for the record|for your information|for context|for reference|for future reference|just so you know|to be clear|just to be clear|please note(?: that)?|note(?: that)?|actually|generally|in general|as i said|as you know|now|oh|ah|one more thing|rules?:|reminder:|context:|important:|background:|quick intro:|intro:|about me:|conventions?:|constraints?:|ps:|first|first of all|second|finally|additionally|moreover|hallo|hi|übrigens|und|also|salut|bonjour|hola|además)\b(?:[,:.!;–—-]+\s*|\s+))`),
		remember:   regexp.MustCompile(`^(?i:(?:can you |could you )?(?:please )?(?:remember|keep in mind|don't forget|do not forget|make a note|note down|take note|bitte merk dir|merk dir|bitte merken|recuerda|souviens-toi)(?: that|:|,| dass| que)?\s+)`),
		remembered: regexp.MustCompile(`(?i)[,;.–—-]*\s+(?:so )?(?:please )?(?:remember|note|keep|save|store)(?: (?:that|this|it))?(?: in mind| down)?(?: for (?:later|next time|the future))?(?:,? please)?[.!]*$`),
		// What a person adds: what is to be done now, and why. Not what would
		// change the meaning, such as "but only" or "unless".
		aside:  regexp.MustCompile(`(?i)(?:,\s+(?:so|then|you|we|they|she|he|please|keep|ask|tell|skip|use|thanks|ok|it's|that's|this is|sie|er|wir|ich|also|et|alors)\b|\s+in case\b|\s+and (?:she|he|they|it|then)\b).*$`),
		filler: regexp.MustCompile(`(?i)(?:,?\s+(?:but ok|but fine|by the way|btw|fyi|for the record|though|too|as well|anyway|please|thanks|thank you|thx|ok|okay|haha|lol|right|you know|bitte|danke|übrigens|merci|gracias|:-?\)|😀|🙂|😊))+$`),
		next:   regexp.MustCompile(`(?i)(?:,|;)?\s+(?:and|but)\s+((?:i|i'm|i've|i'd|i'll|my|we|we're|we've|we'd|we'll|our)\s)|;\s+((?:i|i'm|i've|i'd|i'll|my|we|we're|we've|we'd|we'll|our)\s)|,\s+((?:i'm|i am|i live|i work|i prefer|i like|i hate|i love|my)\s)|(?:,|;)?\s+(?:and|but)\s+((?:please|don't|do not|from now on)\s)|,?\s+(?:und|et|y)\s+((?:ich|wir|meine?|je|j'|nous|vivo|trabajo|mi|soy|prefiero)\b)`),
	}
})

// clauses cuts a sentence where another thing begins ("and I", "; my"), and
// takes off what it opens with.
func (s sentence) clauses() []clause {
	k := spoken()
	text, c := strings.TrimSpace(strings.TrimRight(s.text, ".!? ")), clause{}
	for range 4 {
		n := len(k.opener.FindString(text))
		if m := k.remember.FindString(text); m != "" {
			n, c.explicit = len(m), true
			m = strings.ToLower(strings.TrimSpace(m))
			c.request = strings.HasSuffix(m, "that") || strings.HasSuffix(m, ":") || strings.HasSuffix(m, "dass")
		}
		if n == 0 || n == len(text) {
			break
		}
		text = text[n:]
	}
	if at := k.remembered.FindStringIndex(text); at != nil && at[0] > 8 {
		text, c.explicit = text[:at[0]], true
	}
	var all []clause
	for {
		at := k.next.FindStringSubmatchIndex(text)
		if at == nil || at[0] < 4 || c.request {
			break
		}
		next := max(at[2], at[4], at[6], at[8], at[10])
		c.text = strings.TrimRight(text[:at[0]], " ,")
		all = append(all, c)
		text = text[next:]
	}
	c.text = strings.TrimSpace(text)
	all = append(all, c)
	for i := range all {
		all[i].text = strings.TrimRight(k.filler.ReplaceAllString(all[i].text, ""), ",;.! ")
		if at := k.aside.FindStringIndex(all[i].text); at != nil && at[0] >= 12 && !c.request {
			all[i].text = all[i].text[:at[0]]
		}
	}
	return all
}

// notWhole tells a part of a sentence that goes on somewhere else.
func notWhole(text string) bool {
	return marks().dangling.MatchString(text) && !endsInThat().MatchString(text)
}

// endsInThat ends a sentence that is whole: "our people hate that".
var endsInThat = expression(`(?i)\b(?:hates?|likes?|loves?|wants?|needs?|uses?|do|did|does|knows?|sees?|have|has|wanted|needed|said|says?|after|before|with|like|for) that$|\bit is$|[,;] (?:[\p{L}\d'-]+ )?(?:[\p{L}\d'-]+(?:[^s\W]s|ep|ck)) that$`)

// marked are the patterns that are evidence against a fact.
type marked struct {
	over, own, addressed, supposed                          *regexp.Regexp
	deictic, evasive, loose, passing, hedged, told, command *regexp.Regexp
	idle, situation, injection, foreign, pastVerb           *regexp.Regexp
	instead, dangling, mood                                 *regexp.Regexp
}

var marks = sync.OnceValue(func() *marked {
	c := regexp.MustCompile
	return &marked{
		over:      c(`(?i)^(?:using |to use |writing )?(.+?) (?:over|rather than|instead of|than) (.+?)(?: (?:for|in|when|on|at|because|since|as|whenever|now|these days|nowadays|again|anyway|today)\b.*|[,;(].*)?$`),
		own:       c(`(?i)\bmy\b`),
		addressed: c(`(?i)\b(?:i|i'm|i've|i'd|i'll|me|myself|mine|you|you're|your|yours|yourself|we|us|our|ours)\b`),
		supposed:  c(`(?i)^(?:if|when|whenever|unless|suppose|supposing|imagine|pretend|assume|assuming|say|let's say|as if|as though|what if|maybe|perhaps|possibly|wenn|falls|si|cuando|quand)\b`),
		// References that only make sense in the conversation.
		deictic: c(`(?i)^(?:to |with |at |for |on |in )*(?:it|its|this|that|these|those|them|so|one|ones|him|her|he|she|they|there|here|the (?:same|other|first|second|third|last|latter|former|next|previous|above|below|following|new|old|current|whole|entire|way|idea|fact|look|sound|one|ones|approach|option|result|change|changes|fix|bug|error|issue|output|answer|thing|plan)|(?:the|this|that|a|an) [\p{L}-]+ ones?|another|option|number|either|neither|both|none|nothing|something|anything|everything|everyone|whatever|which|what|how|where|why|your|you|all of (?:it|this|that|them)|more|less|much|just|a difference|a mistake|a mess|a bit|a lot|a few|sense|progress)\b`),
		evasive: c(`(?i)^(?:to )?(?:see|know|hear|say|wait|leave|keep|do|try|have|be|get|avoid|not|only)\b`),
		loose:   c(`(?i)\b(?:it|it's|its|them|these|those|they|he|she|him|his|her|hers|there)\b|\b(?:this|that)(?: one| way| approach| time| thing| error| bug| file| function)?(?:$|[,.;:!)]| (?:is|was|works?|does|will|can|should|would|because|since|when|and|or|but|for|in|on|at|to|one|way|approach|thing|error|bug|file|function|class|method|line|test|change|fix|time|again)\b)`),
		passing: c(`(?i)\b(?:for now|for the moment|right now|at the moment|at this point|today|tonight|tomorrow|yesterday|last (?:time|night)|(?:this|next) (?:time|week|month|morning|afternoon|evening|once|sprint|turn|session|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|later|soon|in this case|just now|already tried|in a (?:minute|moment|bit|second|sec)|so far|still waiting|heute|morgen|gerade|jetzt gerade|demain|aujourd'hui|mañana|hoy)\b`),
		hedged:  c(`(?i)\b(?:maybe|perhaps|probably|possibly|might|not sure|i guess|i think|i suppose|could be|unsure|kind of|sort of|presumably|apparently|seems?|vielleicht|peut-être|quizás?)\b`),
		told:    c(`(?i)\b(?:lol|haha|jk|just kidding|joking|sarcasm|/s)\b`),
		// Verbs that tell of one moment, after "I always" or "I never".
		situation: c(`(?i)^(?:i|we) (?:always|usually|normally|typically|generally|mostly|often|rarely|never) (?:said|got|get|had|have|did|was|were|am|are|saw|see|thought|think|knew|know|meant|mean|heard|hear|asked|told|wanted|want|seem|run into|end up|ended|receive|received|fail|failed|crash|forget|forgot|wonder|wondered|expected|expect|look forward|love|like|enjoy|hope|made|went|found|find|tried|try|came|said|gave|realized|realised|noticed|been|seen|done|understood|understand|could|can|would|will|should|need|needed|imagined|felt|feel)\b`),
		pastVerb:  c(`(?i)^(?:always|never) (?:mind|again|ever|seen|had|been|was|were|is|are|has|did|does|heard|knew|thought|got|said|the|a|an|my|your|our|his|her|its|this|that|these|those|in|at|on|with|for|to|too|so|good|great|nice|happy|fun|sure|as|\p{L}+ed|\p{L}*(?:[^su\W]|[^s]u)s)\b`),
		idle:      c(`(?i)^(?:love|like|enjoy|adore|hate|dislike|detest|can't stand|cannot stand|don't like|do not like) (?:it|this|that|these|those|the|how|what|your|when|where|to (?:see|know|hear|think)|seeing|hearing|having to|being|you|him|her|them|my|our|all|both|one|some|something|everything|most)\b`),
		command:   c(`(?i)^(?:from now on|in future|please)?\s*(?:immer|nie|niemals) (?:noch|wieder|mehr|gut|der|die|das|ein|eine|so|zu|nur)\b`),
		// A memory is read by an agent: what would make it act against its people
		// is no fact (docs/decisions.md D19).
		injection: c(`(?i)\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instructions?|prompts?|rules?|guidelines?|guardrails?|safety|polic(?:y|ies)|above|previous|prior|earlier|everything)\b|\b(?:system prompt|developer mode|jailbreak|dan mode|hidden instructions?|new instructions?|you are now|you must now|act as|pretend to be|do anything now|exfiltrate|reveal (?:your|the|all)|without (?:asking|telling|informing|confirmation|permission)|do not tell|don't tell|keep (?:it|this) secret from)\b|\b(?:send|post|upload|forward|leak|copy|email|transfer|pay)\b.{0,60}(?:https?://|\bto [\w.+-]+@|\b(?:password|token|secret|credential|api key|private key|wallet|bitcoin|account number))|\b(?:curl|wget)\b.{0,40}https?://|\brm -rf\b|\|\s*(?:ba)?sh\b`),
		instead:   c(`(?i)\b(?:instead of|rather than|in place of|replacing) (.+?)(?:[,;(].*)?$`),
		dangling:  c(`(?i)\b(?:to|for|their|my|our|your|of|with|at|and|or|the|a|an|but|because|as|than|that|which|is|are|am|was|were|do|does|did|don't|doesn't|didn't|won't|can't|cannot|isn't|have|has|will|would|could|should|can|not)$`),
		mood:      c(`(?i)^(?:like|so|very|really|quite|too|pretty|super|totally|broken|slow|down|not|dead|gone|here|fine|ok|okay|good|great|bad|wrong|missing|failing|this|that|it|these|those|the one)\b`),
		foreign:   c(`^[^\p{L}]*$`),
	}
})

// against tells an instruction to go against somebody. "Don't reboot it without
// asking" is the opposite of one.
func (k *marked) against(text string) bool {
	m := notWithout().FindStringSubmatchIndex(text)
	if m != nil && !slices.Contains([]string{"hesitate", "bother", "wait", "stop", "mind", "worry", "fear", "be", "forget", "fail"}, strings.ToLower(text[m[2]:m[3]])) {
		text = text[:m[0]] + text[m[1]:]
	}
	return k.injection.MatchString(text)
}

var notWithout = expression(`(?i)\b(?:don't|do not|never)(?: ever)? ([a-z]+)[^.;,]*\bwithout (?:asking|telling|permission|confirmation)\b`)

func over() *regexp.Regexp { return marks().over }

func own() *regexp.Regexp { return marks().own }

func addressed() *regexp.Regexp { return marks().addressed }

func supposed() *regexp.Regexp { return marks().supposed }

// doubt is how much less sure a fact is for how it was said.
func doubt(f Fact, c clause) float64 {
	k := marks()
	lost, text := 0.0, c.text
	if standing(f) { // the reason for a rule may be of the moment
		text = firstClause(text)
	}
	for _, against := range []*regexp.Regexp{k.passing, k.hedged, k.told} {
		if against.MatchString(text) {
			lost += 0.3
		}
	}
	if k.loose.MatchString(text) {
		lost += 0.3
	}
	if utf8.RuneCountInString(f.Value) > 200 {
		lost += 0.2
	}
	return lost
}

// objection says why a match is no fact, or "".
func objection(f Fact, c clause) string {
	k := marks()
	value := f.Value
	switch {
	case strings.Contains(c.text, secrets.Mark):
		return reasonSecret
	case k.against(c.text):
		return reasonAgainst
	case value == "" || k.foreign.MatchString(value) && f.Kind != Contact && f.Kind != Project:
		return "it says nothing"
	case f.Kind != Contact && f.Topic == "" && !standing(f) && pointing(f):
		return "it points to something that only the conversation knows"
	case k.idle.MatchString(value), k.situation.MatchString(c.text), k.command.MatchString(c.text), standing(f) && k.pastVerb.MatchString(c.text):
		return reasonMoment
	case f.Kind != Contact && f.Topic != "" && k.mood.MatchString(value):
		return reasonMoment
	case notWhole(c.text) || strings.HasSuffix(c.text, ":") || strings.HasSuffix(c.text, "…") || strings.HasSuffix(c.text, ","):
		return "it is not whole"
	case strings.Count(c.text, `"`)%2 == 1:
		return "it is part of a quotation"
	}
	return ""
}

// pointing says whether a fact only points to what it is about.
func pointing(f Fact) bool {
	k, object := marks(), f.Value
	if that, rest, _ := strings.Cut(object, " "); f.Kind == Preference && strings.EqualFold(that, "that") && addressed().MatchString(rest) {
		return false // "that you ask me first"
	}
	if f.Kind == Decision { // "that all alerts go to"
		f.Value = strings.TrimPrefix(strings.TrimPrefix(object, "that "), "to ")
		object = f.Value
	}
	if f.Kind == Project { // "use the same"
		_, object, _ = strings.Cut(object, " ")
	}
	return k.deictic.MatchString(f.Value) || k.deictic.MatchString(object) || f.Kind == Preference && k.evasive.MatchString(object)
}

// standing says whether a fact is a standing rule: always or never.
func standing(f Fact) bool {
	lower := strings.ToLower(f.Value)
	return f.Kind == Preference && (strings.HasPrefix(lower, "always ") || strings.HasPrefix(lower, "never ") || strings.HasPrefix(lower, "do") || strings.Contains(f.Text, "Standing instruction"))
}
