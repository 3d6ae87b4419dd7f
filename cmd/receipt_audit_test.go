package cmd

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
)

// momentContext calls at when it is asked for the n-th time whether it ended.
type momentContext struct {
	context.Context
	n  int
	at func()
}

// Err implements context.Context.
func (c *momentContext) Err() error {
	if c.n--; c.n == 0 {
		c.at()
	}
	return c.Context.Err()
}

// TestReceiptsAreReadBeforeTheCatalogue: a compaction that ends while the
// catalogue is read leaves no receipt whose archive seems to be missing.
func TestReceiptsAreReadBeforeTheCatalogue(t *testing.T) {
	a := testApp(newStreams(strings.NewReader(""), nil, nil), workspace.Run{Settings: workspace.Settings{Getenv: func(string) string { return "" }, Now: time.Now}})
	a.Global.DataDir, a.Config.Archive.Compression = t.TempDir(), archive.CompressionNone
	compactSession(t, a, "one")
	ctx := &momentContext{Context: t.Context(), n: 2, at: func() { compactSession(t, a, "two") }} // the directory was read, no file of it yet
	audit, err := audit.NewReceiptAudit(ctx, a.Run)
	if err != nil {
		t.Fatal(err)
	}
	if ctx.n > 0 {
		t.Fatal("no compaction ended meanwhile")
	}
	audit.AgainstCatalogue(t.Context())
	for _, p := range audit.Found {
		t.Error(p.About())
	}
}

// TestUndoThatEndsMeanwhile: an undo that takes a session out of memory after the receipts
// were read leaves none that memory seems to lack.
func TestUndoThatEndsMeanwhile(t *testing.T) {
	a := testApp(newStreams(strings.NewReader(""), nil, nil), workspace.Run{Settings: workspace.Settings{Getenv: func(string) string { return "" }, Now: time.Now}})
	a.Global.DataDir, a.Config.Archive.Compression = t.TempDir(), archive.CompressionNone
	r := compact.Receipt{Schema: 1, ID: "one"}
	r.Runtime, r.Agent, r.Session, r.Outcome, r.Chunks = "openclaw", "scout", "s", compact.Compacted, 3
	undo := r
	undo.ID, undo.Chunks, undo.Outcome, undo.Undo = "two", 0, compact.Undone, &compact.UndoProof{Receipt: r.ID}
	for _, c := range []struct {
		write compact.Receipt
		lack  int
	}{{r, 1}, {undo, 0}} {
		if _, err := a.Receipts().Write(r); err != nil {
			t.Fatal(err)
		}
		audit, err := audit.NewReceiptAudit(t.Context(), a.Run)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Receipts().Write(c.write); err != nil {
			t.Fatal(err)
		}
		if err := audit.AgainstMemory(t.Context(), nil); err != nil || len(audit.OfMemory()) != c.lack {
			t.Errorf("%v, found %+v, want %d", err, audit.OfMemory(), c.lack)
		}
	}
}

// compactSession leaves what a compaction leaves: an archive, and then its receipt.
func compactSession(t *testing.T, a *app, id string) {
	t.Helper()
	store, err := a.OpenArchive()
	if err != nil {
		t.Fatal(err)
	}
	const text = "{}\n"
	e, err := store.Put(t.Context(), archive.Meta{Runtime: "openclaw", Agent: "scout", Session: id, Source: "/sessions/" + id + ".jsonl"}, strings.NewReader(text), int64(len(text)), a.Now())
	if err != nil {
		t.Fatal(err)
	}
	r := compact.Receipt{Schema: 1, ID: id, Content: compact.Content{Lines: 1}}
	r.Runtime, r.Agent, r.Session, r.Archive, r.Outcome = e.Runtime, e.Agent, e.Session, &compact.Archived{ID: e.ID, Path: e.Path, SHA256: e.SHA256, Bytes: e.Bytes}, compact.Compacted
	r.Source.SHA256 = e.SHA256
	if _, err := a.Receipts().Write(r); err != nil {
		t.Fatal(err)
	}
}
