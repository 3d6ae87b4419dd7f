package gemini

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
)

func TestIsDocument(t *testing.T) {
	for text, want := range map[string]bool{
		`{"sessionId":"a","projectHash":"b","messages":[`:                        true,
		"\xEF\xBB\xBF{\n  \"sessionId\": \"a\",\n  \"messages\": [\n":            true,
		`{"sessionId":"a","projectHash":"b"}` + "\n" + `{"messages":[]}`:         false,
		`{"sessionId":"a","projectHash":"b","kind":"main"}`:                      false,
		`{"$set":{"messages":[]}}`:                                               false,
		`{"messages":[{"role":"user"}]}`:                                         false,
		`{"sessionId":"a","projectHa` + "\n" + `{"sessionId":"a","messages":[]}`: false,
		`[{"sessionId":"a","messages":[]}]`:                                      false,
		"":                                                                       false,
	} {
		if got := isDocument([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A document that was cut off is read as far as it goes, and is torn.
func TestTornDocument(t *testing.T) {
	text := samples.Read(t, "gemini-cli/jazzyalex/large.json")
	whole, lines := scanned(t, text)
	for cut := 300; cut < len(text)-3; cut += 97 {
		scan, part := scanned(t, text[:cut])
		if !scan.Counts.Torn || len(part) > len(lines) || scan.Messages > whole.Messages {
			t.Fatalf("cut at %d: torn %v, %d messages", cut, scan.Counts.Torn, scan.Messages)
		}
		if diff := cmp.Diff(slices.Clone(lines[:len(part)]), part, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("cut at %d:\n%s", cut, diff)
		}
	}
}

func TestEmitErrorStopsTheScan(t *testing.T) {
	for _, log := range []string{
		`{"sessionId":"s","projectHash":"h"}` + "\n" + `{"id":"a","timestamp":"t","type":"user","content":"x"}` + "\n" + `{"id":"b","timestamp":"t","type":"user","content":"y"}` + "\n",
		`{"sessionId":"s","projectHash":"h","messages":[{"id":"a","timestamp":"t","type":"user","content":"x"},{"id":"b","timestamp":"t","type":"user","content":"y"}]}`,
	} {
		calls := 0
		_, err := new(Store).Scan(context.Background(), strings.NewReader(log), session.ScanOptions{}, func(*session.Message) error {
			calls++
			return context.DeadlineExceeded
		})
		if err != context.DeadlineExceeded || calls != 1 { //nolint:errorlint // it must be the very error
			t.Errorf("%v after %d calls", err, calls)
		}
	}
}
