package embed

import (
	"bytes"
	"strings"
)

// stem cuts the inflection from an English word in place and returns what is
// left: irregular forms, plural and third person, -ing and -ed, -ly, and the
// final e of all but short words ("invites", "invited" and "inviting" become
// "invit"). What is not lower-case English comes back as it is or loses a
// harmless end. Without stems and stop words recall falls by 8 points
// (research/recall.md section 2).
func stem(w []byte) []byte {
	if base := regular(w); base != "" {
		w = append(w[:0], base...)
	}
	if len(w) <= 3 {
		return w
	}
	w = cutPlural(w)
	switch {
	case hasEnd(w, "ied", 2):
		w = append(w[:len(w)-3], 'y')
	case hasEnd(w, "eed", 3):
		w = w[:len(w)-1]
	case hasEnd(w, "eed", 0):
		// speed, freed
	case hasEnd(w, "ing", 3) && hasVowel(w[:len(w)-3]):
		w = mend(w[:len(w)-3])
	case hasEnd(w, "ed", 3) && hasVowel(w[:len(w)-2]):
		w = mend(w[:len(w)-2])
	case hasEnd(w, "ly", 4):
		w = w[:len(w)-2]
	}
	if hasEnd(w, "e", 4) {
		w = w[:len(w)-1]
	}
	return w
}

func cutPlural(w []byte) []byte {
	switch {
	case hasEnd(w, "ies", 2):
		return append(w[:len(w)-3], 'y')
	case hasEnd(w, "sses", 0):
		return w[:len(w)-2]
	case hasEnd(w, "es", 3) && isOneOf(w[len(w)-3], "sxzh"):
		return w[:len(w)-2]
	case hasEnd(w, "ss", 0), hasEnd(w, "us", 0), hasEnd(w, "is", 0):
		return w
	case hasEnd(w, "s", 3):
		return w[:len(w)-1]
	}
	return w
}

// hasEnd says whether w ends so, with at least left bytes before.
func hasEnd(w []byte, end string, left int) bool {
	at := len(w) - len(end)
	return at >= left && string(w[at:]) == end
}

func hasVowel(w []byte) bool { return bytes.ContainsAny(w, vowels) }

// mend makes a word of what -ing or -ed left: "hopp" loses its double letter
// (l, s and z are double by nature), and "hik" gets back the e that "hike",
// too short to lose it, has kept.
func mend(w []byte) []byte {
	n := len(w)
	switch {
	case n > 3 && w[n-1] == w[n-2] && !isOneOf(w[n-1], "lsz"):
		return w[:n-1]
	case n == 3 && !isOneOf(w[0], vowels) && isOneOf(w[1], vowels) && !isOneOf(w[2], vowels+"wx"):
		return append(w, 'e')
	}
	return w
}

const vowels = "aeiouy"

func isOneOf(c byte, set string) bool { return strings.IndexByte(set, c) >= 0 }

// isStop says whether a word is so common that it says nothing.
func isStop(w []byte) bool {
	switch string(w) {
	case "a", "an", "and", "are", "as", "at", "be", "been", "but", "by",
		"can", "could", "did", "do", "does", "for", "from",
		"had", "has", "have", "he", "her", "hers", "him", "his", "how",
		"i", "if", "in", "into", "is", "it", "its", "just", "me", "my",
		"no", "not", "of", "on", "or", "our", "out", "she", "so", "some", "such",
		"than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "to", "too",
		"up", "us", "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom", "why", "will", "with", "would",
		"you", "your", "yours", "am", "being", "doing", "having", "here", "also", "more", "about":
		return true
	}
	return false
}
