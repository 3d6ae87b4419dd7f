package chunk

import (
	"bytes"
)

// Version names the rule that made a chunk. It is part of every chunk's
// identity in memory: another rule makes other chunks.
const Version = "seed002/1"

// The defaults of the rule (docs/dev/decisions.md D5).
const (
	defaultSize    = 3500 // code points in a window
	defaultOverlap = 200  // code points that neighbouring windows share
	defaultBlock   = 4    // messages in a block
)

// minSize keeps every window longer than the blank line between two messages,
// so that each window holds text of some message.
const minSize = 16

// Options set the rule. Zero means the default.
type Options struct {
	Size    int // code points in a window; less than 16 counts as 16
	Overlap int // code points shared by neighbours; negative for none, at most half of Size
	Block   int // messages in a block; negative counts as 1
}

func (o Options) withDefaults() Options {
	if o.Size == 0 {
		o.Size = defaultSize
	}
	if o.Overlap == 0 {
		o.Overlap = defaultOverlap
	}
	if o.Block == 0 {
		o.Block = defaultBlock
	}
	o.Size = max(o.Size, minSize)
	o.Overlap = min(max(o.Overlap, 0), o.Size/2)
	o.Block = max(o.Block, 1)
	return o
}

// Piece is the text of one message and where it stands. It is what of a message
// chunking needs: this package knows neither roles nor runtimes.
type Piece struct {
	Label     string // who speaks, as it is written: "[Human]", "[Agent]", "[Tool]"
	Text      []byte // UTF-8; may be reused once Add has returned
	Message   int    // ordinal of the message in its log
	Line      int    // 1-based line of the source
	LastLine  int    // of the record, where it is more than one line; else 0
	Offset    int64  // first byte of the record in the source
	End       int64  // first byte after the record
	Time      int64  // epoch milliseconds
	Abandoned bool   // on a branch that the conversation left
	Carried   bool   // said in another session, with which this one began
}

// Chunk is one window of a block. The ranges name the messages of which the
// window holds at least one code point (of their text or their label), and no
// others; all of them are inclusive except EndByte.
type Chunk struct {
	Text  []byte // valid until emit returns
	Runes int    // code points of Text
	// Label is who speaks at the beginning of Text, with what follows a label, if
	// the window begins inside a message; else it is empty. It is not in Text.
	Label []byte // valid until emit returns

	FirstMessage, LastMessage int
	FirstLine, LastLine       int
	FirstByte, EndByte        int64

	Time      int64 // epoch milliseconds of the first message in the window
	Abandoned bool
	Carried   bool
	Position  int // 0-based among the chunks of this Chunker
}

// Chunker cuts the messages it is given into chunks. The zero value is not
// usable; call [New]. A Chunker is for one goroutine.
type Chunker struct {
	options Options
	emit    func(*Chunk) error
	err     error // of an earlier emit; it stays, because the sequence has a hole

	window    window
	spans     []span // messages of the block that reach into the window, in order
	messages  int    // in the block
	abandoned bool   // what the block holds
	carried   bool   // the same
	head      []byte // scratch for a label
	label     []byte // scratch for that of a window
	chunk     Chunk  // scratch for emit
}

// span is where a message lies in its block, in code points.
type span struct {
	from, to int64
	piece    Piece // without Text
}

// New returns a Chunker that hands each chunk to emit as soon as it is
// complete. The chunk and its text belong to the Chunker again when emit
// returns. An error of emit ends the work: every later call returns it.
func New(o Options, emit func(*Chunk) error) *Chunker {
	o = o.withDefaults()
	return &Chunker{options: o, emit: emit, window: newWindow(o)}
}

// Add appends a message. Space around its text is dropped, and a message
// without text is left out. Active and abandoned messages are never in one
// block, nor are carried ones and others. Add returns the error of emit.
func (c *Chunker) Add(p Piece) error {
	text := trim(p.Text)
	if len(text) == 0 || c.err != nil {
		return c.err
	}
	if c.abandoned != p.Abandoned || c.carried != p.Carried {
		c.endBlock()
	}
	c.begin(p)
	c.write(text)
	c.spans[len(c.spans)-1].to = c.window.end()
	if c.messages == c.options.Block {
		c.endBlock()
	}
	return c.err
}

// Flush ends the block that has begun. Call it once after the last message;
// positions go on counting if more messages follow.
func (c *Chunker) Flush() error {
	c.endBlock()
	return c.err
}

// begin writes what stands before a message's text.
func (c *Chunker) begin(p Piece) {
	if c.messages > 0 {
		c.write(append(c.head[:0], "\n\n"...))
	}
	c.abandoned, c.carried = p.Abandoned, p.Carried
	c.messages++
	c.head = append(append(c.head[:0], p.Label...), afterLabel...)
	p.Text = nil
	c.spans = append(c.spans, span{from: c.window.end(), to: openEnd, piece: p})
	c.write(c.head)
}

// afterLabel stands between who speaks and what was said.
const afterLabel = ": "

// openEnd is the end of a message that is still being written.
const openEnd = 1<<63 - 1

func (c *Chunker) write(text []byte) {
	prefix := prefixOf(text)
	for len(text) > 0 && c.err == nil {
		text = c.window.fill(text, prefix)
		if c.window.full() {
			c.send()
			c.window.slide()
			c.forget()
		}
	}
}

// endBlock sends what no window has held yet, and starts over.
func (c *Chunker) endBlock() {
	if c.window.unsent > 0 && c.err == nil {
		c.send()
	}
	c.window.reset()
	c.spans = c.spans[:0]
	c.messages = 0
}

// send hands the window out.
func (c *Chunker) send() {
	position := c.chunk.Position
	c.chunk = c.covered()
	c.chunk.Text, c.chunk.Runes, c.chunk.Label = c.window.text, c.window.runes, c.beginning()
	c.chunk.Abandoned, c.chunk.Carried, c.chunk.Position = c.abandoned, c.carried, position
	c.err = c.emit(&c.chunk)
	c.chunk.Position++
}

// beginning is the label of the message inside which the window begins, nothing
// if it begins with a label, or between two messages.
func (c *Chunker) beginning() []byte {
	for i := range c.spans {
		if s := &c.spans[i]; s.from < c.window.start && s.to > c.window.start {
			c.label = append(append(c.label[:0], s.piece.Label...), afterLabel...)
			return c.label
		}
	}
	return nil
}

// covered returns a chunk that names the messages with text in the window, and
// where they stand: a message may stand before the one that it follows. There
// always is one: a window is longer than what stands between messages.
func (c *Chunker) covered() (covered Chunk) {
	end, found := c.window.end(), false
	for i := range c.spans {
		s := &c.spans[i]
		if s.to <= c.window.start || s.from >= end {
			continue
		}
		p := &s.piece
		if !found {
			found = true
			covered = Chunk{FirstMessage: p.Message, FirstLine: p.Line, FirstByte: p.Offset, Time: p.Time}
		}
		covered.FirstLine, covered.LastLine = min(covered.FirstLine, p.Line), max(covered.LastLine, p.Line, p.LastLine)
		covered.FirstByte, covered.EndByte = min(covered.FirstByte, p.Offset), max(covered.EndByte, p.End)
		covered.LastMessage = p.Message
	}
	return covered
}

// forget drops the messages that the window has left behind.
func (c *Chunker) forget() {
	n := 0
	for n < len(c.spans) && c.spans[n].to <= c.window.start {
		n++
	}
	c.spans = c.spans[:copy(c.spans, c.spans[n:])]
}

// window holds the code points [start, start+runes) of a block.
type window struct {
	size, step int // code points
	text       []byte
	runes      int   // code points in text
	start      int64 // of text in the block, in code points
	unsent     int   // code points at the end of text that no chunk has held
	next       int   // byte of text where the next window begins, once runes >= step
}

func newWindow(o Options) window {
	return window{size: o.Size, step: o.Size - o.Overlap, text: make([]byte, 0, o.Size*2)}
}

func (w *window) full() bool { return w.runes == w.size }
func (w *window) end() int64 { return w.start + int64(w.runes) }

// fill takes code points from the front of text and returns the rest. It
// stops where the next window begins, to remember that place, and when the
// window is full.
func (w *window) fill(text []byte, prefix prefixFunc) []byte {
	goal := w.size
	if w.runes < w.step {
		goal = w.step
	}
	n, runes := prefix(text, goal-w.runes)
	w.text = append(w.text, text[:n]...)
	w.runes += runes
	w.unsent += runes
	w.mark()
	return text[n:]
}

func (w *window) mark() {
	if w.runes == w.step {
		w.next = len(w.text)
	}
}

// slide moves a full window on by one step. What is left in it has been sent.
func (w *window) slide() {
	w.text = w.text[:copy(w.text, w.text[w.next:])]
	w.start += int64(w.step)
	w.runes -= w.step
	w.unsent = 0
	w.mark() // the overlap may be as long as the step
}

func (w *window) reset() {
	w.text, w.runes, w.start, w.unsent = w.text[:0], 0, 0, 0
}

// trim drops the space around a text. Most texts have none, or a line feed.
func trim(text []byte) []byte { return bytes.TrimSpace(text) }
