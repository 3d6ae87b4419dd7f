package summarize

import (
	"slices"
	"strings"
	"sync"
)

// phrases is a set of short texts in lower case, and finds out in one pass
// whether a text contains any.
type phrases struct {
	first, second [256]bool // bytes that a phrase has there
	by            [256][]string
}

// phraseSet returns the set of phrases of two bytes and more. It is made when it
// is first asked for; nobody changes it.
func phraseSet(all ...string) func() *phrases {
	return sync.OnceValue(func() *phrases {
		p := &phrases{}
		for _, s := range all {
			p.first[s[0]], p.second[s[1]] = true, true
			p.by[s[0]] = append(p.by[s[0]], s)
		}
		return p
	})
}

// in tells whether a text contains one of the phrases.
func (p *phrases) in(text []byte) bool {
	for i := 0; i+1 < len(text); i++ {
		if p.first[text[i]] && p.second[text[i+1]] {
			rest := text[i:]
			if slices.ContainsFunc(p.by[text[i]], func(s string) bool { return len(s) <= len(rest) && string(rest[:len(s)]) == s }) {
				return true
			}
		}
	}
	return false
}

// inString is in for a string.
func (p *phrases) inString(text string) bool {
	return strings.ContainsAny(text, "abcdefghijklmnopqrstuvwxyz") && p.in([]byte(text))
}
