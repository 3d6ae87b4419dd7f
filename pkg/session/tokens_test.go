package session

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestEstimateTokens(t *testing.T) {
	for text, want := range map[string]int64{
		"":                           0,
		"a":                          1,
		"abc":                        1,
		"abcd":                       2,
		strings.Repeat("word ", 600): 1000,
		"你好，世界":                      5,
		"こんにちは":                      5,
		"안녕하세요":                      5,
		"привет":                     3,
		"é":                          1,
		"😀😀":                         4,
		"日本語 and English":            7, // 3 + 12/3
	} {
		if got := EstimateTokens([]byte(text)); got != want {
			t.Errorf("%q is %d tokens, want %d", text, got, want)
		}
	}
}

// The word-wise count is that of a loop over runes, at every length and
// alignment, and never below characters / 4.
func TestEstimateTokensAgainstRunes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.String().Draw(t, "text"), rapid.IntRange(1, 9).Draw(t, "times"))
		text += rapid.StringMatching(`[a-z ]{0,70}`).Draw(t, "ascii")
		var sixths, runes int64
		for _, r := range text {
			sixths += map[int]int64{1: 2, 2: 3, 3: 6, 4: 12}[utf8.RuneLen(r)]
			runes++
		}
		got := EstimateTokens([]byte(text))
		if want := (sixths + 5) / 6; got != want {
			t.Fatalf("%q is %d tokens, want %d", text, got, want)
		}
		if floor := (runes + 3) / 4; got < floor {
			t.Fatalf("%q is %d tokens, below the floor of %d", text, got, floor)
		}
	})
}

func TestEstimateTokensOfAnyBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "bytes")
		var want runeCounts
		for _, c := range b {
			want.byte(c)
		}
		var got runeCounts
		got.add(b)
		if got != want {
			t.Fatalf("%x counts %+v, want %+v", b, got, want)
		}
	})
}

func TestMessageEstimateTokens(t *testing.T) {
	m := &Message{Parts: []Part{
		{Kind: PartText, Text: []byte("abcdef")},
		{Kind: PartThinking, Text: []byte("abc")},
		{Kind: PartToolCall, Name: []byte("read"), Text: []byte(`{"a":1}`)},
		{Kind: PartImage, Size: 99},
	}}
	if got, want := m.EstimateTokens(), int64(2+1+2+3+ImageTokens); got != want {
		t.Errorf("got %d tokens, want %d", got, want)
	}
	m.OutOfContext = true
	if got := m.EstimateTokens(); got != 0 {
		t.Errorf("a message that is never sent has %d tokens", got)
	}
}

func TestEstimateTokensDoesNotAllocate(t *testing.T) {
	text := []byte(strings.Repeat("naïve 世界 😀 text ", 100))
	if n := testing.AllocsPerRun(10, func() { EstimateTokens(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkEstimateTokens(b *testing.B) {
	for name, text := range map[string]string{
		"ascii": strings.Repeat("the quick brown fox ", 5000),
		"mixed": strings.Repeat("naïve café, 世界 and 😀 ", 5000),
		"cjk":   strings.Repeat("你好世界，再见。", 5000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				EstimateTokens([]byte(text))
			}
		})
	}
}
