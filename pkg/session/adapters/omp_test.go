package adapters_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/omp"
)

// garden is the directory of our own sample.
var garden = filepath.Join("..", "..", "..", "testdata", "omp", ".omp", "agent")

func ompMust(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func ompPlant(t *testing.T, path string, text []byte) {
	t.Helper()
	ompMust(t, os.MkdirAll(filepath.Dir(path), 0o700))
	ompMust(t, os.WriteFile(path, text, 0o600))
}

func ompPacked(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(text)
	ompMust(t, err)
	ompMust(t, w.Close())
	return b.Bytes()
}

// What lies in an agent directory: sessions with what belongs to them, and those
// that omp's own gc has put away, each once.
func TestOmpList(t *testing.T) {
	logs, err := filepath.Glob(filepath.Join(garden, "sessions", "*", "*.jsonl"))
	ompMust(t, err)
	log, err := os.ReadFile(logs[0])
	ompMust(t, err)
	root := t.TempDir()
	const here, away = "2026-05-04T08-00-00-000Z_here", "2026-05-03T08-00-00-000Z_away"
	ompPlant(t, filepath.Join(root, "sessions", "-garden", here+".jsonl"), log)
	ompPlant(t, filepath.Join(root, "sessions", "-garden", here, "Scout.jsonl"), log)
	ompPlant(t, filepath.Join(root, "sessions", "-garden", here, "0.bash.log"), []byte("out"))
	ompPlant(t, filepath.Join(root, "sessions", "-garden", "notes.txt"), []byte("no session"))
	ompPlant(t, filepath.Join(root, "sessions", "-", "2026-05-04T08-00-00-000Z_home.jsonl"), log)
	ompPlant(t, filepath.Join(root, "archive", "sessions", "-garden", away+".jsonl.gz"), ompPacked(t, log))
	ompPlant(t, filepath.Join(root, "archive", "sessions", "-garden", here+".jsonl.gz"), ompPacked(t, log)) // of a killed gc
	store := omp.Open(root)
	listing, err := store.List(t.Context())
	ompMust(t, err)
	var got []string
	for _, ref := range listing.Refs {
		tail, err := store.Tail(t.Context(), ref)
		if ref.Kind == session.KindOutput {
			got = append(got, ref.Agent+" "+ref.ID+" output of "+ref.Parent)
			continue
		}
		if err != nil || tail.Tokens != 1925 || tail.Messages != 11 {
			t.Errorf("%s: %+v, %v", ref.Path, tail, err)
		}
		got = append(got, strings.TrimSpace(ref.Agent+" "+ref.ID+" "+string(ref.Kind)+" "+ref.Parent))
	}
	want := []string{
		"home home live", "garden here live",
		"garden here.0.bash.log output of here", "garden here.Scout subagent here", "garden away archived",
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(listing.Notices) > 0 {
		t.Errorf("listed (-want +got):\n%s\nnotices %+v", diff, listing.Notices)
	}
	for _, path := range []string{"blobs/x", "sessions/-garden/../x.jsonl", "sessions/x.jsonl", "agent.db", "sessions/-garden/" + here + "/a/b.jsonl"} {
		if _, err := store.Place(t.Context(), filepath.Join(root, path), listing.Refs[0].ModTime); err == nil {
			t.Errorf("%s is a place of a session", path)
		}
	}
}

// An independent reader: what each record of a sample says, by encoding/json.
func TestOmpSamplesLikeAnIndependentReader(t *testing.T) {
	logs, err := filepath.Glob(filepath.Join(garden, "sessions", "*", "*.jsonl"))
	ompMust(t, err)
	for _, path := range append(logs, samples.Matching(t, "samples-newer/omp-*/.omp/agent/sessions/*/*.jsonl")...) {
		log, err := os.ReadFile(path)
		ompMust(t, err)
		var want, got []string
		for line := range bytes.Lines(log) {
			var r struct {
				Type, ID, Summary string
				Message           struct {
					Role    string
					Content []struct{ Type, Text string }
				}
			}
			ompMust(t, json.Unmarshal(line, &r))
			text := r.Summary
			for _, block := range r.Message.Content {
				if block.Type == "text" {
					text += block.Text
				}
			}
			switch r.Type {
			case "message":
				want = append(want, r.ID+" "+map[string]string{"user": "user", "assistant": "assistant", "toolResult": "tool_result"}[r.Message.Role]+" "+text)
			case "compaction":
				want = append(want, r.ID+" summary "+text)
			}
		}
		scan, err := omp.Open(t.TempDir()).Scan(t.Context(), bytes.NewReader(log), session.ScanOptions{}, func(m *session.Message) error {
			text := ""
			for _, p := range m.Parts {
				if p.Kind == session.PartText {
					text += string(p.Text)
				}
			}
			got = append(got, string(m.ID)+" "+m.Role.String()+" "+text)
			return nil
		})
		ompMust(t, err)
		if diff := cmp.Diff(want, got); diff != "" || len(scan.Unknown) > 0 || scan.Counts.Bad > 0 {
			t.Errorf("%s: unknown %v, bad %d (-encoding/json +scan):\n%s", path, scan.Unknown, scan.Counts.Bad, diff)
		}
	}
}

// The blobs that a log names, each once, wherever they stand.
func TestOmpAttached(t *testing.T) {
	a, b := strings.Repeat("a", 64), strings.Repeat("0b", 32)
	text := strings.Repeat("x", 256<<10-30) + "blob:sha256:" + a + `" blob:sha256:` + strings.Repeat("G", 64) + "blob:sha256:" + b + " blob:sha256:" + a + " blob:sha256:0"
	for name, log := range map[string][]byte{"plain": []byte(text), "packed": ompPacked(t, []byte(text))} {
		got, err := omp.Traits().Attached(t.Context(), bytes.NewReader(log))
		if diff := cmp.Diff([]string{a, b}, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}
