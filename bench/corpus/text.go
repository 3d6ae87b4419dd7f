package corpus

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/internal/prose"
)

// author writes text with the words of one vocabulary.
type author struct {
	r    *rand.Rand
	v    *prose.Vocabulary
	real *voice // of real text; nil for made-up words
}

// prose appends about n bytes of sentences and paragraphs, as a person or a
// model writes them.
func (a author) prose(dst []byte, n int) []byte {
	if a.real != nil {
		return a.real.prose(dst, a.r, n)
	}
	return a.v.Append(dst, a.r, n)
}

func (a author) sentence(dst []byte) []byte { return a.v.Sentence(dst, a.r) }

// name makes an identifier of two words.
func (a author) name() string { return a.v.Identifier(a.r) }

func (a author) path(dst []byte) []byte {
	if a.real != nil {
		return a.real.spoken(dst, a.real.file(a.r).path)
	}
	dst = append(append(dst, "packages/"...), a.v.Word(a.r)...)
	dst = append(append(dst, "/src/"...), a.v.Word(a.r)...)
	return append(append(append(dst, '-'), a.v.Word(a.r)...), ".ts"...)
}

// code appends about n bytes of lines of source code.
func (a author) code(dst []byte, n int) []byte {
	if a.real != nil {
		return a.real.code(dst, a.r, n)
	}
	start, depth := len(dst), 0
	for len(dst)-start < n {
		for range depth {
			dst = append(dst, '\t')
		}
		dst, depth = a.statement(dst, depth)
		dst = append(dst, '\n')
	}
	return dst
}

// setting appends one line of what configurations, environments and logs are full
// of: names with values, digests, encoded data, and calls of calls. Some have the
// shape of a secret, more only look like one at first: what a search for secrets
// has to look at.
func (a author) setting(dst []byte) []byte {
	name := strings.ToUpper(a.v.Word(a.r))
	switch a.r.IntN(9) {
	case 0:
		return appendHex(append(append(append(dst, "export "...), name...), "_TOKEN="...), a.r, 40)
	case 1:
		dst = append(append(dst, "DATABASE_URL=postgres://"...), a.v.Word(a.r)...)
		dst = append(append(append(dst, ':'), a.v.Word(a.r)...), "@db.example:5432/"...)
		return append(dst, a.v.Word(a.r)...)
	case 2:
		return strconv.AppendInt(append(dst, "max_tokens: "...), int64(a.r.IntN(200_000)), 10)
	case 3:
		return append(append(append(dst, "password := os.Getenv(\""...), name...), "_PASSWORD\")"...)
	case 4:
		return appendHex(append(append(dst, a.v.Word(a.r)...), "@sha256:"...), a.r, 64)
	case 5:
		dst = append(append(append(dst, '"'), a.v.Word(a.r)...), "\": \""...)
		return append(appendSignature(dst, a.r, 90), "\","...)
	case 6:
		dst = append(append(append(dst, "api_key: ${"...), name...), "_API_KEY}  # see "...)
		return a.path(dst)
	case 7:
		dst = append(append(dst, a.v.Word(a.r)...), ".config.get(\"secret\").then("...)
		return append(append(dst, a.name()...), ')')
	}
	dst = append(append(append(dst, a.v.Word(a.r)...), ": "...), a.v.Word(a.r)...)
	return append(append(append(dst, "; token "...), a.v.Word(a.r)...), " expected"...)
}

// settingShare is how many lines of source code, listings and patches there are
// for each setting.
const settingShare = 25

// statement appends one line and returns how deep the next one is.
func (a author) statement(dst []byte, depth int) ([]byte, int) {
	if a.r.IntN(settingShare) == 0 {
		return a.setting(dst), depth
	}
	switch a.r.IntN(12) {
	case 0, 1:
		dst = append(append(dst, "if ("...), a.name()...)
		return append(dst, ") {"...), min(depth+1, 5)
	case 2, 3:
		return append(dst, '}'), max(depth-1, 0)
	case 4:
		return a.sentence(append(dst, "// "...)), depth
	case 5:
		return dst, depth
	case 6, 7:
		dst = append(append(dst, "const "...), a.v.Word(a.r)...)
		dst = append(append(dst, " = \""...), a.v.Word(a.r)...)
		return append(dst, "\";"...), depth
	}
	dst = append(append(dst, a.v.Word(a.r)...), '.')
	dst = append(append(dst, a.name()...), '(')
	dst = append(append(dst, a.name()...), ", "...)
	dst = append(append(dst, a.v.Word(a.r)...), ", "...)
	dst = strconv.AppendInt(dst, int64(a.r.IntN(1000)), 10)
	return append(dst, ");"...), depth
}

// listing appends about n bytes of what a search prints.
func (a author) listing(dst []byte, n int) []byte {
	start := len(dst)
	for len(dst)-start < n {
		dst = append(a.path(dst), ':')
		dst = strconv.AppendInt(dst, int64(a.r.IntN(900)), 10)
		dst = append(dst, ":\t"...)
		if a.real != nil {
			dst = append(dst, a.real.line(a.r)...)
		} else {
			dst, _ = a.statement(dst, 0)
		}
		dst = append(dst, '\n')
	}
	return dst
}

// diff appends before and after as the lines of a patch.
func diff(dst, before, after []byte, line int) []byte {
	return marked(marked(dst, '-', before, line), '+', after, line)
}

func marked(dst []byte, mark byte, text []byte, line int) []byte {
	for part := range bytes.Lines(text) {
		dst = append(dst, mark, ' ')
		dst = strconv.AppendInt(dst, int64(line), 10)
		dst = append(append(dst, ' '), part...)
		line++
	}
	return dst
}

// call is one call of a tool with what it gives back.
type call struct {
	id        []byte
	name      string
	arguments [][2][]byte // names and values, in order
	result    []byte
	diff      []byte // of an edit
}

func (w *logWriter) newCall() call {
	c := w.newCallID()
	switch n := w.r.IntN(100); {
	case n < 42:
		return w.read(c)
	case n < 76:
		return w.shell(c)
	case n < 95:
		return w.edit(c)
	}
	return w.write(c)
}

func (w *logWriter) newCallID() call {
	c := call{id: appendSignature([]byte("toolu_01"), w.r, 22)}
	for i, b := range c.id { // the alphabet of ids is narrower
		if b == '+' || b == '/' {
			c.id[i] = 'x'
		}
	}
	return c
}

// file chooses a file of the project; the large one is rare.
func (w *logWriter) file() int {
	if w.r.IntN(260) == 0 {
		return 0
	}
	return 1 + w.r.IntN(len(w.files)-1)
}

// skewed draws a size below limit: most are small, the mean is a third.
func (w *logWriter) skewed(limit int) int {
	x := w.r.Float64()
	return int(x * x * float64(limit))
}

// part returns whole lines of a file, about n bytes.
func (w *logWriter) part(file []byte, n int) []byte {
	if n >= len(file) {
		return file
	}
	from := w.r.IntN(len(file) - n)
	from += bytes.IndexByte(file[from:], '\n') + 1
	part := file[from:min(from+n, len(file))]
	return part[:max(bytes.LastIndexByte(part, '\n'), 0)]
}

func (w *logWriter) read(c call) call {
	n := w.file()
	c.name = "read"
	c.arguments = [][2][]byte{{[]byte("path"), w.author.path(nil)}}
	size := 60 + w.skewed(3600)
	if w.author.real != nil {
		size = 60 + w.skewed(20_000)
	}
	if n == 0 {
		size = 100_000
	}
	c.result = w.part(w.files[n], size)
	return c
}

func (w *logWriter) shell(c call) call {
	c.name = "bash"
	command := w.author.path([]byte("grep -n \""))
	command = append(append(command, "\\.\" "...), w.author.path(nil)...)
	if w.r.IntN(3) == 0 {
		command = append(append(command, " <<'EOF'\n"...), w.part(w.files[w.file()], 400)...)
	}
	c.arguments = [][2][]byte{{[]byte("command"), command}}
	if w.author.real != nil && w.r.IntN(2) == 0 {
		c.result = w.author.report(nil, 60+w.skewed(20_000))
	} else if w.r.IntN(4) == 0 {
		c.result = w.author.listing(nil, 60+w.skewed(1000))
	} else {
		c.result = w.part(w.files[w.file()], 60+w.skewed(2400))
	}
	return c
}

// edit changes a part of a file, in the file too.
func (w *logWriter) edit(c call) call {
	n := 1 + w.r.IntN(len(w.files)-1)
	before := w.part(w.files[n], 60+w.skewed(1500))
	half := bytes.LastIndexByte(before[:len(before)/2], '\n') + 1
	after := append(w.author.code(bytes.Clone(before[:half]), 20+w.r.IntN(80)), before[half:]...)
	path := w.author.path(nil)
	c.name = "edit"
	c.arguments = [][2][]byte{{[]byte("path"), path}, {[]byte("oldText"), before}, {[]byte("newText"), after}}
	c.result = append(append([]byte("Successfully replaced text in "), path...), '.')
	c.diff = diff(nil, before, after, 1+w.r.IntN(300))
	if len(w.files[n]) < 12_000 {
		w.files[n] = bytes.Replace(w.files[n], before, after, 1)
	}
	return c
}

func (w *logWriter) write(c call) call {
	n := 1 + w.r.IntN(len(w.files)-1)
	w.files[n] = w.author.code(nil, 1000+w.r.IntN(4000))
	path := w.author.path(nil)
	c.name = "write"
	c.arguments = [][2][]byte{{[]byte("path"), path}, {[]byte("content"), w.files[n]}}
	c.result = append([]byte("Successfully wrote to "), path...)
	return c
}

// called appends the block of a call and a comma.
func (w *logWriter) called(c call) {
	w.line = append(w.line, `{"type":"toolCall"`...)
	w.text("id", c.id)
	w.text("name", []byte(c.name))
	w.line = append(w.line, `,"arguments":{`...)
	for i, argument := range c.arguments {
		if i > 0 {
			w.line = append(w.line, ',')
		}
		w.line = append(appendQuoted(w.line, argument[0]), ':')
		w.line = appendQuoted(w.line, argument[1])
	}
	w.line = append(w.line, "}},"...)
}

// result writes the message with what a call gave back.
func (w *logWriter) result(c call) error {
	w.openMessage("toolResult")
	w.text("toolCallId", c.id)
	w.text("toolName", []byte(c.name))
	w.line = append(w.line, `,"content":[{"type":"text"`...)
	w.text("text", c.result)
	w.line = append(w.line, "}]"...)
	if len(c.diff) > 0 {
		w.line = append(w.line, `,"details":{"diff":`...)
		w.line = append(appendQuoted(w.line, c.diff), '}')
	}
	w.line = append(w.line, `,"isError":false`...)
	return w.closeMessage()
}
