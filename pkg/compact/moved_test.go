package compact_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/relocate"
	"github.com/sessctl/sessctl/pkg/session"
)

// What the journal and the receipts of a home name is found when it has moved.
func TestRecordsOfAMovedHome(t *testing.T) {
	root := t.TempDir()
	old, now := filepath.Join(root, "old"), filepath.Join(root, "new")
	if err := os.MkdirAll(filepath.Join(old, "store"), 0o700); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(old, "store", "s.jsonl")
	journal, receipts := compact.Journal{Dir: filepath.Join(old, "data", "journal")}, compact.Receipts{Dir: filepath.Join(old, "data", "receipts")}
	receipt := compact.Receipt{Schema: 1, ID: "01", Kept: log + ".reset", Source: compact.SourceProof{Path: log}}
	intent := compact.Intent{Schema: 1, ID: "02", Receipt: receipt, Rotation: session.Rotation{Store: filepath.Join(old, "store"), Live: log}}
	if _, err := receipts.Write(receipt); err != nil {
		t.Fatal(err)
	}
	if err := journal.Write(intent); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(old, now); err != nil {
		t.Fatal(err)
	}
	moves := relocate.Of(filepath.Join(now, "data"), filepath.Join(old, "data"))
	begun, err := compact.Journal{Dir: filepath.Join(now, "data", "journal"), Moves: moves}.List()
	if err != nil || len(begun) != 1 || begun[0].Rotation.Live != filepath.Join(now, "store", "s.jsonl") || begun[0].Rotation.Store != filepath.Join(now, "store") {
		t.Error(begun, err)
	}
	done, err := compact.Receipts{Dir: filepath.Join(now, "data", "receipts"), Moves: moves}.List()
	if err != nil || len(done) != 1 || done[0].Source.Path != filepath.Join(now, "store", "s.jsonl") || done[0].Kept != filepath.Join(now, "store", "s.jsonl.reset") {
		t.Error(done, err)
	}
}

// What a later version has written is refused with its place, and stays as it is.
func TestRecordsOfALaterVersion(t *testing.T) {
	journal, receipts := compact.Journal{Dir: t.TempDir()}, compact.Receipts{Dir: t.TempDir()}
	if err := journal.Write(compact.Intent{Schema: 2, ID: "01"}); err != nil {
		t.Fatal(err)
	}
	path, err := receipts.Write(compact.Receipt{Schema: 2, ID: "02"})
	if err != nil {
		t.Fatal(err)
	}
	if begun, refused, err := journal.Examine(); err != nil || len(begun) != 0 || len(refused) != 1 || !strings.Contains(refused[0].Err.Error(), "schema 2") {
		t.Error("a later entry of the journal:", begun, refused, err)
	}
	if _, err := receipts.Read(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Error("a later receipt:", err)
	}
	for _, kept := range []string{journal.Path("01"), path} {
		if _, err := os.Stat(kept); err != nil {
			t.Error(err)
		}
	}
}
