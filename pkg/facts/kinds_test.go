package facts_test

import (
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/facts"
)

// A sentence may be a rule, a choice, a place and a day at once: its main clause tells
// which of them it is.
func TestKindOfMainClause(t *testing.T) {
	for name, tt := range map[string]struct {
		before, said string
		kind         facts.Kind
	}{
		"declined for ever":        {"Shall I use csv, or parquet?", "no csv, never, our dates got lost in it", facts.Preference},
		"declined, and why":        {"Shall I use csv, or parquet?", "no csv, nobody here reads it", facts.Decision},
		"declined, named before":   {"Done.", "I was tempted by stickers. No stickers.", facts.Decision},
		"only ever":                {"I could mail the list, or Odile does it.", "Lists only ever go out through Odile, she's secretary", facts.Preference},
		"how to speak to somebody": {"Done.", "ring him rather than write, he reads no mail", facts.Preference},
		"where it is":              {"I'd read the one in env.", "key file is /srv/keys/backup.id, not the one in env", facts.Environment},
		"what happens every week":  {"Done.", "Choir is on Wednesdays, 19:00, Old Mill Hall, not in the school holidays", facts.Pattern},
		"a rule with a day":        {"Done.", "all the proofs have to be at hers by 3 June at the latest", facts.Deadline},
		"at least":                 {"Done.", "old key stays in the ring for at least 60 days after", facts.Preference},
		"a label, and never":       {"Done.", "label it \"Log in with a key\", never \"keyless\"", facts.Preference},
		"one that was offered":     {"A relay costs 5 euro; or we take Steam.", "Steam only", facts.Decision},
		"no one may":               {"Shall I leave the east wing empty?", "But no resident may be without heat, the warden calls that worse than waste", facts.Preference},
		"on a condition":           {"A price of 9, or 11?", "Ilkley only if they see it before and price not over 11", facts.Preference},
		"only sounds so":           {"PNG or SVG?", "So we must do SVG after all", facts.Decision},
	} {
		found, _ := facts.Offline(conversation(t, "let us begin", tt.before, tt.said), facts.DefaultConfidence)
		if len(found) != 1 || found[0].Kind != tt.kind {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// What one clause says that is no fact does not hide what the sentence says besides.
func TestRefusedClause(t *testing.T) {
	for said, want := range map[string]facts.Kind{
		"I don't do squashing, I like that one better":                     facts.Preference,
		"the payroll run is on the 24th, so this has to be live by 20 May": facts.Deadline,
		"the log must stay below 250 kB, CI checks that":                   facts.Preference,
	} {
		found, _ := facts.Offline(conversation(t, "let us begin", "Done.", said), facts.DefaultConfidence)
		if len(found) != 1 || found[0].Kind != want {
			t.Errorf("%s: %+v", said, found)
		}
	}
}

// German, French and Spanish have their own days, questions and words for every case.
func TestOtherLanguages(t *testing.T) {
	for name, tt := range map[string]struct {
		before, said string
		kind         facts.Kind
		has          string
	}{
		"a day, whose dot ends nothing": {"Gut.", "Der Bericht muss bis zum 31. Oktober bei der Stadt sein", facts.Deadline, "31. Oktober bei der Stadt"},
		"a French day":                  {"Bien.", "la salle est à nous le 12 juin", facts.Deadline, "12 juin"},
		"only":                          {"Soll ich überweisen?", "Bitte nur lesen, überwiesen wird von uns", facts.Preference, "nur lesen"},
		"nothing of it, in Spanish":     {"Listo.", "Una cosa: nada de mandar escrituras por correo", facts.Preference, "escrituras"},
		"not to do, in Spanish":         {"Listo.", "NO dar de baja el gas hasta que esté vendido", facts.Preference, "gas"},
		"none, in German":               {"Gut.", "Keine Gruppe mehr als zwölf Kinder am Tag", facts.Preference, "zwölf"},
		"an infinitive, in German":      {"Gut.", "Adressen bitte nicht an Presse weitergeben", facts.Preference, "Presse"},
		"not to do, in French":          {"Bien.", "surtout pas de chèques", facts.Preference, "chèques"},
		"a remark, in German":           {"Gut.", "Kostet so ein Ding nicht ein Vermögen", "", ""},
		"a person with a title":         {"Gut.", "Prüferin ist frau lindqvist vom Amt", facts.Contact, "lindqvist"},

		"nouns are no products": {"Gut.", "Dienste: jede Familie leistet 4 Stunden, der Rest ist frei, Einzelne 2", "", ""},
		"a question for data":   {"Welche Unterlagen will die Stadt?", "die Kosten und die Belegung", "", ""},
		"no, in Italian":        {"Bene.", "il conto è pagato, no caparra non serve più", "", ""},
	} {
		found, _ := facts.Offline(conversation(t, "let us begin", tt.before, tt.said), facts.DefaultConfidence)
		switch {
		case tt.kind == "" && len(found) > 0:
			t.Errorf("%s: %s %q", name, found[0].Kind, found[0].Text)
		case tt.kind != "" && (len(found) != 1 || found[0].Kind != tt.kind || !strings.Contains(found[0].Text, tt.has)):
			t.Errorf("%s: %+v", name, found)
		}
	}
}
