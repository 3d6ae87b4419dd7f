package corpus

import (
	"bytes"
	"math/rand/v2"
	"strconv"
)

// author writes text with the words of one vocabulary.
type author struct {
	r *rand.Rand
	v *vocabulary
}

// prose appends about n bytes of sentences and paragraphs, as a person or a
// model writes them.
func (a author) prose(dst []byte, n int) []byte {
	start := len(dst)
	for len(dst)-start < n {
		dst = a.sentence(dst)
		if a.r.IntN(5) == 0 {
			dst = append(dst, "\n\n"...)
		} else {
			dst = append(dst, ' ')
		}
	}
	return bytes.TrimRight(dst, " \n")
}

func (a author) sentence(dst []byte) []byte {
	words := 4 + a.r.IntN(12)
	for i := range words {
		if i > 0 {
			dst = append(dst, ' ')
		}
		switch a.r.IntN(24) {
		case 0:
			dst = append(append(append(dst, '`'), a.name()...), '`')
		case 1:
			dst = append(append(append(dst, '"'), a.v.word(a.r)...), '"')
		default:
			dst = append(dst, a.v.word(a.r)...)
		}
	}
	return append(dst, '.')
}

// name makes an identifier of two words.
func (a author) name() string {
	second := []byte(a.v.word(a.r))
	if c := second[0]; c >= 'a' && c <= 'z' {
		second[0] -= 'a' - 'A'
	}
	return a.v.word(a.r) + string(second)
}

func (a author) path(dst []byte) []byte {
	dst = append(append(dst, "packages/"...), a.v.word(a.r)...)
	dst = append(append(dst, "/src/"...), a.v.word(a.r)...)
	return append(append(append(dst, '-'), a.v.word(a.r)...), ".ts"...)
}

// code appends about n bytes of lines of source code.
func (a author) code(dst []byte, n int) []byte {
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

// statement appends one line and returns how deep the next one is.
func (a author) statement(dst []byte, depth int) ([]byte, int) {
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
		dst = append(append(dst, "const "...), a.v.word(a.r)...)
		dst = append(append(dst, " = \""...), a.v.word(a.r)...)
		return append(dst, "\";"...), depth
	}
	dst = append(append(dst, a.v.word(a.r)...), '.')
	dst = append(append(dst, a.name()...), '(')
	dst = append(append(dst, a.name()...), ", "...)
	dst = append(append(dst, a.v.word(a.r)...), ", "...)
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
		dst, _ = a.statement(dst, 0)
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
