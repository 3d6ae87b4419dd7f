package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/tier"
)

// The layers of the program. Each line says which of our packages a package
// may import; what is not listed may import none of ours. A pattern ending in
// "/..." stands for everything below it. docs/dev/architecture.md explains why.
const module = "github.com/sessctl/sessctl"

var layers = map[string][]string{
	"":                       {"cmd"},
	"cmd":                    {"internal/wording", "internal/failure", "internal/workspace", "internal/selection", "internal/audit", "internal/removal", "internal/recall", "internal/steps", "internal/unattended", "internal/doctor", "internal/fleet", "internal/front/...", "pkg/..."},
	"internal/front/...":     {"internal/wording", "internal/failure", "internal/workspace", "internal/selection", "internal/audit", "internal/removal", "internal/recall", "internal/steps", "internal/unattended", "pkg/..."},
	"internal/doctor":        {"internal/wording", "internal/failure", "internal/workspace", "internal/selection", "internal/audit", "internal/removal", "internal/recall", "internal/unattended", "pkg/..."},
	"internal/fleet":         {"internal/wording", "internal/failure", "internal/workspace", "internal/audit", "internal/recall", "internal/selection", "pkg/..."},
	"internal/unattended":    {"internal/wording", "internal/failure", "internal/workspace", "internal/selection", "internal/audit", "internal/removal", "internal/recall", "internal/steps", "pkg/..."},
	"internal/wording":       {"pkg/..."},
	"internal/failure":       {"internal/wording", "pkg/..."},
	"internal/workspace":     {"internal/wording", "internal/failure", "pkg/..."},
	"internal/selection":     {"internal/wording", "internal/failure", "internal/workspace", "pkg/..."},
	"internal/audit":         {"internal/wording", "internal/failure", "internal/workspace", "internal/selection", "pkg/..."},
	"internal/removal":       {"internal/wording", "internal/failure", "internal/workspace", "internal/selection", "internal/audit", "pkg/..."},
	"internal/recall":        {"internal/wording", "internal/failure", "internal/workspace", "internal/selection", "internal/audit", "internal/removal", "pkg/..."},
	"internal/steps":         {"internal/wording", "internal/failure", "internal/workspace", "internal/selection", "internal/audit", "internal/removal", "internal/recall", "pkg/..."},
	"pkg/compact":            {"pkg/session", "pkg/session/logfile", "pkg/chunk", "pkg/durable", "pkg/jsonl", "pkg/secrets", "pkg/relocate", "pkg/work"},
	"pkg/summarize":          {"pkg/speaker", "pkg/summarize/state", "pkg/session", "pkg/work", "pkg/jsonl", "pkg/secrets", "pkg/statements", "internal/modelhttp"},
	"pkg/summarize/state":    {"pkg/speaker", "pkg/session", "pkg/work", "pkg/jsonl", "pkg/secrets"},
	"pkg/replay":             {"pkg/session"},
	"pkg/carry":              {"pkg/session", "pkg/replay", "pkg/secrets"},
	"pkg/exchange":           {"pkg/session", "pkg/replay", "pkg/secrets"},
	"pkg/work":               {"pkg/session", "pkg/jsonl", "pkg/secrets"},
	"pkg/facts":              {"pkg/speaker", "pkg/session", "pkg/summarize", "pkg/summarize/state", "pkg/secrets", "pkg/statements", "pkg/work"},
	"pkg/naming":             {"pkg/session", "pkg/facts", "pkg/durable", "pkg/jsonl", "pkg/secrets", "pkg/summarize/state"},
	"pkg/ledger/...":         {"pkg/ledger", "pkg/durable", "internal/httpclient"},
	"pkg/agentset":           {},
	"pkg/memory":             {"pkg/agentset", "pkg/memory/database", "pkg/memory/words", "pkg/memory/vectors", "pkg/memory/quantized", "pkg/memory/rank", "pkg/embed", "pkg/durable"},
	"pkg/memory/database":    {},
	"pkg/memory/quantized":   {},
	"pkg/memory/vectors":     {"pkg/memory/database", "pkg/memory/quantized", "pkg/embed"},
	"pkg/memory/words":       {"pkg/memory/database", "pkg/embed"},
	"pkg/memory/rank":        {"pkg/embed", "pkg/speaker"},
	"pkg/memory/remote":      {"pkg/memory", "pkg/embed"},
	"pkg/memory/remote/...":  {"pkg/agentset", "pkg/memory", "pkg/memory/remote", "pkg/embed", "internal/httpclient"},
	"pkg/archive":            {"pkg/agentset", "pkg/durable", "pkg/jsonl", "pkg/relocate"},
	"pkg/ledger":             {"pkg/durable"},
	"pkg/archive/objects":    {"internal/httpclient", "pkg/archive", "pkg/durable"},
	"pkg/printable":          {},
	"pkg/speaker":            {},
	"pkg/statements":         {},
	"pkg/report":             {"pkg/printable"},
	"pkg/browse":             {"pkg/printable"},
	"pkg/retention":          {"pkg/archive", "pkg/session", "pkg/session/logfile", "pkg/durable", "pkg/relocate"},
	"pkg/operate":            {"pkg/durable"},
	"pkg/operate/monitor":    {"pkg/operate/outbox", "pkg/durable"},
	"pkg/operate/metrics":    {},
	"pkg/operate/...":        {"pkg/operate", "pkg/durable", "pkg/session"},
	"pkg/operate/outbox":     {"pkg/durable", "internal/httpclient"},
	"pkg/session":            {"pkg/speaker", "pkg/jsonl"},
	"pkg/session/fields":     {"pkg/jsonl"},
	"pkg/session/piformat":   {"pkg/session", "pkg/session/fields", "pkg/jsonl"},
	"pkg/session/logfile":    {"pkg/session", "pkg/jsonl", "pkg/durable"},
	"pkg/session/openclaw":   {"pkg/session", "pkg/session/piformat", "pkg/session/logfile", "pkg/session/process", "pkg/session/openclaw/agentdb", "pkg/session/sqlitefile", "pkg/jsonl", "pkg/durable"},
	"pkg/session/sqlitefile": {"pkg/session", "pkg/durable"},

	"pkg/session/openclaw/agentdb":   {"pkg/session", "pkg/session/rowlog", "pkg/session/sqlitefile"},
	"pkg/session/rowlog":             {"pkg/session", "pkg/session/sqlitefile", "pkg/durable"},
	"pkg/session/copilot":            {"pkg/session", "pkg/session/fields", "pkg/session/logfile", "pkg/session/process", "pkg/jsonl", "pkg/durable"},
	"pkg/session/opencode":           {"pkg/session", "pkg/session/fields", "pkg/session/logfile", "pkg/session/process", "pkg/session/sqlitefile", "pkg/session/rowlog", "pkg/session/opencode/sessiondb", "pkg/jsonl", "pkg/durable"},
	"pkg/session/opencode/sessiondb": {"pkg/session", "pkg/session/rowlog", "pkg/session/sqlitefile", "pkg/jsonl"},
	"pkg/session/hermes":             {"pkg/speaker", "pkg/session", "pkg/session/fields", "pkg/session/logfile", "pkg/session/rowlog", "pkg/session/sqlitefile", "pkg/session/hermes/statedb", "pkg/jsonl", "pkg/durable"},
	"pkg/session/hermes/statedb":     {"pkg/session", "pkg/session/rowlog", "pkg/session/sqlitefile"},

	"pkg/session/goose":         {"pkg/session", "pkg/session/fields", "pkg/session/logfile", "pkg/session/sqlitefile", "pkg/session/goose/goosedb", "pkg/jsonl"},
	"pkg/session/goose/goosedb": {"pkg/session", "pkg/session/rowlog", "pkg/session/sqlitefile"},

	"pkg/session/process":     {},
	"pkg/session/cline":       {"pkg/speaker", "pkg/session", "pkg/session/fields", "pkg/session/cline/hubdb", "pkg/session/logfile", "pkg/session/process", "pkg/session/rowlog", "pkg/session/sqlitefile", "pkg/jsonl"},
	"pkg/session/cline/hubdb": {"pkg/session", "pkg/session/rowlog", "pkg/session/sqlitefile"},
	"pkg/session/cursor":      {"pkg/speaker", "pkg/session", "pkg/session/fields", "pkg/session/logfile", "pkg/jsonl"},
	"pkg/session/partsformat": {"pkg/session", "pkg/session/fields", "pkg/jsonl"},
	"pkg/session/readonly":    {"pkg/session", "pkg/session/fields", "pkg/session/logfile", "pkg/jsonl"},
	"pkg/session/...":         {"pkg/session", "pkg/speaker", "pkg/session/fields", "pkg/session/readonly", "pkg/session/piformat", "pkg/session/partsformat", "pkg/session/logfile", "pkg/session/process", "pkg/jsonl", "pkg/durable"},
	"pkg/hooks":               {"pkg/durable"},
	"pkg/embed":               {"pkg/embed/internal/...", "internal/modelhttp"},
	"pkg/embed/gen":           {"pkg/embed/internal/..."},
	"pkg/embed/testmodel":     {"pkg/embed/internal/..."},
	"bench/...":               {"pkg/...", "bench/...", "internal/objectstore", "internal/prose"},
	"internal/crashloop/...":  {},
	"internal/browser":        {},
	"internal/e2e":            {},
	"internal/faults/...":     {"internal/crashloop", "internal/fakehubdb", "internal/fakesessiondb", "internal/fakestatedb", "internal/fakemanagers", "internal/fakeobjects", "internal/faults", "internal/postgres", "internal/program", "internal/scratch", "internal/tier", "pkg/embed", "pkg/ledger", "pkg/memory"},
	"internal/packages":       {"cmd"},
	"internal/program":        {"cmd"},
	"internal/prose":          {},
	"internal/scriptcmd":      {"internal/fakegateway", "internal/fakeagentdb", "internal/fakegoosedb", "internal/fakehubdb", "internal/fakesessiondb", "internal/fakestatedb", "internal/objectstore", "internal/postgres", "pkg/memory", "pkg/secrets"},
	"internal/fakegateway":    {},
	"internal/fakemanagers":   {},
	"internal/fakeobjects":    {},
	"internal/modelhttp":      {"internal/httpclient"},
	"internal/httpclient":     {},
	"internal/fakeagentdb":    {},
	"internal/fakesessiondb":  {"internal/copieddb"},
	"internal/fakestatedb":    {"internal/copieddb"},
	"internal/fakehubdb":      {"internal/copieddb"},
	"internal/storetest":      {"internal/fakeagentdb", "internal/fakegoosedb", "internal/fakesessiondb", "internal/fakestatedb", "pkg/session"},
	"internal/fakegoosedb":    {},
	"internal/copieddb":       {},
}

// kept lists modules and standard packages that only some of our packages may
// import, with the reason that the failure prints.
var kept = []struct {
	path   string
	only   []string
	reason string
}{
	{"github.com/spf13/cobra", []string{"cmd", "internal/packages"}, "flags and commands are the business of cmd"},
	{"github.com/spf13/pflag", []string{"cmd", "internal/packages"}, "flags and commands are the business of cmd"},
	{"github.com/spf13/viper", []string{"cmd"}, "packages take typed options"},
	{"github.com/charmbracelet/lipgloss", []string{"cmd"}, "packages return data, cmd renders it"},
	{"charm.land/bubbletea/v2", []string{"cmd"}, "packages return data, cmd draws it on the terminal"},
	{"github.com/creack/pty", []string{"bench/screen"}, "only tests and measurements make a terminal"},
	{"github.com/schollz/progressbar/v3", []string{"cmd"}, "packages report progress through a callback"},
	{"database/sql", []string{"pkg/memory", "pkg/memory/database", "pkg/memory/words", "pkg/memory/vectors", "pkg/session/sqlitefile", "pkg/session/rowlog", "pkg/session/openclaw/agentdb", "pkg/session/opencode/sessiondb", "pkg/session/hermes/statedb", "pkg/session/goose/goosedb", "pkg/session/cline/hubdb", "internal/copieddb", "internal/fakehubdb", "internal/fakegoosedb", "internal/fakeagentdb", "internal/fakesessiondb", "internal/fakestatedb", "internal/scriptcmd", "bench/vectordb"}, "SQL stays in the packages that know a database's tables"},
	{"modernc.org/sqlite", []string{"pkg/memory", "pkg/memory/database", "pkg/session/sqlitefile", "pkg/session/rowlog", "pkg/session/openclaw/agentdb", "pkg/session/opencode/sessiondb", "pkg/session/hermes/statedb", "pkg/session/goose/goosedb", "pkg/session/cline/hubdb", "internal/copieddb", "internal/fakehubdb", "internal/fakegoosedb", "internal/fakeagentdb", "internal/fakesessiondb", "internal/fakestatedb", "internal/scriptcmd", "bench/vectordb"}, "SQL stays in the packages that know a database's tables"},
	{"github.com/jackc/pgx/v5", []string{"pkg/session/yarnnn", "pkg/memory/remote/postgres", "internal/postgres"}, "one runtime keeps its sessions in PostgreSQL, and hosts may share a memory there"},
	{"github.com/minio/minio-go/v7", []string{"pkg/archive/objects", "internal/objectstore", "bench/put"}, "one package speaks to object storage"},
	{"filippo.io/age", []string{"pkg/archive/objects"}, "copies are encrypted where they leave the host"},
	{"github.com/philippgille/chromem-go", []string{"pkg/memory/vectors", "bench/vectordb"}, "the query engine is a detail of memory"},
	{"github.com/danielgtaylor/huma/v2", []string{"cmd"}, "the server is the business of cmd"},
	{"github.com/adhocore/gronx", []string{"pkg/operate/jobs"}, "one package knows when a schedule is due"},
	{"github.com/gofrs/flock", []string{"pkg/durable"}, "files are locked in one package"},
	{"github.com/coder/websocket", []string{"pkg/session/openclaw", "internal/fakegateway", "internal/browser"}, "one runtime is asked by its socket, on this machine; so is the browser of the tests"},
	{"github.com/prometheus", []string{}, "the program writes the text format itself; only a test compares it with the library"},
	{"github.com/modelcontextprotocol/go-sdk", []string{"cmd", "internal/front/mcptool"}, "agents ask through the same functions as the shell"},
	{"github.com/tailscale/hujson", []string{"pkg/hooks"}, "settings of runtimes are changed in one package"},
	{"net/http", []string{"cmd", "internal/front/web", "internal/front/mcptool", "internal/httpclient", "internal/modelhttp", "internal/weaviate", "pkg/archive/objects", "pkg/memory/remote/weaviate", "pkg/operate/outbox", "pkg/ledger/heads", "internal/scriptcmd", "internal/fakegateway", "internal/fakeobjects", "internal/faults"}, "what goes over the network stands in few places; the rest works without one"},
	{"log", []string{}, "errors are returned, notices go through cmd/output.go"},
	{"testing", []string{}, "test code stays in test files"},
	{"C", []string{}, "the program builds without a C compiler"},
}

// listed is what `go list -json` says of a package.
type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// TestImports holds the import directions on every system that is released.
func TestImports(t *testing.T) {
	tier.Rule(t)
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, problem := range checkImports(listPackages(t, system)) {
			t.Errorf("%s: %s", system, problem)
		}
	}
}

// TestRootNeedsNoCgo: what the program is built from contains no C.
func TestRootNeedsNoCgo(t *testing.T) {
	tier.Rule(t)
	for _, p := range listPackages(t, "linux") {
		if p.ImportPath == module && slices.Contains(p.Deps, "runtime/cgo") {
			t.Errorf("%s depends on runtime/cgo", module)
		}
	}
}

// listPackages asks the go tool for every package of both modules. Packages that
// do not build yet are listed all the same.
func listPackages(t *testing.T, system string) []listed {
	t.Helper()
	return append(listModule(t, ".", system), listModule(t, "bench", system)...)
}

func listModule(t *testing.T, dir, system string) []listed {
	t.Helper()
	c := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,Deps", "./...")
	c.Dir = dir
	c.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := c.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatalf("go list: %v", err)
		}
		all = append(all, p)
	}
}

// checkImports returns a sentence for each import that breaks a rule.
func checkImports(packages []listed) []string {
	var problems []string
	for _, p := range packages {
		from, ours := inModule(p.ImportPath)
		if !ours {
			continue
		}
		for _, path := range p.Imports {
			if problem := checkImport(from, path); problem != "" {
				problems = append(problems, problem)
			}
		}
	}
	return problems
}

func checkImport(from, path string) string {
	if to, ours := inModule(path); ours {
		if may := layerOf(from); !matchesAny(to, may) {
			return fmt.Sprintf("%s imports %s; of our packages it may import only [%s] (layers in imports_test.go)", name(from), name(to), strings.Join(may, " "))
		}
		return ""
	}
	for _, k := range kept {
		if (path == k.path || strings.HasPrefix(path, k.path+"/")) && !exempt(from, path) && !matchesAny(from, k.only) {
			return fmt.Sprintf("%s imports %s, which only [%s] may: %s", name(from), path, strings.Join(k.only, " "), k.reason)
		}
	}
	return ""
}

// exempt says whether a restricted standard package is used under another
// rule: programs of the repository that are not the product, and packages
// below a restricted one that have nothing to do with it.
func exempt(from, path string) bool {
	return path == "log/slog" || strings.HasPrefix(from, "bench") && path == "testing"
}

// layerOf returns the row of layers that fits best: the package itself, else
// the longest pattern.
func layerOf(from string) []string {
	if may, ok := layers[from]; ok {
		return may
	}
	best := ""
	for pattern := range layers {
		if len(pattern) > len(best) && matches(from, pattern) {
			best = pattern
		}
	}
	if best == "" {
		return nil
	}
	return layers[best]
}

func matchesAny(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(path, p) })
}

func matches(path, pattern string) bool {
	below, tree := strings.CutSuffix(pattern, "/...")
	return path == pattern || tree && (path == below || strings.HasPrefix(path, below+"/"))
}

// inModule returns a path relative to the module, and whether it is ours.
func inModule(path string) (string, bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

func name(path string) string {
	if path == "" {
		return "main"
	}
	return path
}

// TestImportsCanFail shows that the check sees what it must not let through.
func TestImportsCanFail(t *testing.T) {
	ours := func(path string) string { return strings.TrimSuffix(module+"/"+path, "/") }
	for _, c := range []struct {
		from, imports string
		allowed       bool
	}{
		{"", ours("cmd"), true},
		{"", ours("pkg/archive"), false},
		{"cmd", ours("pkg/session/pi"), true},
		{"cmd", "github.com/spf13/cobra", true},
		{"cmd", "database/sql", false},
		{"cmd", ours("internal/workspace"), true},
		{"internal/workspace", ours("internal/selection"), false},
		{"internal/selection", ours("internal/workspace"), true},
		{"internal/audit", ours("internal/removal"), false},
		{"internal/front/web", ours("internal/steps"), true},
		{"internal/front/web", ours("internal/front/tui"), false},
		{"internal/steps", ours("internal/front/web"), false},
		{"internal/removal", ours("internal/audit"), true},
		{"internal/doctor", ours("internal/removal"), true},
		{"internal/audit", ours("internal/doctor"), false},
		{"internal/steps", ours("cmd"), false},
		{"internal/steps", "github.com/spf13/cobra", false},
		{"pkg/compact", ours("internal/workspace"), false},
		{"pkg/archive", "github.com/spf13/viper", false},
		{"pkg/archive", ours("pkg/durable"), true},
		{"pkg/archive", ours("pkg/memory"), false},
		{"pkg/compact", ours("pkg/archive"), false},
		{"pkg/compact", ours("pkg/session/pi"), false},
		{"pkg/session", ours("pkg/session/pi"), false},
		{"pkg/session/piformat", ours("pkg/session"), true},
		{"pkg/session/piformat", ours("pkg/durable"), false},
		{"pkg/session/pi", ours("pkg/durable"), true},
		{"pkg/session/pi", ours("pkg/session/openclaw"), false},
		{"pkg/session/openclaw", ours("pkg/session/openclaw/agentdb"), true},
		{"pkg/session/pi", ours("pkg/session/openclaw/agentdb"), false},
		{"pkg/session/openclaw/agentdb", "database/sql", true},
		{"pkg/session/openclaw", "database/sql", false},
		{"pkg/session/later", ours("pkg/memory"), false},
		{"pkg/memory", "modernc.org/sqlite", true},
		{"pkg/memory", "modernc.org/sqlite/lib", true},
		{"pkg/jsonl", "modernc.org/sqlite", false},
		{"pkg/jsonl", ours("pkg/session"), false},
		{"pkg/chunk", ours("pkg/jsonl"), false},
		{"pkg/durable", ours("cmd"), false},
		{"pkg/retention", ours("pkg/archive"), true},
		{"pkg/retention", ours("pkg/memory"), false},
		{"pkg/retention", ours("pkg/session/pi"), false},
		{"pkg/operate", ours("pkg/durable"), true},
		{"pkg/operate/outbox", ours("pkg/durable"), true},
		{"pkg/operate/outbox", ours("pkg/compact"), false},
		{"pkg/operate", ours("pkg/archive"), false},
		{"pkg/unheard", ours("pkg/durable"), false},
		{"pkg/jsonl", "testing", false},
		{"pkg/jsonl", "testing/iotest", false},
		{"pkg/jsonl", "net/http", false},
		{"pkg/embed", "net/http", false},
		{"pkg/embed", ours("internal/modelhttp"), true},
		{"pkg/memory", ours("internal/modelhttp"), false},
		{"pkg/jsonl", "C", false},
		{"pkg/jsonl", "bytes", true},
	} {
		got := checkImports([]listed{{ImportPath: ours(c.from), Imports: []string{c.imports}}})
		if (len(got) == 0) != c.allowed {
			t.Errorf("%s importing %s: allowed is %v, want %v", name(c.from), c.imports, len(got) == 0, c.allowed)
		}
	}
}
