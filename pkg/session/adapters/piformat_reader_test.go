package adapters_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// TestPiformatReaderIsFresh: a Reader that has read other logs before, whole, torn or
// strange, says of a log what a new one says.
func TestPiformatReaderIsFresh(t *testing.T) {
	pieces := []string{
		`{"type":"session","version":3,"id":"s","timestamp":"2026-05-01T10:00:00.000Z","cwd":"/w"}` + "\n",
		`{"type":"message","id":"a1","parentId":null,"timestamp":"2026-05-01T10:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"` + strings.Repeat("hello ", 2000) + `"}]}}` + "\n",
		`{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-05-01T10:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"n","arguments":{}}],"usage":{"totalTokens":77},"stopReason":"toolUse"}}` + "\n",
		`{"type":"compaction","id":"a3","parentId":"a2","timestamp":"2026-05-01T10:00:03.000Z","summary":"what was","firstKeptEntryId":"a1"}` + "\n",
		`{"type":"compaction","id":"a3","summary":"what was","firstKeptEntryIndex":1}` + "\n",
		`{"type":"reset","id":"a4","parentId":"a3"}` + "\n", "\n", "\x00\x00", "{", `{"type":"mess`, "no record\n", "\xff\xfe{\x00",
	}
	rapid.Check(t, func(t *rapid.T) {
		var used piformat.Reader
		for range rapid.IntRange(1, 5).Draw(t, "logs") {
			text := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "log"), ""))
			size, at := int64(len(text)), time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
			want, wantErr := piformat.Tail(context.Background(), bytes.NewReader(text), size, at)
			got, err := used.Tail(context.Background(), bytes.NewReader(text), size, at)
			if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (wantErr == nil) {
				t.Fatalf("%v, want %v\n%s", err, wantErr, diff)
			}
			head, found, headErr := piformat.ReadHeader(bytes.NewReader(text))
			start := text[:min(len(text), piformat.HeaderRoom)]
			again, foundAgain, err := used.Header(start, bytes.NewReader(text), size)
			if diff := cmp.Diff(head, again); diff != "" || found != foundAgain || (err == nil) != (headErr == nil) {
				t.Fatalf("header %v %v, want %v %v\n%s", foundAgain, err, found, headErr, diff)
			}
		}
	})
}
