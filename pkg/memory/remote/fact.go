package remote

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/pkg/memory"
)

// factDetails is what a server keeps of a fact beside its record, its kind and
// its successor.
type factDetails struct {
	Confidence float64 `json:"confidence"`
	Quote      string  `json:"quote"`
	Speaker    string  `json:"speaker"`
	Topic      string  `json:"topic"`
	Value      string  `json:"value"`
	Instead    string  `json:"instead"`
	MadeBy     string  `json:"made_by"`
}

// EncodeDetails writes the details of a fact as a server keeps them.
func EncodeDetails(f memory.Fact) (string, error) {
	text, err := json.Marshal(factDetails{f.Confidence, Storable(f.Quote), f.Speaker, Storable(f.Topic), Storable(f.Value), Storable(f.Instead), f.MadeBy})
	if err != nil {
		return "", fmt.Errorf("write a fact: %w", err)
	}
	return string(text), nil
}

// DecodeDetails puts details that EncodeDetails wrote into a fact. "" changes
// nothing: the record says none.
func DecodeDetails(text string, f *memory.Fact) error {
	if text == "" {
		return nil
	}
	var d factDetails
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return fmt.Errorf("read a fact: %w", err)
	}
	f.Confidence, f.Quote, f.Speaker, f.Topic, f.Value, f.Instead, f.MadeBy = d.Confidence, d.Quote, d.Speaker, d.Topic, d.Value, d.Instead, d.MadeBy
	return nil
}

// Storable is a text as every server can keep it: it has no NUL, and nothing
// that is no UTF-8.
func Storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
