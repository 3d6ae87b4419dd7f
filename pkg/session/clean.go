package session

// escape starts a control sequence of a terminal.
const escape = 0x1B

// AppendClean appends text without what cannot be read or found: NUL and
// other control characters but line feed and tab, escape sequences of
// terminals, zero-width and bidirectional controls, and base64 or other
// binary data of 512 characters and more without a space (64 in a data: URL),
// which becomes "[base64 left out: N bytes]". A carriage return that stands
// alone, a form feed and a vertical tab become a line feed. leftOut is
// the number of bytes of text that dst does not hold.
//
// It does not allocate when dst has room for text, which must not overlap.
func AppendClean(dst, text []byte) (clean []byte, leftOut int64) {
	start := len(dst)
	dst, leftOut = appendPrintable(dst, text)
	dst, binary := cutBinary(dst, start)
	return dst, leftOut + binary
}

// Clean is [AppendClean] within text's own memory, which it changes: what it
// returns is the beginning of text. Text with nothing to leave out, the usual
// case, is only read.
func Clean(text []byte) (clean []byte, leftOut int64) {
	if n, _ := printable(text); n < len(text) {
		// what is written never overtakes what is still to be read
		text, leftOut = appendPrintable(text[:n], text[n:])
	}
	text, binary := cutBinary(text, 0)
	return text, leftOut + binary
}

func appendPrintable(dst, text []byte) ([]byte, int64) {
	var leftOut int64
	for {
		n, drop := printable(text)
		dst = append(dst, text[:n]...)
		if n == len(text) {
			return dst, leftOut
		}
		if breaksLine(text[n:]) {
			dst = append(dst, '\n')
		} else {
			leftOut += int64(drop)
		}
		text = text[n+drop:]
	}
}

// breaksLine reports whether b starts with a control character that keeps
// words apart and is not part of CR LF.
func breaksLine(b []byte) bool {
	switch b[0] {
	case '\v', '\f':
		return true
	case '\r':
		return len(b) < 2 || b[1] != '\n'
	}
	return false
}

// suspectBytes marks the bytes that are, or may start, something to leave out.
var suspectBytes = func() (marks [256]uint8) {
	for c := range 0x20 {
		marks[c] = 1
	}
	marks['\n'], marks['\t'] = 0, 0
	for _, c := range []byte{0x7F, 0xC2, 0xD8, 0xE1, 0xE2, 0xEF, 0xF3} {
		marks[c] = 1
	}
	return marks
}()

// printable returns how many bytes of text stay as they are and how many
// bytes after them are left out.
func printable(text []byte) (n, drop int) {
	for n < len(text) {
		for n+8 <= len(text) {
			b := text[n : n+8 : n+8]
			if suspectBytes[b[0]]|suspectBytes[b[1]]|suspectBytes[b[2]]|suspectBytes[b[3]]|
				suspectBytes[b[4]]|suspectBytes[b[5]]|suspectBytes[b[6]]|suspectBytes[b[7]] != 0 {
				break
			}
			n += 8
		}
		for end := min(n+8, len(text)); n < end; n++ {
			if suspectBytes[text[n]] == 0 {
				continue
			}
			if drop = unreadable(text[n:]); drop > 0 {
				return n, drop
			}
		}
	}
	return n, 0
}

// unreadable returns the length of the control character or sequence that b
// starts with, or 0. b starts with a suspect byte.
func unreadable(b []byte) int {
	switch c := b[0]; {
	case c == escape:
		return escapeLength(b)
	case c < 0x20, c == 0x7F:
		return 1
	case len(b) < 2:
		return 0
	case c == 0xC2: // C1 controls and the soft hyphen
		return onlyIf(2, b[1] < 0xA0 || b[1] == 0xAD)
	case c == 0xD8: // U+061C
		return onlyIf(2, b[1] == 0x9C)
	case len(b) < 3:
		return 0
	}
	return unreadableLong(b)
}

func unreadableLong(b []byte) int {
	switch second, third := b[1], b[2]; b[0] {
	case 0xE1: // U+180E
		return onlyIf(3, second == 0xA0 && third == 0x8E)
	case 0xE2: // U+200B..200F, U+202A..202E, U+2060..206F
		general := second == 0x80 && (third >= 0x8B && third <= 0x8F || third >= 0xAA && third <= 0xAE)
		return onlyIf(3, general || second == 0x81 && third >= 0xA0 && third <= 0xAF)
	case 0xEF: // U+FEFF
		return onlyIf(3, second == 0xBB && third == 0xBF)
	case 0xF3: // U+E0000..E007F
		return onlyIf(4, len(b) > 3 && second == 0xA0 && third <= 0x81)
	}
	return 0
}

func onlyIf(n int, yes bool) int {
	if yes {
		return n
	}
	return 0
}

// escapeLength returns the length of the escape sequence at the start of b
// (ECMA-48). A sequence that does not end is only as long as what is surely
// part of it, so that it never takes text with it.
func escapeLength(b []byte) int {
	if len(b) < 2 {
		return 1
	}
	switch c := b[1]; {
	case c == '[':
		return controlSequence(b)
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
		return controlString(b)
	case c >= 0x20 && c <= 0x2F && len(b) > 2 && b[2] >= 0x30 && b[2] < 0x7F:
		return 3
	case c >= 0x30 && c < 0x7F:
		return 2
	}
	return 1
}

// controlSequence returns the length of ESC [ parameters final.
func controlSequence(b []byte) int {
	i := 2
	for i < len(b) && b[i] >= 0x20 && b[i] <= 0x3F {
		i++
	}
	if i < len(b) && b[i] >= 0x40 && b[i] <= 0x7E {
		return i + 1
	}
	return 2
}

// controlString returns the length of ESC ] … BEL or ESC \ on one line.
func controlString(b []byte) int {
	for i := 2; i < len(b) && b[i] != '\n'; i++ {
		if b[i] == 0x07 {
			return i + 1
		}
		if b[i] == escape {
			return i + onlyIf(2, i+1 < len(b) && b[i+1] == '\\')
		}
	}
	return 2
}
