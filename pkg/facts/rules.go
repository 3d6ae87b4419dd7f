package facts

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/session"
)

// agentConfidence is of what only the agent says was decided.
const agentConfidence = 0.7

// Offline extracts what is said outright, by rules and without a model: the
// facts of at least this confidence, in the order of the log. What looked like
// a fact and was not made one is among the refusals.
func Offline(messages []Message, confidence float64) ([]Fact, []Refusal) {
	all, refused := explicit(messages)
	return slices.DeleteFunc(all, func(f Fact) bool {
		if f.Confidence < confidence {
			refused = append(refused, Refusal{Line: f.Line, Reason: fmt.Sprintf("it is not sure enough (%.2f)", f.Confidence)})
		}
		return f.Confidence < confidence
	}), refused
}

// explicit returns everything that a rule matches, with its confidence, what calls of
// tools proved, and what no rule takes and is likely a fact.
func explicit(messages []Message) ([]Fact, []Refusal) {
	h := hear(messages, false)
	found := append(h.found, h.likely()...)
	slices.SortStableFunc(found, func(a, b Fact) int { return cmp.Compare(a.Line, b.Line) })
	return slices.DeleteFunc(found, func(f Fact) bool { return slices.ContainsFunc(found, f.named) }), h.refused
}

// hearing is what was found so far in messages, and what else people said.
type hearing struct {
	found   []Fact
	refused []Refusal

	all              bool     // also what rules take is weighed
	remarks          []Remark // what is to be weighed
	sentences, taken int      // that people said, and that rules made a fact of
	at, in           int      // which sentence of its message this is, and of how many
}

// hear lets the rules find what they take. With all, remarks has what they take too.
func hear(messages []Message, all bool) *hearing {
	h, asked := &hearing{all: all}, ""
	t := turn{names: sync.OnceValue(func() map[string]bool { return personsOf(messages) }), met: acquaintanceOf(messages)}
	writers := speakersOf(messages)
	var said []sentence // in the message before
	for at, m := range messages {
		if at > 0 && m.Role == session.RoleUser && messages[at-1].Role != session.RoleUser {
			t = t.after(messages[at-1], said)
		}
		if m.Role == session.RoleUser {
			m.Text = writers.without(m.Text)
		}
		if said = sentences(m.Text); m.Role == session.RoleUser {
			said = withoutSounds(said)
		}
		h.hear(m, said, asked, t)
		asked = questionOf(m, said)
		t = t.asking(m, said)
		h.found = append(h.found, m.Proved...)
	}
	h.found = append(h.found, undertaken(messages, writers)...)
	return h
}

// hear lets the rules find what they take of the sentences of a message, behind a
// question.
func (h *hearing) hear(m Message, said []sentence, asked string, t turn) {
	h.in = len(said)
	for i, s := range said {
		h.at = i
		facts, no := outright(m, s)
		if len(facts) == 0 && !slices.ContainsFunc(no, Refusal.ofSentence) { // nothing was said outright
			if i > 0 {
				asked = ""
			}
			facts, no = inPassing(m, s, asked, t, i == 0)
		}
		takenBack := i+1 < len(said) && retracted(s, said[i+1])
		if takenBack {
			facts = slices.DeleteFunc(facts, func(f Fact) bool { return f.Rule != ruleAnswer })
		}
		if m.Role == session.RoleUser {
			h.remark(m, s, newStatement(m, s, t, i == 0), len(facts) > 0, takenBack || len(no) > 0)
			t.met.hear(s.text)
		}
		h.found, h.refused = append(h.found, facts...), append(h.refused, no...)
	}
}

// inPassing returns what a sentence says at work, by its words and by its form.
func inPassing(m Message, s sentence, asked string, t turn, first bool) ([]Fact, []Refusal) {
	found, refused := atWork(m, s, asked)
	if m.Role != session.RoleUser || slices.ContainsFunc(refused, Refusal.ofSentence) {
		return found, refused
	}
	st := newStatement(m, s, t, first)
	for i := range found {
		found[i].Kind = st.kindOf(found[i].Kind)
		if found[i].Kind == Decision {
			found[i].Instead = cmp.Or(found[i].Instead, t.replacedValue(found[i].Quote))
			found[i].Text = t.explained(found[i].Text, len(strings.Fields(found[i].Quote)))
		}
	}
	if st.mayState(s) {
		more, no := stated(m, st, found)
		found, refused = append(found, more...), append(refused, no...)
	}
	if f, ok := st.introduction(m); ok && !s.question && !slices.ContainsFunc(found, f.rivals) {
		found = append(found, f)
	}
	return slices.DeleteFunc(found, func(f Fact) bool { return f.Rule == ruleAnswer && informing(s.text, found) }), refused
}

// informing tells whether an answer says where something is, who is to be asked or
// when something is due: it answers a question and chooses nothing.
func informing(text string, found []Fact) bool {
	words := plainWords(strings.ToLower(text))
	if len(words) == 0 || agreeing(words[0]) || !subjected().MatchString(text) && !addressFirst().MatchString(text) {
		return false
	}
	return slices.ContainsFunc(found, func(f Fact) bool { return f.Kind == Environment || f.Kind == Contact || f.Kind == Deadline })
}

// addressFirst begins an answer that is an address.
var addressFirst = expression(`^(?:https?://|[\w.+-]+@[\w-]+\.|\d{1,3}(?:\.\d{1,3}){3}\b)`)

// subjected begins a sentence of what is: "logs are in logs/rev-c".
var subjected = expression(`(?i)^(?:[\p{L}'-]+ ){1,4}(?:is|are|was|were|runs?|lives?|wants?|has|does|knows)\b`)

// outright returns what a sentence says outright.
func outright(m Message, s sentence) (found []Fact, refused []Refusal) {
	if m.Role != session.RoleUser && !saysDecided(s.text) {
		return nil, nil
	}
	for i, c := range s.clauses() {
		f, ok := match(m, s, c)
		if !ok {
			continue
		}
		if why := objection(f, c); why != "" {
			refused = append(refused, Refusal{Line: m.Line, Reason: why, whole: harmful(why) || why == reasonMoment && i == 0})
			continue
		}
		found = append(found, f)
	}
	return found, refused
}

// saysDecided tells whether a sentence has a word that the rules that count in the
// agent's mouth look for: most sentences of a log have none, and are not matched.
func saysDecided(text string) bool {
	return hasAny(strings.ToLower(text), "decided", "agreed", "resolved", "opted", "chosen", "committed", "settled", "decision")
}

// questionOf is the question with which the agent ended a message, or "".
func questionOf(m Message, all []sentence) string {
	if m.Role == session.RoleUser || len(all) == 0 || !all[len(all)-1].question {
		return ""
	}
	return all[len(all)-1].text
}

// The topics of who somebody is. "I'm German" is no name, and "I'm at the dentist"
// no occupation.
const (
	topicName       = "user.name"
	topicIs         = "user.is"
	topicOccupation = "user.occupation"
)

var whereabouts = expression(`^(?:at|in|on|with|near|by|from|off|back) `)

// named tells whether another fact says better what a fact says: "my name is
// Tomás Herrera" and "I'm Tomás".
func (f Fact) named(other Fact) bool {
	return f.Topic == topicIs && other.Topic == topicName && strings.Contains(spaced(other.Value), spaced(f.Value))
}

// surest keeps the surest facts, and of equally sure ones the newest, in their
// order.
func surest(all []Fact, most int) []Fact {
	if most < 0 || len(all) <= most {
		return all
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(all[y].Confidence, all[x].Confidence), cmp.Compare(all[y].Time, all[x].Time), cmp.Compare(y, x))
	})
	order = order[:most]
	slices.Sort(order)
	kept := make([]Fact, 0, most)
	for _, i := range order {
		kept = append(kept, all[i])
	}
	return kept
}

// match finds the first rule that a clause matches.
func match(m Message, s sentence, c clause) (Fact, bool) {
	if s.question && !c.explicit || supposed().MatchString(c.text) || utf8.RuneCountInString(c.text) < 6 {
		return Fact{}, false
	}
	text := straight(c.text)
	for _, r := range rules() {
		if m.Role != session.RoleUser && (!r.agent || strings.HasPrefix(c.text, "I")) { // its own are not the person's
			continue
		}
		if groups := r.pattern.FindStringSubmatch(text); groups != nil && !(r.topic == topicOccupation && whereabouts().MatchString(r.group(groups, "v"))) {
			return r.fact(m, c, groups), true
		}
	}
	if m.Role == session.RoleUser && c.request && utf8.RuneCountInString(c.text) >= 12 {
		return newFact(m, c, Fact{Kind: Background, Rule: "remember", Confidence: 0.85, Text: quoted("The user asked to remember", c.text), Value: c.text}), true
	}
	return Fact{}, false
}

// straight has straight apostrophes, as the rules, also where people leave them out.
func straight(text string) string {
	if lower := strings.ToLower(text); !strings.Contains(lower, "nt") && !strings.Contains(lower, "lets") {
		return strings.ReplaceAll(text, "’", "'")
	}
	return bareLet().ReplaceAllString(bare().ReplaceAllString(strings.ReplaceAll(text, "’", "'"), "$1'$2"), "$1'$2 $3")
}

// bare matches the words that people write without their apostrophe.
var bare = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(don|doesn|didn|can|won|isn|aren)(t)\b`)
})

// bareLet is bare for "lets use", which is a verb of its own elsewhere.
var bareLet = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(let)(s) (use|go|keep|make|take|switch|do|drop|put|call|name|store)\b`)
})

// rule is one way to say something outright. Its pattern matches a whole
// clause; the group v is what is said.
type rule struct {
	name       string // of [Fact.Rule]: what it finds, and its number among those
	kind       Kind
	confidence float64
	pattern    *regexp.Regexp
	text       string // of the fact, ${v} and other groups in it; "" quotes the clause
	topic      string // what there can be only one of, with groups; "" for many
	agent      bool   // counts in the agent's mouth too, at confidence [agentConfidence]
	free       bool   // v may be anything: a name, an address
}

// rules are all rules, the particular before the general. They are compiled on
// first use.
var rules = sync.OnceValue(func() []rule {
	all := slices.Concat(backgroundRules(), contactRules(), preferenceRules(), patternRules(), projectRules(), decisionRules(), otherLanguages())
	counted := map[Kind]int{}
	for i := range all {
		counted[all[i].kind]++
		all[i].name = ruleName("outright", all[i].kind, counted[all[i].kind])
	}
	return all
})

// ruleName names the nth rule of a kind.
func ruleName(where string, k Kind, n int) string { return fmt.Sprintf("%s, %s %d", where, k, n) }

// group returns a named group of a match, or "".
func (r *rule) group(match []string, name string) string {
	for i, n := range r.pattern.SubexpNames() {
		if n == name && match[i] != "" {
			return match[i]
		}
	}
	return ""
}

// fill puts the groups of a match into a template.
func (r *rule) fill(template string, match []string) string {
	for _, name := range []string{"v", "slot", "who", "old", "how"} {
		if strings.Contains(template, "${"+name+"}") {
			template = strings.ReplaceAll(template, "${"+name+"}", strings.TrimSpace(r.group(match, name)))
		}
	}
	return template
}

// fact makes a fact of a match.
func (r *rule) fact(m Message, c clause, groups []string) Fact {
	f := Fact{Kind: r.kind, Rule: r.name, Confidence: r.confidence, Value: strings.TrimSpace(r.group(groups, "v")), Instead: strings.TrimSpace(r.group(groups, "old"))}
	f.Value = cmp.Or(f.Value, f.Instead)
	if m := marks().instead.FindStringSubmatch(f.Value); m != nil && r.kind == Decision {
		f.Instead = m[1]
	}
	f.Topic = strings.ToLower(r.fill(r.topic, groups))
	if m.Role != session.RoleUser {
		f.Confidence = agentConfidence
	}
	if chosen, topic := choice(f.Value); r.kind == Preference && topic != "" && f.Topic == "" {
		f.Topic, f.Value = topic, chosen
	}
	if c.explicit {
		f.Confidence = min(f.Confidence+0.05, 0.97)
	}
	if !r.free {
		f.Confidence -= doubt(f, c)
	}
	f.Text = r.sentence(m, c, groups)
	return newFact(m, c, f)
}

// sentence is the fact in the third person. Where that would need more than a
// template, it quotes what was said.
func (r *rule) sentence(m Message, c clause, groups []string) string {
	who := "The user said"
	if m.Role != session.RoleUser {
		who = "The agent said"
	}
	said := r.group(groups, "v") + " " + r.group(groups, "who")
	if r.text == "" || !r.free && addressed().MatchString(said) {
		return quoted(who, c.text)
	}
	text := r.fill(r.text, groups)
	if strings.HasSuffix(r.text, "${v}s") { // "loves strong coffee"
		verb, rest, _ := strings.Cut(r.group(groups, "v"), " ")
		text = strings.TrimSuffix(r.text, "${v}s") + strings.ToLower(verb) + "s " + rest
	}
	text = own().ReplaceAllStringFunc(text, func(s string) string { return s[:len(s)-2] + "their" })
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func quoted(who, text string) string { return who + `: "` + strings.ReplaceAll(text, `"`, "'") + `".` }

// newFact adds where a fact comes from.
func newFact(m Message, c clause, f Fact) Fact {
	f.MadeBy = MadeByRules
	f.Quote, f.Line, f.Offset, f.End, f.Time, f.Speaker = strings.Join(strings.Fields(c.text), " "), m.Line, m.Offset, m.End, m.Time, m.Role
	return f
}

// choice splits "tabs over spaces" into the choice and what it is between,
// which is the same for "spaces over tabs".
func choice(value string) (chosen, topic string) {
	m := over().FindStringSubmatch(value)
	if m == nil {
		return "", ""
	}
	pair := []string{normal(m[1]), normal(m[2])}
	chosen = pair[0]
	slices.Sort(pair)
	return chosen, "preference." + strings.Join(pair, "|")
}

// Parts of patterns.
const (
	name     = `\p{Lu}[\p{L}'’.-]*(?: (?:de|van|von|der|la|al|bin|\p{Lu}[\p{L}'’.-]*)){0,3}`
	email    = `[\w.+-]+@[\w-]+(?:\.[\w-]+)+`
	phone    = `\+?\(?\d[\d ()/.-]{5,20}\d`
	relative = `(?:manager|boss|lead|team lead|teammate|colleague|co-?worker|assistant|accountant|lawyer|doctor|dentist|landlord|landlady|neighbou?r|wife|husband|spouse|partner|girlfriend|boyfriend|fianc[eé]e?|son|daughter|brother|sister|mother|mom|mum|father|dad|uncle|aunt|cousin|grandmother|grandfather|grandson|granddaughter|grandchild|nephew|niece|friend|best friend|roommate|flatmate|designer|developer|engineer|contractor|client|customer|investor|mentor|teacher|coach|therapist|dog|cat|cto|ceo|cfo|coo|product manager|project manager|product owner|head of [\w ]+|contact(?: person)?(?: (?:at|for) [\w .&-]+)?|[\w-]+ (?:lead|engineer|developer|designer|manager|admin|contact))`
	// occupation ends what somebody says they are.
	occupation = `(?:developer|engineer|programmer|designer|teacher|professor|student|doctor|nurse|lawyer|manager|scientist|researcher|writer|author|founder|co-?founder|consultant|administrator|admin|sysadmin|architect|analyst|freelancer|journalist|photographer|carpenter|electrician|plumber|accountant|beginner|translator|musician|artist|chef|cook|farmer|pilot|driver|editor|librarian|mechanic|physicist|chemist|biologist|mathematician|statistician|economist|psychologist|therapist|pharmacist|dentist|veterinarian|vet|tester|lead|cto|ceo|cfo|owner|maintainer|contractor|intern|apprentice|retiree|parent|mother|father|devops|sre|dba|phd|postdoc|baker|gardener|tutor|trainer|coach|producer|marketer|recruiter|operator|technician|surgeon|paramedic|firefighter|social worker|counselor|counsellor|chair|chairwoman|chairman|treasurer|secretary|organi[sz]er|volunteer|geographer|statistician|landlord)`
)

func compile(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?i:` + pattern + `)$`) }

// cased is a pattern whose groups (?-i:...) keep their case.
func cased(s string) string { return `(?-i:` + s + `)` }

func backgroundRules() []rule {
	r := func(confidence float64, pattern, text, topic string) rule {
		return rule{kind: Background, confidence: confidence, pattern: compile(pattern), text: text, topic: topic}
	}
	free := func(x rule) rule { x.free = true; return x }
	return []rule{
		free(r(0.95, `(?:my name is|my name's|my full name is|i(?:'m| am) called|i go by|i(?:'m| am) known as)\s+(?P<v>`+cased(name)+`)(?:,? (?:from|at|with) .+)?`, "The user's name is ${v}", topicName)),
		free(r(0.9, `(?:please )?(?:just )?call me\s+(?P<v>`+cased(name)+`)`, "The user wants to be called ${v}", "user.nickname")),
		free(r(0.95, `my pronouns are (?P<v>[\p{L}]+(?:/[\p{L}]+){1,3})`, "The user's pronouns are ${v}", "user.pronouns")),
		r(0.9, `i(?:'m| am) (?:(?:currently|now|actually|originally) )?(?P<v>(?:(?:a|an|the) )?(?:[\p{L}\d+#./&-]+ ){0,4}?`+occupation+`(?: (?:at|for|in|from|with|by|on|of|who|working|specialising|specializing|based) .+)?)`, "The user is ${v}", topicOccupation),
		r(0.9, `i (?:currently |now |mostly |also )?work (?P<v>(?:at|for) `+cased(`[\p{Lu}\d].*`)+`)`, "The user works ${v}", "user.employer"),
		r(0.9, `i (?:currently |now |mostly |also )?work (?P<v>as (?:a|an|the) .+)`, "The user works ${v}", topicOccupation),
		r(0.85, `i (?:currently |now |mostly |also )?work (?P<v>(?:in|from) (?:the )?(?:home|sales|marketing|finance|engineering|operations|support|legal|hr|it|devops|research|healthcare|education|retail|logistics|`+cased(`\p{Lu}[\p{L}]+`)+`).*)`, "The user works ${v}", ""),
		r(0.85, `i (?:currently |now |mostly |also )?work (?P<v>(?:(?:mornings|afternoons|evenings|nights|weekends|part[ -]time|full[ -]time) )?(?:in|at|for) (?:a|an|the) (?:[\p{L}-]+ ){0,3}(?:office|department|team|lab|laboratory|company|hospital|school|shop|studio|university|agency|cooperative|library|clinic|bank|museum|workshop|factory|institute|archive|municipality)\b.*)`, "The user works ${v}", ""),
		free(r(0.9, `i (?:currently |now |still )?(?:live|reside) (?:in|near|on|outside|at) (?P<v>(?:the )?`+cased(`\p{Lu}.*`)+`)`, "The user lives in ${v}", "user.location")),
		free(r(0.9, `i(?:'m| am) (?:currently |now )?(?:based|located|living) (?:in|near|out of) (?P<v>(?:the )?`+cased(`\p{Lu}.*`)+`)`, "The user lives in ${v}", "user.location")),
		free(r(0.85, `(?:i|we)(?:'ve| have)? (?:just |recently |now )?(?:moved|relocated) to (?P<v>`+cased(`\p{Lu}[\p{L}'’.-]+(?:,? \p{Lu}[\p{L}'’.-]+){0,3}`)+`)(?: .*)?`, "The user lives in ${v}", "user.location")),
		free(r(0.85, `i(?:'m| am| come) (?:originally |actually )?from (?P<v>`+cased(`\p{Lu}.*`)+`)`, "The user is from ${v}", "user.origin")),
		r(0.95, `i(?:'m| am)(?: also| severely)? (?P<v>(?:allergic|intolerant) to .+|(?:lactose|gluten)[ -]intolerant)`, "The user is ${v}", ""),
		r(0.9, `i(?:'m| am)(?: also)? (?:an? )?(?P<v>(?:strict )?(?:vegan|vegetarian|pescatarian|diabetic|coeliac|celiac|colou?r-?blind|left-handed|dyslexic|deaf|blind|retired|self-employed|married|divorced|pregnant|\d{1,2} years old))`, "The user is ${v}", ""),
		free(r(0.9, `(?P<who>`+cased(name)+`|my `+relative+`) is (?:also |severely )?(?P<v>(?:allergic|intolerant) to .+|(?:lactose|gluten)[ -]intolerant|(?:a |an )?(?:vegan|vegetarian|diabetic|coeliac|celiac))`, "${who} is ${v}", "")),
		r(0.85, `i (?:can )?speak (?P<v>(?:fluent |some |only )?`+cased(`\p{Lu}\p{L}+`)+`.*)`, "The user speaks ${v}", ""),
		r(0.85, `i(?:'m| am) (?:still )?(?P<v>(?:new to|fluent in|experienced (?:in|with)|not familiar with|unfamiliar with|comfortable with|proficient in) .+)`, "The user is ${v}", ""),
		r(0.85, `i(?:'ve| have) been (?P<v>.+ (?:for (?:about |over |almost |nearly |more than )?(?:\d+|two|three|four|five|six|seven|eight|nine|ten|twenty|many) years|since (?:19|20)\d\d))`, "The user has been ${v}", ""),
		r(0.85, `i(?:'ve| have) (?P<v>(?:\p{L}+ed|known|had|taught|run|done|led|kept|built|written|made|sold|seen|grown|spent) .+ (?:for (?:about |over |almost |nearly |more than )?(?:\d+|two|three|four|five|six|seven|eight|nine|ten|twenty|many) years|since (?:19|20)\d\d))`, "The user has ${v}", ""),
		r(0.85, `i have (?P<v>(?:a|an|one|two|three|four|five|\d) (?:\p{L}+ )?(?:kid|child|children|son|daughter|dog|cat|brother|sister|sibling|grandchild)(?:s|ren)?(?:[, ].*)?)`, "The user has ${v}", ""),
		r(0.8, `i(?:'m| am) (?:using|on|running) (?P<v>(?:a |an )?(?:macos|mac|linux|ubuntu|debian|fedora|arch(?: linux)?|nixos|windows|wsl2?|macbook|thinkpad|chromebook)(?:[ ,].*|\d.*)?)`, "The user's system is ${v}", "user.system"),
		free(r(0.85, `i(?:'m| am) (?P<v>`+cased(`\p{Lu}\p{Ll}[\p{L}'’-]+(?: \p{Lu}\p{Ll}[\p{L}'’-]+)?`)+`), (?P<how>(?:the|an?) [^,;]+(?:, .*)?)`, "The user is ${v}, ${how}", topicIs)),
		free(r(0.8, `i(?:'m| am) (?P<v>`+cased(`\p{Lu}\p{Ll}[\p{L}'’-]+(?: \p{Lu}\p{Ll}[\p{L}'’-]+)?`)+`)(?:,.*)?`, "The user is ${v}", topicIs)),
		r(0.85, `we(?:'re| are) (?:both |all )?(?P<v>(?:strict )?(?:vegans?|vegetarians?|pescatarians?|retired|married|lactose[ -]intolerant))`, "The user and their family are ${v}", ""),
		r(0.9, `i have (?P<v>(?:(?:type [12]|chronic|mild|severe) )?(?:diabetes|asthma|adhd|autism|epilepsy|dyslexia|arthritis|migraines?|insomnia|anemia|anaemia|c(?:o)?eliac disease|(?:high|low) blood pressure|hay fever|eczema|depression|anxiety)(?:[ ,].*)?|an? (?:[\p{L}-]+ ){0,2}(?:allergy|intolerance|disability|pacemaker)(?:[ ,].*)?)`, "The user has ${v}", ""),
		r(0.85, `i (?:always |easily )?get (?P<v>(?:sea|car|motion|air|travel)[ -]?sick).*`, "The user gets ${v}", ""),
		r(0.85, `our (?P<slot>time ?zone|company|team|budget|wedding date|anniversary) is (?P<v>.+)`, "The user's ${slot} is ${v}", "user.${slot}"),
		r(0.9, `my (?P<slot>time ?zone|birthday|birth date|date of birth|job|job title|title|role|employer|company|team|native language|first language|mother tongue|nationality|hometown|operating system|os|editor|ide|shell|terminal|laptop|machine|keyboard layout|dominant hand|blood type|budget|salary|visa status|first name|last name|surname|middle name|age) (?:is|are) (?P<v>.+)`, "The user's ${slot} is ${v}", "user.${slot}"),
	}
}

func contactRules() []rule {
	const slots = `(?:work |private |personal |home |business |new )?(?:e-?mail(?: address)?|phone(?: number)?|mobile(?: number)?|cell(?:phone)?(?: number)?|telephone(?: number)?|number|whatsapp(?: number)?)`
	const handles = `(?:github|gitlab|twitter|x|slack|discord|telegram|mastodon|bluesky|linkedin|signal|matrix|irc)(?: (?:handle|user ?name|account|id|nick|profile))?`
	const aside = `(?:,? (?:if|in case|for|when|so|but|and|or|just|\(|–|—|-) ?.*)?`
	value := `(?P<v>` + email + `|` + phone + `)` + aside
	r := func(confidence float64, pattern, text, topic string) rule {
		return rule{kind: Contact, confidence: confidence, pattern: compile(pattern), text: text, topic: topic, free: true}
	}
	return []rule{
		r(0.95, `my (?P<slot>`+slots+`) (?:is|:) `+value, "The user's ${slot} is ${v}", "user.${slot}"),
		r(0.95, `my (?P<slot>`+handles+`) is (?P<v>@?[\w.@:/-]{2,60})`, "The user's ${slot} is ${v}", "user.${slot}"),
		r(0.9, `my (?P<slot>(?:home |postal |mailing |work |office |billing |shipping |delivery )?address) is (?P<v>.*\d.*)`, "The user's ${slot} is ${v}", "user.${slot}"),
		r(0.9, `(?:you can )?(?:reach|contact|e-?mail|write to|write|call|text|ping) me (?:at|on|under|via) `+value, "The user can be reached at ${v}", ""),
		r(0.9, `(?P<who>`+cased(name)+`|(?:the|our|my) [\p{L} -]{2,30}?)(?:'s|’s|s'|s’) (?P<slot>`+slots+`|`+handles+`) is (?P<v>`+email+`|`+phone+`|@[\w.-]{2,40})`+aside, "${who}'s ${slot} is ${v}", "contact.${who}.${slot}"),
		r(0.85, `(?P<who>`+cased(name)+`) (?:can be reached|is reachable) (?:at|on|under|via) `+value, "${who} can be reached at ${v}", ""),
		r(0.9, `my (?P<slot>`+relative+`)(?: is|'s|’s)(?: name is)?(?: called| named)? (?P<v>`+cased(name)+`(?: (?:at|from|in) .+)?)`, "The user's ${slot} is ${v}", ""),
		r(0.85, `my (?P<slot>`+relative+`),? (?P<v>`+cased(`\p{Lu}\p{Ll}[\p{L}'’-]+`)+`),? .+`, "The user's ${slot} is ${v}", ""),
		r(0.9, `our (?P<slot>`+relative+`)(?: is|'s|’s)(?: name is)?(?: called| named)? (?P<v>`+cased(name)+`)`, "The user's team's ${slot} is ${v}", ""),
		r(0.85, `(?P<v>`+cased(`\p{Lu}[\p{L}'’-]+ \p{Lu}[\p{L}'’-]+`)+`) is our (?P<slot>(?:[\p{L}-]+ ){0,3}?[\p{L}-]+(?: at `+cased(name)+`)?)`, "${v} is the user's team's ${slot}", ""),
		r(0.9, `(?P<v>`+cased(name)+`) is my (?P<slot>`+relative+`)`, "${v} is the user's ${slot}", ""),
		r(0.9, `(?P<v>`+cased(name)+`) is our (?P<slot>`+relative+`)`, "${v} is the user's team's ${slot}", ""),
	}
}

// Parts of patterns about work.
const (
	weekdays = `(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|weekday|weekend)s?`
	periods  = `(?:single |second |third |other |first )?(?:day|morning|evening|night|afternoon|week|month|quarter|year|sprint|other (?:day|week|month)|` + weekdays + `|two weeks|january|february|march|april|may|june|july|august|september|october|november|december)`
	// imperative begins what somebody wants done always or never. After "always"
	// and "never" people say much else: "always here to help", "never say never".
	imperative = `(?:use|run|write|ask|commit|push|pull|deploy|restart|reboot|answer|reply|respond|add|include|keep|put|check|test|build|compile|format|send|delete|remove|drop|touch|change|edit|modify|call|make sure|make|create|open|close|merge|rebase|squash|sign|log|print|show|explain|give me|tell me|speak|translate|book|order|schedule|buy|pay|store|save|back up|backup|verify|confirm|start|stop|begin|end|import|export|install|update|upgrade|name|document|comment|cite|quote|link|round|convert|validate|review|lint|type|declare|return|throw|catch|raise|mock|skip|disable|enable|expose|share|mention|disclose|assume|guess|invent|hard-?code|wrap|escape|cache|retry|wait|read|follow|avoid|do|talk|refer|consult|tag|branch|be|leave|set|reset|remind|email|e-mail|message|contact|cc|attach|sort|capitali[sz]e|mark|move|copy|overwrite|override|force|work|sanitize|sanitise|rely|trust|suggest|propose|recommend|address|treat|prefix|suffix|indent|generate|bump|pin|publish|release|report|notify|summari[sz]e|list|limit|wake|turn|switch|provide|require|reference|describe|plan|measure|prefer|re-?format|re-?name|refactor|re-?write|replace|restore|re-?build|redo|re-?run|re-?start|ping|bother|interrupt|approve|accept|reject|decline|cancel|confuse|mix|wash|cook|eat|drink|go|come|bring|take|keep|look|search|double-check|double check|fetch|download|upload|access|query|select|group|split|join|align|pass|prepare)`
	project    = `(?:project|repo|repository|app|application|service|product|company|startup|team|codebase|package|library|server|site|website|web site|database|backend|back end|frontend|front end|stack|tech stack|cluster|api|pipeline|ci|production|staging|monorepo|tool|bot|shop|blog|game|firmware|plugin|cli)`
)

func preferenceRules() []rule {
	r := func(confidence float64, pattern, text, topic string) rule {
		return rule{kind: Preference, confidence: confidence, pattern: compile(pattern), text: text, topic: topic}
	}
	return []rule{
		r(0.9, `i (?:strongly |really |much |always |generally |usually |personally |still |now |also |do )?prefer (?P<v>.+)`, "The user prefers ${v}", ""),
		r(0.75, `(?:i would|i'd)(?: strongly| really| much| always| generally)? prefer (?P<v>.+)`, "The user prefers ${v}", ""),
		r(0.75, `(?:i would|i'd)(?: much)? rather (?P<v>.+ than .+)`, "The user would rather ${v}", ""),
		r(0.9, `my (?:favou?rite|preferred|default) (?P<slot>[\p{L} -]{2,30}?) (?:is|are) (?P<v>.+)`, "The user's favourite ${slot} is ${v}", "preference.${slot}"),
		r(0.75, `i (?:really |absolutely |generally |also |just )?(?P<v>(?:love|like|enjoy|adore) .+)`, "The user ${v}s", ""),
		r(0.85, `i (?:really |absolutely |generally |also |just |strongly )?(?P<v>(?:hate|dislike|detest|can't stand|cannot stand|can not stand|don't like|do not like|don't eat|do not eat|don't drink|do not drink) .+)`, "", ""),
		r(0.8, `(?:please )?(?P<v>(?:keep|make) (?:your|all) (?:[\p{L}-]+ )?(?:answers?|replies|responses?|messages?|explanations?|summaries|commits?|code|functions?|diffs?|comments?|sentences|lists?|prs?|pull requests?|tests?) .+)`, "", ""),
		r(0.8, `(?:please )?(?P<v>(?:don't|do not) (?:page|call|text|e-?mail|message|ping|bother|wake|interrupt|remind|ask|tell) me .+)`, "", ""),
		r(0.8, `(?:please )?(?P<v>(?:answer|reply|respond|write|speak|talk)(?: to)?(?: me)? in `+cased(`\p{Lu}\p{Ll}+`)+`)`, "", ""),
		r(0.85, `(?:please |you (?:should|must|need to|have to) )?(?P<v>(?:always|never) (?:ever )?`+imperative+`\b.+)`, "Standing instruction of the user: ${v}", ""),
		r(0.8, `(?P<v>(?:[\p{L}-]+ ){1,5}(?:must|should) (?:never|always) (?:be |have |contain |include |use |return |explode|crash|block|panic|throw|log|print|depend|touch|call|write|change|run|go|take|exceed|expose|leak)\b?.*)`, "", ""),
		r(0.9, `(?:please,? )?(?:from now on|going forward|in (?:the )?future|as a rule)[,: ]+(?:please )?(?P<v>.+)`, "Standing instruction of the user: ${v}", ""),
		r(0.85, `(?:please )?(?P<v>(?:do not|don't) ever `+imperative+`\b.+)`, "Standing instruction of the user: ${v}", ""),
	}
}

func patternRules() []rule {
	r := func(confidence float64, pattern, text, topic string) rule {
		return rule{kind: Pattern, confidence: confidence, pattern: compile(pattern), text: text, topic: topic}
	}
	return []rule{
		r(0.85, `(?P<v>(?:i|we) (?:always|usually|normally|typically|generally|mostly|often|rarely|never) .+)`, "", ""),
		r(0.85, `(?P<v>(?:every|each) `+periods+`(?: at [\d:apm. ]+)?,? (?:i|we) .+)`, "", ""),
		r(0.85, `(?P<v>on `+weekdays+`(?: and `+weekdays+`)?,? (?:i|we)(?:'m|'re)? .+)`, "", ""),
		r(0.85, `(?P<v>(?:i|we) (?:\p{L}+ )+?.*(?:every|each) `+periods+`(?: at [\d:apm. ]+)?)`, "", ""),
		r(0.8, `(?P<v>(?:i|we) (?:deploy|release|ship|work|train|run|meet|have (?:a |our )?(?:stand-?up|retro|planning|sync|1:1|yoga|practice)|go (?:to|for|running|swimming)|play) .*on (?:mondays|tuesdays|wednesdays|thursdays|fridays|saturdays|sundays|weekends|weekdays).*)`, "", ""),
	}
}

func projectRules() []rule {
	r := func(confidence float64, pattern, text, topic string) rule {
		return rule{kind: Project, confidence: confidence, pattern: compile(pattern), text: text, topic: topic}
	}
	const subject = `(?P<who>(?:this|the|our|my) (?:[\p{L}\d-]+ ){0,2}` + project + `)`
	return []rule{
		r(0.85, subject+` (?:is|'s) (?P<how>called|named|written in|built (?:with|on|in|using)|hosted (?:on|at|in|by|with)|deployed (?:to|on|with|at)|based on|located (?:at|in|on)|licensed under) (?P<v>.+)`, "", ""),
		r(0.85, subject+` (?P<how>runs on|runs in|lives (?:in|at|on|under)|uses|listens on|requires|targets|supports|is about|handles|serves) (?P<v>.+)`, "", ""),
		r(0.8, `(?:our )?(?P<who>prod|production|staging|dev|the (?:prod|production|staging|dev) (?:server|cluster|environment|database|machine))(?: is| runs| lives) (?P<v>(?:on |in )?(?:a|an|one|two|three|four|five|six|\d+|hosted|behind|at|`+cased(`\p{Lu}`)+`).*)`, "", ""),
		r(0.8, `(?P<v>`+cased(`[\p{L}]`)+`[\p{L}\d-]*(?: [\p{L}\d-]+){0,4} (?:lives|live|is stored|are stored|is kept|are kept|is hosted|are hosted) (?:in|on|at|under) .*(?:\b(?:called|named)\b|[/.:]\S).*)`, "", ""),
		r(0.8, `we(?:'re| are) (?P<v>(?:a|an) (?:[\p{L}\d-]+ ){0,3}(?:studio|startup|start-up|company|team|agency|shop|family|nonprofit|non-profit|charity|school|university|lab|bank|hospital|bakery|restaurant|consultancy|cooperative|co-op|firm|business|publisher|store|club|band|couple)\b.*)`, "", ""),
		r(0.85, `(?:the |our )?(?:goal|purpose|aim) of (?:this|the|our|my) (?:[\p{L}\d-]+ ){0,2}`+project+` is (?P<v>.+)`, "", ""),
		r(0.8, `we (?:currently |now |mostly |only |still |exclusively |also )?(?P<v>(?:use|run on|deploy (?:to|on|with|via)|host (?:on|at|with)|develop (?:on|in|with)|build with|are on|write) .+)`, "", ""),
		r(0.8, `(?:i'm|i am|we're|we are) (?:currently |now |mainly )?(?P<v>(?:building|writing|developing|making|creating|designing|maintaining|launching) (?:a |an |our |my |`+cased(`\p{Lu}`)+`).*)`, "", ""),
		r(0.8, `(?:our|the|my) (?:tech |software )?stack is (?P<v>.+)`, "", "project.stack"),
		r(0.8, `(?:our|the|my) (?P<slot>(?:[\p{L}-]+ )?(?:deadline|launch date|release date|go-live|due date)) is (?P<v>(?:on |at )?.*(?:\d{4}-\d\d-\d\d|\d{1,2}(?:st|nd|rd|th)?\.? (?:of )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\p{L}* \d{1,2}).*)`, "", "project.${slot}"),
	}
}

func decisionRules() []rule {
	r := func(confidence float64, pattern, text string) rule {
		return rule{kind: Decision, confidence: confidence, pattern: compile(pattern), text: text}
	}
	agent := func(x rule) rule { x.agent = true; return x }
	const team = `(?:we|i|we've|we have|i've|i have|the team(?: has)?|my team(?: has)?|our team(?: has)?)`
	return []rule{
		agent(r(0.9, team+`(?: have| has)?(?: now| finally| already| both| all| jointly)? (?:decided|agreed|resolved|opted|chosen|committed)(?: together| earlier| back then| once)? (?:to go with|to use|on using|on|for|upon) (?P<v>.+)`, "Decided: ${v}")),
		agent(r(0.9, team+`(?: have| has)?(?: now| finally| already| both| all| jointly)? (?:decided|agreed|resolved|opted|chosen|committed)(?: together| earlier| back then| once)? (?P<v>(?:to|that|not to|against) .+)`, "Decided: ${v}")),
		agent(r(0.9, team+`(?: have| has)?(?: now| finally)? settled (?:on|for) (?P<v>.+)`, "Decided: ${v}")),
		agent(r(0.9, `(?:the |our )?(?:final )?(?:decision|decided|agreed)(?: is|: is)?(?: to)?:? (?P<v>.+)`, "Decided: ${v}")),
		r(0.9, `(?:so )?(?:we|we've|we have) (?:switched|moved|migrated|changed) (?:from (?P<old>.+?) )?(?:over )?to (?P<v>.+)`, ""),
		r(0.8, `(?:so )?(?:let's|let us) (?:go with|stick with|stick to|settle on|stay with|standardi[sz]e on) (?P<v>.+)`, "Decided: ${v}"),
		r(0.8, `(?:so )?(?:we'll|we will|we are going to|we're going to|i'll|i will|i'm going to|i am going to) (?:go with|stick with|stick to|switch to|move to|migrate to|standardi[sz]e on|settle on) (?P<v>.+)`, "Decided: ${v}"),
		r(0.8, `(?:so )?(?:we'll|we will|we are going to|we're going to|let's|let us) use (?P<v>.+? (?:for|as|instead of|rather than) .+)`, "Decided: ${v}"),
		r(0.85, `(?:(?:we|i) no longer (?P<old>.+)|(?:we|i) (?:do not|don't) (?P<old>.+) any ?more)`, ""),
	}
}

// otherLanguages are the commonest forms of German, French and Spanish. The
// facts quote them: nobody has to translate.
func otherLanguages() []rule {
	r := func(kind Kind, confidence float64, pattern, topic string) rule {
		return rule{kind: kind, confidence: confidence, pattern: compile(pattern), topic: topic}
	}
	free := func(x rule) rule { x.free = true; return x }
	const address = `(?P<v>` + email + `|` + phone + `)`
	return []rule{
		free(r(Background, 0.95, `(?:ich heiße|ich heisse|mein name ist|je m'appelle|je m’appelle|mon nom est|me llamo|mi nombre es) (?P<v>`+cased(name)+`)`, topicName)),
		free(r(Background, 0.9, `(?:ich (?:wohne|lebe) in|j'habite (?:à|en|au)|j’habite (?:à|en|au)|vivo en) (?P<v>`+cased(`\p{Lu}.*`)+`)`, "user.location")),
		r(Background, 0.9, `(?:ich arbeite (?:bei|als|für)|je travaille (?:chez|comme|pour)|trabajo (?:en|como|para)) (?P<v>.+)`, ""),
		r(Background, 0.95, `(?:ich bin allergisch gegen|je suis allergique (?:à|aux)|soy alérgic[oa] a) (?P<v>.+)`, ""),
		r(Background, 0.9, `(?:ich bin|je suis|soy) (?P<v>(?:veganer(?:in)?|vegetarier(?:in)?|végétarien(?:ne)?|végane|vegetarian[oa]|vegan[oa]))`, ""),
		free(r(Contact, 0.95, `(?:meine (?:neue )?(?:e-?mail(?:-?adresse)?|telefonnummer|handynummer|nummer) (?:ist|lautet)|mon (?:adresse )?(?:e-?mail|numéro) est|mi (?:correo|teléfono|número) es) `+address, "")),
		free(r(Contact, 0.9, `(?:meine (?:frau|tochter|schwester|mutter|chefin|kollegin)|mein (?:mann|sohn|bruder|vater|chef|kollege)) (?:heißt|heisst|ist) (?P<v>`+cased(name)+`)`, "")),
		r(Preference, 0.9, `(?:ich bevorzuge|ich mag (?:lieber|am liebsten|kein[e]?)|ich hasse|je préfère|je déteste|prefiero|odio) (?P<v>.+)`, ""),
		r(Preference, 0.85, `(?:bitte )?(?P<v>(?:immer|nie|niemals|ab jetzt|von jetzt an) .+)`, ""),
		r(Decision, 0.9, `(?:wir haben (?:uns )?|ich habe (?:mich )?)(?P<v>.*(?:entschieden|beschlossen|geeinigt).*)`, ""),
		r(Decision, 0.9, `(?:nous avons décidé|on a décidé|hemos decidido) (?P<v>.+)`, ""),
	}
}
