package adapters_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// The lists of files of a compaction are read for the next one, unless an
// extension made it; those of a tool's result are none.
// A compaction's summary is ours if its record says so, and only a compaction's.
func TestPiformatScanOwnSummary(t *testing.T) {
	const log = `{"type":"session","version":3,"id":"a"}
{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"hi"},"details":{"summaryBy":"sessctl"}}
{"type":"compaction","id":"2","parentId":"1","summary":"ours","firstKeptEntryId":"1","details":{"readFiles":["a"],"modifiedFiles":[],"summaryBy":"sessctl"}}
{"type":"compaction","id":"3","parentId":"2","summary":"theirs","firstKeptEntryId":"1","details":{"summaryBy":"somebody"}}
{"type":"compaction","id":"4","parentId":"3","summary":"an extension's","firstKeptEntryId":"1","fromHook":true,"details":{"summaryBy":"sessctl"}}
{"type":"branch_summary","id":"5","parentId":"4","fromId":"1","summary":"s","details":{"summaryBy":"sessctl"}}
`
	var own []string
	_, err := piformat.Scan(context.Background(), bytes.NewReader([]byte(log)), session.ScanOptions{}, func(m *session.Message) error {
		if m.Own {
			own = append(own, string(m.Parts[0].Text))
		}
		return nil
	})
	if err != nil || !slices.Equal(own, []string{"ours"}) {
		t.Fatalf("%v are taken for ours, %v", own, err)
	}
}

func TestPiformatScanFileLists(t *testing.T) {
	const log = `{"type":"session","version":3,"id":"a"}
{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"hi"}}
{"type":"compaction","id":"2","parentId":"1","summary":"s","firstKeptEntryId":"1","details":{"readFiles":["a",null,"b"],"modifiedFiles":["c"],"x":{"readFiles":["no"]}}}
{"type":"branch_summary","id":"3","parentId":"2","fromId":"1","summary":"s","fromHook":false,"details":{"readFiles":["d"],"modifiedFiles":[]}}
{"type":"compaction","id":"4","parentId":"3","summary":"s","firstKeptEntryId":"1","fromHook":true,"details":{"readFiles":["no"]}}
{"type":"custom_message","id":"5","parentId":"4","customType":"x","content":"c","details":{"readFiles":["no"]}}
{"type":"compaction","id":"6","parentId":"5","summary":"s","firstKeptEntryId":"1","details":"no"}
`
	var read, modified []string
	_, err := piformat.Scan(context.Background(), bytes.NewReader([]byte(log)), session.ScanOptions{}, func(m *session.Message) error {
		read, modified = append(read, m.ReadFiles...), append(modified, m.ModifiedFiles...)
		return nil
	})
	if err != nil || !slices.Equal(read, []string{"a", "b", "d"}) || !slices.Equal(modified, []string{"c"}) {
		t.Fatalf("read %v, modified %v, %v", read, modified, err)
	}
}
