package compact_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// Around the limits: a session of exactly the threshold is due, one token below it
// is not, and of two parts the smaller decides.
func TestThresholdLimits(t *testing.T) {
	for _, c := range []struct {
		threshold      string
		tokens, window int64
		by             compact.DueBy // "" is not due
	}{
		{"150000", 149_999, 1_000_000, ""},
		{"150000", 150_000, 0, compact.DueByTokens},
		{"150000", 31_400, 32_000, ""}, // 98 %
		{"80%", 7_999, 10_000, ""},     // 79.99 %
		{"80%", 8_000, 10_000, compact.DueByShare},
		{"80%", 8_001, 10_000, compact.DueByShare},
		{"80%", 103, 129, ""}, // 79.8 %, and 80 % are 103.2
		{"80%", 104, 129, compact.DueByShare},
		{"80%", 151_000, 1_000_000, ""}, // 15 %
		{"80%", 151_000, 0, ""},         // nobody knows of what
		{"100%", 9_999, 10_000, ""},
		{"100%", 10_000, 10_000, compact.DueByShare},
		{"1%", 1, 100, compact.DueByShare},
		{"150000,80%", 31_400, 32_000, compact.DueByShare},
		{"150000,80%", 102_399, 128_000, ""},
		{"150000,80%", 102_400, 128_000, compact.DueByShare},
		{"150000,80%", 149_999, 1_000_000, ""},
		{"150000,80%", 151_000, 1_000_000, compact.DueByTokens},
		{"80%,150000", 150_000, 187_500, compact.DueByTokens}, // the same size
		{"150000,80%", 149_999, 187_500, ""},
		{"150000,80%", 149_999, 0, ""},
		{"150000,80%", 150_000, 0, compact.DueByTokens},
	} {
		threshold, err := compact.ParseThreshold(c.threshold)
		if err != nil {
			t.Fatal(err)
		}
		limit, by := threshold.Limit(c.window)
		if due := by != "" && c.tokens >= limit; due != (c.by != "") || due && by != c.by {
			t.Errorf("%s: %d of %d: due is %v, from %d by %q; want by %q", c.threshold, c.tokens, c.window, due, limit, by, c.by)
		}
	}
}

// A threshold is read as it is written, and what is none is refused.
func TestParseThreshold(t *testing.T) {
	for text, want := range map[string]string{
		"150000": "150000", "80%": "80%", "150000,80%": "150000,80%", " 80 % , 150000 ": "150000,80%",
	} {
		if got, err := compact.ParseThreshold(text); err != nil || got.String() != want {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", ",", "x", "0", "-1", "0%", "101%", "79.5%", "1e5", "80%,80%", "1,2", "150000,", "80%%", "99999999999999999999"} {
		if got, err := compact.ParseThreshold(text); err == nil {
			t.Errorf("%q is %q", text, got)
		}
	}
	if got := compact.DefaultThreshold().String(); got != "150000,80%" {
		t.Error(got)
	}
}

// The rule of an agent comes before that of its runtime, and what the runtime or
// the log says of a window before the configuration.
func TestLimits(t *testing.T) {
	l := compact.Limits{
		Threshold: compact.Threshold{Tokens: 1}, Of: map[string]compact.Threshold{"pi": {Tokens: 2}, "pi/work": {Percent: 3}},
		Windows: map[string]int64{"pi": 4, "pi/work": 5, "gpt-4.1": 6},
	}
	for _, c := range []struct {
		ref    session.Ref
		tail   session.Tail
		want   string
		window int64
	}{
		{session.Ref{Runtime: "codex", Agent: "work"}, session.Tail{}, "1", 0},
		{session.Ref{Runtime: "codex", Model: "gpt-4.1"}, session.Tail{}, "1", 6},
		{session.Ref{Runtime: "pi", Agent: "home", Model: "gpt-4.1"}, session.Tail{}, "2", 4},
		{session.Ref{Runtime: "pi", Agent: "work"}, session.Tail{}, "3%", 5},
		{session.Ref{Runtime: "pi", Agent: "work"}, session.Tail{ContextWindow: 7}, "3%", 7},
		{session.Ref{Runtime: "pi", Agent: "work", ContextWindow: 8}, session.Tail{ContextWindow: 7}, "3%", 8},
	} {
		if got, window := l.For(c.ref).String(), l.Window(c.ref, c.tail); got != c.want || window != c.window {
			t.Errorf("%+v: %s of %d, want %s of %d", c.ref, got, window, c.want, c.window)
		}
	}
}

// Whatever the parts are, the limit is the smallest size that one of them is
// reached by.
func TestThresholdLimitIsTheSmallest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		threshold := compact.Threshold{Tokens: rapid.Int64Range(0, 1<<31).Draw(t, "tokens"), Percent: rapid.Int64Range(0, 100).Draw(t, "percent")}
		window := rapid.Int64Range(0, 1<<31).Draw(t, "window")
		reached := func(size int64) bool {
			return threshold.Tokens > 0 && size >= threshold.Tokens || threshold.Percent > 0 && window > 0 && 100*size >= threshold.Percent*window
		}
		limit, by := threshold.Limit(window)
		if by == "" && (limit != 0 || reached(1<<62/100)) || by != "" && (!reached(limit) || reached(limit-1)) {
			t.Fatalf("%s of %d: %d by %q", threshold, window, limit, by)
		}
	})
}
