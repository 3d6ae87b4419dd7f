package memory_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/memory"
)

// deed is an action of agent a, session s1, the nth thing that was done there,
// in lines 10n and 10n+1 and the bytes of record(n).
func deed(n int, a memory.Action) memory.Record {
	a.Answered = true
	a.ResultFirstLine, a.ResultLastLine, a.ResultFirstByte, a.ResultEndByte = 10*n+1, 10*n+1, int64(100*n+50), int64(100*n+90)
	return memory.Record{
		Category: memory.CategoryWork, CreatedAt: 1_772_000_000_000 + int64(n)*60_000, Runtime: "pi", Agent: "a", Session: "s1", Archive: "arc1", ArchivePath: "/archive/s1.jsonl",
		FirstLine: 10 * n, LastLine: 10 * n, FirstByte: int64(100 * n), EndByte: int64(100*n + 40), Branch: "active", Position: n, Action: &a,
	}
}

// identified gives the actions among records their ids.
func identified(records ...memory.Record) []memory.Record {
	ids := map[string]*memory.ActionIDs{}
	for i, r := range records {
		if r.Action == nil {
			continue
		}
		if ids[r.Session] == nil {
			ids[r.Session] = memory.NewActionIDs(r.Agent, r.Session)
		}
		records[i].ID = ids[r.Session].Next(*r.Action, r.CreatedAt)
	}
	return records
}

func command(line string) memory.Action {
	return memory.Action{Kind: "command", Tool: "bash", Subject: line, Place: "/w", HasExit: true}
}

func failing(line, message string) memory.Action {
	a := command(line)
	a.Failed, a.Exit, a.Errors = true, 1, message
	return a
}

func file(kind, path string) memory.Action {
	return memory.Action{Kind: kind, Tool: kind, Subject: path}
}

func work(t testing.TB, s *memory.Store, q memory.WorkQuery) []memory.WorkHit {
	t.Helper()
	r, err := s.Work(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	if r.Damaged != 0 {
		t.Errorf("%d damaged", r.Damaged)
	}
	return r.Hits
}

// outline is what hits say, a line each.
func outline(hits []memory.WorkHit) (lines []string) {
	for _, h := range hits {
		line := fmt.Sprintf("%d %s %s", h.FirstLine/10, h.Action.Kind, h.Action.Subject)
		if h.Times > 1 {
			line += fmt.Sprintf(" x%d", h.Times)
		}
		lines = append(lines, line)
	}
	return lines
}

// Names are found by what people remember of them; a whole name comes before one
// that has its parts, and of names that fit as well the newest use.
func TestWorkNames(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, identified(
		deed(1, file("write", "/w/internal/http/authMiddleware.ts")),
		deed(2, file("read", "/w/internal/http/authMiddleware.ts")),
		deed(3, file("read", "/w/internal/http/authMiddleware.ts")),
		deed(4, file("edit", `C:\app\auth\middleware.go`)),
		deed(5, file("edit", "/w/auth_middleware_test.py")),
		deed(6, file("edit", "/w/auth.go")),
		deed(7, file("edit", "/w/all.go")),
		deed(8, file("edit", "/w/größe/ÄnderungsListe2.md")),
		deed(9, memory.Action{Kind: "search", Tool: "grep", Subject: "TODO", Place: "/w/auth.go"}),
	)...)
	for question, want := range map[string][]string{
		"authMiddleware.ts":                  {"3 read /w/internal/http/authMiddleware.ts x2", "1 write /w/internal/http/authMiddleware.ts"},
		"auth middleware":                    {"3 read /w/internal/http/authMiddleware.ts x2", "1 write /w/internal/http/authMiddleware.ts", "5 edit /w/auth_middleware_test.py", `4 edit C:\app\auth\middleware.go`},
		"auth_middleware":                    {"3 read /w/internal/http/authMiddleware.ts x2", "1 write /w/internal/http/authMiddleware.ts", "5 edit /w/auth_middleware_test.py", `4 edit C:\app\auth\middleware.go`},
		"AUTH/middleware.go":                 {`4 edit C:\app\auth\middleware.go`},
		"auth.go:12:5":                       {"9 search TODO", "6 edit /w/auth.go"},
		"w/all.go(12,5):":                    {"7 edit /w/all.go"},
		":12":                                nil,
		"./auth.go":                          {"9 search TODO", "6 edit /w/auth.go"},
		"/home/me/w/../w/all.go":             {"7 edit /w/all.go"},
		"all":                                {"7 edit /w/all.go"},
		"anderungs liste 2":                  {"8 edit /w/größe/ÄnderungsListe2.md"},
		"internal/http/authMiddleware.ts":    {"3 read /w/internal/http/authMiddleware.ts x2", "1 write /w/internal/http/authMiddleware.ts"},
		"/w/internal/http/authMiddleware.ts": {"3 read /w/internal/http/authMiddleware.ts x2", "1 write /w/internal/http/authMiddleware.ts"},
		"billing":                            nil,
		"\"; DROP TABLE actions":             nil,
		"\xff\x00":                           nil,
	} {
		if d := cmp.Diff(want, outline(work(t, s, memory.WorkQuery{File: question}))); d != "" {
			t.Errorf("%q: %s", question, d)
		}
	}
	for _, q := range []memory.WorkQuery{{}, {File: " "}, {File: "a", Command: "b"}} {
		if _, err := s.Work(context.Background(), q); !errors.Is(err, memory.ErrNoQuestion) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// An error is told from where it began to what made it go away.
func TestWorkErrors(t *testing.T) {
	s, _ := newStore(t)
	elsewhere := deed(40, command("make e2e"))
	elsewhere.Session = "s2"
	put(t, s, identified(
		deed(1, failing("cd /w && go test ./...", "auth.go:12: undefined: token")),
		deed(2, file("read", "/w/auth.go")),
		deed(3, file("edit", "/w/auth.go")),
		deed(4, failing("cd /w && go test ./...", "auth.go:12: undefined: token")),
		deed(5, file("edit", "/w/token.go")),
		deed(6, command("ls")),
		deed(7, command("cd /w && go test ./...")),
		deed(8, failing("npm run build --force", "Module '\"tui\"' has no exported member 'Box'")),
		deed(9, command("npm install tui@2")),
		deed(10, command("npm run build")),
		deed(11, failing("make e2e", "connection refused")),
		elsewhere,
		deed(50, failing("python a.py", "ImportError: no module named numpy")),
		deed(51, command("python b.py")),
	)...)
	for question, want := range map[string]string{
		"undefined: token":             "1 x2 -> 3 edit, 5 edit -> 7 same",
		"tui has no exported member":   "8 x1 -> 9 command -> 10 similar",
		"Connection REFUSED":           "11 x1 ->  -> 40 same",
		"no module named numpy":        "50 x1 -> 51 command -> none",
		"some other error of somebody": "",
	} {
		got := ""
		for _, h := range work(t, s, memory.WorkQuery{Error: question}) {
			var between []string
			for _, r := range h.After.Between {
				between = append(between, fmt.Sprint(r.FirstLine/10, " ", r.Action.Kind))
			}
			end := "none"
			if r := h.After.Success; r != nil {
				end = fmt.Sprint(r.FirstLine/10, map[bool]string{true: " same", false: " similar"}[h.After.Same])
			}
			got += fmt.Sprintf("%d x%d -> %s -> %s", h.FirstLine/10, h.Times, strings.Join(between, ", "), end)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", question, got, want)
		}
	}
}

// What was done is stored once, learns its result and its archive, and is found
// by each filter.
func TestActionsAreStoredOnce(t *testing.T) {
	s, _ := newStore(t)
	before := command("make build")
	waiting := deed(1, before)
	waiting.Action.Answered, waiting.Action.ResultEndByte = false, 0
	put(t, s, identified(record(0, "the importer"), waiting, deed(2, before))...)
	done := deed(1, failing("make build", "boom"))
	done.Archive = "arc2"
	for range 2 {
		put(t, s, identified(record(0, "the importer"), done, deed(2, before))...)
	}
	hits := work(t, s, memory.WorkQuery{Command: "make build"})
	if len(hits) != 1 || hits[0].Times != 2 || hits[0].Failures != 1 {
		t.Fatalf("%+v", hits)
	}
	hits = work(t, s, memory.WorkQuery{Error: "boom", Agent: "a", Runtime: "pi", Session: "s1", Since: done.CreatedAt, Until: done.CreatedAt + 1})
	if len(hits) != 1 || hits[0].Archive != "arc2" {
		t.Fatalf("%+v", hits)
	}
	for _, q := range []memory.WorkQuery{{Agent: "b"}, {Runtime: "claude"}, {Session: "s2"}, {Since: done.CreatedAt + 1}, {Until: done.CreatedAt}} {
		if q.Error = "boom"; len(work(t, s, q)) != 0 {
			t.Errorf("%+v finds it", q)
		}
	}
	stats, err := s.Stats(context.Background())
	if err != nil || stats.Agents[0].Actions["command"] != 2 || stats.Agents[0].Records != 1 {
		t.Fatalf("%+v, %v", stats, err)
	}
	if said := problemsOf(t, s); said != "" {
		t.Error(said)
	}
}

// An action that is there is brought up to date also behind one that is new.
func TestActionBehindNewOne(t *testing.T) {
	s, _ := newStore(t)
	waiting := deed(2, command("make build"))
	waiting.Action.Answered, waiting.Action.ResultEndByte = false, 0
	put(t, s, identified(record(0, "the importer"), waiting)...)
	done := deed(2, failing("make build", "boom"))
	for range 2 {
		put(t, s, identified(record(0, "the importer"), deed(1, command("make lint")), done, deed(3, command("make test")))...)
	}
	hits := work(t, s, memory.WorkQuery{Error: "boom"})
	if len(hits) != 1 || hits[0].Action.Subject != "make build" {
		t.Errorf("%+v", hits)
	}
	stats, err := s.Stats(context.Background())
	if err != nil || stats.Agents[0].Actions["command"] != 3 {
		t.Errorf("%+v, %v", stats, err)
	}
	if said := problemsOf(t, s); said != "" {
		t.Error(said)
	}
}

// With a piece of the log goes what was done in it, and it does not come back.
// Nothing of it stays in the files.
func TestForgetActions(t *testing.T) {
	for name, selection := range map[string]memory.Selection{
		"session": {Session: "s1"}, "agent": {Agent: "a"}, "piece": {ID: record(1, "we look at the xylograph").ID}, "action": {}, "containing": {Agent: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := newStore(t)
			other := deed(9, command("make build"))
			other.Session, other.Agent, other.Archive = "s9", "b", "arc9"
			records := identified(record(0, "first"), deed(1, failing("make build", "xylograph.c:1: boom")), deed(1, file("edit", "/w/xylograph.c")), record(1, "we look at the xylograph"), other)
			put(t, s, records...)
			if name == "action" {
				selection.ID = records[1].ID
			}
			if name == "containing" {
				var err error
				if selection.IDs, err = s.Containing(context.Background(), selection, "XYLOGRAPH"); err != nil || len(selection.IDs) != 3 {
					t.Fatal(selection.IDs, err)
				}
			}
			if chosen, err := s.Select(context.Background(), selection); err != nil || len(chosen) != 1 || chosen[0].Actions == 0 {
				t.Errorf("%+v, %v", chosen, err)
			}
			if _, err := s.Forget(context.Background(), selection); err != nil {
				t.Fatal(err)
			}
			longer := append([]memory.Record(nil), records...)
			for i := range longer {
				if longer[i].Session == "s1" {
					longer[i].Archive = "arc2" // the log has grown
				}
			}
			for _, again := range [][]memory.Record{records, longer} {
				put(t, s, again...)
				_, err := s.Rebuild(context.Background(), memory.Rebuild{Source: memory.Source{Runtime: "pi", Agent: "a", Session: "s1"}, Archives: []string{"arc1", "arc2"}, Category: "session_history"}, all(again[:4]...))
				if err != nil {
					t.Fatal(err)
				}
			}
			if hits := work(t, s, memory.WorkQuery{Error: "boom"}); len(hits) != 0 {
				t.Errorf("%+v", hits)
			}
			if hits := work(t, s, memory.WorkQuery{File: "xylograph.c"}); len(hits) != 0 != (name == "action") {
				t.Errorf("%+v", hits)
			}
			if hits := work(t, s, memory.WorkQuery{Command: "make build"}); len(hits) != 1 || hits[0].Times != 1 {
				t.Errorf("%+v", hits)
			}
			if said := problemsOf(t, s); said != "" {
				t.Error(said)
			}
			if name == "action" {
				return
			}
			for _, file := range []string{"memory.db", "memory.db-wal"} {
				raw, err := os.ReadFile(filepath.Join(dir, file))
				if err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
				if strings.Contains(string(raw), "xylograph") {
					t.Errorf("%s still has the forgotten text", file)
				}
			}
		})
	}
}

// What another host forgot goes here too, with what was done in it, and without
// a trace; it does not come back.
func TestHonourActions(t *testing.T) {
	for name, tc := range map[string]struct {
		selection memory.Selection
		removed   int
	}{
		"session": {memory.Selection{Session: "s1"}, 2}, "piece": {memory.Selection{ID: record(1, "we look at the xylograph").ID}, 1}, "action": {memory.Selection{}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			other := deed(9, command("make build"))
			other.Session, other.Agent, other.Archive = "s9", "b", "arc9"
			records := identified(record(0, "first"), deed(1, failing("make build", "xylograph.c:1: boom")), deed(1, file("edit", "/w/block.c")), record(1, "we look at the xylograph"), other)
			if name == "action" {
				records[3].Text, tc.selection.ID = "we look at it", records[1].ID
			}
			there, _ := newStore(t)
			here, dir := newStore(t)
			put(t, there, records...)
			put(t, here, records...)
			if forgotten, err := there.Forget(ctx, tc.selection); err != nil || forgotten.Marked != tc.removed {
				t.Fatal(forgotten, err)
			}
			list, err := there.UnsharedTombstones(ctx, "")
			if err != nil {
				t.Fatal(err)
			}
			if removed, err := here.Honour(ctx, list); err != nil || removed != tc.removed {
				t.Errorf("removed %d of %d, %v", removed, tc.removed, err)
			}
			if removed, err := here.Honour(ctx, list); err != nil || removed != 0 {
				t.Errorf("again: %d, %v", removed, err)
			}
			for _, name := range []string{"memory.db", "memory.db-wal"} {
				raw, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
				if strings.Contains(string(raw), "xylograph") {
					t.Errorf("%s still has the forgotten text", name)
				}
			}
			put(t, here, records...)
			if hits := work(t, here, memory.WorkQuery{Error: "boom"}); len(hits) != 0 {
				t.Errorf("%+v", hits)
			}
			if hits := work(t, here, memory.WorkQuery{File: "block.c"}); len(hits) != 0 != (name == "action") {
				t.Errorf("%+v", hits)
			}
			if hits := work(t, here, memory.WorkQuery{Command: "make build"}); len(hits) != 1 || hits[0].Times != 1 {
				t.Errorf("%+v", hits)
			}
			if said := problemsOf(t, here); said != "" {
				t.Error(said)
			}
		})
	}
}
