package chunk

import "bytes"

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
