package corpus

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/internal/prose"
)

// Sources are directories with text that people wrote. Logs made of it have the
// words, the `key: value` and the repetitions that made-up text has not.
type Sources struct {
	Talk string   // of sessions in the form of bench/recall/summaries
	Code []string // of source code: that of Go itself, which no change of ours changes
}

const (
	leastCode = 2_000 // bytes of a file that is read and edited
	mostCode  = 120_000
)

// realText is what sources hold.
type realText struct {
	sessions [][]said
	files    []sourceFile
	words    []string // of the files, to exchange words with
}

// sourceFile is a file of source code, by its path below the sources.
type sourceFile struct {
	path string
	text []byte
}

// said is a piece of a session: of the person (U), the agent (A), or a command
// ($) with what it printed.
type said struct {
	who    byte
	text   string
	output string
}

func readSources(s Sources) (*realText, error) {
	t := &realText{}
	talk, errTalk := filepath.Glob(filepath.Join(s.Talk, "*", "*.session"))
	for _, path := range talk {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		t.sessions = append(t.sessions, readSession(plain(string(text))))
	}
	var errCode error
	for _, root := range s.Code {
		errCode = errors.Join(errCode, t.addFiles(root))
	}
	if err := errors.Join(errTalk, errCode); err != nil {
		return nil, fmt.Errorf("read the text of logs: %w", err)
	}
	t.collectWords()
	if len(t.sessions) == 0 || len(t.words) < 2*prose.WordCount {
		return nil, fmt.Errorf("read the text of logs: %d sessions in %s, %d words of code in %s", len(t.sessions), s.Talk, len(t.words), s.Code)
	}
	return t, nil
}

func (t *realText) addFiles(root string) error {
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		return t.addFile(root, path)
	})
}

func (t *realText) addFile(root, path string) error {
	text, err := os.ReadFile(path)
	if err != nil || len(text) < leastCode || len(text) > mostCode {
		return err
	}
	inside, err := filepath.Rel(root, path)
	if err != nil {
		return err
	}
	t.files = append(t.files, sourceFile{path: inside, text: []byte(plain(string(text)))})
	return nil
}

// collectWords takes the words that may stand for others.
func (t *realText) collectWords() {
	seen := map[string]bool{}
	for _, f := range t.files {
		for word := range bytes.FieldsFuncSeq(f.text, func(r rune) bool { return r < 'a' || r > 'z' }) {
			if len(word) >= exchanged && !seen[string(word)] {
				seen[string(word)] = true
				t.words = append(t.words, string(word))
			}
		}
	}
	slices.Sort(t.words)
}

// plain drops what this package does not write: control characters, and bytes
// that are no UTF-8.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == utf8.RuneError {
			return -1
		}
		return r
	}, text)
}

// readSession reads who says what. Marks of what a piece is worth, and what a
// reader should learn from the session, are not said.
func readSession(text string) (all []said) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		last := len(all) - 1
		switch {
		case strings.HasPrefix(line, "U: "), strings.HasPrefix(line, "A: "):
			all = append(all, said{who: line[0], text: unmarked(line[3:])})
		case strings.HasPrefix(line, "$ "):
			all = append(all, said{who: '$', text: line[2:]})
		case strings.HasPrefix(line, "  ") && last >= 0 && all[last].who == 'A':
			all[last].text += "\n" + unmarked(line[2:])
		case strings.HasPrefix(line, "> ") && !strings.HasPrefix(line, "> %") && last >= 0 && all[last].who == '$':
			all[last].output += line[2:] + "\n"
		}
	}
	return all
}

// unmarked drops the marks in braces.
func unmarked(text string) string {
	for {
		before, rest, ok := strings.Cut(text, "{")
		_, after, closed := strings.Cut(rest, "}")
		if !ok || !closed {
			return text
		}
		text = before + strings.TrimPrefix(after, " ")
	}
}

// exchanged is how many letters a word has that another may stand for.
const exchanged = 6

// voice writes the real text of one stretch of a log: one word in four of the
// longer ones is another one than in other stretches, and so are numbers.
type voice struct {
	*realText
	seed uint64
}

// spoken appends a text as this voice says it.
func (v *voice) spoken(dst []byte, text string) []byte {
	for i := 0; i < len(text); {
		n := 1
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			dst = append(dst, '0'+byte((uint64(c-'0')+v.seed)%10))
		case c >= 'a' && c <= 'z':
			for i+n < len(text) && text[i+n] >= 'a' && text[i+n] <= 'z' {
				n++
			}
			dst = append(dst, v.word(text[i:i+n])...)
		default:
			dst = append(dst, c)
		}
		i += n
	}
	return dst
}

func (v *voice) word(word string) string {
	if len(word) < exchanged {
		return word
	}
	at := seedOf(word) ^ v.seed*0x9e3779b97f4a7c15
	if at>>32%4 != 0 {
		return word
	}
	return v.words[at%uint64(len(v.words))]
}

// writeReal writes a log of sessions that follow each other, with the agent's
// work between what is said.
func (t *realText) writeReal(out io.Writer, seed uint64, size int64) (Log, error) {
	w := newLogWriter(bufio.NewWriterSize(out, 1<<20), seed)
	w.sources = t
	return w.writeTurns(size, w.session)
}

// session writes a session of the sources, one of them after another at random.
func (w *logWriter) session() error {
	for _, s := range w.author.real.sessions[w.r.IntN(len(w.author.real.sessions))] {
		if err := w.piece(s); err != nil {
			return err
		}
	}
	return w.answer()
}

// piece writes what was said. After the person said something the agent works.
func (w *logWriter) piece(s said) error {
	text := w.author.real.spoken(nil, s.text)
	if s.who == '$' {
		c := w.newCallID()
		c.name, c.arguments = "bash", [][2][]byte{{[]byte("command"), text}}
		c.result = w.author.real.spoken(nil, s.output)
		return w.calls(c)
	}
	role, end := "user", w.closeMessage
	if s.who == 'A' {
		role, end = "assistant", func() error { return w.endAssistant("stop") }
	}
	w.openMessage(role)
	w.line = append(w.line, `,"content":[{"type":"text"`...)
	w.text("text", text)
	w.line = append(w.line, "}]"...)
	if err := end(); err != nil || s.who == 'A' {
		return err
	}
	for steps := w.r.IntN(9); steps > 0; steps-- {
		if err := w.step(); err != nil {
			return err
		}
	}
	return nil
}

// prose appends about n bytes of what agents said.
func (v *voice) prose(dst []byte, r *rand.Rand, n int) []byte {
	for start := len(dst); len(dst)-start < n; {
		session := v.sessions[r.IntN(len(v.sessions))]
		if s := session[r.IntN(len(session))]; s.who == 'A' {
			dst = append(v.spoken(dst, s.text), '\n')
		}
	}
	return bytes.TrimRight(dst, "\n")
}

// code appends about n bytes of whole lines of a file.
func (v *voice) code(dst []byte, r *rand.Rand, n int) []byte {
	text := v.file(r).text
	for len(text) < n {
		if next := v.file(r).text; len(next) > len(text) {
			text = next
		}
		n -= n / 20 // few files are large
	}
	from := r.IntN(len(text) - n + 1)
	from += bytes.IndexByte(text[from:], '\n') + 1
	part := text[from:min(from+n, len(text))]
	part = part[:bytes.LastIndexByte(part, '\n')+1]
	return v.spoken(dst, string(part))
}

// line returns a line of a file, as a search prints it.
func (v *voice) line(r *rand.Rand) []byte {
	text := v.file(r).text
	rest := text[r.IntN(len(text)):]
	_, rest, _ = bytes.Cut(rest, []byte{'\n'})
	line, _, _ := bytes.Cut(rest, []byte{'\n'})
	return v.spoken(nil, string(bytes.TrimSpace(line)))
}

func (v *voice) file(r *rand.Rand) sourceFile { return v.files[r.IntN(len(v.files))] }

// encoded appends about n bytes of base64, as keys, images and archives are
// printed.
func (a author) encoded(dst []byte, n int) []byte {
	for start := len(dst); len(dst)-start < n; {
		dst = append(appendSignature(dst, a.r, 76), '\n')
	}
	return dst
}

// report appends about n bytes of what services, tools and settings print: names
// with values, in one of the forms of today.
func (a author) report(dst []byte, n int) []byte {
	start, form := len(dst), a.r.IntN(7)
	if form == 6 {
		return a.encoded(dst, n/4)
	}
	for len(dst)-start < n {
		dst = append(a.reported(dst, form), '\n')
	}
	return dst
}

// reported appends a line of a report.
func (a author) reported(dst []byte, form int) []byte {
	if a.r.IntN(settingShare) == 0 {
		return a.setting(dst)
	}
	name, value := a.v.Word(a.r), a.v.Word(a.r)
	number := strconv.Itoa(a.r.IntN(100_000))
	switch form {
	case 0: // as kubectl describes
		return append(append(append(append(append(dst, "    "...), strings.ToUpper(name[:1])+name[1:]...), ":   "...), value...), "/"+number...)
	case 1: // YAML
		return append(append(append(append(dst, "  "+name...), ": "...), value...), "-"+number...)
	case 2: // logs with fields
		dst = appendTime(append(dst, "time="...), 1_777_600_000_000+int64(a.r.IntN(1_000_000_000)))
		dst = append(dst, " level=info msg=\""+name+" "+value+"\" port="+number+" id="...)
		return appendHex(dst, a.r, 12)
	case 3: // JSON
		return append(dst, "  \""+name+"\": {\""+value+"\": "+number+", \"state\": \"running\", \"error\": null},"...)
	case 4: // environments
		return append(dst, strings.ToUpper(name)+"_"+strings.ToUpper(value)+"="+number+":"+name...)
	}
	// what a build prints
	dst = append(append(dst, a.path(nil)...), ":"+number+":7: warning: "...)
	return append(dst, "'"+name+"' key: "+value+", token: none ["+number+"]"...)
}
