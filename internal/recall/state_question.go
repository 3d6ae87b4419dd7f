package recall

import (
	"strings"
	"unicode"

	"github.com/sessctl/sessctl/pkg/summarize/state"
)

// Standing is where the work of an agent stands (docs/json.md).
type Standing struct {
	Runtime string      `json:"runtime"`
	Agent   string      `json:"agent"`
	Session string      `json:"session"`
	Archive string      `json:"archive"` // that was read, "" for the log itself
	State   state.State `json:"state"`
	Text    string      `json:"text"` // the state in words, each line with its place
}

// A question about the state names nothing but the state: "where were we", "what is
// open". Every word of it is of the state, or carries nothing. A question that names
// anything else is for memory.

// assents are words that let an agent go on with what it has offered.
const assents = ` yes yeah yep ok okay sure continue proceed go ahead please do it on
 ja weiter mach weitermachen bitte gerne gern fortfahren
 oui continue continuer vas-y poursuis poursuivre s'il te plaît vous d'accord
 sí si vale continúa continua sigue adelante seguir por favor
 sì va bene continua procedi prosegui avanti per favore certo
 sim continue continua prossiga segue seguir por favor claro
 ga door doorgaan verder graag prima
 да продолжай продолжайте дальше давай давайте пожалуйста хорошо `

// stated are words that ask where work stands: one of them makes a question one about
// the state.
const stated = ` where open left next status stand stands pending todo todos unfinished remaining decide decided agree agreed plan stopped state progress
 wo offen offenes stand steht stehen geblieben entschieden beschlossen vereinbart nächstes nächste übrig plan ausstehend
 où reste restait ouvert décidé convenu suite prochaine étape avancement plan
 dónde queda quedaba pendiente pendientes abierto decidimos decidido acordamos siguiente quedamos estado plan
 dove resta rimane rimasti aperto aperte decidemmo deciso concordato prossimo punto stato piano
 onde falta faltava pendente pendentes aberto decidimos decidido paramos próximo passo estado plano
 waar open staat gebleven besloten afgesproken volgende stap stand plan
 где остановились открыто осталось решили дальше следующий следующее план статус договорились `

// empty are words that carry nothing beside these.
const empty = ` what what's where's was were we are is i you did do does the a an our my your this that it its of off at in on up to for with so far last time now still there been be have has had again thing things task tasks step steps work working doing done session let us lets let's me tell remind hi hey hello and or should shall can could how today yesterday leave from here
 was wir waren ist sind haben hatten sind der die das den dem ein eine unser unsere noch jetzt zuletzt zu tun machen haben an auf in es gibt wie du ich mir sag hallo und als
 en sommes-nous étions-nous on était est sont qu'est-ce qui que quoi qu'avons-nous avons avons-nous nous le la les de du à faire il y a encore maintenant dernière fois prochaines étapes quelle quel bonjour c'est quoi ensuite
 estábamos está estamos qué que lo la el los las de en nos hemos por hacer hay aún todavía ahora última vez cuál es son hola
 eravamo siamo cosa che abbiamo il la le i di da fare a è sono ci ancora adesso ora ultima volta qual ciao
 estávamos está estamos o que a os as de em nós por fazer há ainda agora última vez qual é são foi olá
 waren we zijn is wat er nog te doen hebben het de een nu laatste keer van aan hoe hallo als
 мы на чем чём что в у нас еще ещё есть сейчас последний раз с и как прошлый привет там делать `

// joined are the same in languages that write without spaces, the longest first.
var joined = [...]string{
	"我们上次说到哪里了", "我们说到哪里了", "我们做到哪里了", "说到哪了", "做到哪了", "进行到哪里了", "到哪里了", "到哪一步了", "还有什么没做", "还有什么没完成", "还剩什么", "下一步是什么", "下一步做什么", "接下来做什么", "我们决定了什么", "决定了什么", "有什么未完成", "待办事项", "继续吧", "请继续", "继续", "好的", "是的", "可以", "什么是未完成的", "现在状态如何", "进度如何", "进展如何",
	"どこまで進みましたか", "どこまで進んだ", "どこまでやりましたか", "どこまでやった", "どこまででしたか", "どこまででしたっけ", "どこまで", "何が残っていますか", "何が残っている", "残りは何ですか", "次は何ですか", "次は何", "次に何をしますか", "何を決めましたか", "何を決めた", "何が決まりましたか", "未完了のものは", "続けてください", "続けて", "続きを", "はい", "お願いします", "現状は", "状況は",
}

// AsksState reports whether a question is about where work stands and names nothing
// else, in one of the languages that facts are heard in.
func AsksState(query string) bool {
	if Assents(query) || joinedOnly(query) {
		return true
	}
	words := questionWords(query)
	asks := false
	for _, w := range words {
		switch {
		case in(stated, w):
			asks = true
		case !in(empty, w) && !in(assents, w):
			return false
		}
	}
	return asks
}

// Assents reports whether a question only lets an agent go on: "yes", "continue". It is
// about what the agent said last.
func Assents(query string) bool {
	words := questionWords(query)
	for _, w := range words {
		if !in(assents, w) {
			return false
		}
	}
	return len(words) > 0
}

func in(list, word string) bool {
	return strings.Contains(strings.ReplaceAll(list, "\n", " "), " "+word+" ")
}

// questionWords are the words of a question in small letters, without what stands
// around them.
func questionWords(query string) []string {
	query = strings.ReplaceAll(strings.ToLower(query), "’", "'")
	return strings.FieldsFunc(query, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '-'
	})
}

// joinedOnly reports whether nothing is left of a question without the phrases of joined.
func joinedOnly(query string) bool {
	rest := strings.Join(questionWords(query), "")
	whole := rest
	for _, phrase := range joined {
		rest = strings.ReplaceAll(rest, phrase, "")
	}
	return rest == "" && whole != ""
}
