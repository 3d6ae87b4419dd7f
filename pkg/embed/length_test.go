package embed

import (
	"net/http"
	"strings"
	"testing"
)

func TestLikelyTokens(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, " \n\t": 0, "the boat": 2, "internationalisation": 4, "1,2;3": 5, "配送は": 3, "a-b": 3, "x1y": 3, "naïve": 3,
	} {
		if got := likelyTokens(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if english, digits := likelyTokens(strings.Repeat("some words of English ", 100)), likelyTokens(strings.Repeat("0123456789 ", 200)); english*3 > digits {
		t.Errorf("English %d, digits %d", english, digits)
	}
}

// TestTooLongGoesAlone: once a text was too long, those like it do not make the
// server refuse the others of their batch; a text that was only suspected is
// embedded whole.
func TestTooLongGoesAlone(t *testing.T) {
	both(t, RemoteOptions{Dim: testDim}, func(t *testing.T, s *server, p provider) {
		refused := 0
		s.before = func(w http.ResponseWriter, r *http.Request, input []string) bool {
			for _, text := range input {
				if strings.Count(text, "8") > 300 {
					refused++
					status(400, "the input length exceeds the context length")(w, r)
					return true
				}
			}
			return false
		}
		long := strings.Repeat("8 ", 400)
		suspect := strings.Repeat("7 ", 450)
		first := append(numbers(31), long)
		for i, r := range embedAll(t, p, append(first, numbers(32)...)) {
			if r.Err != nil {
				t.Fatalf("text %d: %v", i, r.Err)
			}
		}
		learning := refused
		refused = 0
		second := append(numbers(31), long, suspect)
		for i, r := range embedAll(t, p, append(second, numbers(31)...)) {
			if r.Err != nil {
				t.Fatalf("text %d: %v", i, r.Err)
			}
			if i != 31 {
				sameDirection(t, r, append(second, numbers(31)...)[i])
			}
		}
		if learning < 3 || refused != 1 {
			t.Errorf("%d calls were refused first, and %d then; want several, and the long text alone", learning, refused)
		}
	})
}

// A text that is wrong for another reason is blamed by its place in the batch,
// wherever the suspects stand.
func TestBlameBesideSuspects(t *testing.T) {
	both(t, RemoteOptions{Dim: testDim}, func(t *testing.T, s *server, p provider) {
		s.change = at(func([]any) []any { return []any{0, 0, 0, 0} })
		s.before = func(w http.ResponseWriter, r *http.Request, input []string) bool {
			for _, text := range input {
				if len(text) > 700 {
					status(400, "too long")(w, r)
					return true
				}
			}
			return false
		}
		long := strings.Repeat("8 ", 400)
		for range 2 {
			texts := append(numbers(20), long, "bad", long)
			for i, r := range embedAll(t, p, append(texts, numbers(20)...)) {
				if (r.Err != nil) != (i == 21) {
					t.Fatalf("text %d: %v", i, r.Err)
				}
			}
		}
	})
}
