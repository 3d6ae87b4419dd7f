package corpus

import (
	"math/rand/v2"
	"strconv"
	"time"
)

// appendQuoted appends text as a JSON string the way JavaScript writes it. The
// texts of this package hold no control characters but line feed and tab.
func appendQuoted(dst, text []byte) []byte {
	dst = append(dst, '"')
	from := 0
	for i, c := range text {
		escaped := ""
		switch c {
		case '\n':
			escaped = `\n`
		case '\t':
			escaped = `\t`
		case '"':
			escaped = `\"`
		case '\\':
			escaped = `\\`
		default:
			continue
		}
		dst = append(append(dst, text[from:i]...), escaped...)
		from = i + 1
	}
	return append(append(dst, text[from:]...), '"')
}

func appendHex(dst []byte, r *rand.Rand, digits int) []byte {
	for range digits {
		dst = append(dst, "0123456789abcdef"[r.Uint32()&15])
	}
	return dst
}

// appendUUID appends a version 4 UUID.
func appendUUID(dst []byte, r *rand.Rand) []byte {
	dst = append(appendHex(dst, r, 8), '-')
	dst = append(append(appendHex(dst, r, 4), '-', '4'), appendHex(nil, r, 3)...)
	dst = append(append(dst, '-', 'a'), appendHex(nil, r, 3)...)
	return appendHex(append(dst, '-'), r, 12)
}

// appendSignature appends digits of base64, as thinking is signed with.
func appendSignature(dst []byte, r *rand.Rand, digits int) []byte {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for range digits {
		dst = append(dst, alphabet[r.Uint32()&63])
	}
	return dst
}

// appendTime appends a time in epoch milliseconds as JavaScript does.
func appendTime(dst []byte, ms int64) []byte {
	return time.UnixMilli(ms).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
}

// open begins a record that follows the one before it.
func (w *logWriter) open(kind string) {
	w.line = append(append(append(w.line[:0], `{"type":"`...), kind...), `","id":"`...)
	w.previous = append(w.previous[:0], w.id...)
	w.id = appendHex(w.id[:0], w.r, 8)
	w.line = append(append(w.line, w.id...), `","parentId":`...)
	if len(w.previous) == 0 {
		w.line = append(w.line, "null"...)
	} else {
		w.line = append(append(append(w.line, '"'), w.previous...), '"')
	}
	w.line = append(w.line, `,"timestamp":"`...)
	w.line = append(appendTime(w.line, w.clock), '"')
}

// close ends a record and writes it.
func (w *logWriter) close() error {
	w.line = append(w.line, '}', '\n')
	w.written += int64(len(w.line))
	w.log.Lines++
	w.context += int64(len(w.line)) / 5
	w.clock += 300 + int64(w.r.IntN(20000))
	_, err := w.out.Write(w.line)
	return err
}

func (w *logWriter) key(name string) {
	w.line = append(append(append(w.line, `,"`...), name...), `":`...)
}

func (w *logWriter) text(name string, value []byte) {
	w.key(name)
	w.line = appendQuoted(w.line, value)
}

func (w *logWriter) number(name string, value int64) {
	w.key(name)
	w.line = strconv.AppendInt(w.line, value, 10)
}

// usage appends what a model call cost and makes it the log's token count.
func (w *logWriter) usage() {
	output, fresh := int64(60+w.r.IntN(900)), int64(200+w.r.IntN(4000))
	cached := max(w.context-fresh-output, 0)
	total := 4 + output + cached + fresh
	w.line = append(w.line, `,"usage":{"input":4`...)
	w.number("output", output)
	w.number("cacheRead", cached)
	w.number("cacheWrite", fresh)
	w.number("totalTokens", total)
	w.line = append(w.line, `,"cost":{"input":0.00002,"output":`...)
	w.line = strconv.AppendFloat(w.line, float64(output)*25/1e6, 'g', -1, 64)
	w.line = append(w.line, `,"cacheRead":`...)
	w.line = strconv.AppendFloat(w.line, float64(cached)/2e6, 'g', -1, 64)
	w.line = append(w.line, `,"total":`...)
	w.line = strconv.AppendFloat(w.line, float64(total)/1e6, 'g', -1, 64)
	w.line = append(w.line, "}}"...)
	w.log.Tokens = total
}
