package embed

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// scanWords returns the words of text; extras carry a plus.
func scanWords(text string) (all []string) {
	s := scanner{emit: func(w []byte, extra bool) {
		word := string(w)
		if extra {
			word = "+" + word
		}
		all = append(all, word)
	}}
	s.scan(text)
	return all
}

func TestScan(t *testing.T) {
	long := strings.Repeat("a", maxWord)
	tests := []struct{ text, want string }{
		{"", ""},
		{" .,;!? -- ... \n\t", ""},
		{"Hello, World!", "hello world"},
		{"end.", "end"},
		{"Caroline's DOG’S they're we'll I'd", "caroline dog they we i"},
		{"don't isn't WON'T", ""},
		{"it't", "it"},
		{"O'Brien l'eau rock'n'roll 'quoted'", "o brien l eau rock n roll quoted"},
		{"sure's'", "sure"},
		{"the 1990s, 42", "the 1990s 42"},
		// Compounds: the runs, then the whole.
		{"snake_case", "snake case +snakecase"},
		{"kebab-case-name", "kebab case name +kebabcasename"},
		{"pkg/embed/scan.go", "pkg embed scan go +pkgembedscango"},
		{`C:\Users\max`, "c users max +cusersmax"},
		{"https://example.com/a", "https example com a +httpsexamplecoma"},
		{"std::vector a->b", "std vector +stdvector a b"},
		{"a/../b", "a b +ab"},
		{"~/.config/app", "config app +configapp"},
		{"--dry-run", "dry run +dryrun"},
		{"joe@example.org:", "joe example org +joeexampleorg"},
		{"so--called well... then", "so called well then"},
		{"_private_ /root/ .hidden.", "private root hidden"},
		// Between digits the tie stays.
		{"v1.2.3", "v1 2 3 +v1.2.3"},
		{"2031-04-17T09:24", "2031 04 17t09 24 +2031-04-17t09:24"},
		{"1 - 2", "1 2"},
		{"x.1", "x 1 +x1"},
		// Humps.
		{"sessionId", "sessionid +session +id"},
		{"HTTPServer", "httpserver +http +server"},
		{"getHTTPResponseCode", "gethttpresponsecode +get +http +response +code"},
		{"parseURLs", "parseurls +parse +urls"},
		{"URLs IDs", "urls ids"},
		{"iPhone aB", "iphone +phone ab"},
		{"sha256Sum", "sha256sum +sha256 +sum"},
		{"utf8 e2e 01J8ZQK3V4", "utf8 e2e 01j8zqk3v4"},
		{"my.fileName", "my filename +file +name +myfilename"},
		{"ÉcoleÉté", "ecoleete +ecole +ete"},
		{strings.Repeat("aB", 33), strings.Repeat("ab", 33)}, // encoded, not a name
		// Letters.
		{"Café CAFE\u0301 naïve Łódź Straße", "cafe cafe naive lodz straße"},
		{"Việt Nam", "viet nam"},
		{"МОСКВА Ελλάδα", "москва ελλάδα"},
		{"नमस्ते दुनिया", "नमस्ते दुनिया"},
		{"soft\u00adhyphen zero\u200dwidth", "softhyphen zerowidth"},
		{"ＡＰＩ＿ｋｅｙ　１２", "api key 12"},
		{"bad\xffutf8\xc3", "bad utf8"},
		{"🙂👍🏽", ""},
		// Scripts without spaces: every two neighbours.
		{"日本語", "日本 本語"},
		{"猫", "猫"},
		{"犬・猫", "犬 猫"},
		{"Pythonで書く3回", "python で書 書く 3 回"},
		{"サーバー", "サー ーバ バー"},
		{"데이터를 보관", "데이 이터 터를 보관"},
		{"ไทย", "ไท ทย"},
		{"a_日本", "a 日本"},
		// Bounds.
		{long + "b", long},
		{long + "-b", long + " b"},
		{long[1:] + "-b", long[1:] + " b +" + long[1:] + "b"},
	}
	for _, test := range tests {
		got := strings.Join(scanWords(test.text), " ")
		if got != test.want {
			t.Errorf("scan(%q)\n got %q\nwant %q", test.text, got, test.want)
		}
	}
}

// FuzzScan holds what must be true of the words of any text: they are sound,
// texts set apart do not change each other's words, and plain words are found
// again as they are.
func FuzzScan(f *testing.F) {
	for _, text := range []string{prose, code, japanese, "don't v1.2/x HTTPServer's", "é\u0301ＡＢ\u200d1"} {
		f.Add(text, "tail_Of it")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		all := scanWords(a)
		var plain []string
		for _, w := range all {
			name := strings.TrimPrefix(w, "+")
			if name == "" || len(name) > maxWord+utf8.UTFMax || !utf8.ValidString(name) {
				t.Fatalf("word %q of %q", w, a)
			}
			if w == name {
				plain = append(plain, w)
			}
		}
		each, both := slices.Concat(all, scanWords(b)), scanWords(a+" \n"+b)
		if !slices.Equal(each, both) {
			t.Fatalf("two texts apart (-each +both):\n%s", cmp.Diff(each, both))
		}
		again := scanWords(strings.Join(plain, " "))
		if !slices.Equal(plain, again) {
			t.Fatalf("words of the words of %q (-want +got):\n%s", a, cmp.Diff(plain, again))
		}
	})
}

func TestAppendTerms(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", ""},
		{"what is the", ""},
		{"Where did Ines buy the cakes?", "ine buy cake "},
		{"she bought sessionId v1.2", "buy sessionid session id v1 2 v1.2 "},
		{"日本語", "日本 本語 "},
	}
	for _, test := range tests {
		if got := string(AppendTerms(nil, test.text)); got != test.want {
			t.Errorf("AppendTerms(%q) = %q, want %q", test.text, got, test.want)
		}
	}
	if got := string(AppendTerms([]byte("kept "), "cakes")); got != "kept cake " {
		t.Errorf("AppendTerms after text = %q", got)
	}
}

// TestTermsAreVectors ties the terms to the vectors: two texts of the same
// terms, each a plain word, have the same lexical part.
func TestTermsAreVectors(t *testing.T) {
	e := newBuiltin(t)
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom(strings.Fields(prose)), 1, 30).Draw(t, "words")
		text := strings.Join(words, " ")
		terms := strings.Fields(string(AppendTerms(nil, text)))
		r := newReading(&e.table)
		r.read(text)
		total := 0.0
		for _, n := range r.counts {
			total += n
		}
		if int(total) != len(terms) {
			t.Fatalf("%v terms counted, %d appended for %q", total, len(terms), text)
		}
	})
}
