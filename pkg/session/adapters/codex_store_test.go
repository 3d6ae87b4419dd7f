package adapters_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/codex"
)

const thread = "019f8a11-7b21-7c3d-9e10-aabbccddeeff"

func rollout(id, cwd string, lines ...string) string {
	lines = append([]string{codexEntry("session_meta", `{"id":"`+id+`","cwd":"`+cwd+`"}`)}, lines...)
	return strings.Join(lines, "\n") + "\n"
}

// codexPlant writes a file that was last changed two hours ago.
func codexPlant(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(path) == ".lock" {
		return // one from before the machine was started would hold nobody
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
}

func compressed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCodexList(t *testing.T) {
	root := t.TempDir()
	day := filepath.Join(root, "sessions", "2026", "07", "20")
	talk := []string{user("which port?"), codexAgent("7001")}
	codexPlant(t, filepath.Join(day, "rollout-2026-07-20T11-00-00-"+thread+".jsonl"), rollout(thread, "/home/lea/api", talk...))
	codexPlant(t, filepath.Join(day, "rollout-2026-07-20T12-00-00-b.jsonl.zst"), compressed(t, rollout("b", `C:\\lea\\web`, talk...)))
	codexPlant(t, filepath.Join(day, "rollout-2026-07-20T13-00-00-both.jsonl"), rollout("both", "", talk...))
	codexPlant(t, filepath.Join(day, "rollout-2026-07-20T13-00-00-both.jsonl.zst"), compressed(t, rollout("both", "", talk...)))
	codexPlant(t, filepath.Join(day, "rollout-2026-07-20T14-00-00-headless.jsonl"), talk[0]+"\n")
	codexPlant(t, filepath.Join(root, "archived_sessions", "rollout-2026-07-01T10-00-00-away.jsonl"), rollout("away", "/home/lea/api", talk...))
	codexPlant(t, filepath.Join(root, "sessions", "rollout-2025-04-01-old.json"), `{"session":{},"items":[]}`)
	for _, other := range []string{"history.jsonl", "session_index.jsonl", "sessions/2026/07/20/notes.jsonl", "sessions/2026/07/20/rollout-x.jsonl.tmp", "sessions/.hidden/rollout-2026-07-20T11-00-00-h.jsonl"} {
		codexPlant(t, filepath.Join(root, other), "{}\n")
	}
	codexPlant(t, filepath.Join(root, "thread-writer-locks", thread+".lock"), "")
	codexPlant(t, filepath.Join(root, "thread-writer-locks", ".coordination.lock"), "")

	listing, err := codex.Open(root).List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ref := range listing.Refs {
		primary := ""
		if ref.Primary {
			primary = " primary"
		}
		got = append(got, ref.Agent+" "+ref.ID+" "+string(ref.Kind)+" "+string(ref.State)+primary)
	}
	want := []string{
		"home-lea-api " + thread + " live busy primary",
		"C--lea-web b live idle primary",
		"codex both live idle primary",
		"codex headless live idle primary",
		"home-lea-api away archived idle primary",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
	if len(listing.Notices) != 1 || !strings.Contains(listing.Notices[0].Message, "JSON document") {
		t.Errorf("notices: %+v", listing.Notices)
	}
	for _, ref := range listing.Refs {
		tail, err := codex.Open(root).Tail(context.Background(), ref)
		if err != nil || tail.Tokens == 0 || ref.ID != "headless" && (!tail.Answered || tail.Messages != 2) {
			t.Errorf("%s: %+v, %v", ref.ID, tail, err)
		}
		if n, err := codex.Open(root).CountMessages(context.Background(), ref); err != nil || n != tail.Messages {
			t.Errorf("%s: %d messages counted, %v", ref.ID, n, err)
		}
	}
}

func TestCodexBusy(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "sessions", "2026", "07", "20", "rollout-2026-07-20T11-00-00-"+thread+".jsonl")
	lock := filepath.Join(root, "thread-writer-locks", thread+".lock")
	codexPlant(t, path, rollout(thread, "/w", user("a"), codexAgent("b")))
	store := codex.Open(root)
	busy := func() string {
		err := store.Busy(context.Background(), session.BusyQuestion{Ref: session.Ref{ID: thread, Path: path, Store: root}, Now: time.Now(), Quiet: time.Minute})
		var b *session.BusyError
		if err != nil && !errors.As(err, &b) {
			t.Fatal(err)
		}
		if b == nil {
			return ""
		}
		return b.Reason
	}
	if got := busy(); got != "" {
		t.Errorf("idle, but %q", got)
	}
	codexPlant(t, lock, "")
	if got := busy(); !strings.Contains(got, "Codex has it open") {
		t.Errorf("locked, but %q", got)
	}
	old := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	if got := busy(); got != "" {
		t.Errorf("a lock from before the machine was started: %q", got)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	codexPlant(t, path, rollout(thread, "/w", user("a"), codexAgent("b"), user("c")))
	if got := busy(); !strings.Contains(got, "not answered") {
		t.Errorf("unanswered, but %q", got)
	}
}

// A compressed rollout is read like a plain one, and one that was cut off as
// far as it goes.
func TestCodexCompressed(t *testing.T) {
	var lines []string
	for range 20_000 {
		lines = append(lines, user("a question that is asked again and again"), codexAgent("and its answer"))
	}
	plain := rollout(thread, "/w", append(lines, counted(777))...)
	cold := compressed(t, plain)
	path := filepath.Join(t.TempDir(), "rollout-2026-07-20T11-00-00-"+thread+".jsonl.zst")
	codexPlant(t, path, cold)
	store := codex.Open(filepath.Dir(path))
	tail, err := store.Tail(context.Background(), session.Ref{Path: path})
	if err != nil || tail.Tokens != 777 || tail.MessagesExact || tail.Messages < 36_000 || tail.Messages > 44_000 {
		t.Errorf("tail %+v, %v", tail, err)
	}
	n, err := store.CountMessages(context.Background(), session.Ref{Path: path})
	if err != nil || n != 40_000 {
		t.Errorf("%d messages, %v", n, err)
	}
	scan, err := store.Scan(context.Background(), strings.NewReader(cold[:len(cold)/2]), session.ScanOptions{}, func(*session.Message) error { return nil })
	if err != nil || !scan.Counts.Torn {
		t.Errorf("cut off: torn %v, %v", scan.Counts.Torn, err)
	}
}

func TestCodexEmitErrorStopsTheScan(t *testing.T) {
	stop := errors.New("stop")
	for _, log := range []string{rollout("a", "/w", user("a"), codexAgent("b")), rollout("a", "/w", vocabulary[26], vocabulary[27])} {
		calls := 0
		_, err := new(codex.Store).Scan(context.Background(), strings.NewReader(log), session.ScanOptions{}, func(*session.Message) error {
			calls++
			return stop
		})
		if err != stop || calls != 1 { //nolint:errorlint // it must be the very error
			t.Errorf("%v after %d calls", err, calls)
		}
	}
}

func TestCodexScanRefusesOtherLogs(t *testing.T) {
	for _, log := range []string{"hello\n", `{"type":"session","id":"a"}` + "\n", `{"type":"message","id":"a","message":{"role":"user","content":"x"}}` + "\n", "\xFF\xFEh\x00"} {
		_, err := new(codex.Store).Scan(context.Background(), strings.NewReader(log), session.ScanOptions{}, func(*session.Message) error { return nil })
		if !errors.Is(err, session.ErrUnknownFormat) {
			t.Errorf("%q: %v", log, err)
		}
	}
	if _, err := new(codex.Store).Scan(context.Background(), strings.NewReader(""), session.ScanOptions{}, nil); err != nil {
		t.Errorf("empty: %v", err)
	}
}

func TestCodexThinkingHasItsOrdinal(t *testing.T) {
	log := rollout("a", "/w", user("q"), vocabulary[14], codexAgent("a"))
	ordinals := func(thinking bool) (all []int) {
		_, err := new(codex.Store).Scan(context.Background(), strings.NewReader(log), session.ScanOptions{Thinking: thinking}, func(m *session.Message) error {
			all = append(all, m.Ordinal)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if diff := cmp.Diff([][]int{{0, 2}, {0, 1, 2}}, [][]int{ordinals(false), ordinals(true)}); diff != "" {
		t.Error(diff)
	}
}

func TestCodexWhatAPersonTyped(t *testing.T) {
	for text, want := range map[string]string{
		"hi":                    "user ",
		"<div>hi</div>":         "user ",
		"<environment_context>": "injected codex.environment_context",
		`<user_instructions>\nx\n</user_instructions>`: "injected codex.user_instructions",
		"# AGENTS.md instructions for /w":              "injected codex.agents_md",
		"<permissions instructions>x":                  "injected codex.permissions instructions",
		`<user_shell_command>\n<command>\nls\n</command>\n<result>\nExit code: 3\nOutput:\nno\n</result>\n</user_shell_command>`: "shell ",
	} {
		var got codexLine
		_, err := new(codex.Store).Scan(context.Background(), strings.NewReader(rollout("a", "/w", user(text))), session.ScanOptions{}, func(m *session.Message) error {
			got = codexLineOf(m)
			return nil
		})
		if err != nil || got.Role+" "+got.Custom != want {
			t.Errorf("%q: %q, %v; want %q", text, got.Role+" "+got.Custom, err, want)
		}
		if got.Role == "shell" && (got.Exit != "3" || !strings.HasPrefix(got.Text, "$ ls\n")) {
			t.Errorf("shell: %+v", got)
		}
	}
}
