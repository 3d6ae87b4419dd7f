package facts

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// rule is one way to say something outright. Its pattern matches a whole
// clause; the group v is what is said.
type rule struct {
	kind       Kind
	confidence float64
	pattern    *regexp.Regexp
	text       string // of the fact, ${v} and other groups in it; "" quotes the clause
	topic      string // what there can be only one of, with groups; "" for many
	agent      bool   // counts in the agent's mouth too, at confidence [agentConfidence]
	free       bool   // v may be anything: a name, an address
}

// agentConfidence is of what only the agent says was decided.
const agentConfidence = 0.7

// rules are all rules, the particular before the general. They are made when
// they are needed first.
var rules = sync.OnceValue(func() []rule {
	return slices.Concat(backgroundRules(), contactRules(), preferenceRules(), patternRules(), projectRules(), decisionRules(), otherLanguages())
})

// Parts of patterns.
const (
	name     = `\p{Lu}[\p{L}'’.-]*(?: (?:de|van|von|der|la|al|bin|\p{Lu}[\p{L}'’.-]*)){0,3}`
	email    = `[\w.+-]+@[\w-]+(?:\.[\w-]+)+`
	phone    = `\+?\(?\d[\d ()/.-]{5,20}\d`
	relative = `(?:manager|boss|lead|team lead|teammate|colleague|co-?worker|assistant|accountant|lawyer|doctor|dentist|landlord|landlady|neighbou?r|wife|husband|spouse|partner|girlfriend|boyfriend|fianc[eé]e?|son|daughter|brother|sister|mother|mom|mum|father|dad|uncle|aunt|cousin|grandmother|grandfather|grandson|granddaughter|grandchild|nephew|niece|friend|best friend|roommate|flatmate|designer|developer|engineer|contractor|client|customer|investor|mentor|teacher|coach|therapist|dog|cat|cto|ceo|cfo|coo|product manager|project manager|product owner|head of [\w ]+|contact(?: person)?(?: (?:at|for) [\w .&-]+)?|[\w-]+ (?:lead|engineer|developer|designer|manager|admin|contact))`
	// occupation ends what somebody says they are.
	occupation = `(?:developer|engineer|programmer|designer|teacher|professor|student|doctor|nurse|lawyer|manager|scientist|researcher|writer|author|founder|co-?founder|consultant|administrator|admin|sysadmin|architect|analyst|freelancer|journalist|photographer|carpenter|electrician|plumber|accountant|beginner|translator|musician|artist|chef|cook|farmer|pilot|driver|editor|librarian|mechanic|physicist|chemist|biologist|mathematician|statistician|economist|psychologist|therapist|pharmacist|dentist|veterinarian|vet|tester|lead|cto|ceo|cfo|owner|maintainer|contractor|intern|apprentice|retiree|parent|mother|father|devops|sre|dba|phd|postdoc|baker|gardener|tutor|trainer|coach|producer|marketer|recruiter|operator|technician|surgeon|paramedic|firefighter|social worker|counselor|counsellor)`
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
		r(0.9, `i(?:'m| am) (?:(?:currently|now|actually|originally) )?(?P<v>(?:a|an|the) (?:[\p{L}\d+#./&-]+ ){0,4}?`+occupation+`(?: (?:at|for|in|from|with|by|on|of|who|working|specialising|specializing|based) .+)?)`, "The user is ${v}", "user.occupation"),
		r(0.9, `i (?:currently |now |mostly |also )?work (?P<v>(?:at|for) `+cased(`[\p{Lu}\d].*`)+`)`, "The user works ${v}", "user.employer"),
		r(0.9, `i (?:currently |now |mostly |also )?work (?P<v>as (?:a|an|the) .+)`, "The user works ${v}", "user.occupation"),
		r(0.85, `i (?:currently |now |mostly |also )?work (?P<v>(?:in|from) (?:the )?(?:home|sales|marketing|finance|engineering|operations|support|legal|hr|it|devops|research|healthcare|education|retail|logistics|`+cased(`\p{Lu}[\p{L}]+`)+`).*)`, "The user works ${v}", ""),
		free(r(0.9, `i (?:currently |now |still )?(?:live|reside) (?:in|near|on|outside|at) (?P<v>(?:the )?`+cased(`\p{Lu}.*`)+`)`, "The user lives in ${v}", "user.location")),
		free(r(0.9, `i(?:'m| am) (?:currently |now )?(?:based|located|living) (?:in|near|out of) (?P<v>(?:the )?`+cased(`\p{Lu}.*`)+`)`, "The user lives in ${v}", "user.location")),
		free(r(0.85, `(?:i|we)(?:'ve| have)? (?:just |recently |now )?(?:moved|relocated) to (?P<v>`+cased(`\p{Lu}[\p{L}'’.-]+(?:,? \p{Lu}[\p{L}'’.-]+){0,3}`)+`)(?: .*)?`, "The user lives in ${v}", "user.location")),
		free(r(0.85, `i(?:'m| am| come) (?:originally |actually )?from (?P<v>`+cased(`\p{Lu}.*`)+`)`, "The user is from ${v}", "user.origin")),
		r(0.95, `i(?:'m| am)(?: also| severely)? (?P<v>(?:allergic|intolerant) to .+|(?:lactose|gluten)[ -]intolerant)`, "The user is ${v}", ""),
		r(0.9, `i(?:'m| am)(?: also)? (?:an? )?(?P<v>(?:strict )?(?:vegan|vegetarian|pescatarian|diabetic|coeliac|celiac|colou?r-?blind|left-handed|dyslexic|deaf|blind|retired|self-employed|married|divorced|pregnant|\d{1,2} years old))`, "The user is ${v}", ""),
		free(r(0.9, `(?P<who>`+cased(name)+`|my `+relative+`) is (?:also |severely )?(?P<v>(?:allergic|intolerant) to .+|(?:lactose|gluten)[ -]intolerant|(?:a |an )?(?:vegan|vegetarian|diabetic|coeliac|celiac))`, "${who} is ${v}", "")),
		r(0.85, `i (?:can )?speak (?P<v>(?:fluent |some |only )?`+cased(`\p{Lu}\p{L}+`)+`.*)`, "The user speaks ${v}", ""),
		r(0.85, `i(?:'m| am) (?:still )?(?P<v>(?:new to|fluent in|experienced (?:in|with)|not familiar with|unfamiliar with|comfortable with|proficient in) .+)`, "The user is ${v}", ""),
		r(0.85, `i(?:'ve| have) (?:been )?(?P<v>.+ (?:for (?:about |over |almost |nearly |more than )?(?:\d+|two|three|four|five|six|seven|eight|nine|ten|twenty|many) years|since (?:19|20)\d\d))`, "The user has been ${v}", ""),
		r(0.85, `i have (?P<v>(?:a|an|one|two|three|four|five|\d) (?:\p{L}+ )?(?:kid|child|children|son|daughter|dog|cat|brother|sister|sibling|grandchild)(?:s|ren)?(?:[, ].*)?)`, "The user has ${v}", ""),
		r(0.8, `i(?:'m| am) (?:using|on|running) (?P<v>(?:a |an )?(?:macos|mac|linux|ubuntu|debian|fedora|arch(?: linux)?|nixos|windows|wsl2?|macbook|thinkpad|chromebook)(?:[ ,].*|\d.*)?)`, "The user's system is ${v}", "user.system"),
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
