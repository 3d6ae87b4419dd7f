package facts_test

import (
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/facts"
)

// What people want, need or make is what the work is, where they say it before the
// agent has answered: once, and not what is only to be looked at or mended.
func TestUndertaken(t *testing.T) {
	for said, has := range map[string]string{
		"Hi! I want to write a field guide to the mosses of Galloway":        "mosses",
		"We need a new caretaker. We need a new roof":                        "caretaker",
		"the shed is full of films, and I need a list of them for the heirs": "films",
		"I am translating a cookbook from Georgian":                          "cookbook",
		"please help me to plan a walk for thirty people":                    "walk",
		"Hay que vender la casa de los abuelos":                              "casa",
		"Wir brauchen eine neue Satzung für den Chor":                        "Satzung",
		"need to know why it is slow":                                        "",
		"I want to understand the build":                                     "",
		"I'd love that":                                                      "",
		"it makes me happy when I need the rest":                             "",
		"could you say whether I need a permit?":                             "",
	} {
		found, _ := facts.Offline(conversation(t, said), facts.DefaultConfidence)
		switch {
		case has == "" && len(found) > 0:
			t.Errorf("%s: %+v", said, found)
		case has != "" && (len(found) != 1 || found[0].Kind != facts.Project || !strings.Contains(found[0].Text, has)):
			t.Errorf("%s: %+v", said, found)
		}
	}
}

// Later in a session the same words are an order, also where only its end is read.
func TestUndertakenAtTheBeginning(t *testing.T) {
	messages := conversation(t, "hello there", "Hello.", "We need a new caretaker")
	for _, read := range [][]facts.Message{messages, messages[2:]} {
		if found, _ := facts.Offline(read, facts.DefaultConfidence); len(found) != 0 {
			t.Errorf("%+v", found)
		}
	}
}

// What opens something is in neither what the work is nor whom people speak of.
func TestFirstWordsHoldNoSecret(t *testing.T) {
	secret := "sk-live-" + strings.Repeat("9fQ2", 8)
	for _, said := range []string{
		"I want to build a gate for " + secret,
		"we need the archive of https://ops:" + secret + "@store.acme.example/",
		"Mr. Vandermeulen wrote that the token is " + secret,
		"our accountant Oriel has password: " + secret,
		"the list is in keys/list.csv, api_key=" + secret,
	} {
		found, _ := facts.Offline(conversation(t, said), 0)
		for _, f := range found {
			if strings.Contains(f.Text+f.Quote+f.Value, secret[8:20]) {
				t.Errorf("%q became %+v", said, f)
			}
		}
	}
}
