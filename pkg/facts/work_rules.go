package facts

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// Confidence of what is said in the course of work: in passing, and in the third
// person.
const (
	workConfidence   = 0.8
	agentsConfidence = agentConfidence
)

// workRule finds a fact in a sentence said at work. Its pattern may match
// anywhere that a part of the sentence begins; the fact quotes the sentence from
// there.
type workRule struct {
	name    string // of [Fact.Rule]
	kind    Kind
	pattern *regexp.Regexp
	agent   bool   // counts in the agent's mouth too
	topic   string // what there can be only one of: the group slot is its name
	first   bool   // only where the sentence begins
	valued  bool   // only with a number, a name of the computer's, or what it replaces
	apart   bool   // not in a sentence that names a day
	// unless matches what the pattern matches too and is something else; nil for none.
	unless func() *regexp.Regexp
	// What the pattern cannot match without: most sentences lack it, and looking for
	// it costs less than the pattern does.
	number bool     // a digit
	words  []string // one of these, in lower case
}

// applies tells whether a rule may match a part of a sentence.
func (r *workRule) applies(lower string, hasDigit bool) bool {
	if r.number && !hasDigit {
		return false
	}
	return len(r.words) == 0 || hasAny(lower, r.words...)
}

// hasAny tells whether a text has one of these.
func hasAny(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
}

const digits = "0123456789"

// Parts of patterns of what is said at work.
const (
	months   = `(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)`
	date     = `(?:` + weekdays + `,? )?(?:\d{4}-\d\d-\d\d|(?:the )?\d{1,2}(?:st|nd|rd|th)?\.? (?:(?:of )?` + months + `\b|(?:de )?` + monthsElsewhere + `\b)|` + months + ` \d{1,2}\b)`
	weekday  = `(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)`
	address  = `(?:https?://[^\s,;)]+|[a-z0-9][\w-]*(?:\.[\w-]+)+\.[a-z]{2,}(?::\d+)?|[\w.-]+:\d{4,5}\b|(?:~|\.{0,2})/[\w./-]{3,}|[\w-]+/[\w./-]*\w)`
	product  = `(?:postgres(?:ql)?|mysql|mariadb|redis|kubernetes|k8s|python|node(?:\.js)?|go|golang|java|jvm|jdk|temurin|react|vue|angular|django|rails|ruby|rust|php|typescript|ubuntu|debian|alpine|macos|windows|ios|safari|firefox|chrome|elasticsearch|kafka|nginx|terraform|docker|pnpm|npm|vite|vitest|celery|swift|kotlin|\.net|sqlite|mongodb|clickhouse)`
	version  = `v?\d+(?:\.\d+){0,3}`
	noPoint  = `(?:[a-z0-9"'#][\w"'/.@#-]*)`
	decides  = `(?:switch to|pin|upgrade|downgrade|go (?:with|to|for|back to)|stay (?:with|on|at)|stick (?:with|to)|skip|leave|cap|start at|make that|make it|use)`
	forbids  = `(?:touch|apply|reformat|change|edit|use|add|commit|push|delete|remove|drop|rename|log|print|store|send|deploy|restart|modify|overwrite|rebase|merge|install|upgrade|write|call|run|run anything|put|move|force|mock|import|bypass|share|expose)`
	subjects = `(?:(?:the|our|every|each|all|any|my|no)? ?` + noPoint + `(?: [\w"'/.#-]+){0,4}?)`
)

// workRules are the rules for what is said at work, in the order in which they
// are tried. Of preferences and decisions a sentence has one.
var workRules = sync.OnceValue(func() []workRule {
	c := func(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?i:` + pattern + `)`) }
	all := slices.Concat(deadlineWorkRules(c), contactWorkRules(c), environmentWorkRules(c), preferenceWorkRules(c), decisionWorkRules(c))
	counted := map[Kind]int{}
	for i := range all {
		counted[all[i].kind]++
		all[i].name = ruleName("at work", all[i].kind, counted[all[i].kind])
	}
	return all
})

func deadlineWorkRules(c func(string) *regexp.Regexp) []workRule {
	return []workRule{
		{kind: Deadline, number: true, pattern: c(`(?:so |and )?(?:the |our |my )?(?P<slot>[a-z][\w -]{2,40}?) (?:is|was|moved|moves|becomes|has moved|was moved|is now|is moved)(?: now)?(?: to| on| from| until|:)* (?P<v>` + date + `.*)`), topic: "deadline.${slot}"},
		{kind: Deadline, number: true, pattern: c(`(?:the )?(?P<slot>date|deadline|launch|release|go-live|window): (?P<v>` + date + `.*)`), topic: "deadline.${slot}"},
		{kind: Deadline, number: true, unless: undated, pattern: c(`.*\b(?:by|due|due on|due by|deadline|until|before|no later than|switched off on|shut down on|ends on|expires on|audit on|launch on|release on|go live on|review on|(?:have|has|need|needs) to be .{1,40}) (?P<v>` + date + `).*`)},
		{kind: Deadline, words: []string{"day"}, unless: keptUntil, pattern: c(`.*\b(?:needs?|must|has to|have to|due|finish|ready|done|review(?:ed)?|deliver(?:ed)?|deadline)\b.*\b(?:by|before|until|due|is) (?P<v>` + weekday + `(?:'s [a-z]+)?)\b.*`)},
	}
}

func contactWorkRules(c func(string) *regexp.Regexp) []workRule {
	person := cased(name)
	title := `(?:-san|-sensei)?`
	return []workRule{
		{kind: Contact, pattern: c(`(?P<who>(?:the )?(?:contact|on[ -]call|reports team|[a-z]+ team|support|owner|maintainer|admin|manager|reviewer|person)(?: (?:there|here|for [\w ]{2,20}|of [\w ]{2,20}|on call))?) is (?P<v>(?:` + person + `)?,? ?(?:` + email + `|` + phone + `|` + person + `).*)`)},
		{kind: Contact, unless: ofPronoun, pattern: c(`(?P<v>` + person + title + `) (?:administers|maintains|owns|deploys|is responsible for|is in charge of|takes care of|reviews|has the shift|has to review|has to approve|approves|is on call|knows a|knows the) ?.*`)},
		{kind: Contact, words: []string{" by ", "approval of", "belongs to"}, pattern: c(`.*\b(?:reviewed by|review by|approved by|approval by|approval of|sign-?off by|owned by|maintained by|belongs to) (?P<v>` + person + `)\b.*`)},
		{kind: Contact, words: []string{"talk to", "ask", "tell", "write to", "call", "contact", "need"}, pattern: c(`(?:.*\b)?(?:talk to|asked|ask|tell|write to|call|contact|need) (?P<v>` + person + title + `)(?:,? who| from| in| at| of) .+`)},
		{kind: Contact, pattern: c(`(?P<v>` + person + title + `),? (?:from|in|at) (?:the )?[a-z]{2,15}(?: team)? (?:says|said|wants|told|asks|confirmed|decides)\b.*`)},
		{kind: Contact, pattern: c(`[a-z]{3,20} is (?P<v>` + person + `)['’]s$`)},
		{kind: Background, pattern: c(`(?:hi|hello|hey)?[!,.]? ?(?:i'm|i am) (?P<v>` + person + `)(?:,.*|$)`)},
		{kind: Background, words: []string{" here"}, unless: notIntroduced, pattern: c(`(?P<v>` + cased(`\p{Lu}\p{Ll}{2,}`) + `) here(?:,| from ).*`)},
		{kind: Background, pattern: c(`(?P<v>` + person + `) here,? (?:from |on |of )?.*(?:team|engineer|ops|dev|support|lead|manager|office|department|admin)\b.*`)},
	}
}

func environmentWorkRules(c func(string) *regexp.Regexp) []workRule {
	return []workRule{
		{kind: Environment, number: true, agent: true, pattern: c(`(?:.*\b)?(?P<slot>[\w.-]{2,30}) (?:runs|is running|is on) (?P<what>` + product + `) (?P<v>` + version + `)\b.*`), topic: "environment.${slot}.${what}"},
		{kind: Environment, number: true, agent: true, pattern: c(`(?:.*\b)?(?:on|at|uses|is|via) port (?P<v>\d{2,5})\b.*`)},
		{kind: Environment, pattern: c(`(?:the )?port (?P<v>\d{2,5}) is .+`)},
		{kind: Environment, words: []string{".", "/", ":"}, pattern: c(`(?P<slot>(?:the |our |my )?[\w-]+(?: [\w-]+){0,3}) (?:is|are|lives?|runs?|is hosted|is kept|is stored|can be reached) (?:at|on|in|under) (?P<v>(?:vault under )?` + address + `).*`), topic: "environment.${slot}"},
		{kind: Environment, words: []string{"deployed to", "reach", "available", "account is", "command is", "comes from", "goes to", "go to", "log in"}, pattern: c(`.*(?:deployed to|reach (?:it )?(?:through|via|at|on)|available (?:at|under|on)|account is|the command is|it comes from|comes from|goes to|go to|log in (?:at|on|to)).* (?P<v>` + address + `|` + "`[^`]{3,60}`" + `|#[a-z][\w-]+).*`)},
		{kind: Environment, words: []string{"account is"}, pattern: c(`(?:.*\b)?account is (?P<v>[\w.@-]+ on [\w.-]+).*`)},
		{kind: Environment, pattern: c(`(?:the )?(?:pager|alerts?|alarms?|notifications?) (?:goes|go) to (?P<v>#[\w-]+|[\w-]*@[\w.-]+|[\w-]+\.[\w.-]+).*`)},
		{kind: Environment, words: []string{"_"}, pattern: c(`.*\b(?P<v>` + cased(`[A-Z][A-Z0-9]+_[A-Z0-9_]+=[\w./:-]+`) + `)\b.*`)},
		{kind: Environment, number: true, unless: wished, pattern: c(`(?:.*\b)?(?:here|there|we have|we use|our [\w ]{2,20} (?:use|have|run)|it's|this is|is|are|with|on) (?:[\w ]{0,20} )?(?P<v>` + product + ` ` + version + `)\b.*`)},
		{kind: Environment, unless: wished, pattern: c(`(?P<v>` + product + ` ` + version + `)(?:$|,.*)`)},
		{kind: Environment, number: true, agent: true, pattern: c("(?P<slot>[\\w.-]+) (?P<v>" + version + `) is (?:installed|running|deployed) on .+`)},
		{kind: Environment, number: true, agent: true, pattern: c("version (?P<v>" + version + ") is (?:in|on|out|released|live|deployed) .+")},
	}
}

func preferenceWorkRules(c func(string) *regexp.Regexp) []workRule {
	return []workRule{
		{kind: Preference, pattern: c(`(?:and |but |so )?(?:please )?(?P<v>(?:never|always) (?:ever )?(?:` + imperative + `|put|state|force-[a-z]+|apply|hard-?reset)\b.*)`)},
		{kind: Preference, pattern: c(`(?:and |but |so )?(?:please )?(?P<v>(?:don't|do not) ` + forbids + ` .+)`)},
		{kind: Preference, pattern: c(`(?:and |but |so )?(?:please )?(?P<v>ask me (?:before|first) .+)`)},
		{kind: Preference, pattern: c(`(?P<v>(?:on [a-z]+ )?nobody .+ (?:but|except) .+)`)},
		{kind: Preference, pattern: c(`(?P<v>one [a-z]+ per [a-z]+.*)`)},
		{kind: Preference, pattern: c(`(?P<v>(?:commit messages?|changelog entries|pr titles|branch names|comments|test names|replies|answers|reports|messages) (?:in|are|must|have|begin|start|stay) .+)`)},
		{kind: Preference, unless: ofAbility, words: []string{"must", "has to", "have to", "may not be", "stays at"}, pattern: c(`(?:and |but |so )?(?P<v>` + subjects + ` (?:must not|must never|must (?:be|go|stay|use|pass|contain|match|include|run|start|end|come|wait|ask)|(?:has|have) to (?:be|start|stay|end|use|pass|match|contain|wait)|may not be|stays at) .+)`), apart: true},
		{kind: Preference, pattern: c(`(?:and |but |so )?(?P<v>(?:every|each|all) ` + subjects + ` (?:needs?|gets?|has|have) .+)`), apart: true},
		{kind: Preference, pattern: c(`(?P<v>we (?:can't|cannot|must not|may not) (?:.+ without|(?:change|touch|share|expose|print|publish) (?:the|our|any|a)) .+)`)},
		{kind: Preference, pattern: c(`(?P<v>use our .+)`)},
		{kind: Preference, pattern: c(`(?P<v>(?:the )?(?:limit|bound|threshold|budget|maximum|minimum)(?: for [\w ]{3,30})? is .*\d.*)`)},
	}
}

func decisionWorkRules(c func(string) *regexp.Regexp) []workRule {
	return []workRule{
		{kind: Decision, pattern: c(`(?:ok,? |yes,? |no,? |so,? |and )*(?P<v>changed my mind(?: about [\w ]+)?[:,] .+)`)},
		{kind: Decision, pattern: c(`(?:ok,? |yes,? |no,? |so,? |and |please )*then (?P<v>[a-z][\w.]* .+)`), first: true},
		{kind: Decision, words: []string{"then"}, unless: ofSomebody, pattern: c(`(?:ok,? |yes,? |no,? |so,? |and |please )*(?P<v>[\w"'.#=/:-]+(?: [\w"'.#=/:-]+){0,10}) then$`), first: true},
		{kind: Decision, words: []string{"then,"}, unless: ofSomebody, pattern: c(`(?:ok,? |yes,? |no,? |so,? |and |please )*(?P<v>[\w%"'.#=/:-]+(?: [\w%"'.#=/:-]+){0,2}) then, .+`), first: true, valued: true},
		{kind: Decision, words: []string{"call ", "name ", "label ", "title "}, pattern: c(`(?:ok,? |yes,? |no,? |so,? |and |please |then )*(?:call|name|label|title) (?:it|that|this|them|the [a-z]+) (?P<v>["'][^"']{2,40}["']).*`)},
		{kind: Decision, words: []string{"instead of", "rather than"}, unless: pastSubject, pattern: c(`(?:ok,? |yes,? |no,? |so,? |and |please |oh )*(?P<v>.* (?:instead of|rather than) .+)`)},
		{kind: Decision, pattern: c(`(?:ok,? |yes,? |no,? |so,? |and |please )*(?P<v>` + decides + ` [^,;:]+.*)`), valued: true},
		{kind: Decision, pattern: c(`(?:ok,? |yes,? |no,? |so,? |and |please )*(?:let's|let us) (?P<v>(?:delete|use|keep|make|drop|switch|move|put|call|name|take|do|host|write|send|build|ship|store|charge|pay) .+)`), valued: true},
		{kind: Decision, pattern: c(`(?:and |so )?(?:[a-z]+: )?(?P<v>we (?:go (?:with|free|for|by|without|back to)|stay (?:with|on|at)|stick (?:with|to)|leave (?:it|that) (?:as|like)|pay|take|keep|host|book|publish|charge|print|sell|skip|postpone|drop|offer|count) .+)`)},
		{kind: Decision, pattern: c(`(?P<v>` + cased(name) + ` (?:takes (?:his|her|their|the|over)|replaces|joins instead of) .+)`)},
		{kind: Decision, words: []string{" not "}, pattern: c(`(?:.*, )?(?P<v>.*\b\d[\w.]*(?: (?:[a-z]+))?, (?:and )?not (?:only )?(?P<old>\d[\w.]*).*)`)},
		{kind: Decision, pattern: c(`(?P<v>(?:(?:they|she|he) allows?|(?:the )?[a-z]+s (?:want|allow)) (?:the |only |at least |at most )?.*(?:\d|first|last|instead).*)`), unless: demanded, apart: true},
		{kind: Decision, number: true, pattern: c(`(?:ok,? |so,? |then )*(?:take|(?:lower|raise) (?:it )?to) (?P<v>\S*\d\S*(?: [a-z%]+)?)$`)},
		{kind: Decision, words: []string{"stay", "remain"}, pattern: c(`(?P<v>[\w -]{2,40} (?:stays?|remains?) (?:on|with|in|at) .+)`), valued: true},
	}
}

// atWork finds what a sentence says at work: a day, a person, a place, a rule, a
// decision. asked is the question of the agent that the message answers, if it is
// the first sentence of one.
func atWork(m Message, s sentence, asked string) (found []Fact, refused []Refusal) {
	if m.Role != session.RoleUser && !strings.ContainsAny(s.text, digits) { // its ports and versions count
		return nil, nil
	}
	if s.question || utf8.RuneCountInString(s.text) < 8 || supposed().MatchString(s.text) || tellsWhatHappened(s.text) || quotesOthers().MatchString(strings.ToLower(s.text)) {
		return nil, nil
	}
	add := func(f Fact) {
		if why := workObjection(f); why != "" {
			refused = append(refused, Refusal{Line: m.Line, Reason: why, whole: harmful(why)})
			return
		}
		found = append(found, f)
	}
	answer, _, _ := strings.Cut(m.Text, "\n")
	if choice, ok := summarize.Answer(asked, answer); ok && m.Role == session.RoleUser && strings.Contains(choice, " ") && !informs(asked, choice) && !elsewhere(answer) {
		kind := Decision
		if ruling().MatchString(answer) {
			kind = Preference
		}
		add(newFact(m, clause{text: s.text}, Fact{Kind: kind, Rule: ruleAnswer, Confidence: workConfidence, Text: quoted("The user decided", choice), Value: choice, Instead: insteadOf(choice)}))
	}
	dated := sync.OnceValue(func() bool { return dates().MatchString(s.text) })
	for i, part := range parts(s.text) {
		lower := strings.ToLower(part)
		hasDigit := strings.ContainsAny(part, digits)
		hasValue := sync.OnceValue(func() bool { return valued().MatchString(part) })
		for _, r := range workRules() {
			if m.Role != session.RoleUser && !r.agent || r.first && i > 0 || !r.applies(lower, hasDigit) || r.valued && !hasValue() {
				continue
			}
			f, ok := r.match(m, part)
			if ok && r.kind == Deadline && movedDay().MatchString(s.text) { // that it moved stands before it
				f.Quote = strings.TrimRight(s.text, ".! ")
				f.Text = quoted("The user said", f.Quote)
			}
			if ok && !(r.apart && dated()) && !(r.unless != nil && r.unless().MatchString(strings.ToLower(part))) && !slices.ContainsFunc(found, f.rivals) {
				add(f)
			}
		}
	}
	return found, refused
}

var (
	// notIntroduced matches what stands before "here" and is no name.
	notIntroduced = expression(`^(?:same|right|over|down|up|out|back|new|still|looky?|not|and|but|all|people|everyone|everybody|nobody|things?) here`)
	// ofSomebody matches what somebody is or does: "I'm away then".
	ofSomebody = expression(`^(?:i|i'm|i'll|we|we're|we'll|you|he|she|they|it|it's|its|there|that's|thats|that is|this is|out)\b|\b(?:me|us) then$|^[a-z]+er then$|^(?:k |okay )?no (?:[a-z]+ )?then$|^(?:known|fine|good|ok|great) then$|\b(?:how|what|why|where|who|which|problem)\b`)
	// ofPronoun matches a sentence that does not say whom it speaks of.
	ofPronoun = expression(`^(?:he|she|they|it|we|you|who|somebody|someone|everybody|everyone|nobody)\b`)
	// demanded matches the money that somebody asks for.
	demanded = expression(`\bwants? (?:an? |the )?(?:deposit|fee|advance|payment|rent)\b|\bwants? (?:[a-z]+ ){0,3}\d[\d.,]* ?(?:(?:euros?|eur|€|dollars?|pounds?|usd|dkk|chf|k)\b|$|[,;])`)
	// ofAbility matches what has to be and is no rule.
	ofAbility = expression(`\b(?:must|has to|have to) be (?:able|somewhere|around|there|here|so|very|a bug|wrong)\b|'d (?:have|has) to be\b|\bif it must\b`)
)

// ruleAnswer is [Fact.Rule] of what a person answers to a question of the agent.
const ruleAnswer = "answer"

// informs tells an answer that says how it is, and chooses nothing.
func informs(asked, answer string) bool {
	lower := strings.ToLower(answer)
	switch {
	case asksNothing().MatchString(asked), asksWhatIs(asked), asksBack().MatchString(lower):
		return true
	case askedAmount().MatchString(asked) && !askedChoice().MatchString(asked):
		return true
	case describing().MatchString(answer) && !offering().MatchString(strings.ToLower(asked)):
		return true
	case asksWhether().MatchString(asked) && !askedChoice().MatchString(asked) && !offering().MatchString(strings.ToLower(asked)) && !agreeing(firstWord(lower)):
		return true
	}
	return pastSubject().MatchString(lower) || gotFrom().MatchString(answer)
}

// firstWord is the first word of a text, without the marks around it.
func firstWord(lower string) string {
	words := plainWords(lower[:min(len(lower), 40)])
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

var (
	askedAmount = expression(`(?i)\bhow (?:much|many)\b.*\b(?:does|do|did|has|have|is|are|was|were|would)\b`)
	askedChoice = expression(`(?i)\b(?:should|shall|may|want|like|or)\b`)
	describing  = expression(`(?i)^(?:my|our|the|this|it)(?: [\w-]+){0,3}?(?:'s| is| are| was) `)
	asksWhether = expression(`(?i)^(?:and |so |then |ok,? )*(?:is|are|was|were|does|do|did|has|have)\b`)
	asksBack    = expression(`\b(?:can|could|would|will) you\b`)
	gotFrom     = expression(`(?i)^(?:he|she|they|it) (?:gave|sent|told|said|wrote|got|did|was|were|had)\b`)
)

// ruling matches an answer that says what holds from now on.
var ruling = expression(`(?i)\b(?:never|always|must)\b|(?:^|[^w] )nothing\b`)

var dates = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + date + `|\b` + weekday + `|\bby the \d{1,2}(?:st|nd|rd|th)\b`)
})

// valued matches what makes an order a choice: a number, a name that only a
// computer has, or what is replaced.
var valued = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?i)\\d|`|[a-z][./_=-][a-z]|\\binstead\\b|\\brather than\\b|\\bout of\\b")
})

// rivals tells whether another fact of the same sentence has what this one says.
func (f Fact) rivals(other Fact) bool {
	rule := func(k Kind) bool { return k == Preference || k == Decision }
	return f.Kind == other.Kind || rule(f.Kind) && rule(other.Kind)
}

// parts are the sentence and what stands behind its commas, colons and
// conjunctions: that is where people put a rule.
func parts(text string) []string {
	text = strings.TrimRight(straight(text), ".! ")
	all := []string{text}
	for _, at := range joints().FindAllStringIndex(text, -1) {
		if rest := strings.TrimSpace(text[at[1]:]); len(rest) >= 8 {
			all = append(all, rest)
		}
	}
	return all[:min(len(all), maxParts)]
}

// maxParts bounds the parts of a sentence.
const maxParts = 8

var joints = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[,:;] |\s[–—-] | (?:and|but|so) `) })

// reported are sentences that tell what happened.
var reported = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:\b(?:error|exception|traceback|failed|fatal|panic|refused|warning|stack trace)\b|^\d{4}-\d\d-\d\dT|\bgreen, )`)
})

// tellsWhatHappened tells whether reported matches.
func tellsWhatHappened(text string) bool {
	lower := strings.ToLower(text)
	if strings.HasPrefix(lower, "node.js v") { // the last line of a crash
		return true
	}
	return (hasAny(lower, "error", "exception", "traceback", "failed", "fatal", "panic", "refused", "warning", "stack trace", "green, ") || strings.ContainsAny(text[:min(len(text), 1)], digits)) &&
		reported().MatchString(text)
}

// match tries a rule on a part of a sentence.
func (r *workRule) match(m Message, part string) (Fact, bool) {
	groups := r.pattern.FindStringSubmatch(part)
	if groups == nil {
		return Fact{}, false
	}
	like := rule{pattern: r.pattern}
	value := strings.TrimSpace(like.group(groups, "v"))
	f := Fact{Kind: r.kind, Rule: r.name, Confidence: workConfidence, Value: value, Text: quoted("The user said", part)}
	if m.Role != session.RoleUser {
		f.Confidence, f.Text = agentsConfidence, quoted("The agent said", part)
	}
	if r.kind == Decision {
		f.Instead = insteadOf(part)
	}
	if slot := topicWords(like.group(groups, "slot")); r.topic != "" && slot != "" {
		f.Topic = strings.ReplaceAll(strings.ReplaceAll(r.topic, "${slot}", slot), "${what}", strings.ToLower(like.group(groups, "what")))
	}
	return newFact(m, clause{text: part}, f), true
}

// topicWords is what a fact is about, without articles.
func topicWords(slot string) string {
	return normal(strings.ToLower(slot))
}

// insteadOf is what a decision says is over: "pdf" of "html instead of pdf", and
// "7 days" of "90 days, not 7".
func insteadOf(text string) string {
	if m := notNumber().FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(m[2] + " " + m[1])
	}
	if m := arrow().FindStringSubmatch(text); m != nil {
		return m[1]
	}
	if m := marks().instead.FindStringSubmatch(text); m != nil {
		over, _, _ := strings.Cut(m[1], " (")
		return over
	}
	return ""
}

// arrow matches a value and what becomes of it: "21 → 30".
var arrow = expression(`(\d\S*) ?(?:→|->) ?\S*\d`)

var notNumber = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b\d[\w.]* ?([a-z]*), not (\d[\w.]*)`)
})

// workObjection says why a match is no fact, or "".
func workObjection(f Fact) string {
	k := marks()
	switch {
	case strings.Contains(f.Text, secrets.Mark) || strings.Contains(f.Quote, secrets.Mark):
		return reasonSecret
	case k.against(f.Quote):
		return reasonAgainst
	case k.hedged.MatchString(f.Quote), k.told.MatchString(f.Quote):
		return "it is not sure enough"
	case strings.Count(f.Quote, `"`)%2 == 1, strings.Count(f.Quote, "[") != strings.Count(f.Quote, "]"):
		return "it is part of a quotation"
	case ofTheMoment(f):
		return reasonMoment
	case f.Kind != Deadline && f.Kind != Contact && f.Kind != Background && notWhole(f.Quote):
		return "it is not whole"
	case (f.Kind == Preference || f.Kind == Decision) && talk().MatchString(f.Quote):
		return "it is a turn of speech"
	case (f.Kind == Preference || f.Kind == Decision) && f.Instead == "" && vague().MatchString(f.Value) && !newValue().MatchString(f.Value) && !ofAll().MatchString(f.Value):
		return "it points to something that only the conversation knows"
	}
	return ""
}

// ofTheMoment tells whether a rule or a decision is an order for now only.
func ofTheMoment(f Fact) bool {
	if f.Kind != Preference && f.Kind != Decision {
		return false
	}
	return momentary().MatchString(firstClause(f.Quote)) || ofTask().MatchString(f.Quote) || departs().MatchString(f.Quote) || f.Kind == Decision && tasks().MatchString(f.Quote)
}

// firstClause is what a sentence says before it goes on to say why.
func firstClause(text string) string {
	head, _, _ := strings.Cut(text, ", ")
	if len(strings.Fields(head)) < leastClause {
		return text
	}
	return head
}

// leastClause is how many words say something by themselves.
const leastClause = 4

// ofTask matches what is not to be done in one task: what is to be done stands
// behind it ("don't modify the theme, look into the footer").
var ofTask = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|, )(?:please )?(?:don't|do not) [^,;]+[,;] (?:just |only |but |please )*(?:look|check|find|see|fix|show|tell|read|try|do|write|make|revert|go|start|use|change)\b`)
})

// departs matches a departure, which "leave" begins as well as a choice does.
var departs = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^leave [\w ]*\b\d{1,2}[:.]\d\d\b`) })

// tasks begin what is to be done once: what they name instead of something else
// is part of the task.
var tasks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:please )?(?:update|implement|add|create|fix|write|rewrite|build|refactor|remove|rename|look|check|find|show|explain|read|test|run|print|list|convert|change)\b`)
})

var momentary = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^[a-z]+ed instead of\b|\b(?:not tonight|not today|but not now|yet|right now|at the moment|again|until then|since then|by then|back then|still|let's see|go on|continue|see whether|for a (?:moment|minute|second)|has to be (?:corrected|updated|fixed|done|changed|tested|written|reviewed|merged)|have to be (?:corrected|updated|fixed|done|changed|tested|written|reviewed|merged))\b`)
})

// talk matches what sounds like a rule or a decision and is neither.
var talk = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:ok,? |so,? )*then the [a-z]+(?: [a-z]+)?$|^(?:see|talk|catch|bye|until|even|good|cool|great)\b|\b(?:i|we) said no\b|^(?:ok,? |so,? )*then (?:i|i'm|you|we|they|he|she|it|there|that|maybe)\b|\b(?:you|i) (?:can|could|might|must|may)\b|^(?:then )?(?:you|it|that|this|he|she|they)(?:'s)? must(?:$|[ ,](?:[^n]|n[^o]|no[^t]))|\bmust be (?:so|really|very|a|an|quite|amazing|incredible|hard|tough|exciting|nice|great|fun|awesome|wonderful|frustrating|rewarding|unreal|tiring|proud|happy)\b|ing (?:\w+ ){0,3}must be\b`)
})

// newValue begins what gives something another value.
var newValue = expression(`(?i)^(?:make|set) (?:it|that) (?:[a-z]+ ){0,2}\S*\d`)

// ofAll begins a rule about everything, or about what was just named.
var ofAll = expression(`(?i)^(?:nothing|everything|anything)(?: \S+){3}|^it (?:must|may) not(?: \S+){3}`)

// vague begins what says nothing alone.
var vague = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:never|always|don't|do not) (?:use|do|touch|change|run|delete|commit) (?:it|that|this|these|those|them)\b|^(?:(?:never|always|don't|do not|use|leave|keep|skip|drop|do|make|set|start|put|take|let's) )?(?:it|that|this|these|those|them|the same|one|so|what|how|why|which|everything|anything|nothing|mind|again|with (?:it|that|this))(?:$|[ ,.])|^\d+%?$`)
})
