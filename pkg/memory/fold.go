package memory

import "strings"

// fold drops records that say the same as one before them, and counts them
// there. The order stays.
func fold(list []*rated, same func(x, y Record) bool) []*rated {
	var kept []*rated
next:
	for _, x := range list {
		for _, k := range kept {
			if same(k.Record, x.Record) {
				k.duplicates += 1 + x.duplicates
				k.holds |= x.holds
				continue next
			}
		}
		kept = append(kept, x)
	}
	return kept
}

// nearShare is how much of their words two neighbours must share to be one
// hit. Neighbours share 200 of 3,500 characters by design and stay apart.
const nearShare = 0.9

// nearlyEqual says whether two records are neighbours in one session (or the
// same place of it, cut twice as the session grew) with nearly the same words.
func nearlyEqual(x, y Record) bool {
	if x.Session != y.Session || x.Agent != y.Agent || x.Runtime != y.Runtime || x.Category != y.Category {
		return false
	}
	if d := x.Position - y.Position; d < -1 || d > 1 {
		return false
	}
	return wordShare(x.Text, y.Text) >= nearShare
}

// wordShare is the share of the longer text's words that the other has too.
func wordShare(x, y string) float64 {
	words, others := strings.Fields(x), strings.Fields(y)
	if len(words) < len(others) {
		words, others = others, words
	}
	if float64(len(others)) < nearShare*float64(len(words)) {
		return 0
	}
	count := map[string]int{}
	for _, w := range words {
		count[w]++
	}
	common := 0
	for _, w := range others {
		if count[w] > 0 {
			count[w]--
			common++
		}
	}
	return float64(common) / float64(max(len(words), 1))
}
