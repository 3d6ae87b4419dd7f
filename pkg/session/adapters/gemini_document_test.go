package adapters_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/gemini"
)

func TestGeminiIsDocument(t *testing.T) {
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
		scan, err := new(gemini.Store).Scan(context.Background(), strings.NewReader(text), session.ScanOptions{}, func(*session.Message) error { return nil })
		if got := err == nil && scan.Headers == 1 && scan.Counts.Lines > 0 && scan.Counts.Records == 0; got != want {
			t.Errorf("%q: read as a document is %v, want %v: %+v, %v", text, got, want, scan, err)
		}

	}
}

// A document that was cut off is read as far as it goes, and is torn.
func TestGeminiTornDocument(t *testing.T) {
	text := samples.Read(t, "gemini-cli/jazzyalex/large.json")
	whole, lines := geminiScanned(t, text)
	for cut := 300; cut < len(text)-3; cut += 97 {
		scan, part := geminiScanned(t, text[:cut])
		if !scan.Counts.Torn || len(part) > len(lines) || scan.Messages > whole.Messages {
			t.Fatalf("cut at %d: torn %v, %d messages", cut, scan.Counts.Torn, scan.Messages)
		}
		if diff := cmp.Diff(slices.Clone(lines[:len(part)]), part, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("cut at %d:\n%s", cut, diff)
		}
	}
}

func TestGeminiEmitErrorStopsTheScan(t *testing.T) {
	for _, log := range []string{
		`{"sessionId":"s","projectHash":"h"}` + "\n" + `{"id":"a","timestamp":"t","type":"user","content":"x"}` + "\n" + `{"id":"b","timestamp":"t","type":"user","content":"y"}` + "\n",
		`{"sessionId":"s","projectHash":"h","messages":[{"id":"a","timestamp":"t","type":"user","content":"x"},{"id":"b","timestamp":"t","type":"user","content":"y"}]}`,
	} {
		calls := 0
		_, err := new(gemini.Store).Scan(context.Background(), strings.NewReader(log), session.ScanOptions{}, func(*session.Message) error {
			calls++
			return context.DeadlineExceeded
		})
		if err != context.DeadlineExceeded || calls != 1 { //nolint:errorlint // it must be the very error
			t.Errorf("%v after %d calls", err, calls)
		}
	}
}
