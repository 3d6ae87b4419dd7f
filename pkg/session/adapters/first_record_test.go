package adapters_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
)

// text is the log that a reader begins with.
func (r logReader) text(t testing.TB) string {
	t.Helper()
	if strings.Contains(r.seed, "\n") {
		return r.seed
	}
	log, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", filepath.FromSlash(r.seed)))
	if err != nil {
		t.Fatal(err)
	}
	return string(log)
}

// branched is what is said in a log, with the branch of each message.
func branched(t *testing.T, store session.Store, log string) (all []string) {
	t.Helper()
	read := func(tree *session.Tree) session.Scan {
		all = nil
		scan, err := store.Scan(t.Context(), strings.NewReader(log), session.ScanOptions{Tree: tree}, func(m *session.Message) error {
			name := m.Role.String()
			if m.Branch != session.Active {
				name += " abandoned"
			}
			if m.OutOfContext {
				name += " outside"
			}
			all = append(all, name+" "+string(m.AppendText(nil)))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return scan
	}
	if scan := read(nil); scan.Tree != nil && scan.Tree.Forked() {
		read(scan.Tree)
	}
	return all
}

// listed is what the listing and the end of a log say of it.
func listed(t *testing.T, store session.Store, path, log string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	listing, err := store.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for _, ref := range listing.Refs {
		tail, err := store.Tail(t.Context(), ref)
		fmt.Fprintf(&said, "%s of %s in %q, parent %q, %v: %d tokens, %d messages, %v, answered %v, %v\n",
			ref.Kind, ref.Agent, ref.Project, ref.Parent, ref.State, tail.Tokens, tail.Messages, tail.LastRole, tail.Answered, err)
	}
	return said.String()
}

// TestFirstRecordDecidesNothing: what stands before the first record that a reader knows
// changes nothing of what is read behind it, nor of what the session is listed as.
func TestFirstRecordDecidesNothing(t *testing.T) {
	for _, r := range logReaders() {
		if strings.HasSuffix(r.log, ".json") || strings.HasSuffix(r.log, ".md") {
			continue // a document has no records
		}
		log := r.text(t)
		root := t.TempDir()
		path := filepath.Join(root, filepath.FromSlash(r.log))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		store := r.open(root)
		want, wantList := branched(t, store, log), ""
		if r.log == "" {
			path = ""
		} else {
			wantList = listed(t, store, path, log)
		}
		if len(want) == 0 || path != "" && wantList == "" {
			t.Fatalf("%s: %d messages, listed as %q: this sees nothing", store.Runtime(), len(want), wantList)
		}
		for _, before := range []string{"\n", `{"type":"a-later-version-s","timestamp":"2026-03-01T09:00:00Z"}` + "\n", `{"type":"cut off` + "\n"} {
			if diff := cmp.Diff(want, branched(t, store, before+log)); diff != "" {
				t.Errorf("%s: %q before it: %s", store.Runtime(), before, diff)
			}
			if path == "" {
				continue
			}
			if got := listed(t, store, path, before+log); got != wantList {
				t.Errorf("%s: with %q before it listed as\n%swant\n%s", store.Runtime(), before, got, wantList)
			}
		}
	}
}
