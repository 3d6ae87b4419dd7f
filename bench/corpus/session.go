package corpus

import (
	"bufio"
	"io"
	"math/rand/v2"
)

const (
	stretchBytes = 1_700_000 // of log that share a vocabulary and project files
	fullContext  = 170_000   // tokens at which the runtime compacts
	projectFiles = 6
)

// Log is what a written log holds.
type Log struct {
	Path     string `json:"path"`
	Bytes    int64  `json:"bytes"`
	Lines    int    `json:"lines"`
	Messages int    `json:"messages"` // records of type message
	Tokens   int64  `json:"tokens"`   // of the last usage
}

// logWriter writes one log.
type logWriter struct {
	out     *bufio.Writer
	r       *rand.Rand
	author  author
	files   [][]byte // what the agent reads and edits
	stretch int64    // written when the vocabulary was made

	line     []byte
	scratch  []byte
	id       []byte
	previous []byte
	clock    int64 // epoch milliseconds
	context  int64 // tokens
	written  int64
	log      Log
}

func newLogWriter(out *bufio.Writer, seed uint64) *logWriter {
	w := &logWriter{out: out, r: rand.New(rand.NewPCG(seed, 2)), context: 14_000}
	w.clock = 1_777_600_000_000 + int64(w.r.IntN(2_000_000_000)) // May 2026
	return w
}

// writeLog writes a log of about size bytes, in whole turns.
func writeLog(out io.Writer, seed uint64, size int64) (Log, error) {
	w := newLogWriter(bufio.NewWriterSize(out, 1<<20), seed)
	if err := w.header(); err != nil {
		return Log{}, err
	}
	for w.written < size {
		if w.author.v == nil || w.written-w.stretch > stretchBytes {
			w.newStretch()
		}
		if err := w.turn(); err != nil {
			return Log{}, err
		}
	}
	w.log.Bytes = w.written
	return w.log, w.out.Flush()
}

// newStretch gives the log new words and new files to work on.
func (w *logWriter) newStretch() {
	w.author = author{r: w.r, v: newVocabulary(w.r)}
	w.stretch = w.written
	w.files = w.files[:0]
	for i := range projectFiles {
		size := 1000 + w.r.IntN(7000)
		if i == 0 {
			size = 110_000
		}
		w.files = append(w.files, w.author.code(nil, size))
	}
}

func (w *logWriter) header() error {
	w.line = append(w.line[:0], `{"type":"session","version":3,"id":"`...)
	w.line = append(appendUUID(w.line, w.r), `","timestamp":"`...)
	w.line = append(appendTime(w.line, w.clock), `","cwd":"/work/project"`...)
	return w.close()
}

// turn writes a question, the agent's work on it, and its answer.
func (w *logWriter) turn() error {
	if w.context > fullContext {
		if err := w.compaction(); err != nil {
			return err
		}
	}
	if w.r.IntN(9) == 0 {
		w.open("thinking_level_change")
		w.line = append(w.line, `,"thinkingLevel":"high"`...)
		if err := w.close(); err != nil {
			return err
		}
	}
	if err := w.user(); err != nil {
		return err
	}
	for steps := 1 + w.r.IntN(9); steps > 0; steps-- {
		if err := w.step(); err != nil {
			return err
		}
	}
	return w.answer()
}

// compaction replaces most of the context by a summary.
func (w *logWriter) compaction() error {
	w.open("compaction")
	w.scratch = w.author.prose(w.scratch[:0], 4000)
	w.text("summary", w.scratch)
	w.text("firstKeptEntryId", w.previous)
	w.number("tokensBefore", w.context)
	w.context = 18_000
	return w.close()
}

// openMessage begins a message; its content is an array.
func (w *logWriter) openMessage(role string) {
	w.open("message")
	w.line = append(append(append(w.line, `,"message":{"role":"`...), role...), '"')
	w.log.Messages++
}

func (w *logWriter) closeMessage() error {
	w.number("timestamp", w.clock)
	w.line = append(w.line, '}')
	return w.close()
}

func (w *logWriter) user() error {
	w.openMessage("user")
	w.line = append(w.line, `,"content":[{"type":"text"`...)
	size := 60 + w.r.IntN(300)
	if w.r.IntN(20) == 0 {
		size = 2500
	}
	w.scratch = w.author.prose(w.scratch[:0], size)
	w.text("text", w.scratch)
	w.line = append(w.line, "}]"...)
	return w.closeMessage()
}

// step writes an assistant's message that calls tools, and their results.
func (w *logWriter) step() error {
	calls := make([]call, 1+w.r.IntN(3)/2)
	for i := range calls {
		calls[i] = w.newCall()
	}
	w.openMessage("assistant")
	w.line = append(w.line, `,"content":[`...)
	w.thought()
	if w.r.IntN(2) == 0 {
		w.said(40 + w.r.IntN(160))
	}
	for _, c := range calls {
		w.called(c)
	}
	w.line[len(w.line)-1] = ']' // in place of the last comma
	if err := w.endAssistant("toolUse"); err != nil {
		return err
	}
	for _, c := range calls {
		if err := w.result(c); err != nil {
			return err
		}
	}
	return nil
}

func (w *logWriter) answer() error {
	w.openMessage("assistant")
	w.line = append(w.line, `,"content":[`...)
	w.thought()
	w.said(80 + w.skewed(2400))
	w.line[len(w.line)-1] = ']'
	return w.endAssistant("stop")
}

// thought appends, for a fourth of the messages, thinking with its signature.
func (w *logWriter) thought() {
	if w.r.IntN(4) != 0 {
		return
	}
	w.line = append(w.line, `{"type":"thinking"`...)
	w.scratch = w.author.prose(w.scratch[:0], 60+w.skewed(900))
	w.text("thinking", w.scratch)
	w.scratch = appendSignature(w.scratch[:0], w.r, 60+w.r.IntN(90))
	w.text("thinkingSignature", w.scratch)
	w.line = append(w.line, "},"...)
}

// said appends a text block and a comma.
func (w *logWriter) said(bytes int) {
	w.line = append(w.line, `{"type":"text"`...)
	w.scratch = w.author.prose(w.scratch[:0], bytes)
	w.text("text", w.scratch)
	w.line = append(w.line, "},"...)
}

func (w *logWriter) endAssistant(reason string) error {
	w.line = append(w.line, `,"api":"anthropic-messages","provider":"anthropic","model":"claude-opus-4-5"`...)
	w.usage()
	w.text("stopReason", []byte(reason))
	return w.closeMessage()
}
