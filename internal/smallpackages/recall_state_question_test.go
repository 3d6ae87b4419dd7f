package smallpackages

import (
	"testing"

	"github.com/sessctl/sessctl/internal/recall"
)

// What asks for the state, in each language, and what names something else.
func TestAsksState(t *testing.T) {
	for query, want := range map[string]bool{
		"where were we?": true, "Where did we leave off": true, "what is open": true, "what's still open?": true, "what did we decide?": true,
		"what's next": true, "continue": true, "yes please": true, "go on": true, "hey, where were we last time?": true, "what is the status": true,
		"wo waren wir stehen geblieben?": true, "was ist noch offen": true, "was haben wir beschlossen": true, "mach weiter": true, "ja bitte": true, "wie ist der Stand?": true,
		"où en étions-nous, quel était le plan": true, "qu'est-ce qui reste à faire ?": true, "qu'avons-nous décidé": true, "continue s'il te plaît": true,
		"¿dónde estábamos?": true, "¿qué queda por hacer?": true, "¿qué decidimos?": true, "sí, por favor": true, "continúa": true,
		"dove eravamo rimasti?": true, "cosa resta da fare": true, "cosa abbiamo deciso": true, "continua": true,
		"onde estávamos?": true, "o que falta fazer": true, "o que decidimos": true, "sim, por favor": true,
		"waar waren we gebleven?": true, "wat staat er nog open": true, "wat hebben we besloten": true, "ga door": true,
		"на чём мы остановились?": true, "что мы решили": true, "что осталось": true, "продолжай": true, "да, пожалуйста": true,
		"我们说到哪里了？": true, "还有什么没做？": true, "下一步是什么": true, "继续吧": true, "好的，继续": true,
		"どこまで進みましたか？": true, "次は何ですか": true, "続けてください": true, "はい、お願いします": true,

		"": false, "what is this": false, "who are you": false, "where is the config file": false, "what did we decide about the port": false,
		"yes or no: does TLS work": false, "open the importer": false, "which port is open": false, "what is the next release": false, "continue with the importer": false,
		"wo ist der Schlüssel": false, "was haben wir über den Hafen beschlossen": false, "où est le fichier": false, "¿dónde está el servidor?": false, "где лежит ключ": false,
		"下一步是什么端口": false, "次は何を食べますか": false, "plan for the release of may": false, "todo.md": false,
	} {
		if got := recall.AsksState(query); got != want {
			t.Errorf("%q: %v", query, got)
		}
	}
	for query, want := range map[string]bool{"yes": true, "continue": true, "ja, mach weiter": true, "where were we": false, "": false} {
		if got := recall.Assents(query); got != want {
			t.Errorf("%q lets go on: %v", query, got)
		}
	}
}
