package jsonl

import "bytes"

// Line is one line of a stream. Length is len(Raw) + CutBytes + NULBytes + the
// line ending + 3 for a byte order mark.
type Line struct {
	Number   int    // 1-based; 0 from a [BackwardReader]
	Offset   int64  // of the line's first byte in the stream
	Length   int64  // bytes in the stream, line ending included
	Raw      []byte // without line ending, NULs at both ends and the byte order mark of the stream; valid until the next call
	Complete bool   // ended by LF
	CutBytes int64  // bytes left out by shrinking
	NULBytes int64  // NULs trimmed at both ends
	// TooLong says that not even shrinking made the line short enough. Raw is
	// only its beginning.
	TooLong bool

	lead int64 // bytes of the stream before Raw
}

// byteOrderMark may begin a UTF-8 stream. JSON does not allow it.
const byteOrderMark = "\xef\xbb\xbf"

// trim sets Raw to text, which has no line ending, without what does not
// belong to the JSON: the byte order mark of the stream, and NULs at both ends,
// which are what a power cut leaves of pages that were never written.
func (l *Line) trim(text []byte) {
	if l.Offset == 0 && bytes.HasPrefix(text, []byte(byteOrderMark)) {
		text = text[len(byteOrderMark):]
		l.lead += int64(len(byteOrderMark))
	}
	if n := len(text); n > 0 && (text[0] == 0 || text[n-1] == 0) {
		text = l.trimNULs(text)
	}
	l.Raw = text
}

// withoutCR returns text without the CR that its line ends with, if it does.
func withoutCR(text []byte) []byte {
	if n := len(text); n > 0 && text[n-1] == '\r' {
		return text[:n-1]
	}
	return text
}

func (l *Line) trimNULs(text []byte) []byte {
	tail := bytes.TrimLeft(text, "\x00")
	l.lead += int64(len(text) - len(tail))
	middle := bytes.TrimRight(tail, "\x00")
	l.NULBytes += int64(len(text) - len(middle))
	return middle
}

// isUTF16 tells whether a stream that begins with head is UTF-16: by its byte
// order mark, or by a brace and another character each with a NUL.
func isUTF16(head []byte) bool {
	if len(head) < 2 {
		return false
	}
	if s := string(head[:2]); s == "\xff\xfe" || s == "\xfe\xff" {
		return true
	}
	if len(head) < 4 {
		return false
	}
	little := head[0] == '{' && head[1] == 0 && head[2] != 0 && head[3] == 0
	big := head[0] == 0 && head[1] == '{' && head[2] == 0 && head[3] != 0
	return little || big
}
