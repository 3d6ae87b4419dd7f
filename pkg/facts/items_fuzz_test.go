package facts

import (
	"math"
	"strings"
	"testing"
)

// Of what a model answers at most so many facts are read, each with a sentence or
// none, and a confidence that is a number. Reading takes no longer than an answer
// is long, however it is nested.
func FuzzItems(f *testing.F) {
	const deep = 5_000
	for _, answer := range []string{
		"", "{}", "[]", "null", "[[", "{", "no facts", `{"facts":null}`, `{"facts":{}}`, `{"facts":[1,null,[],{}]}`, `{"facts":[{"fact":1}]}`,
		`Sure: {"facts":[{"fact":"a","confidence":"0.9","message":"#1","replaces":{}}]} I hope`, `[{"text":"a","kind":"project"}]`,
		`{"facts":[{"fact":"a"},{"fact":"b`, `{"fact":"a"}{"fact":"b"}`, `{"facts":[{"fact":"a","confidence":"NaN"}]}`,
		strings.Repeat("[", 40*deep), strings.Repeat(`{"facts":`, deep), strings.Repeat(`{"a":[`, deep) + "1",
	} {
		f.Add(answer)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		all, bad, err := items(answer)
		if len(all)+bad > mostItems || err != nil && len(all) > 0 {
			t.Errorf("%q: %d facts, %d unreadable, %v", answer, len(all), bad, err)
		}
		for _, it := range all {
			_, _ = it.category(), it.sentence()
			if n := number(it.Confidence); math.IsNaN(n) || math.IsInf(n, 0) {
				t.Errorf("%q: the confidence is %v", answer, it.Confidence)
			}
		}
	})
}
