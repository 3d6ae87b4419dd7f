package remote

import (
	"strings"

	"github.com/sessctl/sessctl/pkg/memory"
)

// FactDetails is what a server keeps of a fact beside its record, its kind and
// its successor.
type FactDetails struct {
	Confidence float64 `json:"confidence"`
	Quote      string  `json:"quote"`
	Speaker    string  `json:"speaker"`
	Topic      string  `json:"topic"`
	Value      string  `json:"value"`
	Instead    string  `json:"instead"`
	MadeBy     string  `json:"made_by"`
}

// DetailsOf are those of a fact.
func DetailsOf(f memory.Fact) FactDetails {
	return FactDetails{f.Confidence, Storable(f.Quote), f.Speaker, Storable(f.Topic), Storable(f.Value), Storable(f.Instead), f.MadeBy}
}

// Complete puts the details into a fact.
func (d FactDetails) Complete(f *memory.Fact) {
	f.Confidence, f.Quote, f.Speaker, f.Topic, f.Value, f.Instead, f.MadeBy = d.Confidence, d.Quote, d.Speaker, d.Topic, d.Value, d.Instead, d.MadeBy
}

// Storable is a text as every server can keep it: it has no NUL, and nothing
// that is no UTF-8.
func Storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
