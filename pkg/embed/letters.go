package embed

import "unicode"

// wideOffset lies between ASCII and its full-width forms.
const wideOffset = 0xFEE0

func isWideASCII(r rune) bool { return 0xFF01 <= r && r <= 0xFF5E }

// isAccent says whether r is a combining diacritic, which is dropped so that
// a decomposed letter equals the folded one.
func isAccent(r rune) bool { return 0x300 <= r && r <= 0x36F }

// isIgnored says whether a word goes on over r: accents, soft hyphen, joiners.
func isIgnored(r rune) bool {
	return isAccent(r) || r == 0xAD || r == 0x200C || r == 0x200D || r == 0x2060
}

// isUnspaced says whether r is of a script that puts no spaces between words
// (or, as Korean, glues to a word what belongs to others).
func isUnspaced(r rune) bool {
	if r < 0xE00 || !inUnspacedBlock(r) {
		return false
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || r == '〇'
}

func inUnspacedBlock(r rune) bool {
	switch {
	case r <= 0xEFF, // Thai, Lao
		0x1000 <= r && r <= 0x109F,   // Myanmar
		0x1100 <= r && r <= 0x11FF,   // Hangul Jamo
		0x1780 <= r && r <= 0x17FF,   // Khmer
		0x3005 <= r && r <= 0x318F,   // 々 〇, Kana, Bopomofo, Jamo
		0x31A0 <= r && r <= 0x31FF,   // more Bopomofo and Kana
		0x3400 <= r && r <= 0x4DBF,   // Han, extension A
		0x4E00 <= r && r <= 0x9FFF,   // Han
		0xA960 <= r && r <= 0xA97F,   // more Jamo
		0xAC00 <= r && r <= 0xD7FF,   // Hangul
		0xF900 <= r && r <= 0xFAFF,   // Han, compatibility
		0xFF66 <= r && r <= 0xFFDC,   // half-width Kana and Jamo
		0x20000 <= r && r <= 0x3FFFF: // Han, extensions
		return true
	}
	return false
}

// fold returns the lower-case letter under r's accents ("É" is "e").
func fold(r rune) rune {
	base := byte('.')
	switch {
	case 0xC0 <= r && r < 0xC0+rune(len(latinBases)):
		base = latinBases[r-0xC0]
	case 0x1E00 <= r && r < 0x1E00+rune(len(vietnameseBases)):
		base = vietnameseBases[r-0x1E00]
	}
	if base != '.' {
		return rune(base)
	}
	return unicode.ToLower(r)
}

// The base letters of U+00C0 onward and U+1E00 onward (Unicode's canonical
// decompositions, and strokes), '.' where there is none.
const (
	latinBases = "aaaaaa.ceeeeiiiidnooooo.ouuuuy..aaaaaa.ceeeeiiiidnooooo.ouuuuy.y" +
		"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii..jjkk.llllll." +
		".llnnnnnn...oooooo..rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzz." +
		"b......................i........oo.............uu....zz........." +
		".............aaiioouuuuuuuuuu.aaaa....ggkkoooo..j...gg..nnaa...." +
		"aaaaeeeeiiiioooorrrruuuusstt..hh......aaeeooooooooyy............" +
		"...b............"
	vietnameseBases = "aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmm" +
		"mmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvv" +
		"wwwwwwwwwwxxxxyyzzzzzzhtwy......aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeee" +
		"eeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy......"
)
