package pi_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/pi"
)

func TestList(t *testing.T) {
	s := newOne(t)
	ref := s.ref(name)
	info, err := os.Lstat(ref.Path)
	if err != nil {
		t.Fatal(err)
	}
	file := durable.FileStateOf(info)
	owner, known := durable.Owner(info)
	if !known {
		owner = -1
	}
	want := session.Ref{
		File:    session.FileID{Device: file.Device, Inode: file.Inode, Changed: file.Changed, Owner: owner},
		Runtime: "pi", Agent: "repo-orders-api", ID: id, Store: s.root, Path: s.path(name), Kind: session.KindLive,
		Primary: true, Bytes: int64(len(transcript(id, 3))), ModTime: info.ModTime(), State: session.StateIdle,
	}
	if diff := cmp.Diff(want, ref); diff != "" {
		t.Error(diff)
	}
	tail, err := s.Tail(context.Background(), ref)
	if err != nil || tail.Tokens != 10 || !tail.Answered {
		t.Errorf("%+v, %v", tail, err)
	}
	if n, err := s.CountMessages(context.Background(), ref); n != 2 || err != nil {
		t.Errorf("%d messages, %v", n, err)
	}
}

// The primary session is the one that `pi -c` continues: the newest with a
// header that pi sees. Rotated logs, fragments and other directories do not
// count.
func TestPrimary(t *testing.T) {
	s := newState(t)
	long := strings.Replace(transcript("long", 3), "/repo/orders/api", "/"+strings.Repeat("d", 512), 1)
	for i, c := range []struct{ name, text string }{
		{"oldest.jsonl", transcript("oldest", 3)},
		{"newest.jsonl", transcript("newest", 3)},
		{"fragment.jsonl", turns},
		{"late-header.jsonl", turns + transcript("late", 3)},
		{"long-header.jsonl", long},
		{"empty.jsonl", ""},
		{"gone.jsonl.rotated.2026-03-01T10-00-00.000Z", transcript("gone", 3)},
	} {
		s.log(c.name, c.text)
		s.age(s.path(c.name), time.Duration(10-i)*time.Hour)
	}
	s.write(filepath.Join(s.root, "--other--", "x.jsonl"), transcript("x", 3))
	for _, ref := range s.list().Refs {
		if want := ref.ID == "newest" || ref.Agent == "other"; ref.Primary != want {
			t.Errorf("%s: primary %v", ref.Path, ref.Primary)
		}
	}
	for file, want := range map[string]session.Kind{
		"oldest.jsonl": session.KindLive, "fragment.jsonl": session.KindOrphan, "late-header.jsonl": session.KindLive,
		"empty.jsonl": session.KindOrphan, "gone.jsonl.rotated.2026-03-01T10-00-00.000Z": session.KindReset,
	} {
		if ref := s.ref(file); ref.Kind != want {
			t.Errorf("%s is %s", file, ref.Kind)
		}
	}
	s.noticed("fragment.jsonl", "no session header")
	if n := len(s.list().Notices); n != 1 {
		t.Errorf("%d notices: %+v", n, s.list().Notices)
	}
}

func TestAgentNames(t *testing.T) {
	for dir, want := range map[string]string{
		"--work-registry-demo--":  "work-registry-demo",
		"--Users-me-my.project--": "Users-me-my.project",
		"abs-x-0bff77":            "abs-x-0bff77",
		"plain":                   "plain",
		"--a":                     "a",
		"--w-Zoë-🦞-研究--":          "w-Zoë-🦞-研究",
		"--é--":                   "é",
	} {
		s := newState(t)
		s.write(filepath.Join(s.root, dir, "x.jsonl"), transcript("x", 3))
		if got := s.list().Refs[0].Agent; got != want {
			t.Errorf("%s: agent %s", dir, got)
		}
	}
	for _, dir := range []string{"----", "--my project--", "--" + strings.Repeat("d", 200) + "--"} {
		s := newState(t)
		s.write(filepath.Join(s.root, dir, "x.jsonl"), transcript("x", 3))
		refs := s.list().Refs
		if len(refs) != 1 || !session.SafeID(refs[0].Agent) {
			t.Errorf("%s: %+v", dir, refs)
		}
	}
}

func TestSessionID(t *testing.T) {
	s := newState(t)
	s.log("a.jsonl", transcript("header-id", 3))
	s.log("b.jsonl", transcript("../../etc", 3))
	s.log("c.jsonl", turns)
	if got := s.ref("a.jsonl").ID; got != "header-id" {
		t.Error(got)
	}
	if got := s.ref("b.jsonl").ID; !session.SafeID(got) || got == "b" {
		t.Error(got)
	}
	if got := s.ref("c.jsonl").ID; got != "c" {
		t.Error(got)
	}
}

// A store opened by the agent directory is the sessions directory in it, and
// logs may lie in it directly (--session-dir).
func TestOpen(t *testing.T) {
	agent := filepath.Join(t.TempDir(), "agent")
	s := &state{t: t, root: agent}
	s.write(filepath.Join(agent, "sessions", directory, name), transcript(id, 3))
	s.Store = pi.Open(agent)
	if s.Root() != agent || len(s.list().Refs) != 1 || s.list().Refs[0].Store != agent {
		t.Errorf("%+v", s.list())
	}
	s.mustRotate(s.plan(s.list().Refs[0]))

	flat := newState(t)
	flat.write(filepath.Join(flat.root, "a.jsonl"), transcript("a", 3))
	refs := flat.list().Refs
	if len(refs) != 1 || !refs[0].Primary || refs[0].Agent != filepath.Base(flat.root) {
		t.Errorf("%+v", refs)
	}
	flat.mustRotate(flat.plan(refs[0]))
	if _, err := pi.Open(filepath.Join(agent, "gone")).List(context.Background()); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestListOddNames(t *testing.T) {
	s := newOne(t)
	s.log("-1.jsonl", transcript("x", 3))
	s.log("a b.jsonl", transcript("x", 3))
	s.log(".hidden.jsonl", transcript("x", 3))
	s.log("notes.md", "x")
	s.log(name+".bak", "x")
	s.write(filepath.Join(s.root, ".trash", "x.jsonl"), transcript("x", 3))
	if err := os.Mkdir(s.path("dir.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	if refs := s.list().Refs; len(refs) != 1 {
		t.Errorf("%+v", refs)
	}
	s.noticed("-1.jsonl", "not safe in a path")
	s.noticed("a b.jsonl", "not safe in a path")
	s.noticed("dir.jsonl", "a directory")
}

func TestListStates(t *testing.T) {
	s := newOne(t)
	s.log("new.jsonl", transcript("new", 4))
	if ref := s.ref("new.jsonl"); ref.State != session.StateUnsupported || !strings.Contains(ref.Reason, "version 4") {
		t.Errorf("%+v", ref)
	}
	s.age(s.path(name), time.Second)
	if ref := s.ref(name); ref.State != session.StateBusy {
		t.Errorf("%+v", ref)
	}
}

func TestRoots(t *testing.T) {
	home := t.TempDir()
	standard, other := filepath.Join(home, ".pi", "agent", "sessions"), filepath.Join(home, "other", "sessions")
	for _, dir := range []string{standard, other} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string][]string{
		"":                               {standard},
		"~/other":                        {other, standard},
		filepath.Join(home, ".pi/agent"): {standard},
		filepath.Join(home, "gone"):      {standard},
	} {
		got := pi.Roots(home, func(name string) string {
			return map[string]string{"PI_CODING_AGENT_DIR": dir}[name]
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q:\n%s", dir, diff)
		}
	}
}

func TestSamples(t *testing.T) {
	s := newState(t)
	if err := os.CopyFS(filepath.Join(s.root, "x"), os.DirFS(samples.Beside(t, "samples/pi/derived"))); err != nil {
		t.Fatal(err)
	}
	s.Store = pi.Open(filepath.Join(s.root, "x"))
	refs := s.list().Refs
	if len(refs) != 2 || refs[0].Agent != "work-registry-demo" {
		t.Fatalf("%+v", refs)
	}
}

// recorder is a session.TailCache that remembers within the run.
type recorder map[string]session.CachedTail

func (r recorder) Find(path string, _ os.FileInfo) (session.CachedTail, bool) {
	g, ok := r[path]
	return g, ok
}

func (r recorder) Keep(path string, _ os.FileInfo, _ io.ReaderAt, seen session.CachedTail) {
	r[path] = seen
}

// TestTailCache: a store that reads ends while it lists lists the same, and sees
// at each end what Tail sees there; what it remembers it lists again.
func TestTailCache(t *testing.T) {
	root := t.TempDir()
	header := `{"type":"session","version":3,"id":"6f9b0d0c-0000-4000-8000-000000000001","timestamp":"2026-05-01T10:00:00.000Z","cwd":"/w"}` + "\n"
	said := `{"type":"message","id":"a1","parentId":null,"timestamp":"2026-05-01T10:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"hello"}]}}` + "\n"
	answer := `{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-05-01T10:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"hi"}],"usage":{"totalTokens":77},"stopReason":"stop"}}` + "\n"
	old := time.Now().Add(-time.Hour)
	for name, text := range map[string]string{
		"whole.jsonl":    header + said + answer,
		"torn.jsonl":     header + said + answer[:50],
		"empty.jsonl":    "",
		"fragment.jsonl": said + answer,
		"strange.jsonl":  "no record at all\n",
		"later.jsonl":    said + header + answer,
		"old.jsonl.rotated.2026-05-01T10-00-00.000Z": header + said,
	} {
		dir := filepath.Join(root, "sessions", "--w--")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	plain := pi.Open(root)
	want, err := plain.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	seen := recorder{}
	for _, what := range []string{"seen", "remembered"} {
		got, err := pi.Open(root).WithTailCache(seen).List(ctx)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", what, err, diff)
		}
	}
	for _, ref := range want.Refs {
		tail, err := plain.Tail(ctx, ref)
		g, ok := seen[ref.Path]
		if ok != (err == nil && ref.Kind != session.KindReset) {
			t.Errorf("%s: remembered %v, Tail says %v", ref.Path, ok, err)
		}
		if diff := cmp.Diff(tail, g.Tail); ok && diff != "" {
			t.Errorf("%s: %s", ref.Path, diff)
		}
	}
	if len(seen) < 4 {
		t.Errorf("only %d logs were seen", len(seen))
	}
}
