package corpus

import "bytes"

// call is one call of a tool with what it gives back.
type call struct {
	id        []byte
	name      string
	arguments [][2][]byte // names and values, in order
	result    []byte
	diff      []byte // of an edit
}

func (w *logWriter) newCall() call {
	c := call{id: appendSignature([]byte("toolu_01"), w.r, 22)}
	for i, b := range c.id { // the alphabet of ids is narrower
		if b == '+' || b == '/' {
			c.id[i] = 'x'
		}
	}
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
	if w.r.IntN(4) == 0 {
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
