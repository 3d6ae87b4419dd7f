package session

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxSafeID is the length of the longest safe id, in bytes. OpenClaw accepts
// the same ids (research/formats.md section 4.2).
const maxSafeID = 128

// SafeID reports whether an id can be part of a path and of a message: 1 to
// 128 ASCII letters, digits, dots, underscores and dashes, of which the first
// is a letter or a digit. So it is never "..", hidden, or an option.
func SafeID(id string) bool {
	if id == "" || len(id) > maxSafeID || !alphanumeric(id[0]) {
		return false
	}
	for i := range len(id) {
		if !safeByte(id[i]) {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return c-'0' <= 9 || c|0x20-'a' < 26
}

// safeByte looks a character up in two words: listings ask it of every
// character of every name.
func safeByte(c byte) bool {
	const digits = 1<<('9'+1) - 1<<'0' | 1<<'.' | 1<<'-'
	const letters = 1<<('Z'+1-64) - 1<<('A'-64) | 1<<('z'+1-64) - 1<<('a'-64) | 1<<('_'-64)
	return c < 64 && uint64(digits)>>c&1 == 1 || c >= 64 && c < 128 && uint64(letters)>>(c-64)&1 == 1
}

// CleanID returns a safe id for a name: the name itself if it is one, else
// what is safe in it and eight digits of its hash, so that different names
// have different ids.
func CleanID(name string) string {
	if SafeID(name) {
		return name
	}
	const digits = 8
	hash := sha256.Sum256([]byte(name))
	clean := strings.Map(func(r rune) rune {
		if r < 0x80 && safeByte(byte(r)) {
			return r
		}
		return '_'
	}, name)
	clean = strings.TrimLeft(clean, "._-")
	clean = clean[:min(len(clean), maxSafeID-digits-1)]
	if clean != "" {
		clean += "-"
	}
	return clean + hex.EncodeToString(hash[:])[:digits]
}
