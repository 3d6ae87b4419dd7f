package rank

import (
	"cmp"
	"regexp"
	"strings"
	"sync"

	"github.com/sessctl/sessctl/pkg/embed"
)

// Named is a question about what was done by the name of something, and what its
// words say. The texts that may answer it are rated by FileFit, CommandFit, ErrorFit
// or WordFit, 0 to 1; each takes the share of the question's words that the text has.
type Named struct {
	Question string
	WordsOf  func(text string) []string // as the index has them
	terms    []term
	total    float64 // of the weights
}

// Add adds a word of the question that so many of all texts have, and returns what
// it weighs.
func (n *Named) Add(word string, all, having float64) float64 {
	t := term{word, inverseFrequency(all+otherRecords, having)}
	n.terms, n.total = append(n.terms, t), n.total+t.weight
	return t.weight
}

// Share is what words of the question weigh as a share of all of them.
func (n *Named) Share(weight float64) float64 { return weight / n.total }

// LeastOf is the least fit that is worthwhile beside the best: who writes the whole
// name of a file does not mean those that are called nearly so.
func LeastOf(best float64) float64 {
	if best >= nameFit {
		return likeNameFit
	}
	return worthwhileShare * best
}

// FileFit rates a path.
func FileFit(n *Named, share float64, text string) float64 {
	path, asked := plainPath(text), plainPath(n.Question)
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
	return share*pathWordsShare + n.shareOf(name)*nameWordsShare
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

// WithoutPlace is a file without the line in it that is meant.
func WithoutPlace(file string) string {
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
func (n *Named) shareOf(text string) (share float64) {
	words := n.WordsOf(text)
	for _, t := range n.terms {
		best := 0.0
		for _, word := range words {
			switch {
			case word == t.text:
				best = 1
			case len(t.text) >= LeastBeginning && strings.HasPrefix(word, t.text):
				best = max(best, BeginningShare)
			}
		}
		share += best * t.weight
	}
	return share / n.total
}

// CommandFit rates a command line.
func CommandFit(n *Named, share float64, text string) float64 {
	switch line, asked := plainLine(text), plainLine(n.Question); {
	case line == asked:
		return sameFit
	case strings.Contains(line, asked):
		return holdsFit
	}
	return share * wordsShare
}

// ErrorFit rates the lines of an error.
func ErrorFit(n *Named, share float64, text string) float64 {
	if strings.Contains(plainLine(text), plainLine(n.Question)) {
		return holdsFit
	}
	return share * wordsShare
}

// WordFit rates anything by its words.
func WordFit(_ *Named, share float64, _ string) float64 { return share }

// plainLine is a line as it is compared: in lower case, with single spaces.
func plainLine(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }
