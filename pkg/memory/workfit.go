package memory

import (
	"cmp"
	"regexp"
	"strings"
	"sync"

	"github.com/sessctl/sessctl/pkg/embed"
)

// fileFit rates a path.
func fileFit(m *workMatch, text string) float64 {
	path, asked := plainPath(text), plainPath(m.question)
	name := path[strings.LastIndexByte(path, '/')+1:]
	bare := withoutExtension(name)
	switch {
	case path == asked:
		return sameFit
	case strings.HasSuffix(path, "/"+asked), strings.Contains(path, "/") && strings.HasSuffix(asked, "/"+path):
		return endFit
	case name == asked, bare == asked:
		return nameFit
	case squeezed(name) == squeezed(asked), squeezed(bare) == squeezed(asked):
		return likeNameFit
	}
	return m.share*pathWordsShare + m.shareOf(name)*nameWordsShare
}

// plainPath is a path as it is compared: in lower case, with slashes, and
// without what says "here" in front.
func plainPath(path string) string {
	path = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(path), `\`, "/"))
	for strings.HasPrefix(path, "./") {
		path = path[2:]
	}
	return strings.TrimSuffix(path, "/")
}

// placeInFile is what a compiler or a trace writes behind a file: ":12:5", "(12,5)".
var placeInFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(:\d+(:\d+)?:?|\(\d+([,:]\d+)?\):?)$`) })

// withoutPlace is a file without the line in it that is meant.
func withoutPlace(file string) string {
	file = strings.TrimSpace(file)
	return cmp.Or(placeInFile().ReplaceAllString(file, ""), file)
}

func withoutExtension(name string) string {
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		return name[:dot]
	}
	return name
}

// squeezed is a name without what people forget of it.
func squeezed(name string) string {
	return strings.ReplaceAll(string(embed.AppendNameParts(nil, name)), " ", "")
}

// shareOf is how much of the question's words a text has, words that only begin
// with one of them included.
func (m *workMatch) shareOf(text string) (share float64) {
	words := strings.Fields(string(appendWorkTerms(nil, embed.NewNameReader(), text)))
	for _, t := range m.terms {
		best := 0.0
		for _, word := range words {
			switch {
			case word == t.text:
				best = 1
			case len(t.text) >= leastBeginning && strings.HasPrefix(word, t.text):
				best = max(best, beginningShare)
			}
		}
		share += best * t.weight
	}
	return share / m.total
}

// commandFit rates a command line.
func commandFit(m *workMatch, text string) float64 {
	switch line, asked := plainLine(text), plainLine(m.question); {
	case line == asked:
		return sameFit
	case strings.Contains(line, asked):
		return holdsFit
	}
	return m.share * wordsShare
}

// errorFit rates the lines of an error.
func errorFit(m *workMatch, text string) float64 {
	if strings.Contains(plainLine(text), plainLine(m.question)) {
		return holdsFit
	}
	return m.share * wordsShare
}

// wordFit rates anything by its words.
func wordFit(m *workMatch, _ string) float64 { return m.share }

// plainLine is a line as it is compared: in lower case, with single spaces.
func plainLine(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }
