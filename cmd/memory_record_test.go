package cmd

import (
	"testing"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/memory"
)

// The label of who goes on speaking is no part of a record's identity: what was
// stored before windows had labels is the same record.
func TestLabelsChangeNoIdentity(t *testing.T) {
	source := memory.Source{Agent: "a", Session: "s"}
	labelled := workspace.MemoryRecord(source, compact.Record{Category: compact.CategoryHistory, Text: "[Tool]: goes on", Labelled: len("[Tool]: "), Position: 2})
	if want := memory.RecordID("a", "s", 2, chunk.Version, "goes on"); labelled.ID != want || labelled.Text != "[Tool]: goes on" {
		t.Errorf("%s %q, want %s", labelled.ID, labelled.Text, want)
	}
}
