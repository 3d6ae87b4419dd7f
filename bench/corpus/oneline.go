package corpus

import (
	"bufio"
	"io"
)

// writeOneLine writes a log in which one tool result is as long as all else
// is short.
func writeOneLine(out io.Writer, seed uint64, size int64) (Log, error) {
	w := newLogWriter(bufio.NewWriterSize(out, 1<<20), seed)
	w.newStretch()
	if err := w.header(); err != nil {
		return Log{}, err
	}
	if err := w.user(); err != nil {
		return Log{}, err
	}
	if err := w.longResult(size); err != nil {
		return Log{}, err
	}
	if err := w.answer(); err != nil {
		return Log{}, err
	}
	w.log.Bytes = w.written
	return w.log, w.out.Flush()
}

// longResult writes the text of a tool result piece by piece.
func (w *logWriter) longResult(size int64) error {
	c := w.newCall()
	w.openMessage("assistant")
	w.line = append(w.line, `,"content":[`...)
	w.called(c)
	w.line[len(w.line)-1] = ']'
	if err := w.endAssistant("toolUse"); err != nil {
		return err
	}
	w.openMessage("toolResult")
	w.text("toolCallId", c.id)
	w.line = append(w.line, `,"content":[{"type":"text","text":"`...)
	for start := w.written; w.written-start < size; {
		w.written += int64(len(w.line))
		if _, err := w.out.Write(w.line); err != nil {
			return err
		}
		w.scratch = appendQuoted(w.scratch[:0], w.author.code(nil, 100_000))
		w.line = append(w.line[:0], w.scratch[1:len(w.scratch)-1]...)
	}
	w.line = append(w.line, `"}],"isError":false`...)
	return w.closeMessage()
}
