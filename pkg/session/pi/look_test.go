package pi_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/pi"
)

// recorder is a session.Glances that remembers within the run.
type recorder map[string]session.Glance

func (r recorder) Glance(path string, _ os.FileInfo) (session.Glance, bool) {
	g, ok := r[path]
	return g, ok
}

func (r recorder) Keep(path string, _ os.FileInfo, _ io.ReaderAt, seen session.Glance) {
	r[path] = seen
}

// TestGlances: a store that reads ends while it lists lists the same, and sees
// at each end what Tail sees there; what it remembers it lists again.
func TestGlances(t *testing.T) {
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
		got, err := pi.Open(root).WithGlances(seen).List(ctx)
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
