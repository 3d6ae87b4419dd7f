package facts

import "strings"

// ruleUndertakes is [Fact.Rule] of what the work of a session is.
const ruleUndertakes = "undertakes"

// undertaken returns what the work of a session is: the first sentence in which people
// say, before the agent has answered, what they want, need or make.
func undertaken(messages []Message, writers speakers) []Fact {
	for _, m := range messages {
		if !m.Opens {
			return nil
		}
		for _, s := range sentences(writers.without(m.Text)) {
			if f, ok := undertakes(m, s); ok {
				return []Fact{f}
			}
		}
	}
	return nil
}

func undertakes(m Message, s sentence) (Fact, bool) {
	if s.question || !undertaking().MatchString(strings.ToLower(straight(s.text))) {
		return Fact{}, false
	}
	text := strings.TrimRight(s.text, ".! ")
	f := newFact(m, clause{text: s.text}, Fact{Kind: Project, Rule: ruleUndertakes, Confidence: statementConfidence, Text: quoted("The user said", text), Value: text})
	return f, workObjection(f) == ""
}

// undertaking matches a wish for something that is to be made or done, in the languages
// that the rules know. What is only to be looked at, mended or found out is a task.
var undertaking = expression(`(?:^|[,;:] |\b(?:and|so|but|now|then|year|month|week|summer|winter|please|hi|hello|hey|morning) )(?:` +
	`(?:i|we)(?: now| also| finally)?(?:'d like| would like| want| need) (?:to (?:` + making + `)\b|that(?: [\p{L}\d'-]+){3}|(?:an?|the|our|new|two|three) [\p{L}-]+)` +
	`|(?:i'm|i am|we're|we are) (?:\p{L}+ly )?(?:adding|building|writing|moving|migrating|organi[sz]ing|planning|rewriting|replacing|developing|preparing|translating|setting up|hiring|launching|opening|designing|porting|editing|restoring|renovating|converting|importing|producing|publishing)\b` +
	`|help (?:me|us) (?:to )?(?:` + making + `|keep|sort)\b|(?:i|we) (?:inherited|took over|replace|migrate)\b` +
	`|(?:quiero|queremos|necesito|necesitamos|hay que|tenemos que) \p{L}+r\b|(?:ich (?:möchte|brauche|will)|wir (?:möchten|brauchen|wollen))\b|(?:je voudrais|nous voulons|il nous faut|on veut)\b)`)

// making are the verbs of what somebody undertakes.
const making = `move|build|make|write|import|export|migrate|replace|ship|release|publish|launch|open|sell|buy|rent|print|organi[sz]e|hire|plan|host|convert|translate|create|design|set up|rewrite|automate|prepare|start|offer|restore|renovate|switch|bring|turn|produce|record|teach|apply|submit|compare|measure|predict|model`
