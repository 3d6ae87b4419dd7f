package cmd

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/fakeobjects"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
)

// TestPruneKeepsBlobs holds that the archive of a blob stays on this disk while
// there is one of a log that names it, whatever rule is asked for. Each time its
// bytes are somewhere else too, because of which any other archive goes.
func TestPruneKeepsBlobs(t *testing.T) {
	const now = "archives prune --keep 0 --force --yes --grace 0h "
	for rules, stored := range map[string]bool{
		"--max-age 0s":                  false,
		"--max-age 0s --last-copies":    false,
		"--max-age 0s --agent blobs":    true,
		"--local-keep 1ns":              true,
		"--max-age 0s --local-keep 1ns": true,
	} {
		t.Run(rules, func(t *testing.T) {
			a, blob := blobsHome(t, stored)
			runAll(t, a, now+rules, now+rules) // the second purges what the first puts in the trash
			archives, err := a.OpenArchive()
			if err != nil {
				t.Fatal(err)
			}
			if err := archives.VerifyFile(t.Context(), blob); err != nil {
				t.Errorf("the archive of the blob: %v", err)
			}
			all, err := archives.List(t.Context(), archive.Filter{Agent: "garden"})
			if err != nil || len(all) != 1 {
				t.Fatalf("there are %d archives of the log, want 1 (%v)", len(all), err)
			}
			if _, there, err := audit.AttachmentOf(t.Context(), archives, "omp", blob.SHA256); err != nil || !there {
				t.Errorf("the archive of the blob is not found: %v", err)
			}
		})
	}
}

// blobsHome is a home with the archives of a session of oh-my-pi, whose log is gone,
// and of the blob that a record of it names. The bytes of that archive are on object
// storage too or, unless stored, at the beginning of another one.
func blobsHome(t *testing.T, stored bool) (*app, archive.Entry) {
	t.Helper()
	home := t.TempDir()
	variables, steps := map[string]string{"HOME": home}, []string{"archive --all"}
	if stored {
		server := fakeobjects.Start()
		t.Cleanup(server.Close)
		variables["SESSCTL_ARCHIVE_REMOTE"], variables["SESSCTL_ARCHIVE_ENDPOINT"] = "s3://bucket/host", server.URL
		t.Setenv("AWS_ACCESS_KEY_ID", "a")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
		steps = append(steps, "archives upload")
	}
	if err := os.CopyFS(home, os.DirFS(filepath.Join("..", "testdata", "omp"))); err != nil {
		t.Fatal(err)
	}
	a := testApp(newStreams(strings.NewReader(""), io.Discard, io.Discard), workspace.Run{Report: workspace.Report{Notes: []workspace.Note{}}, Settings: workspace.Settings{Now: time.Now, Getenv: func(name string) string { return variables[name] }}})
	runAll(t, a, steps...)
	archives, err := a.OpenArchive()
	if err != nil {
		t.Fatal(err)
	}
	all, err := archives.List(t.Context(), archive.Filter{Agent: "blobs"})
	if err != nil || len(all) != 1 || !selection.IsAttachment(all[0]) {
		t.Fatalf("archives of blobs: %v (%v), want one", all, err)
	}
	if !stored {
		putLonger(t, archives, all[0])
	}
	if err := os.RemoveAll(filepath.Join(home, ".omp", "agent", "sessions")); err != nil {
		t.Fatal(err)
	}
	return a, all[0]
}

// putLonger archives the bytes of an archive again, with more after them.
func putLonger(t *testing.T, archives *archive.Store, e archive.Entry) {
	t.Helper()
	text, err := os.ReadFile(e.Source)
	if err != nil {
		t.Fatal(err)
	}
	longer := string(text) + "more\n"
	m := archive.Meta{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session, Source: e.Source, Kind: e.Kind}
	if _, err := archives.Put(t.Context(), m, strings.NewReader(longer), int64(len(longer)), time.Now()); err != nil {
		t.Fatal(err)
	}
}

// runAll runs command lines, one after the other.
func runAll(t *testing.T, a *app, lines ...string) {
	t.Helper()
	for _, line := range lines {
		root := newRootCommand(a)
		root.SetArgs(strings.Fields(line))
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
}
