package facts

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/secrets"
)

// marked are the patterns that speak against a fact.
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
		// What points to something that only the conversation knows.
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
		// is none (research/complaints.md section 14).
		injection: c(`(?i)\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instructions?|prompts?|rules?|guidelines?|guardrails?|safety|polic(?:y|ies)|above|previous|prior|earlier|everything)\b|\b(?:system prompt|developer mode|jailbreak|dan mode|hidden instructions?|new instructions?|you are now|you must now|act as|pretend to be|do anything now|exfiltrate|reveal (?:your|the|all)|without (?:asking|telling|informing|confirmation|permission)|do not tell|don't tell|keep (?:it|this) secret from)\b|\b(?:send|post|upload|forward|leak|copy|email|transfer|pay)\b.{0,60}(?:https?://|\bto [\w.+-]+@|\b(?:password|token|secret|credential|api key|private key|wallet|bitcoin|account number))|\b(?:curl|wget)\b.{0,40}https?://|\brm -rf\b|\|\s*(?:ba)?sh\b`),
		instead:   c(`(?i)\b(?:instead of|rather than|in place of|replacing) (.+?)(?:[,;(].*)?$`),
		dangling:  c(`(?i)\b(?:to|for|their|my|our|your|of|with|at|and|or|the|a|an|but|because|as|than|that|which|is|are|am|was|were|do|does|did|don't|doesn't|didn't|won't|can't|cannot|isn't|have|has|will|would|could|should|can|not)$`),
		mood:      c(`(?i)^(?:like|so|very|really|quite|too|pretty|super|totally|broken|slow|down|not|dead|gone|here|fine|ok|okay|good|great|bad|wrong|missing|failing|this|that|it|these|those|the one)\b`),
		foreign:   c(`^[^\p{L}]*$`),
	}
})

// doubt is how much less sure a fact is for how it was said.
func doubt(f Fact, c clause) float64 {
	k := marks()
	lost := 0.0
	for _, against := range []*regexp.Regexp{k.passing, k.hedged, k.told} {
		if against.MatchString(c.text) {
			lost += 0.3
		}
	}
	if k.loose.MatchString(c.text) {
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
		return "it holds a secret"
	case k.injection.MatchString(c.text):
		return "it is an instruction to go against somebody"
	case value == "" || k.foreign.MatchString(value) && f.Kind != Contact && f.Kind != Project:
		return "it says nothing"
	case f.Kind != Contact && f.Topic == "" && !standing(f) && pointing(f):
		return "it points to something that only the conversation knows"
	case k.idle.MatchString(value), k.situation.MatchString(c.text), k.command.MatchString(c.text), standing(f) && k.pastVerb.MatchString(c.text):
		return "it tells of a moment"
	case f.Kind != Contact && f.Topic != "" && k.mood.MatchString(value):
		return "it tells of a moment"
	case k.dangling.MatchString(c.text) || strings.HasSuffix(c.text, ":") || strings.HasSuffix(c.text, "…") || strings.HasSuffix(c.text, ","):
		return "it is not whole"
	case strings.Count(c.text, `"`)%2 == 1:
		return "it is part of a quotation"
	}
	return ""
}

// pointing says whether what a fact is about is only pointed to.
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

// standing says whether a fact is something to do always or never.
func standing(f Fact) bool {
	lower := strings.ToLower(f.Value)
	return f.Kind == Preference && (strings.HasPrefix(lower, "always ") || strings.HasPrefix(lower, "never ") || strings.HasPrefix(lower, "do") || strings.Contains(f.Text, "Standing instruction"))
}
