package adapters_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session/openclaw/agentdb"
)

// agentdbCopied is a copy of a directory of databases that OpenClaw 2026.9.6 wrote, beside the
// project.
func agentdbCopied(t *testing.T, name string) string {
	t.Helper()
	from := samples.Beside(t, "samples/real/openclaw-2026.9.6/"+name)
	to := t.TempDir()
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	} else {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, "openclaw-agent.sqlite"), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	aged(t, to)
	return to
}

func agentdbRecords(t *testing.T, d *agentdb.Database) (n int) {
	t.Helper()
	sessions, err := d.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions {
		lines := strings.Count(text(t, d, s.ID), "\n")
		if lines != s.Records {
			t.Errorf("session %s has %d lines, %d records", s.ID, lines, s.Records)
		}
		n += lines
	}
	return n
}

// Reading the database without its log gives 25 rows of 32, and no error
// (docs/dev/formats.md, "openclaw database").
func TestAgentdbRealLiveDatabase(t *testing.T) {
	dir := agentdbCopied(t, "live-with-wal")
	scratchless(t)
	before := trace(t, dir)
	d := opened(t, agentdb.File{Base: dir, Name: "openclaw-agent.sqlite"})
	if n := agentdbRecords(t, d); n != 32 {
		t.Errorf("%d rows of 32", n)
	}
	if diff := cmp.Diff(before, trace(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestAgentdbRealStoppedDatabase(t *testing.T) {
	dir := agentdbCopied(t, "stopped.sqlite")
	before := trace(t, dir)
	d := opened(t, agentdb.File{Base: dir, Name: "openclaw-agent.sqlite"})
	if n := agentdbRecords(t, d); n != 32 {
		t.Errorf("%d rows of 32", n)
	}
	if diff := cmp.Diff(before, trace(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestAgentdbRealCompressedRows(t *testing.T) {
	d := opened(t, agentdb.File{Base: agentdbCopied(t, "with-zstd-rows.sqlite"), Name: "openclaw-agent.sqlite"})
	longest := 0
	sessions, err := d.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions {
		for line := range strings.Lines(text(t, d, s.ID)) {
			longest = max(longest, len(line))
		}
	}
	if agentdbRecords(t, d) == 0 || longest < 20_000 {
		t.Errorf("the longest record has %d bytes; the tool result of 29 KB is missing", longest)
	}
}
