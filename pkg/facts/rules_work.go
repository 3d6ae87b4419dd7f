package facts

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
		r(0.9, `(?:please,? )?(?:from now on|going forward|in (?:the )?future|as a rule)[, ]+(?:please )?(?P<v>.+)`, "Standing instruction of the user: ${v}", ""),
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
		r(0.85, `(?P<v>on `+weekdays+`(?: and `+weekdays+`)?,? (?:i|we) .+)`, "", ""),
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
