package cmd

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"pgregory.net/rapid"
)

func printerOf(query string, full bool) *recall.PassagePrinter {
	a := testApp(newStreams(nil, &bytes.Buffer{}, &bytes.Buffer{}), workspace.Run{})
	a.OutTTY = true
	return newPassagePrinter(a, query, full)
}

// A passage is cut where the query's words are, not at the beginning, and they
// are marked whole, whatever their inflection.
func TestPassage(t *testing.T) {
	text := strings.Repeat("filler text here ", 100) + "\nthe herons stand by the lake.\n" + strings.Repeat("more filler ", 100)
	got := printerOf("heron lakes", false).Hit(text)
	if !strings.Contains(got, "the **herons** stand by the **lake**.") || utf8.RuneCountInString(got) > recall.ExcerptRunes+12 {
		t.Errorf("%s", got)
	}
	if !strings.HasPrefix(got, "… the **herons**") && !strings.HasPrefix(got, "… \nthe") {
		t.Errorf("it begins %q", got[:40])
	}
	for query, want := range map[string]string{
		"/srv/app/importer.yaml": "see **/srv/app/importer.yaml**, (or not)",
		"importer":               "see **/srv/app/importer.yaml**, (or not)",
		"nothing of it":          "see /srv/app/importer.yaml, (or not)",
	} {
		if got := printerOf(query, false).Hit("see /srv/app/importer.yaml, (or not)"); got != want {
			t.Errorf("%q: %q", query, got)
		}
	}
	if got := printerOf("importer", true).Hit(text + "importer"); got != wording.VisibleText(text+"importer") {
		t.Error("--full changed the text")
	}
}

// Of places with as many of the words, the one where they stand closest
// together is shown.
func TestPassageIsWhereWordsStandTogether(t *testing.T) {
	text := strings.Repeat("- heron.txt\n", 60) + "\nThe heron inventory lies in the cold room.\n" + strings.Repeat("more filler ", 100)
	if got := printerOf("heron inventory", false).Hit(text); !strings.Contains(got, "cold room") {
		t.Errorf("%s", got)
	}
}

// A word that is asked for whole is shown before one that has only a part of it.
func TestPassageHasTheWholeName(t *testing.T) {
	text := "Noted beta-11. " + strings.Repeat("more filler ", 100) + "\n\nNoted beta-12. " + strings.Repeat("more filler ", 100)
	for _, query := range []string{"beta-12", "Noted beta-12"} {
		if got := printerOf(query, false).Hit(text); !strings.Contains(got, "12") {
			t.Errorf("%q: %s", query, got)
		}
	}
}

// Property: without its marks a passage is a part of the text.
func TestPassageIsOfTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"heron", "Herons", " ", "\n", "配送", "é", ",", "lake-side", "x", "(", strings.Repeat("words ", 30), strings.Repeat("y", 300)})
		text := strings.Join(rapid.SliceOfN(part, 0, 60).Draw(t, "text"), "")
		got := printerOf("heron lake", false).Hit(text)
		plain := strings.TrimSuffix(strings.TrimPrefix(strings.ReplaceAll(got, "**", ""), "… "), " …")
		if !strings.Contains(text, plain) || utf8.RuneCountInString(plain) > recall.ExcerptRunes {
			t.Fatalf("%q is no part of %q", plain, text)
		}
	})
}
