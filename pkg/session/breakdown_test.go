package session

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBreakdown(t *testing.T) {
	long := strings.Repeat("word and word ", 40)
	image := strings.Repeat("QUJD", 200)
	lines := []string{
		`{"type":"session","id":"x"}`,
		`{"type":"message","message":{"role":"user","content":[{"type":"text","text":"` + long + `"}]}}`,
		`{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"` + long + `"}]}}`,
		`{"type":"message","message":{"role":"user","content":[{"type":"image","data":"` + image + `"}]}}`,
		`{"type":"response_item","payload":{"type":"function_call","role":"assistant"}}`,
		`{"recordType":"message","role":"user","content":[]}`,
		`{"role":"user","content":"a"}`,
		`{"a":1}`,
		`## User`,
		``,
		`{"type":"session"`,
	}
	log := strings.Join(lines, "\n")
	b := NewBreakdown()
	if err := b.Add(context.Background(), strings.NewReader(log)); err != nil {
		t.Fatal(err)
	}
	records := map[string]int{}
	var sum int64
	for name, share := range b.Types {
		records[name] = share.Records
		sum += share.Bytes
	}
	want := map[string]int{
		"session": 1, "message user": 3, "message assistant": 1, "response_item function_call assistant": 1,
		"user": 1, "without a type": 1, "not JSON": 3,
	}
	if diff := cmp.Diff(want, records); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if sum != int64(len(log)) || b.Bytes != sum {
		t.Errorf("shares of %d bytes, log of %d, want %d", sum, b.Bytes, len(log))
	}
	if b.Base64 != int64(len(image)) || b.Duplicate != int64(len(long)+2) {
		t.Errorf("base64 %d, duplicate %d; want %d and %d", b.Base64, b.Duplicate, len(image), len(long)+2)
	}
}
