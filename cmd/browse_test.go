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

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
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
	a.Global.AllowRoot = true
	return &browser{app: a}
}

func nobody(string, int64, int64) {}

// planned makes a plan, and the request that a person makes who accepts it.
func planned(t *testing.T, b *browser, action browse.Action, target browse.Target, force bool) (browse.Plan, browse.Request) {
	t.Helper()
	ask := browse.Request{Do: browse.MakePlan, Action: action, Target: target, Force: force}
	x, err := b.perform(t.Context(), ask, nobody)
	plan := x.plan(err)
	ask.Do, ask.Of = browse.Carry, plan.Of
	return plan, ask
}

// What is carried out is what was shown: sessions that came since are not touched,
// and of a memory that has changed nothing is forgotten.
func TestBrowseDoesWhatWasShown(t *testing.T) {
	home := t.TempDir()
	browsedLog(t, home, "a", 1, 3)
	b := browserAt(t, home)
	plan, accepted := planned(t, b, browse.Archive, browse.Target{Runtime: "pi", Name: "pi"}, false)
	if plan.Question == "" || !strings.Contains(plan.Text, "would be archived and remembered") || workspace.Exists(b.DataDir()) {
		t.Fatalf("%+v", plan)
	}
	browsedLog(t, home, "b", 2, 3) // nobody was shown this one
	if x, err := b.perform(t.Context(), accepted, nobody); err != nil || !strings.Contains(x.Text(), "archived, read back, and remembered") {
		t.Fatal(err, x.Text())
	}
	if entries, err := selection.Archived(t.Context(), b.app.Run, archive.Filter{}); err != nil || len(entries) != 1 || entries[0].Agent != "a" {
		t.Fatalf("%+v, %v", entries, err)
	}

	forget, accepted := planned(t, b, browse.Forget, browse.Target{Runtime: "pi", Name: "pi", Agent: "a"}, false)
	browsedLog(t, home, "a", 3, 3)
	_, more := planned(t, b, browse.Archive, browse.Target{Runtime: "pi", Agent: "a"}, false)
	if x, err := b.perform(t.Context(), more, nobody); err != nil {
		t.Fatal(err, x.Text())
	}
	x, err := b.perform(t.Context(), accepted, nobody)
	if f := (*failure.Error)(nil); !errors.As(err, &f) || f.Code != "not_confirmed" || forget.Question == "" {
		t.Errorf("%v %+v", err, forget)
	}
	if hits, _, err := b.ask(t.Context(), "importer message"); err != nil || len(hits) == 0 {
		t.Errorf("what was to stay is forgotten: %s, %v", x.Text(), err)
	}
	again, accepted := planned(t, b, browse.Forget, browse.Target{Runtime: "pi", Name: "pi", Agent: "a"}, false)
	if _, err := b.perform(t.Context(), accepted, nobody); err != nil {
		t.Error(err, again.Text)
	}
	if hits, _, err := b.ask(t.Context(), "importer message"); err != nil || len(hits) != 0 {
		t.Errorf("%v, %v", hits, err)
	}
}

// answeredLog is a log of session 1 of agent a whose last turn is answered.
func answeredLog(t *testing.T, home string, messages int) string {
	t.Helper()
	path := browsedLog(t, home, "a", 1, messages)
	answer := fmt.Sprintf(`{"type":"message","id":"b0000000","parentId":"a%07d","timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"done"}]}}`+"\n", messages)
	log, err := os.ReadFile(path)
	old := time.Now().Add(-48 * time.Hour)
	if err = errors.Join(err, os.WriteFile(path, append(log, answer...), 0o600), os.Chtimes(path, old, old)); err != nil {
		t.Fatal(err)
	}
	return path
}

func readLog(t *testing.T, path string) string {
	t.Helper()
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(log)
}

// A session of the same agent and id in another store is another session: nobody
// has agreed to it.
func TestBrowseTellsStoresApart(t *testing.T) {
	home := t.TempDir()
	first, second := filepath.Join(home, ".pi/agent/sessions"), filepath.Join(home, "mounted/.pi/agent/sessions")
	own := answeredLog(t, home, 200)
	if err := os.MkdirAll(second, 0o700); err != nil {
		t.Fatal(err)
	}
	b := browserAt(t, home)
	b.Global.Stores = []string{"pi=" + first, "pi=" + second}
	target := browse.Target{Runtime: "pi", Agent: "a", Session: "5f0c1c2e-6d0a-4f57-9d2b-000000000001"}
	plan, compaction := planned(t, b, browse.Compact, target, true)
	_, archives := planned(t, b, browse.Archive, target, false)
	if plan.Question == "" || len(archives.Of) != 1 {
		t.Fatalf("%+v", plan)
	}
	other := answeredLog(t, filepath.Join(home, "mounted"), 201) // nobody was shown this one
	if x, err := b.perform(t.Context(), archives, nobody); err != nil {
		t.Fatal(err, x.Text())
	}
	entries, err := selection.Archived(t.Context(), b.app.Run, archive.Filter{})
	if err != nil || len(entries) != 1 || entries[0].Source != own {
		t.Errorf("archived: %+v, %v", entries, err)
	}
	ownLog, otherLog := readLog(t, own), readLog(t, other)
	if x, err := b.perform(t.Context(), compaction, nobody); err != nil || readLog(t, own) == ownLog || readLog(t, other) != otherLog {
		t.Errorf("%v: %s; agreed was to %s alone", err, x.Text(), own)
	}
	if doings, err := b.undoable(t.Context(), browse.Target{}); err != nil || len(doings) != 1 || !strings.Contains(doings[0].What, " -> ") {
		t.Errorf("%v: %+v lacks what a compaction left", err, doings)
	}
	// Whoever has the cursor on one of them means that one.
	target.Store = second
	if plan, _ := planned(t, b, browse.Archive, target, false); len(plan.Of) != 1 || !strings.Contains(plan.Of[0], other) {
		t.Errorf("%+v", plan)
	}
}

// What memory and pins know by one name may be sessions of several stores: the plan
// names them all, and if there are others by the time it is carried out, nothing is
// done.
func TestBrowseNamesAllPlaces(t *testing.T) {
	home := t.TempDir()
	first, second := filepath.Join(home, ".pi/agent/sessions"), filepath.Join(home, "mounted/.pi/agent/sessions")
	target := browse.Target{Runtime: "pi", Agent: "a", Session: "5f0c1c2e-6d0a-4f57-9d2b-000000000001", Store: first, Path: browsedLog(t, home, "a", 1, 3)}
	b := browserAt(t, home)
	other := browsedLog(t, filepath.Join(home, "mounted"), "a", 1, 5)
	b.Global.Stores = []string{"pi=" + first, "pi=" + second}
	_, archives := planned(t, b, browse.Archive, browse.Target{Runtime: "pi", Agent: "a"}, false)
	if x, err := b.perform(t.Context(), archives, nobody); err != nil || len(archives.Of) != 2 {
		t.Fatal(err, x.Text())
	}
	refused := func(accepted browse.Request) {
		t.Helper()
		x, err := b.perform(t.Context(), accepted, nobody)
		if f := (*failure.Error)(nil); !errors.As(err, &f) || f.Code != "not_confirmed" {
			t.Errorf("%v: %s", err, x.Text())
		}
	}
	for _, action := range []browse.Action{browse.Pin, browse.Forget} {
		plan, accepted := planned(t, b, action, target, false)
		if plan.Question == "" || !strings.Contains(plan.Text, first+"\n") || !strings.Contains(plan.Text, second+"\n") {
			t.Errorf("%s: %+v", action, plan)
		}
		third := filepath.Join(home, string(action))
		browsedLog(t, third, "a", 1, 1)
		b.Global.Stores = append(b.Global.Stores, "pi="+filepath.Join(third, ".pi/agent/sessions"))
		refused(accepted)
		b.Global.Stores = b.Global.Stores[:2]
	}
	// The archive of a store that is not browsed is not one of this session.
	b.Global.Stores = b.Global.Stores[:1]
	var seen browse.Home
	if err := b.load(t.Context(), func(h browse.Home) { seen = h }); err != nil || len(seen.Sessions) != 2 || seen.Sessions[1].Path != "" {
		t.Fatal(err, seen)
	}
	entries, err := selection.Archived(t.Context(), b.app.Run, archive.Filter{})
	if i := slices.IndexFunc(entries, func(e archive.Entry) bool { return e.ID == seen.Sessions[0].Archive }); err != nil || i < 0 || entries[i].Source == other {
		t.Errorf("%v: %+v, %+v", err, seen.Sessions, entries)
	}
	// Somebody has pinned it meanwhile: what was agreed to is not its opposite.
	_, pin := planned(t, b, browse.Pin, target, false)
	if x, err := b.perform(t.Context(), pin, nobody); err != nil || !strings.Contains(x.Text(), "pinned: clean") {
		t.Fatal(err, x.Text())
	}
	refused(pin)
	if known, err := removal.ReadPinned(t.Context(), b.app.Run); err != nil || len(known.Sessions) != 1 {
		t.Errorf("%v: %+v", err, known)
	}
}

// d deletes what was pointed at and nothing else, u brings it back, and T removes for
// good what its plan has shown.
func TestBrowseDeletes(t *testing.T) {
	home := t.TempDir()
	b := browserAt(t, home)
	older := func(agent string, number, days int) (string, browse.Target) {
		path := browsedLog(t, home, agent, number, 3)
		log := readLog(t, path) + fmt.Sprintf(`{"type":"message","id":"b0000000","parentId":"a0000003","timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"done %d"}]}}`+"\n", number)
		old := time.Now().AddDate(0, 0, -days)
		if err := errors.Join(os.WriteFile(path, []byte(log), 0o600), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
		return path, browse.Target{Runtime: "pi", Agent: agent, Session: fmt.Sprintf("5f0c1c2e-6d0a-4f57-9d2b-%012d", number), Path: path}
	}
	newest, newestOf := older("a", 1, 2)
	first, one := older("a", 2, 3)
	second, two := older("a", 3, 90)
	third, _ := older("a", 4, 90)

	if plan, _ := planned(t, b, browse.Delete, newestOf, false); plan.Question != "" || !strings.Contains(plan.Text, "stays: ") {
		t.Errorf("%+v", plan)
	}
	mark := browse.Request{Do: browse.MakePlan, Action: browse.Delete, Parts: []browse.Part{{Target: one}, {Target: two}}}
	plan := b.plan(t.Context(), mark, nobody)
	if !strings.Contains(plan.Question, "Delete 2 sessions?") || len(plan.Of) != 2 || !workspace.Exists(first) {
		t.Fatalf("%+v", plan)
	}
	mark.Do, mark.Of, mark.Parts = browse.Carry, plan.Of, plan.Parts
	result := b.carry(t.Context(), mark, nobody)
	if result.Failed || workspace.Exists(first) || workspace.Exists(second) || !workspace.Exists(third) || !workspace.Exists(newest) {
		t.Fatalf("%+v", result)
	}
	var seen browse.Home
	if err := b.load(t.Context(), func(h browse.Home) { seen = h }); err != nil || seen.Trash == 0 || !slices.ContainsFunc(seen.Sessions, func(s browse.Session) bool {
		return s.ID == one.Session && strings.HasPrefix(s.State, "in the trash")
	}) {
		t.Errorf("%v: %+v", err, seen)
	}

	doings, err := b.undoable(t.Context(), browse.Target{Runtime: "pi", Agent: "a"})
	if err != nil || len(doings) != 2 {
		t.Fatal(err, doings)
	}
	back, accepted := planned(t, b, browse.Undo, doings[0].Target, false)
	if back.Question != "Bring back 1 file?" {
		t.Errorf("%+v", back)
	}
	if x, err := b.perform(t.Context(), accepted, nobody); err != nil || workspace.Exists(first) == workspace.Exists(second) {
		t.Errorf("%v: %s", err, x.Text())
	}

	_, empty := planned(t, b, browse.Empty, browse.Target{}, false)
	if x, err := b.perform(t.Context(), func() browse.Request { // somebody has deleted another one since
		_, again := planned(t, b, browse.Delete, browse.Target{Runtime: "pi", Agent: "a", Session: "5f0c1c2e-6d0a-4f57-9d2b-000000000004", Path: third}, false)
		return again
	}(), nobody); err != nil || workspace.Exists(third) {
		t.Fatal(err, x.Text())
	}
	if x, err := b.perform(t.Context(), empty, nobody); err != nil || !strings.Contains(x.Text(), "for good") {
		t.Errorf("%v: %s", err, x.Text())
	}
	if items, err := b.SessionTrash().List(); err != nil || len(items) != 1 || items[0].From != third {
		t.Errorf("%v: %+v", err, items)
	}
}

// A session goes on in another runtime as its plan said; the one here stays.
func TestBrowseGoesOn(t *testing.T) {
	home := t.TempDir()
	path := browsedLog(t, home, "a", 1, 3)
	before := readLog(t, path)
	if err := os.MkdirAll(filepath.Join(home, ".claude", "projects"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := browserAt(t, home)
	var seen browse.Home
	if err := b.load(t.Context(), func(h browse.Home) { seen = h }); err != nil || !slices.Contains(seen.Into, "claude") {
		t.Fatalf("%v: %v", err, seen.Into)
	}
	of := browse.Target{Runtime: "pi", Agent: "a", Session: "5f0c1c2e-6d0a-4f57-9d2b-000000000001", Path: path, Into: "claude"}
	logs := func() []string {
		found, err := filepath.Glob(filepath.Join(home, ".claude/projects/*/*.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	plan, accepted := planned(t, b, browse.Continue, of, false)
	if !strings.Contains(plan.Text, "would continue in claude") || !strings.HasPrefix(plan.Question, "Begin this session in claude?") || len(logs()) != 0 {
		t.Fatalf("%+v", plan)
	}
	x, err := b.perform(t.Context(), accepted, nobody)
	if err != nil || !strings.Contains(x.Text(), "claude --resume") || len(logs()) != 1 || readLog(t, path) != before {
		t.Errorf("%v: %s %v", err, x.Text(), logs())
	}
	of.Into = "pi"
	if plan, _ := planned(t, b, browse.Continue, of, false); plan.Question != "" || !strings.Contains(plan.Text, "session of pi already") {
		t.Errorf("%+v", plan)
	}
}

// A plan of something that cannot be done asks nothing and says why.
func TestBrowseBusy(t *testing.T) {
	home := t.TempDir()
	browsedLog(t, home, "a", 1, 3)
	b := browserAt(t, home)
	plan, accepted := planned(t, b, browse.Pin, browse.Target{Runtime: "pi", Agent: "a", Session: "5f0c1c2e-6d0a-4f57-9d2b-000000000001"}, false)
	if plan.Question == "" {
		t.Fatalf("%+v", plan)
	}
	lock, err := b.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x, err := b.perform(t.Context(), accepted, nobody)
	result := x.result(t.Context(), err)
	if failure.ExitCode(err) != failure.ExitBusy || !result.Failed || !strings.Contains(result.Text, "another sessctl is working on this data directory") {
		t.Errorf("%v: %+v", err, result)
	}
	lock.Unlock()
	if x, err := b.perform(t.Context(), accepted, nobody); err != nil || !strings.Contains(x.Text(), "pinned: clean") {
		t.Errorf("%v: %s", err, x.Text())
	}
	plan, _ = planned(t, b, browse.Compact, browse.Target{Runtime: "pi", Agent: "a"}, false)
	if plan.Question != "" || plan.Force == "" || !strings.Contains(plan.Text, "below threshold") {
		t.Errorf("%+v", plan)
	}
	if plan, _ = planned(t, b, browse.Compact, browse.Target{Runtime: "pi", Agent: "nobody"}, false); plan.Question != "" || !strings.Contains(plan.Text, "nobody") {
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
	// Of a long hit the page begins with the message that fits the question best.
	answer := read(browse.Place{First: 500, Last: 510, Question: "what was message 506"})
	if !strings.HasPrefix(answer.Lines[answer.At].Text, "▶ Human  line 508") {
		t.Errorf("opens at %q", answer.Lines[answer.At].Text)
	}
	if next := read(browse.Place{Until: 499, First: 500, Last: 510, Question: "message 506"}); next.At != len(next.Lines) {
		t.Errorf("the part before it begins at %d of %d", next.At, len(next.Lines))
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
	if f := (*failure.Error)(nil); !errors.As(err, &f) || f.Code != "gone" {
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
