package facts

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/statements"
)

// How sure a fact is that a person stated outright.
const (
	askedConfidence    = 0.95 // "remember that ...", "my name is ..."
	standingConfidence = 0.9  // "always ...", "from now on ..."
)

// Bounds of what a person asks to keep, in code points.
const (
	leastKept = 8
	mostKept  = 240
)

// MadeByRules is who made the facts that no model made.
const MadeByRules = "rules"

// Outright returns what people ask to be kept, and what calls of tools proved, in
// the order of the log: the facts of at least this confidence. What looked like
// one and was none is among the refusals.
func Outright(messages []Message, confidence float64) (found []Fact, refused []Refusal) {
	keep := func(f Fact, why string) {
		if why == "" && f.Confidence < confidence {
			why = unsure(f)
		}
		if why != "" {
			refused = append(refused, Refusal{Line: f.Line, Reason: why})
			return
		}
		found = append(found, f)
	}
	for _, m := range messages {
		if m.Role == session.RoleUser {
			for _, s := range sentences(m.Text) {
				if f, ok := stated(m, s); ok {
					keep(f, objection(f))
				}
			}
		}
		for _, f := range m.Proved {
			keep(f, "")
		}
	}
	return found, refused
}

// unsure says that a fact is not sure enough.
func unsure(f Fact) string { return fmt.Sprintf("it is not sure enough (%.2f)", f.Confidence) }

// stated is the fact that a sentence of a person states outright, if it does.
func stated(m Message, s sentence) (Fact, bool) {
	text := strings.ReplaceAll(opener().ReplaceAllString(s.text, ""), "’", "'")
	text = strings.TrimSpace(strings.TrimRight(text, ".!? "))
	kept := asked(text)
	if kept != "" {
		text = kept
	}
	if kept == "" && s.question || supposed().MatchString(text) {
		return Fact{}, false
	}
	f, ok := ofPerson(text)
	if !ok {
		f, ok = standing(text)
	}
	if !ok {
		f = Fact{Kind: kindOf(kept), Confidence: askedConfidence, Quote: kept, Value: kept, Text: fmt.Sprintf("The user asked to remember: %q.", kept)}
	}
	f.Line, f.Offset, f.End, f.Time, f.Speaker, f.MadeBy = m.Line, m.Offset, m.End, m.Time, session.RoleUser, MadeByRules
	return f, ok || kept != ""
}

// asked is what a person asks to remember, or "".
func asked(text string) string {
	for _, form := range []*regexp.Regexp{remember(), rememberIt()} {
		if m := form.FindStringSubmatch(text); m != nil {
			return strings.TrimSpace(strings.TrimRight(strings.Join(m[1:], ""), ",;:.- "))
		}
	}
	return ""
}

// kindOf is the kind of what is to be remembered, by what stands in it.
func kindOf(text string) Kind {
	switch {
	case reachable().MatchString(text):
		return Contact
	case located().MatchString(text):
		return Environment
	case ruling().MatchString(text):
		return Preference
	}
	return Background
}

// ofPerson is what a person says of themselves in a form that has one value.
func ofPerson(text string) (Fact, bool) {
	if m := named().FindStringSubmatch(text); m != nil {
		return about("name", m[1], m[0]), true
	}
	what, value := "", ""
	if m := mine().FindStringSubmatch(text); m != nil {
		what, value = strings.ToLower(m[1]), m[2]
	} else if m := abroad().FindStringSubmatch(text); m != nil {
		what, value = attributeOf(m[1]+m[3]), m[2]+m[4]
	}
	quoted := strings.TrimSpace(text[:strings.LastIndex(text, value)])
	value = ending().ReplaceAllString(strings.TrimSpace(value), "")
	if what == "" || value == "" || passing().MatchString(value) {
		return Fact{}, false
	}
	return about(what, value, quoted+" "+value), true
}

// about is the fact that something of a person has a value.
func about(what, value, quote string) Fact {
	f := Fact{Kind: Background, Confidence: askedConfidence, Topic: "user." + what, Value: value, Quote: quote, Text: fmt.Sprintf("The user's %s is %s.", what, value)}
	switch {
	case reaching().MatchString(what):
		f.Kind = Contact
	case strings.HasPrefix(what, "fav") || strings.HasPrefix(what, "preferred"):
		f.Kind = Preference
	}
	return f
}

// attributeOf is the English word for what a person has, "" for what is not among those
// of which there is one.
func attributeOf(word string) string {
	form := abroadWord()
	for i, found := range form.FindStringSubmatch(word) {
		if i > 0 && found != "" {
			return form.SubexpNames()[i]
		}
	}
	return ""
}

// standing is what a person wants always, never, or from now on.
func standing(text string) (Fact, bool) {
	if !ordered().MatchString(text) && (!wanted().MatchString(text) || onlyIf().MatchString(text)) || told().MatchString(text) {
		return Fact{}, false
	}
	return Fact{Kind: Preference, Confidence: standingConfidence, Quote: text, Value: text, Text: fmt.Sprintf("Standing instruction of the user: %s.", text)}, true
}

// objection says why what a person stated is no fact, or "".
func objection(f Fact) string {
	n := utf8.RuneCountInString(f.Quote)
	switch {
	case strings.Contains(f.Quote, secrets.Mark):
		return reasonSecret
	case statements.Against(f.Quote):
		return reasonAgainst
	case n < leastKept && statements.Latin(f.Quote) || n > mostKept:
		return "it is too short or too long to stand alone"
	case f.Topic == "" && pointing().MatchString(f.Value):
		return "it points to something that only the conversation knows"
	}
	return ""
}

func expression(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// attributes are what "my ... is" may name: what a person has one of.
const attributes = `(?:full |first |last |work |private |home |mobile )?(?:name|nickname|e-?mail(?: address)?|phone(?: number)?|(?:phone )?number|address|birthday|job|employer|time ?zone|pronouns|nationality|native language|mother tongue|manager|boss|wife|husband|partner|dentist|doctor|github (?:user|name|handle|account)|user ?name|handle|editor|shell|city|country)|(?:favou?rite|preferred) [\p{L}-]+(?: [\p{L}-]+)?`

var (
	// opener is what a sentence opens with before it says something.
	opener = expression(`^(?i:(?:(?:hi|hey|hello|hallo|salut|bonjour|hola|ciao|ok|okay|so|and|but|also|well|yes|no|thanks|thank you|fyi|btw|by the way|for the record|note that|please note that|important:|rules?:|one more thing:?|und|also|et|y|e|и|а)\b[,:.!–—-]*\s+)+)`)
	// remember is what asks to keep the rest of the sentence, in the languages served.
	remember = expression(`^(?i:` +
		`(?:(?:can|could|will|would) you )?(?:please |pls )?(?:(?:always )?(?:remember|keep in mind|don't forget|do not forget|memori[sz]e|note down|take note|make a note)(?: and (?:save|store|keep|put)(?: it| this)? (?:in|to|into) (?:your |the )?memory)?(?:(?:,? please)? that\b|:)` +
		`|(?:save|store|keep|put|write|add)(?: (?:this|it))? (?:in|to|into) (?:your |the )?memory(?: that\b|:|,)?)` +
		`|(?:bitte )?(?:merk(?:e|t)? (?:dir|euch)|denk daran|vergiss nicht|behalte|speichere)(?: bitte)?(?: im gedächtnis)?(?:,? dass|:)` +
		`|(?:s'il te plaît,? )?(?:souviens-toi|rappelle-toi|retiens|n'oublie pas|mémorise|garde en mémoire)(?: que | qu'| ?:)` +
		`|(?:por favor,? )?(?:recuerda|ten en cuenta|no olvides|memoriza|guarda en (?:la |tu )?memoria)(?: que\b|:)` +
		`|(?:per favore,? )?(?:ricorda(?:ti)?|tieni a mente|non dimenticare|memorizza)(?: che\b|:)` +
		`|(?:por favor,? )?(?:lembre(?:-se)?|lembra-te|não (?:se )?esqueça|memorize|guarde na memória)(?: de)?(?: que\b|:)` +
		`|(?:onthoud|vergeet niet)(?: alsjeblieft)?(?:,? dat\b|:)` +
		`|(?:пожалуйста,? )?(?:запомни|помни|не забудь|сохрани в памяти|запомните)(?:,? что|:)` +
		`|(?:请|請)?(?:你)?(?:记住|記住|记得|記得)[:：,，]?` +
		`)\s*(.+)$`)
	// rememberIt asks the same behind what is to be kept.
	rememberIt = expression(`^(?i:(.{8,}?)(?:[,;.–—-]+\s+(?:so )?remember (?:that|this|it)|[,;.–—-]*\s+(?:so )?please (?:remember|keep|save|store) (?:that|this|it)|[,;.–—-]*\s+(?:so )?(?:remember|keep|save|store) (?:that|this|it) in (?:your |the )?(?:memory|mind))(?: in (?:your |the )?(?:memory|mind))?(?: for (?:later|next time|the future))?(?:,? please)?|(.{4,}?)(?:を|と|ことを)?(?:覚えて|記憶して)(?:おいて)?(?:ください|下さい|ね)?)$`)
	mine       = expression(`^(?i:my (` + attributes + `) is(?: called)?:? )(.+)$`)
	// abroad is the same in the other languages, for the attributes below.
	abroad = expression(`^(?i:(?:meine?|mon|ma|mi|il mio|la mia|o meu|a minha|meu|minha|mijn|мой|моя)\s+([\p{L}-]+(?: [\p{L}-]+){0,3}?)(?: ist| est| es| è| é| is|:| [—–-])\s+(.+)|(?:我的|私の)(\p{L}+?)(?:是|は|：|:)\s*(.+?)(?:です)?)$`)
	// abroadWord has the word for what a person has in the group of its English name.
	abroadWord = expression(`(?i)^(?:.*(?P<email>mail|correo|courriel|posta|почта|邮箱|郵箱|メール)|.*(?P<phone>t[eé]l[eéè](?:f|ph)|handynummer|телефон|电话|電話)` +
		`|.*(?P<timezone>zeitzone|fuseau|zona horaria|fuso|tijdzone|часовой пояс|时区|タイムゾーン)|.*(?P<birthday>geburtstag|anniversaire|cumpleaños|compleanno|aniversário|verjaardag|день рождения|生日|誕生日)` +
		`|(?P<city>(?:stadt|wohnort|ville|ciudad|città|cidade|stad|woonplaats|город|城市)$)|.*(?P<address>adres|dirección|indirizzo|endereço|адрес|地址|住所))`)
	// named is a name in the other languages, as people give theirs.
	named = expression(`^(?:[Mm]ein Name ist|[Ii]ch heiße|[Jj]e m'appelle|[Mm]e llamo|[Mm]i nombre es|[Mm]i chiamo|[Mm]eu nome é|[Ee]u me chamo|[Mm]ijn naam is|[Ii]k heet|[Мм]еня зовут|我叫|我的名字是|私の名前は) ?(\p{L}[\p{L}'-]*(?: \p{Lu}[\p{L}'-]*){0,3})`)
	// ordered is a standing order, in the languages served.
	ordered = expression(`^(?i:(?:please,? |bitte |por favor,? |per favore,? |пожалуйста,? )?(?:always|never|don't ever|do not ever) \p{L}` +
		`|(?:bitte |alsjeblieft )(?:immer|nie|niemals|altijd|nooit) |(?:por favor,? |per favore,? )(?:siempre|nunca|sempre|mai) |пожалуйста,? (?:всегда|никогда) ` +
		`|(?:from now on|going forward|ab (?:jetzt|sofort)|von (?:jetzt|nun) an|à partir de maintenant|désormais|dorénavant|a partir de ahora|de ahora en adelante|d'ora in (?:poi|avanti)|da ora in poi|a partir de agora|daqui em diante|vanaf nu|voortaan|отныне|впредь|с этого момента),? ` +
		`|(?:请|請)?(?:以后|以後|从现在开始|從現在開始|从现在起)|今後は?|これからは)` +
		`|(?i:,? from now on)$|^(?i:(?:don't|do not|please don't) .+ ever again)$`)
	// wanted is the same as a wish: "I always want ...", "never again ...".
	wanted = expression(`^(?i:i (?:always|never) want (?:you to |to (?:see|get|have|know|read|review|approve|be (?:asked|told))\b|(?:answers?|replies|tests?|comments?|commits?|code|emails?|messages?|reports?|the|a|an|all|every|no|only)\b)` +
		`|ich (?:will|möchte) (?:immer|nie|niemals) |je (?:veux|voudrais) toujours |je ne veux (?:plus )?jamais |(?:siempre|nunca) quiero |quiero siempre |(?:non )?voglio (?:sempre|mai) |(?:sempre|nunca) quero |quero sempre |ik wil (?:altijd|nooit) |я (?:всегда|никогда не) хочу |我(?:总是|一直|永远)(?:想|要|不想|不要)` +
		`|nie wieder \p{L}|nunca más \p{L}|mai più \p{L}|nunca mais \p{L}|nooit meer \p{L}|больше никогда не \p{L}|(?:再也|永远)不要|二度と|ne .*\bplus jamais\b)`)
	// onlyIf is what makes a wish one of a moment.
	onlyIf = expression(`(?i)\b(?:when|whenever|if|wenn|quand|cuando|quando|als)\b|(?:^|\s)когда|的时候|とき`)
	// told matches what begins like an order and tells of something.
	told = expression(`^(?i:(?:always|never) (?:mind|again|here|say never|ever|seen|had|been|was|were|is|are|has|did|does|heard|knew|thought|got|said|saw|happens?|works?|fails?|the|a|an|my|your|our|his|her|its|this|that|these|those|in|at|on|with|for|to|too|so|good|great|nice|happy|sure|\p{L}+ed)\b)|(?i:\bfrom now on (?:it|this|that|he|she|they) )`)
	// ending is what a person adds behind a value.
	ending = expression(`(?i:(?:[,;]|,? and|,? but) (?:i|i'm|i've|my|we|our|please|what|which|can|could|so|thanks)\b.*|(?:,?\s+(?:by the way|btw|fyi|though|too|please|thanks|thank you))+)[.!]*$`)
	// passing begins a value that is how something is now.
	passing   = expression(`^(?i:(?:not|so|very|really|too|that|this|it|to|down|up|broken|being|still|gone|here|there|wrong|\p{L}+ing)\b)`)
	reaching  = expression(`mail|phone|number|address|handle|github|user ?name`)
	reachable = expression(`\b[\w.+-]+@[\w-]+\.\w|\+\d[\d ()-]{6,}`)
	located   = expression(`(?:^|[\s"'(])(?:~?/[\w.-]+){2}|\b[A-Za-z]:\\|https?://|\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[\w-]+:\d{2,5}\b|(?i:\bport (?:\p{L}+ )?\d|\bcontainers?\b|\bserver\b)`)
	ruling    = expression(`(?i:\b(?:always|never|must|should|don't|do not|prefer|prefers|no more)\b)`)
	pointing  = expression(`^(?i:(?:it|this|that|these|those|them|they|he|she|him|her|there|the (?:same|other|above|former|latter|first|second|last) ?(?:one|thing|way)?)(?: (?:is|was|one|way|too|works?)\b.*|)$)`)
	// supposed begins what is not said but assumed.
	supposed = expression(`(?i)^(?:if|when|whenever|unless|suppose|supposing|imagine|pretend|assume|assuming|say|let's say|as if|as though|what if|maybe|perhaps|possibly|wenn|falls|si|cuando|quand|se|als|если)\b`)
)
