package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/browse"
)

// browsedLog writes a session of pi with so many messages, as old as two days.
func browsedLog(t *testing.T, home, agent string, number, messages int) string {
	t.Helper()
	id := fmt.Sprintf("5f0c1c2e-6d0a-4f57-9d2b-%012d", number)
	var b strings.Builder
	fmt.Fprintf(&b, `{"type":"session","version":3,"id":%q,"timestamp":"2026-03-01T10:00:00.000Z","cwd":"/repo"}`+"\n", id)
	for i := range messages {
		parent := fmt.Sprintf(`"a%07d"`, i)
		if i == 0 {
			parent = "null"
		}
		fmt.Fprintf(&b, `{"type":"message","id":"a%07d","parentId":%s,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"message %d of the importer %s"}]}}`+"\n", i+1, parent, i, strings.Repeat("long ", 200))
	}
	path := filepath.Join(home, ".pi/agent/sessions", "--"+agent+"--", "2026-03-01T10-00-00-000Z_"+id+".jsonl")
	old := time.Now().Add(-48 * time.Hour)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(b.String()), 0o600), os.Chtimes(path, old, old)); err != nil {
		t.Fatal(err)
	}
	return path
}

func browserAt(t *testing.T, home string) *browser {
	t.Helper()
	a := programAt(t, home, new(time.Duration), nil)
	a.global.AllowRoot = true
	return &browser{app: a}
}

func nobody(string, int64, int64) {}

// planned makes a plan, and the request that a person makes who accepts it.
func planned(t *testing.T, b *browser, action browse.Action, target browse.Target) (browse.Plan, browse.Request) {
	t.Helper()
	ask := browse.Request{Do: browse.MakePlan, Action: action, Target: target}
	x, err := b.perform(t.Context(), ask, nobody)
	plan := x.plan(err)
	ask.Do, ask.Shown, ask.Of = browse.Carry, plan.Text, plan.Of
	return plan, ask
}

// What is carried out is what was shown: sessions that came since are not touched,
// and of a memory that has changed nothing is forgotten.
func TestBrowseDoesWhatWasShown(t *testing.T) {
	home := t.TempDir()
	browsedLog(t, home, "a", 1, 3)
	b := browserAt(t, home)
	plan, accepted := planned(t, b, browse.Archive, browse.Target{Runtime: "pi", Name: "pi"})
	if plan.Question == "" || !strings.Contains(plan.Text, "would be archived and remembered") || exists(b.dataDir()) {
		t.Fatalf("%+v", plan)
	}
	browsedLog(t, home, "b", 2, 3) // nobody was shown this one
	if x, err := b.perform(t.Context(), accepted, nobody); err != nil || !strings.Contains(x.text(), "archived, read back, and remembered") {
		t.Fatal(err, x.text())
	}
	if entries, err := b.archived(t.Context(), archive.Filter{}); err != nil || len(entries) != 1 || entries[0].Agent != "a" {
		t.Fatalf("%+v, %v", entries, err)
	}

	forget, accepted := planned(t, b, browse.Forget, browse.Target{Runtime: "pi", Name: "pi", Agent: "a"})
	browsedLog(t, home, "a", 3, 3)
	_, more := planned(t, b, browse.Archive, browse.Target{Runtime: "pi", Agent: "a"})
	if x, err := b.perform(t.Context(), more, nobody); err != nil {
		t.Fatal(err, x.text())
	}
	x, err := b.perform(t.Context(), accepted, nobody)
	if f := (*failure)(nil); !errors.As(err, &f) || f.code != "not_confirmed" || forget.Question == "" {
		t.Errorf("%v %+v", err, forget)
	}
	if hits, _, err := b.ask(t.Context(), "importer message"); err != nil || len(hits) == 0 {
		t.Errorf("what was to stay is forgotten: %s, %v", x.text(), err)
	}
	again, accepted := planned(t, b, browse.Forget, browse.Target{Runtime: "pi", Name: "pi", Agent: "a"})
	if _, err := b.perform(t.Context(), accepted, nobody); err != nil {
		t.Error(err, again.Text)
	}
	if hits, _, err := b.ask(t.Context(), "importer message"); err != nil || len(hits) != 0 {
		t.Errorf("%v, %v", hits, err)
	}
}

// A plan of something that cannot be done asks nothing and says why.
func TestBrowseBusy(t *testing.T) {
	home := t.TempDir()
	browsedLog(t, home, "a", 1, 3)
	b := browserAt(t, home)
	plan, accepted := planned(t, b, browse.Pin, browse.Target{Runtime: "pi", Agent: "a", Session: "5f0c1c2e-6d0a-4f57-9d2b-000000000001"})
	if plan.Question == "" {
		t.Fatalf("%+v", plan)
	}
	lock, err := b.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x, err := b.perform(t.Context(), accepted, nobody)
	result := x.result(t.Context(), err)
	if exitCode(err) != exitBusy || !result.Failed || !strings.Contains(result.Text, "another sessctl is working on this data directory") {
		t.Errorf("%v: %+v", err, result)
	}
	lock.Unlock()
	if x, err := b.perform(t.Context(), accepted, nobody); err != nil || !strings.Contains(x.text(), "pinned: clean") {
		t.Errorf("%v: %s", err, x.text())
	}
	plan, _ = planned(t, b, browse.Compact, browse.Target{Runtime: "pi", Agent: "a"})
	if plan.Question != "" || plan.Force == "" || !strings.Contains(plan.Text, "below threshold") {
		t.Errorf("%+v", plan)
	}
	if plan, _ = planned(t, b, browse.Compact, browse.Target{Runtime: "pi", Agent: "nobody"}); plan.Question != "" || !strings.Contains(plan.Text, "nobody") {
		t.Errorf("%+v", plan)
	}
}

// A session is read in parts that leave no message out, from both ends, while it
// grows, after it was made shorter, and until it is gone.
func TestBrowseReads(t *testing.T) {
	home := t.TempDir()
	const messages = 900 // about 900 KB
	path := browsedLog(t, home, "a", 1, messages)
	b := browserAt(t, home)
	var first browse.Home
	if err := b.load(t.Context(), func(h browse.Home) { first = h }); err != nil || !first.Complete || len(first.Sessions) != 1 || !first.Sessions[0].Measured {
		t.Fatalf("%+v, %v", first, err)
	}
	at := first.Sessions[0]
	read := func(place browse.Place) browse.Page {
		t.Helper()
		place.Session = at
		page, err := b.read(t.Context(), place, func(int64, int64) {})
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	forward := []int{}
	for place := (browse.Place{From: 1}); ; {
		page := read(place)
		forward = append(forward, linesOf(page)...)
		if !page.After {
			break
		}
		place = browse.Place{From: page.Last + 1}
	}
	backward := []int{}
	for place := (browse.Place{End: true}); ; {
		page := read(place)
		backward = append(linesOf(page), backward...)
		if !page.Before {
			break
		}
		place = browse.Place{Until: page.First - 1}
	}
	want := make([]int, messages)
	for i := range want {
		want[i] = i + 2
	}
	if !slices.Equal(forward, want) || !slices.Equal(backward, want) {
		t.Errorf("forward %d, backward %d messages, want %d", len(forward), len(backward), messages)
	}
	hit := read(browse.Place{First: 500, Last: 501})
	if !strings.HasPrefix(hit.Lines[hit.At].Text, "▶ Human  line 500") || !hit.Before || !hit.After || hit.First >= 500 {
		t.Errorf("opens at %q, lines %d-%d", hit.Lines[hit.At].Text, hit.First, hit.Last)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if page := read(browse.Place{From: 800}); page.Note == "" || page.After || page.Last > 460 {
		t.Errorf("%q, lines %d-%d", page.Note, page.First, page.Last)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.read(ctx, browse.Place{Session: at}, func(int64, int64) {}); !isCanceled(err) {
		t.Error(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, err = b.read(t.Context(), browse.Place{Session: at}, func(int64, int64) {})
	if f := (*failure)(nil); !errors.As(err, &f) || f.code != "gone" {
		t.Error(err)
	}
}

// linesOf are the lines of the messages of a page.
func linesOf(p browse.Page) (lines []int) {
	for _, text := range p.Lines {
		var line int
		if _, err := fmt.Sscanf(text.Text, "Human  line %d", &line); err == nil {
			lines = append(lines, line)
		}
	}
	return lines
}

// Secrets are masked where that is asked for.
func TestBrowseRedacts(t *testing.T) {
	home := t.TempDir()
	path := browsedLog(t, home, "a", 1, 1)
	const secret = "sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(text), "message 0", secret, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, redact := range []bool{false, true} {
		b := browserAt(t, home)
		b.options.Redact = redact
		at := browse.Session{Runtime: "pi", Agent: "a", ID: "5f0c1c2e-6d0a-4f57-9d2b-000000000001", Path: path}
		page, err := b.read(t.Context(), browse.Place{Session: at, From: 1}, func(int64, int64) {})
		if err != nil || strings.Contains(fmt.Sprint(page.Lines), secret) == redact {
			t.Errorf("redact %v: %v, %v", redact, page.Lines, err)
		}
	}
}
