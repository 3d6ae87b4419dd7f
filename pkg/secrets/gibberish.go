package secrets

// follow has the letters that often stand behind each letter in words and names of
// programs, one bit each: the 250 commonest pairs in source code and pages. 85 of 100
// pairs in words are such, and 37 of 100 of letters that a generator has drawn.
func follow() *[26]uint32 {
	return &[26]uint32{
		0x1dfbd7f, 0x1104957, 0x01e5d9f, 0x136491b, 0x1eff87f, 0x01a4931, 0x0066151, 0x0005111, 0x2aef87f, 0x0000000, 0x0000110, 0x11c4919, 0x01cd11b,
		0x03c657d, 0x07efd6e, 0x01ec911, 0x0100000, 0x13e7d5d, 0x01cc595, 0x11e4995, 0x00eb932, 0x0000111, 0x0026111, 0x0088000, 0x00c8000, 0x0000010,
	}
}

// isGibberish reports letters that do not follow each other as those of words do. A word
// of hexadecimal digits is none, and neither is one of which few letters stand together.
func isGibberish(word []byte) bool {
	const leastPairs = 8
	pairs, common, signs, upper, lower, digits, beyondHex := 0, 0, 0, 0, 0, 0, 0
	last, pairsOf := -1, follow()
	for _, c := range word {
		letter := -1
		switch {
		case 'a' <= c && c <= 'z':
			letter, lower = int(c-'a'), lower+1
		case 'A' <= c && c <= 'Z':
			letter, upper = int(c-'A'), upper+1
		case '0' <= c && c <= '9':
			digits++
		case classOf(c) == 4:
			signs++
		default:
			return false
		}
		if letter > 5 {
			beyondHex++
		}
		if letter >= 0 && last >= 0 {
			pairs++
			common += int(pairsOf[last] >> letter & 1)
		}
		last = letter
	}
	mixed := lower > 0 && (upper > 1 || digits > 1)
	return mixed && beyondHex > 0 && signs*8 <= len(word) && pairs >= leastPairs && common*5 <= pairs*3
}
