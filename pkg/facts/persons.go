package facts

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/session"
)

// namesPerson: who has, does or decides something, or is to be asked.
func (s *statement) namesPerson() bool {
	return titled().MatchString(s.lower) && !s.past() && !handedTo().MatchString(s.lower) || s.mayName() && s.namesInPattern()
}

// mayName tells whether a sentence has a word that is a name in this conversation, and
// of which it does not say that it "does not": things do that.
func (s *statement) mayName() bool {
	words := strings.FieldsFunc(s.text, func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.ContainsFunc(words, func(w string) bool { return s.names()[w] }) && !doesNot().MatchString(s.lower)
}

// namesInPattern tells whether a name stands where people's names stand, and is not of
// somebody who is only told.
func (s *statement) namesInPattern() bool {
	told := toldTo().FindStringSubmatch(s.text)
	for _, m := range persons().FindAllStringSubmatch(s.text, -1) {
		for _, name := range m[1:] {
			if name != "" && s.names()[name] && (told == nil || told[1] != name) {
				return true
			}
		}
	}
	return false
}

// personsOf are the words that are written as names are, wherever they stand, and
// never in lower case: those of people, and of programs that nobody has told.
func personsOf(messages []Message) map[string]bool {
	names, others := map[string]bool{}, map[string]bool{}
	for _, m := range messages {
		start := true
		for w := range strings.FieldsSeq(m.Text) {
			ends := strings.ContainsAny(w[len(w)-1:], ".!?:")
			code := strings.HasPrefix(w, "`")
			w = strings.TrimSuffix(strings.Trim(w, `.,;:!?"'“”()[]*`+"`"), "'s")
			switch {
			case code:
				others[title(w)] = true
			case !nameLike(w):
				if isLetters(w) {
					others[title(w)] = true
				}
			case !start || m.Role == session.RoleUser:
				names[w] = true
			}
			start = ends
		}
	}
	for w := range others {
		delete(names, w)
	}
	return names
}

func isLetters(w string) bool {
	return w != "" && !strings.ContainsFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' })
}

// title is a word with an upper case letter.
func title(w string) string {
	r, n := utf8.DecodeRuneInString(w)
	return string(unicode.ToUpper(r)) + w[n:]
}

// nameLike tells whether a word is written as a name: one upper case letter, then
// lower case ones.
func nameLike(w string) bool {
	if utf8.RuneCountInString(w) < 3 || notName().MatchString(w) {
		return false
	}
	for i, r := range w {
		if !unicode.IsLetter(r) || (i == 0) != unicode.IsUpper(r) {
			return false
		}
	}
	return true
}

// roles are what people are to each other at work and in associations.
const roles = `author|owner|treasurer|lawyer|chair|chairwoman|chairman|illustrator|translator|printer|publisher|vendor|distributor|supplier|accountant|editor|designer|architect|colleague|reviewer|supervisor|professor|friend|neighbou?r|guy|lady|officer|secretary|intern|contractor|electrician|plumber|photographer|teacher|doctor|agent|sponsor|manager|technician|administrator|admin|maintainer|contact|packager|boss|landlord|caretaker|mayor|lead|dba|head|nephew|sister|brother|daughter|son|wife|husband|deputy|stand-in|substitute|replacement|successor|nurse|statistician|conductor|coordinator|trainer|mechanic|librarian|curator|scientist|engineer|developer|analyst|director|president|principal|installer|dispatcher|tester|auditor|bookkeeper|notary|cook|chef|baker|caterer|cleaner|carpenter|gardener|driver|courier|broker|buyer|partner|uncle|aunt|cousin|father|mother|tutor|coach|student|apprentice|trainee|volunteer|freelancer|consultant|inspector|surveyor|producer|singer|registrar|dentist|vet|midwife|physiotherapist|therapist|pharmacist|priest|pastor|vicar|warden`

var (
	// titled matches a person with a title, in any case: people write "frau lindqvist".
	titled   = expression(`(?:\b(?:is|are|with|by|at|ist|sind|mit|bei)|,|\(|:) (?:mrs?|ms|frau|herrn?|dr|prof|mme|madame|signora?|señora?)\.? (?:dr\.? )?\p{L}{3,}`)
	doesNot  = expression(`\bdoes(?:n't| not)\b`)
	handedTo = expression(`\b(?:sent|gave|told|wrote|showed|mailed|spoke|talked)\b|\bi've\b`)
	persons  = expression(`\b(?:[Rr]eviewer is|[Oo]wner is|[Cc]ontact is|that's|thats|(?:[Rr]eview|[Dd]one|[Ww]ritten|[Bb]uilt|[Mm]ade|[Ss]et up|[Mm]aintained|[Oo]wned|[Aa]pproved|[Ss]igned) by|[Nn]ephew|[Cc]olleague|[Bb]oss|[Mm]anager) (?:Mrs? |Ms |Frau |Herr )?(\p{Lu}\p{L}+)|\b(?:[Aa]sk|[Tt]ell|[Tt]alk to|[Mm]ail|[Cc]all|[Cc]ontact|[Pp]ing) (\p{Lu}[\p{L}]+)(?:$|[,;:.)]| (?:on|at) \+?\d| (?:if|when|about|first|before)\b)|(?:^|[\s(])(\p{Lu}[\p{L}]+)(?:,? (?:who|from [\w ]+),?)? (?:has (?:(?:the|an?) (?:[a-z-]+ )?(?:login|access|key|keys|rights|password|shift|account|list|contract)|that|access)|does|knows|owns|handles|writes|leads|runs|looks after|looks into|takes|decides|signs|reviews|approves|administers|maintains|set (?:that|this|it) up|sets|is (?:our|on call|at the)|sends|built|deploys|manages|watches|organi[sz]es)\b|[a-z] \((\p{Lu}\p{L}{1,11})\)|(?:^|[a-z] )[A-Za-z][a-z]+ = (\p{Lu}\p{L}{1,11})\b|\b(?:` + roles + `)(?: (?:of|at|in|for|from) [a-z' ]{2,24}?)?(?: is|,)? \(?(?:Mrs?\.? |Ms\.? |Frau |Herr )?(?:Dr\.? )?(\p{Lu}\p{L}{1,14})|(\p{Lu}\p{L}{1,11}) \((?:the |our )?(?:` + roles + `)\)|(\p{Lu}\p{L}{1,11}),? (?:who|he|she)(?:'s| is) (?:the|our|my) (?:[a-z]+ )?(?:` + roles + `)\b|(\p{Lu}\p{L}{1,11}) is (?:the|our|my) (?:[a-z]+ )?(?:` + roles + `)\b|\b(?:[Oo]ur|[Tt]he|[Mm]y) [a-z]+(?: [a-z]+){0,3} is (\p{Lu}\p{L}{1,14}) (?:(?:de|van|von|le|la|Le|La|De|Van) )?\p{Lu}\p{L}+(?:[,;(]|$)|\b(?:[Ww]rite to|[Tt]alk to|[Cc]all|[Aa]sk) (?:Mrs?|Ms|Frau|Herr|Signora|Signor|Madame|Dr|Prof)\.? (\p{Lu}\p{L}{1,14})|\b(?:[Tt]he|[Oo]ur|[Mm]y) [a-z]+ is (?:Mrs?|Ms|Frau|Herr|Signora|Signor|Madame|Dr|Prof)\.? (\p{Lu}\p{L}{1,14})|\b(?:Mrs?|Ms|Frau|Herr|Signora|Signor|Madame|Dr|Prof)\.? (\p{Lu}\p{L}{1,14}),? (?:will|does|wants|sends|decides|checks|looks|knows|handles|signs|is)\b`)
	notName  = expression(`^(?:De|Het|La|Le|El|Der|Die|Das|January|February|March|April|May|June|July|August|September|October|November|December|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|English|Dutch|German|French|Spanish|Irish|The|This|That|These|Those|Please|Thanks|Thank|Good|Great|Yes|Not|And|But|Then|Now|Hello|Morning|Android|Linux|Windows|Mac|Google|Apple|Docker|Redis|Postgres|Python|Django|React|Node|Rails|Ruby|Rust|Java|Kotlin|Swift|Kubernetes|Terraform|Git|Github|Gitlab|Nginx|Debian|Ubuntu|Slack|Jira|Chrome|Safari|Firefox|Xcode|Expo|Flutter|Grafana|Prometheus|Kafka|Celery|Option|Everything|Something|Nothing|Nobody|Somebody|Everybody|Currently|Also|Only|Maybe|Perhaps|Usually|Here|There|When|What|Why|Who|How|Where|Which|Tests?|Changelog|Mail|Shipping|Internet|Europe|Germany|Belgium|Netherlands|France|Norway|Amsterdam|Berlin|London|Paris|Markdown|Claude|Codex|Gemini|Copilot|Cursor|Just|Make|Take|Use|Let|Can|Could|Should|Would|Will|Does|Did|Are|Was|Has|Have|Had|For|From|With|Our|Your|They|She|His|Her|You|All|One|Two|Next|Last|First|Done|Sure|Okay|Right|Yeah|Still|After|Before|Because|Since|While|Until|Once|Each|Every|Any|Some|Most|Many|More|Less|Another|Other|Same|New|Old)$`)
	toldTo   = expression(`\b(?:I|We|we)(?:'ll| will| can| must| have)? (?:tell|told) ([A-Z]\p{L}+)`)
)
