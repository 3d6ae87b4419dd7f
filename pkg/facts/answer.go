package facts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// errNoFacts is returned for an answer in which there is no list of facts.
var errNoFacts = errors.New("it is no JSON object with facts")

// item is one fact as a model writes it. Models are loose with types: what is
// to be a number may be a string.
type item struct {
	Fact       string `json:"fact"`
	Text       string `json:"text"` // what some write for fact
	Category   string `json:"category"`
	Kind       string `json:"kind"` // what some write for category
	Quote      string `json:"quote"`
	Confidence loose  `json:"confidence"`
	Message    loose  `json:"message"`
	Replaces   loose  `json:"replaces"`
}

// loose is a number or a string, as a string; "" for anything else.
type loose string

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (l *loose) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*l = loose(strings.TrimSpace(s))
		return nil
	}
	var f float64
	if json.Unmarshal(raw, &f) == nil {
		*l = loose(strconv.FormatFloat(f, 'g', -1, 64))
	}
	return nil
}

// number reads "12", "#12" and "K12".
func (l loose) number() float64 {
	f, err := strconv.ParseFloat(strings.TrimLeft(string(l), "#Kk"), 64)
	if err != nil {
		return 0
	}
	return f
}

// mostItems bounds what is read of one answer.
const mostItems = 100

// items reads the facts of an answer, whatever stands around them. One that
// cannot be read does not spoil the others; of an answer that was cut off the
// whole ones count. It returns how many could not be read.
func items(answer string) (all []item, bad int, err error) {
	text := []byte(answer)
	for i := 0; i < len(text); i++ {
		if text[i] != '{' && text[i] != '[' {
			continue
		}
		raws, ok := list(text[i:])
		if !ok {
			continue
		}
		for _, raw := range raws[:min(len(raws), mostItems)] {
			var it item
			if json.Unmarshal(raw, &it) != nil {
				bad++
				continue
			}
			all = append(all, it)
		}
		return all, bad, nil
	}
	if all = salvaged(text); len(all) > 0 {
		return all, 1, nil
	}
	return nil, 0, errNoFacts
}

// list reads {"facts": [...]} or a bare list of objects.
func list(text []byte) ([]json.RawMessage, bool) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if text[0] == '[' {
		var raws []json.RawMessage
		return raws, dec.Decode(&raws) == nil && len(raws) > 0 && bytes.HasPrefix(raws[0], []byte("{"))
	}
	var whole struct {
		Facts *[]json.RawMessage `json:"facts"`
	}
	if dec.Decode(&whole) != nil || whole.Facts == nil {
		return nil, false
	}
	return *whole.Facts, true
}

// salvaged reads single facts of what is no whole document.
func salvaged(text []byte) (all []item) {
	for i := 0; i < len(text) && len(all) < mostItems; i++ {
		var it item
		dec := json.NewDecoder(bytes.NewReader(text[i:]))
		if text[i] == '{' && dec.Decode(&it) == nil && it.sentence() != "" {
			all = append(all, it)
			i += int(dec.InputOffset()) - 1
		}
	}
	return all
}

func (it item) sentence() string {
	if it.Fact != "" {
		return it.Fact
	}
	return it.Text
}

func (it item) category() Kind {
	if it.Category != "" {
		return Kind(strings.ToLower(strings.TrimSpace(it.Category)))
	}
	return Kind(strings.ToLower(strings.TrimSpace(it.Kind)))
}

// unusable says why an answer is of no use.
func unusable(reason string) error { return fmt.Errorf("the answer cannot be used: %s", reason) }
