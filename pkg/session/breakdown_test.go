package session

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
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

// TestBreakdownBeside: logs that two goroutines read add up to what one reads,
// whoever sees a repeated string first.
func TestBreakdownBeside(t *testing.T) {
	var logs []string
	for i := range 40 {
		log := ""
		for k := range 200 {
			log += fmt.Sprintf(`{"type":"message","message":{"role":"user","text":"%s"}}`+"\n", strings.Repeat(fmt.Sprint("word", (i*k)%700, " "), 60))
		}
		logs = append(logs, log)
	}
	alone := NewBreakdown()
	for i, log := range logs {
		alone.Log = i
		if err := alone.Add(t.Context(), strings.NewReader(log)); err != nil {
			t.Fatal(err)
		}
	}
	whole := NewBreakdown()
	parts := []*Breakdown{whole.Beside(), whole.Beside(), whole.Beside()}
	if err := Spread(t.Context(), len(parts), len(logs), func(worker, i int) {
		parts[worker].Log = i
		if err := parts[worker].Add(context.Background(), strings.NewReader(logs[i])); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		whole.Merge(part)
	}
	// Which of two equal strings repeats the other depends on who came first.
	either := cmpopts.IgnoreFields(LargeRecord{}, "Duplicate")
	if diff := cmp.Diff(alone, whole, cmpopts.IgnoreUnexported(Breakdown{}), cmpopts.IgnoreFields(Breakdown{}, "Log"), either); diff != "" {
		t.Errorf("one reader, then three:\n%s", diff)
	}
	if alone.Duplicate == 0 {
		t.Error("nothing is repeated: the test cannot fail")
	}
}

// TestBreakdownLargest: the largest records are named, with what fills them.
func TestBreakdownLargest(t *testing.T) {
	line := func(size int) string {
		return `{"type":"message","message":{"role":"user","text":"` + strings.Repeat("x y ", size/4) + `"}}`
	}
	image := `{"type":"message","message":{"role":"toolResult","data":"` + strings.Repeat("QUJD", 4000) + `"}}`
	b := NewBreakdown()
	for i, log := range []string{line(40), line(9000) + "\n" + line(9000), "\n" + image} {
		b.Log = i
		if err := b.Add(t.Context(), strings.NewReader(log)); err != nil {
			t.Fatal(err)
		}
	}
	for size := range 30 {
		if err := b.Add(t.Context(), strings.NewReader(line(100+size*4))); err != nil {
			t.Fatal(err)
		}
	}
	got := b.Largest
	if len(got) != mostLargest || got[0].Log != 2 || got[0].Line != 2 || got[0].Type != "message toolResult" || got[0].Base64 < 15000 {
		t.Fatalf("the largest: %+v", got)
	}
	if got[1].Line != 1 || got[1].Duplicate != 0 || got[2].Line != 2 || got[2].Duplicate < 8000 {
		t.Errorf("the second repeats the first: %+v", got[1:3])
	}
	for i, r := range got[1:] {
		if r.Bytes > got[i].Bytes {
			t.Errorf("not the largest first: %+v", got)
		}
	}
}

// TestStringSet holds the set to a map.
func TestStringSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, known := newStringSet(), map[string]bool{}
		for range rapid.IntRange(0, 5000).Draw(t, "strings") {
			s := strconv.Itoa(rapid.IntRange(0, 3000).Draw(t, "string"))
			if got := set.add([]byte(s)); got != known[s] {
				t.Fatalf("%q was known: %v, want %v", s, got, known[s])
			}
			known[s] = true
		}
	})
	var shard hashShard // small hashes lie beside each other and around the end
	for _, again := range []bool{false, true} {
		for hash := range uint64(1000) {
			if got := shard.add(math.MaxUint64 - hash); got != again {
				t.Fatalf("hash %d was known: %v", hash, got)
			}
		}
	}
}
