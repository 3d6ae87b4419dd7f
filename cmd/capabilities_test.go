package cmd

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/tailcache"
)

// declared are the stores of all runtimes, with their defaults.
func declared(t *testing.T) []session.Store {
	t.Helper()
	var stores []session.Store
	for _, kind := range workspace.Runtimes() {
		stores = append(stores, kind.Open(t.TempDir(), workspace.Config{}))
	}
	return stores
}

// means are the names of what a store can do.
func means(c session.Capabilities) (names []string) {
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		if f := v.Field(i); (f.Kind() == reflect.Interface || f.Kind() == reflect.Func) && !f.IsNil() {
			names = append(names, v.Type().Field(i).Name)
		}
	}
	return names
}

// What each runtime declares. A line that changes here changes what is done to
// people's sessions: docs/runtimes.md and README.md say the same.
func TestCapabilities(t *testing.T) {
	const file = "capabilities.txt"
	var got strings.Builder
	for _, store := range declared(t) {
		c := store.Capabilities()
		fmt.Fprintf(&got, "%s: %v, stored %v, keep %+v, style %s, formats %v\n", store.Runtime(), c.Strategies, c.StrategiesOf(session.Ref{Kind: session.KindStored}), c.Keep, c.SummaryStyle, c.Formats)
		fmt.Fprintf(&got, "\tappend-only %v, counts lines %v, indexed %v, read only %v, own archives %v, outputs %v, purges %v, looks at %v and %v\n", c.AppendOnly, c.CountsLines, c.Indexed, c.ReadOnly, c.ArchiveDir != nil, c.Outputs, c.Purges, c.Homes, c.Variables)
		fmt.Fprintf(&got, "\t%s\n", strings.Join(means(c), " "))
	}
	want, err := os.ReadFile(filepath.Join("testdata", file))
	if d := diff.Diff(string(want), got.String()); err != nil || d != "" {
		t.Errorf("%v, testdata/%s (-want +got):\n%s", err, file, d)
	}
}

// A store declares all that it has methods for, and nothing else, and has the
// means for each of its strategies.
func TestCapabilitiesAreWhatIsThere(t *testing.T) {
	for _, store := range declared(t) {
		c := store.Capabilities()
		if c.Runtime != store.Runtime() || len(c.Strategies) == 0 {
			t.Errorf("%s declares the runtime %q and the strategies %v", store.Runtime(), c.Runtime, c.Strategies)
		}
		has, v := means(c), reflect.ValueOf(c)
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Type.Kind() == reflect.Interface && reflect.TypeOf(store).Implements(f.Type) != slices.Contains(has, f.Name) {
				t.Errorf("%s: %s is declared: %v, is there: %v", store.Runtime(), f.Name, slices.Contains(has, f.Name), !slices.Contains(has, f.Name))
			}
		}
		for _, by := range c.Strategies {
			for _, needed := range map[session.Strategy][]string{
				session.StrategyRotate: {"Rotator", "Liveness"}, session.StrategyOverlay: {"Overlayer", "Shortener", "Liveness"},
				session.StrategyRewrite: {"Rewriter", "Shortener", "Liveness"}, session.StrategyAnnotate: {"Annotator", "Liveness"},
				session.StrategyTrim: {"Trimmer", "Shortener", "Liveness"}, session.StrategyNone: {"Adviser"},
			}[by] {
				if !slices.Contains(has, needed) {
					t.Errorf("%s declares %s without %s", store.Runtime(), by, needed)
				}
			}
		}
	}
}

// docs/runtimes.md says of each runtime what it declares.
func TestCapabilitiesAreDocumented(t *testing.T) {
	runtimesPage, err := os.ReadFile(filepath.Join("..", "docs", "runtimes.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, store := range declared(t) {
		c := store.Capabilities()
		start := "| `" + store.Runtime() + "` | "
		_, row, _ := strings.Cut(string(runtimesPage), "\n"+start)
		row, _, _ = strings.Cut(row, "\n")
		places, changes, _ := strings.Cut(row, " | ")
		if by := workspace.StrategyList(c.Strategies); !strings.HasPrefix(changes, by+" |") && !strings.HasPrefix(changes, by+"; ") && !strings.HasPrefix(changes, by+": ") {
			t.Errorf("docs/runtimes.md says %q of %s, which declares %s", changes, store.Runtime(), by)
		}
		for _, place := range slices.Concat(c.Homes, c.Variables) {
			if !strings.Contains(places, strings.TrimSuffix(place, "/projects")) {
				t.Errorf("docs/runtimes.md says that %s is found at %s, which lacks %s", store.Runtime(), places, place)
			}
		}
	}
}

// The table of what can be done has a column for every runtime, which says of
// changing logs what the runtime declares.
func TestWhatCanBeDoneIsDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "runtimes.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## What sessctl can and cannot do\n\n")
	lines := strings.Split(table, "\n")
	cells := map[string][]string{}
	for _, line := range lines[:8] {
		name, rest, _ := strings.Cut(strings.Trim(line, "| "), " | ")
		cells[name] = strings.Split(rest, " | ")
	}
	heads := strings.Split(strings.Trim(lines[0], "| "), " | ")
	for _, store := range declared(t) {
		c := store.Capabilities()
		column := slices.IndexFunc(heads, func(head string) bool { return strings.Contains(head, "`"+store.Runtime()+"`") })
		if column < 0 {
			t.Errorf("no column for %s", store.Runtime())
			continue
		}
		small := cells["make a session small (`compact`)"][column]
		if changes := !slices.Equal(c.Strategies, []session.Strategy{session.StrategyNone}) && c.Annotator == nil; changes != strings.HasPrefix(small, "yes") {
			t.Errorf("%s declares %v, the page says %q", store.Runtime(), c.Strategies, small)
		}
		back := cells["put a log back that is gone (`restore`)"][column]
		if named := strings.Contains(back, "`"+store.Runtime()+"`") && strings.Contains(back, ": yes"); (c.Restorer != nil || c.Depositor != nil) != (strings.HasPrefix(back, "yes") || named) {
			t.Errorf("%s is put back or not, the page says %q", store.Runtime(), back)
		}
		if smaller := cells["make a database smaller (`shrink`)"][column]; (c.Shrinker != nil) != strings.Contains(smaller, "`"+store.Runtime()+"`") {
			t.Errorf("%s shrinks or not, the page says %q", store.Runtime(), smaller)
		}
	}
}

// The table of README.md names what `compact` does by default.
func TestCapabilitiesInTheReadme(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	words := map[session.Strategy]string{
		session.StrategyRotate: "starts the main session fresh", session.StrategyOverlay: "appends a summary", session.StrategyRewrite: "replaced by", session.StrategyTrim: "left out of the log",
		session.StrategyAnnotate: "beside the messages", session.StrategyNone: "never changed",
	}
	for runtime, row := range map[string]string{
		"openclaw": "| OpenClaw up to", "pi": "| pi |", "annabelle": "| Annabelle", "macstats": "| mac-stats", "yarnnn": "| YARNNN",
		"claude": "| Claude Code, Codex", "codex": "| Claude Code, Codex", "gemini": "| Claude Code, Codex",
		"opencode": "| OpenCode, Kilo", "omp": "| oh-my-pi", "kilo": "| OpenCode, Kilo", "copilot": "| GitHub Copilot", "hermes": "| Hermes", "qwen": "| Qwen Code", "cline": "| Claude Code, Codex",
	} {
		i := slices.IndexFunc(workspace.Runtimes(), func(k workspace.RuntimeKind) bool { return k.Name == runtime })
		by := workspace.Runtimes()[i].Open(t.TempDir(), workspace.Config{}).Capabilities().Strategies[0]
		_, said, _ := strings.Cut(string(page), "\n"+row)
		if said, _, _ = strings.Cut(said, "\n"); !strings.Contains(said, words[by]) {
			t.Errorf("README.md says %q of %s, which is compacted by %s", said, runtime, by)
		}
	}
}

// A store that remembers what it sees can do what it could before.
func TestATailCacheCostsNoCapability(t *testing.T) {
	a := testApp(&streams{}, workspace.Run{Stores: workspace.Stores{TailCache: tailcache.Open(tailcache.Options{Now: time.Now})}})
	wrapped := 0
	for _, store := range declared(t) {
		before, with := means(store.Capabilities()), workspace.WithTailCache(a.Run, store)
		if d := diff.Diff(before, means(with.Capabilities())); d != "" {
			t.Errorf("%s: %s", store.Runtime(), d)
		}
		if with != store {
			wrapped++
		}
	}
	if wrapped == 0 {
		t.Error("no store was wrapped")
	}
}

// No store at all is an error that says where was looked.
func TestNoStoreSaysWhereWasLooked(t *testing.T) {
	env := map[string]string{"HOME": "/home/lea", "CODEX_HOME": "/c", "OPENCLAW_STATE_DIR": "/o", "HEXA_PUFFS_HOME": "/h"}
	a := testApp(&streams{}, workspace.Run{Settings: workspace.Settings{Getenv: func(name string) string { return env[name] }}})
	const want = "no session store found; looked at ~/.openclaw, ~/.pi/agent/sessions, ~/.omp/agent, ~/.omp/profiles, ~/.agent/sessions, ~/.annabelle/sessions, ~/.hexa-puffs/sessions, ~/.mac-stats, " +
		"~/.codex, ~/.claude/projects, ~/.gemini, ~/.qwen, ~/.local/share/opencode, ~/.local/share/kilo, ~/.cline, ~/.config/Code/User/globalStorage, ~/.cline/data/tasks, ~/.copilot, ~/.hermes, ~/.local/share/goose, ~/.cursor/projects, ~/.factory, ~/.kimi-code, ~/.kimi, ~/.grok, ~/.gemini/antigravity*, OPENCLAW_STATE_DIR=/o, HEXA_PUFFS_HOME=/h, CODEX_HOME=/c (home /home/lea)"
	if got := workspace.NoStores(&a.Run.Settings).Error(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// The connection to a database is closed at the end of a run, as PostgreSQL
// asks for it: a server writes an error into its log otherwise.
func TestAConnectionIsClosed(t *testing.T) {
	server, ended := fakePostgres(t)
	var out, errs strings.Builder
	a := testApp(newStreams(strings.NewReader(""), &out, &errs), workspace.Run{Report: workspace.Report{Notes: []workspace.Note{}}, Settings: workspace.Settings{Now: time.Now, Getenv: func(string) string { return "" }}})
	root := newRootCommand(a)
	root.SetArgs([]string{"stores", "--store", "yarnnn=postgres://lea@" + server + "/chat?sslmode=disable"})
	root.SetOut(io.Discard)
	_ = root.ExecuteContext(t.Context()) // that server answers no question
	workspace.CloseStores(a.Run)
	select {
	case how := <-ended:
		if how != "terminated" {
			t.Errorf("the connection was %s", how)
		}
	case <-time.After(10 * time.Second):
		t.Errorf("the connection is still open; %s%s", out.String(), errs.String())
	}
}

// fakePostgres lets one client in, refuses what it asks, and says how the
// connection ended.
func fakePostgres(t *testing.T) (address string, ended <-chan string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	how := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		how <- answerPostgres(conn)
	}()
	return listener.Addr().String(), how
}

// answerPostgres speaks as much of the protocol as connecting takes. Each
// message of a client is a letter, a length that counts itself, and a body; the
// first one has no letter.
func answerPostgres(conn net.Conn) string {
	const ready = "Z\x00\x00\x00\x05I"
	refused := "ERROR\x00C0A000\x00Mno\x00\x00"
	refused = "E\x00\x00\x00" + string(rune(4+1+len(refused))) + "S" + refused
	head := make([]byte, 5)
	for first := true; ; first = false {
		part := head
		if first {
			part = head[1:]
		}
		if _, err := io.ReadFull(conn, part); err != nil {
			return "dropped"
		}
		length := int64(head[3])<<8 | int64(head[4])
		if _, err := io.CopyN(io.Discard, conn, length-4); err != nil {
			return "dropped"
		}
		answer := ""
		switch {
		case first:
			answer = "R\x00\x00\x00\x08\x00\x00\x00\x00" + ready
		case head[0] == 'X':
			return "terminated"
		case head[0] == 'S', head[0] == 'Q':
			answer = refused + ready
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return "dropped"
		}
	}
}
