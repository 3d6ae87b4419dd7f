package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/browse"
	"github.com/sessctl/sessctl/pkg/session"
)

// What sizes says of a session is what compact --all does with it: for every
// sample of every runtime, at several thresholds, while the samples are fresh and
// when they have lain for days.
func TestSizesAndCompactAgree(t *testing.T) {
	home := homeOfSamples(t)
	total, words := 0, map[string]int{}
	for _, run := range []struct {
		ahead     time.Duration
		threshold []string
	}{{0, nil}, {2 * time.Hour, []string{"--threshold", "1"}}, {2 * time.Hour, []string{"--threshold", "3000"}}, {72 * time.Hour, nil}} {
		var sized selection.SizesDocument
		var planned selection.CompactDocument
		document(t, home, run.ahead, &sized, append([]string{"sizes", "--all", "--json"}, run.threshold...)...)
		document(t, home, run.ahead, &planned, append([]string{"compact", "--all", "--dry-run", "--json"}, run.threshold...)...)
		plans := map[string]string{}
		for _, r := range planned.Sessions {
			plans[r.Path] = prospectOf(r.Outcome, r.Strategy, r.Irreducible)
		}
		for _, s := range sized.Sessions {
			plan, meant := plans[s.Path]
			if !meant {
				plan = selection.ProspectPassedOver
			}
			compareProspects(t, fmt.Sprintf("%v ahead %v: %s (%d tokens)", run.threshold, run.ahead, s.Path, s.Tokens), s, plan)
			total++
			words[s.Compact]++
		}
	}
	t.Logf("%d rows: %v", total, words)
	if total == 0 || words[selection.ProspectDue] == 0 || words[selection.ProspectBusy] == 0 || words[selection.ProspectIrreducible] == 0 || words[""] == 0 {
		t.Errorf("the samples show too little: %v", words)
	}
}

// compareProspects compares a row with what the plan comes to.
func compareProspects(t *testing.T, what string, s *selection.SessionRow, plan string) {
	t.Helper()
	switch {
	case s.Over != (s.Compact != ""):
		t.Errorf("%s: over %v, compact %q", what, s.Over, s.Compact)
	case s.Unreadable || s.Bytes == 0:
	case s.Kind == string(session.KindOrphan) && s.Compact == "": // a log without a header is taken in whatever its size
	case s.State == string(session.StateUnsupported) && s.Compact == "" && plan == selection.ProspectUnsupported: // and not large
	case plan == selection.ProspectPassedOver && s.Compact == "" && s.Tokens >= 150_000:
		t.Errorf("%s: it is large, and not over", what)
	case plan != s.Compact && !(plan == selection.ProspectPassedOver && s.Compact == ""):
		t.Errorf("%s: sizes says %q (%s), compact %q", what, s.Compact, s.Reason, plan)
	case plan == selection.ProspectBusy && s.State != "busy":
		t.Errorf("%s: sizes says %s where compact says busy", what, s.State)
	}
}

// prospectOf is what a plan comes to, in the words of sizes.
func prospectOf(outcome, strategy any, irreducible bool) string {
	switch o := fmt.Sprint(outcome); {
	case o == "below-threshold":
		return ""
	case irreducible:
		return selection.ProspectIrreducible
	case o == "busy":
		return selection.ProspectBusy
	case o == "unsupported":
		return selection.ProspectUnsupported
	case fmt.Sprint(strategy) == "none":
		return selection.ProspectRuntime
	case o == "planned":
		return selection.ProspectDue
	}
	return ""
}

// document runs the program and reads what it prints.
func document(t *testing.T, home string, ahead time.Duration, into any, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := testApp(newStreams(strings.NewReader(""), &out, &errs), workspace.Run{Report: workspace.Report{Notes: []workspace.Note{}}, Settings: workspace.Settings{Now: func() time.Time { return time.Now().Add(ahead) }, Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}})
	root := newRootCommand(a)
	root.SetArgs(args)
	root.SetOut(io.Discard)
	_ = root.ExecuteContext(context.Background()) // busy and unsupported sessions have exit codes
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		t.Fatalf("%q: %v\n%s", args, err, &errs)
	}
}

// homeOfSamples makes a home directory in which every sample lies where its
// runtime would have it, each the only session of its agent.
func homeOfSamples(t *testing.T) string {
	t.Helper()
	home, n := t.TempDir(), 0
	if err := os.CopyFS(home, os.DirFS(filepath.Join("..", "testdata", "sample"))); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{
		filepath.Join("..", "testdata", "sessions"), filepath.Join("..", "..", "shared", "samples"), filepath.Join("..", "..", "shared", "samples-newer"),
	} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || strings.Contains(path, "huge-") || strings.Contains(path, "bomb") {
				return ignoreAbsent(err)
			}
			n++
			return placeSample(home, path, n)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func ignoreAbsent(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// placeSample copies a log to where its runtime would have it. What is no log of
// a runtime with files is left out.
func placeSample(home, path string, n int) error {
	s, err := steps.SessionFile(testApp(&streams{}, workspace.Run{}).Run, path)
	if err != nil {
		return nil
	}
	name := filepath.Base(path)
	place := map[string]string{
		session.RuntimeOpenClaw:  fmt.Sprintf(".openclaw/agents/s%d/sessions/4f0c1d2e-0000-4000-8000-%012d.jsonl", n, n),
		session.RuntimePi:        fmt.Sprintf(".pi/agent/sessions/--s%d--/%s", n, name),
		session.RuntimeAgent:     fmt.Sprintf(".agent/sessions/01JKTS6Q2N8R3Z5V7W9X%06d/session.jsonl", n),
		session.RuntimeAnnabelle: fmt.Sprintf(".annabelle/sessions/s%d/%s", n, name),
		session.RuntimeMacStats:  ".mac-stats/session/" + name,
		session.RuntimeCodex:     fmt.Sprintf(".codex/sessions/2026/01/10/rollout-2026-01-10T09-00-00-0199aaaa-bbbb-7ccc-8ddd-%012d.jsonl", n),
		session.RuntimeClaude:    fmt.Sprintf(".claude/projects/-s%d/4f0c1d2e-0000-4000-8000-%012d.jsonl", n, n),
		session.RuntimeGemini:    fmt.Sprintf(".gemini/tmp/s%d/chats/%s", n, name),
	}[s.Runtime]
	text, err := os.ReadFile(path)
	if err != nil || place == "" {
		return err
	}
	place = filepath.Join(home, filepath.FromSlash(place))
	if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(place, text, 0o600); err != nil {
		return err
	}
	if s.Runtime != session.RuntimeOpenClaw {
		return nil
	}
	index := fmt.Sprintf(`{"agent:s%d:main":{"sessionId":"4f0c1d2e-0000-4000-8000-%012d","updatedAt":1767000000000}}`, n, n)
	return os.WriteFile(filepath.Join(filepath.Dir(place), "sessions.json"), []byte(index), 0o600)
}

// What browse shows of a session is what sizes says of it: of every sample of every runtime.
func TestSizesAndBrowseAgree(t *testing.T) {
	home := homeOfSamples(t)
	var sized selection.SizesDocument
	document(t, home, 72*time.Hour, &sized, "sizes", "--all", "--json")
	rows := map[string]*selection.SessionRow{}
	for _, s := range sized.Sessions {
		rows[s.Path] = s
	}
	ahead := 72 * time.Hour
	var seen browse.Home
	if err := (&browser{app: programAt(t, home, &ahead, nil)}).load(t.Context(), func(h browse.Home) { seen = h }); err != nil || !seen.Complete {
		t.Fatal(err)
	}
	compared := 0
	for _, s := range seen.Sessions {
		row := rows[s.Path]
		if row == nil || s.Closed {
			continue
		}
		compared++
		if s.Tokens != row.Tokens || s.Bytes != row.Bytes || s.Title != row.Title {
			t.Errorf("%s: browse has %d tokens, %d bytes, %q; sizes %d, %d, %q", s.Path, s.Tokens, s.Bytes, s.Title, row.Tokens, row.Bytes, row.Title)
		}
	}
	if shown := len(sized.Sessions); compared < shown*9/10 || shown == 0 {
		t.Errorf("%d of %d sessions were compared", compared, shown)
	}
}

// What compact says that a context is after it is what sizes says then: of every sample that
// it can make smaller, with thinking and files that were read.
func TestSizesAndCompactAgreeAfterwards(t *testing.T) {
	home := homeOfSamples(t)
	var done selection.CompactDocument
	document(t, home, 72*time.Hour, &done, "compact", "--all", "--force", "--keep-recent-tokens", "100", "--json")
	var sized selection.SizesDocument
	document(t, home, 144*time.Hour, &sized, "sizes", "--all", "--json")
	rows := map[string]*selection.SessionRow{}
	for _, s := range sized.Sessions {
		rows[s.Path] = s
	}
	compared := map[string]int{}
	for _, s := range done.Sessions {
		row := rows[s.Path]
		if row == nil || s.Outcome != "compacted" || s.Strategy == "rotate" {
			continue
		}
		compared[s.Runtime]++
		if row.Tokens != s.TokensAfter {
			t.Errorf("%s %s: compact says %d -> %d tokens, sizes %d (%s)", s.Strategy, s.Path, s.TokensBefore, s.TokensAfter, row.Tokens, row.TokenSource)
		}
	}
	least := 1 // without the larger set
	if len(samples.Matching(t, "samples/pi/*.jsonl")) > 0 {
		least = 5
	}
	if compared[session.RuntimePi] < least || least > 1 && compared[session.RuntimeAnnabelle] == 0 {
		t.Errorf("the samples show too little: %v", compared)
	}
}
