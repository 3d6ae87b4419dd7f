package openclaw_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/fakeagentdb"
	"github.com/sessctl/sessctl/pkg/session"
)

const importedDir = "session-sqlite-import-archive"

func (s *state) importedPath(name string) string {
	return filepath.Join(s.root, "agents", agent, importedDir, name)
}

// What the runtime kept when it moved into its database is listed under the
// ids of its sessions, and read.
func TestImportedLogs(t *testing.T) {
	const id = "c7a35ced-19c6-4f1a-8735-ea6417e25648"
	want := map[string]string{
		id + ".jsonl.imported-1788220800000":                                                  id,
		"agent_coordinator_main." + id + ".jsonl.imported-1795233303450":                      id,
		"agent_x_recovered_" + id + "." + id + ".jsonl.imported-1795233303451":                id,
		"unreferenced." + id + ".jsonl.reset.2026-11-21T03-46-20.116Z.imported-1795233303452": id,
		id + "-topic-42.jsonl.imported-1":                                                     id + "-topic-42",
		"plain.jsonl.imported-1":                                                              "plain",
	}
	s := newStored(t, fakeagentdb.Story(false))
	for name := range want {
		s.write(s.importedPath(name), transcript(id))
	}
	for _, name := range []string{"legacy-store.sessions.json.imported-1", "a.jsonl", "a.jsonl.imported-", "a.jsonl.imported-1.tmp", ".jsonl.imported-1", ".a.jsonl.imported-1"} {
		s.write(s.importedPath(name), transcript(id))
	}
	before := s.tree()
	got := map[string]string{}
	for _, ref := range s.list().Refs {
		if ref.Kind != session.KindBackup {
			continue
		}
		got[filepath.Base(ref.Path)] = ref.ID
		tail, err := s.Tail(t.Context(), ref)
		n, err2 := s.CountMessages(t.Context(), ref)
		if err != nil || err2 != nil || n != 2 || tail.Tokens != 10 || ref.Agent != agent || ref.State != session.StateUnsupported {
			t.Error(ref, n, tail, err, err2)
		}
		if err := s.Untouchable(ref.Path); !errors.Is(err, session.ErrUnsupported) {
			t.Error(ref.Path, err)
		}
		_, err = s.PlanRotation(t.Context(), ref, session.Snapshot{}, time.Now())
		if err == nil {
			t.Error("rotated:", ref.Path)
		}
		if _, err := s.Place(t.Context(), ref.Path, time.Now()); !errors.Is(err, session.ErrUnsupported) {
			t.Error(ref.Path, err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantTree(t, before, s.tree())
}

// What is no log of the store there is not read.
func TestImportedLogsThatLead(t *testing.T) {
	s := newStored(t, fakeagentdb.Story(false))
	outside := filepath.Join(t.TempDir(), "secret")
	s.write(outside, transcript("secret"))
	s.write(s.importedPath("a.jsonl.imported-1"), transcript("a"))
	if err := os.Symlink(outside, s.importedPath("b.jsonl.imported-1")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if err := os.Mkdir(s.importedPath("c.jsonl.imported-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, ref := range s.list().Refs {
		if ref.Kind == session.KindBackup {
			kept++
		}
	}
	if kept != 1 {
		t.Error(kept, "imported logs")
	}
	s.noticed("b.jsonl.imported-1", "symbolic link")
	s.noticed("c.jsonl.imported-1", "a directory")
	for _, path := range []string{s.importedPath("b.jsonl.imported-1"), s.importedPath("../../x/sessions/y.jsonl"), s.importedPath("deep/er.jsonl.imported-1")} {
		if _, err := s.Tail(t.Context(), session.Ref{Runtime: session.RuntimeOpenClaw, Agent: agent, Path: path, Kind: session.KindBackup}); err == nil {
			t.Error("read:", path)
		}
	}

	// the directory itself leads out of the store
	whole := filepath.Dir(s.importedPath("x"))
	if err := os.RemoveAll(whole); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(outside), whole); err != nil {
		t.Fatal(err)
	}
	s.noticed(importedDir, "skipped")
}

// The real runtime's names.
func TestSampleImportedLogs(t *testing.T) {
	s := newStored(t, fakeagentdb.Story(false))
	copied(t, filepath.Join(filepath.Dir(shared(t, "real/openclaw-migrated-9.6/doctor.txt")), importedDir), filepath.Dir(s.importedPath("x")))
	var ids []string
	for _, ref := range s.list().Refs {
		if ref.Kind == session.KindBackup && strings.Contains(ref.Path, ref.ID) {
			ids = append(ids, ref.ID)
		}
	}
	want := []string{"c7a35ced-19c6-4f1a-8735-ea6417e25648", "9848be1c-c527-4076-8b9f-61d8fbf593c8"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Error(diff)
	}
}
