package words

import "strings"

// Match says which texts to find by their terms (embed.AppendTerms).
type Match struct {
	All []string // they have all of these
	Any []string // and one of these
}

// IsEmpty reports whether there is nothing to match.
func (m Match) IsEmpty() bool { return len(m.All)+len(m.Any) == 0 }

// key tells a match from every other.
func (m Match) key() string {
	return strings.Join(m.All, " ") + "|" + strings.Join(m.Any, " ")
}
