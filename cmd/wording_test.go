package cmd

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/workspace"
)

// odd are phrases that operators did not understand, with what to say instead.
// They are looked for in the pages and in the texts of the program.
func odd() map[string]string {
	return map[string]string{
		`only its user gets in`:                "private",
		`open to (?:others|other users)\b`:     "other users can read it",
		`nobody is at work`:                    "no other sessctl is running",
		`no run is in the future`:              "no receipt has a date in the future",
		`(?:is|are|be) left alone`:             "is skipped, is not touched",
		`is no (?:age|session that)`:           "is not",
		`not (?:one|a name) that is safe`:      "has characters that are not safe",
		`\bstay forgotten`:                     "forgotten and not restored",
		`takes? their room back`:               "frees their space",
		`ma(?:ke|kes|de) (?:\w+ ){0,3}?anew\b`: "rebuild",
		`texts stand in`:                       "the text is kept in",
		`stands? for (?:all|everything) but`:   "replaces",
		`held against\b`:                       "compared with",
		`somebody has (?:it )?open`:            "is open in a program",
		`a log of changes that are not in it`:  "write-ahead log",
		`let (?:its|the) agent start fresh`:    "make its context small",
		`nothing above a note`:                 "no warnings",
		`openHouse`:                            "the store",
		`From outside nobody`:                  "sessctl cannot see",
		`by the way, and the times say`:        "timestamps are compared",
		`waits in a trash beside it`:           "stays in .sessctl-trash",
		`mixes up the order of a reply`:        "reordered vectors",
		`is no (?:address|log of|size)\b`:      "is not",
		`nothing to do with (?:%s|\d)`:         "nothing to do for",
		`would go[:;]`:                         "would be deleted",
		`way is barred`:                        "cannot be reached",
		`(?:was|were) not told of`:             "did not receive",

		// commands that had another place
		`\barchive (?:list|show|verify|prune|upload|pull|restore)\b`: "archives list, restore",
		`--(?:undo|shrink|resummarize)\b`:                            "undo, shrink, resummarize",
	}
}

// TestPlainWords holds the pages and the texts of the program free of phrases
// that were misunderstood.
func TestPlainWords(t *testing.T) {
	phrases := compiled()
	for place, text := range spoken(t) {
		for _, problem := range oddIn(phrases, text) {
			t.Errorf("%s: %s", place, problem)
		}
	}
}

func compiled() map[*regexp.Regexp]string {
	phrases := map[*regexp.Regexp]string{}
	for phrase, instead := range odd() {
		phrases[regexp.MustCompile(phrase)] = instead
	}
	return phrases
}

// oddIn returns a sentence for each odd phrase of a text.
func oddIn(phrases map[*regexp.Regexp]string, text string) (problems []string) {
	text = strings.Join(strings.Fields(text), " ")
	for phrase, instead := range phrases {
		if found := phrase.FindString(text); found != "" {
			problems = append(problems, fmt.Sprintf("%q: say %q", found, instead))
		}
	}
	return problems
}

func TestPlainWordsCanFail(t *testing.T) {
	for _, text := range []string{"the log is left\nalone", "sessctl makes all vectors anew", "every receipt is held against its archive", "files are open to others"} {
		if len(oddIn(compiled(), text)) != 1 {
			t.Errorf("%q passes", text)
		}
	}
	if problems := oddIn(compiled(), "it is skipped, and rebuilt when the files are open in a program"); len(problems) > 0 {
		t.Error(problems)
	}
}

// spoken are the pages, and the string literals of the program.
func spoken(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		texts[page] = string(text)
	}
	set := token.NewFileSet()
	for _, root := range []string{".", "../pkg"} {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					at := set.Position(literal.Pos())
					texts[fmt.Sprintf("%s:%d:%d", at.Filename, at.Line, at.Column)], _ = strconv.Unquote(literal.Value)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

var settingRow = regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\|[^|]*\\| ?([^|]*?) ?\\|")

// The table of settings names every key, and as its default what `config show`
// prints. Words stand only where the default is the empty text.
func TestSettingsTable(t *testing.T) {
	page, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	settings, _, _ := strings.Cut(string(page), "## Profiles")
	told := map[string]bool{}
	for _, row := range settingRow.FindAllStringSubmatch(settings, -1) {
		key, shown := row[1], strings.Trim(strings.TrimSpace(row[2]), "`")
		told[key] = true
		value, known := workspace.Defaults()[key]
		text := fmt.Sprint(value)
		empty := text == "" || text == "[]"
		switch {
		case !known:
			t.Errorf("%s is no key", key)
		case empty && (shown == "" || strings.Contains(shown, " ")):
		case text != shown:
			t.Errorf("%s: the page says %q, the default is %q", key, shown, text)
		}
	}
	for key := range workspace.Defaults() {
		if !told[key] {
			t.Errorf("the page does not have %s", key)
		}
	}
}
