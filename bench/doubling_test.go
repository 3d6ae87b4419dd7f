//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sessctl/sessctl/bench/product"
	"github.com/sessctl/sessctl/internal/fakesessiondb"
	"github.com/sessctl/sessctl/internal/tier"
)

// mostForTwice is how much more CPU twice as many of anything may take, without what
// a start takes: what is quadratic takes four times as much.
const mostForTwice = 2.5

// growth is one kind of thing that homes have many of: write puts n of them into a
// home, and commands are those that have to do with all of them, run one after the
// other. The first half prepares; each of all is measured.
type growth struct {
	kind     string
	n        int
	write    func(t *testing.T, home string, n int)
	commands [][]string
}

var archiving = [][]string{{"sizes", "--all", "--no-cache"}, {"archive", "--all"}, {"archive", "--all"}, {"archive", "--all", "--remember"}, {"usage"}, {"doctor"}}

func growths() []growth {
	return []growth{
		{"prompts of deleted sessions", 1000, writePrompts, archiving},
		{"side files", 1000, writeSideFiles, archiving},
		{"logs, archives and receipts", 200, writeLogs, append(archiving, []string{"archives", "list"}, []string{"log"}, []string{"clean", "--max-age", "1d", "--dry-run"}, []string{"archives", "prune", "--dry-run", "--max-age", "1d"})},
		{"sessions in a database", 60, writeDatabase, archiving},
		{"entries of an index", 2000, writeIndex, archiving},
		{"files in the trash", 200, writeLogs, [][]string{{"archive", "--all", "--remember"}, {"clean", "--max-age", "1d", "--force", "--yes"}, {"clean", "--max-age", "1d"}, {"sizes", "--all"}, {"usage"}}},
	}
}

// TestTwiceAsMany holds that no command reads a list of things once for each of them.
func TestTwiceAsMany(t *testing.T) {
	tier.SkipUnlessLong(t, "it archives some thousands of sessions, three minutes")
	binary, err := product.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range growths() {
		t.Run(strings.ReplaceAll(g.kind, " ", "-"), func(t *testing.T) {
			start := g.measure(t, binary, 0)
			once, twice := g.measure(t, binary, g.n), g.measure(t, binary, 2*g.n)
			for i, args := range g.commands {
				one, two := once[i]-start[i], twice[i]-start[i]
				t.Logf("%-40s %d: %v, %d: %v", strings.Join(args, " "), g.n, one, 2*g.n, two)
				if two > 100*time.Millisecond && float64(two) > mostForTwice*float64(one) {
					t.Errorf("sessctl %s: %v of CPU with %d %s, %v with twice as many", strings.Join(args, " "), one, g.n, g.kind, two)
				}
			}
		})
	}
}

// measure runs the commands in two new homes and returns of each the CPU that it took,
// of user and system: the smaller of the two, for other work disturbs.
func (g growth) measure(t *testing.T, binary string, n int) (took []time.Duration) {
	t.Helper()
	for range 2 {
		home := t.TempDir()
		if n > 0 {
			g.write(t, home, n)
		}
		for i, args := range g.commands {
			cpu := cpuOf(t.Context(), t, home, append([]string{binary}, args...))
			if len(took) == i {
				took = append(took, cpu)
			}
			took[i] = min(took[i], cpu)
		}
	}
	return took
}

func cpuOf(ctx context.Context, t *testing.T, home string, args []string) time.Duration {
	t.Helper()
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TZ=UTC"}
	out, err := c.CombinedOutput()
	if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok && c.ProcessState.ExitCode() != 2 {
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	return 0
}

// longAgo is when everything in these homes was written.
func longAgo() time.Time { return time.Now().Add(-60 * 24 * time.Hour) }

func writeOld(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, longAgo(), longAgo()); err != nil {
		t.Fatal(err)
	}
}

func writePrompts(t *testing.T, home string, n int) {
	t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"display":"question %d about the importer %s","pastedContents":{},"timestamp":%d,"project":"/srv/x","sessionId":"%08d-1111-4222-8333-444455556666"}`+"\n",
			i, strings.Repeat("and what it reads ", 8), longAgo().UnixMilli()+int64(i), i/4)
	}
	if err := os.MkdirAll(filepath.Join(home, ".claude", "projects"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeOld(t, filepath.Join(home, ".claude", "history.jsonl"), b.String())
}

// piLog is a log of pi with some messages.
func piLog(id string) string {
	var b strings.Builder
	at := longAgo().UTC().Format(time.RFC3339)
	fmt.Fprintf(&b, `{"type":"session","version":3,"id":%q,"timestamp":%q,"cwd":"/srv/x"}`+"\n", id, at)
	parent := "null"
	for i, role := range []string{"user", "assistant", "user", "assistant"} {
		fmt.Fprintf(&b, `{"type":"message","id":"m%d","parentId":%s,"timestamp":%q,"message":{"role":%q,"content":[{"type":"text","text":"message %d of %s about the importer and its tables"}]}}`+"\n", i, parent, at, role, i, id)
		parent = fmt.Sprintf(`"m%d"`, i)
	}
	return b.String()
}

func writeLogs(t *testing.T, home string, n int) {
	t.Helper()
	for i := range n {
		id := fmt.Sprintf("%08d-1111-4222-8333-444455556666", i)
		writeOld(t, filepath.Join(home, ".pi", "agent", "sessions", "--srv-x--", "2026-01-01T00-00-00-000Z_"+id+".jsonl"), piLog(id))
	}
}

func writeSideFiles(t *testing.T, home string, n int) {
	t.Helper()
	const id = "00000000-1111-4222-8333-444455556666"
	project := filepath.Join(home, ".claude", "projects", "-srv-x")
	at := longAgo().UTC().Format(time.RFC3339)
	writeOld(t, filepath.Join(project, id+".jsonl"),
		`{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"`+id+`","cwd":"/srv/x","version":"2.0.0","timestamp":"`+at+`","message":{"role":"user","content":"look at the importer"}}`+"\n"+
			`{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"`+id+`","cwd":"/srv/x","version":"2.0.0","timestamp":"`+at+`","message":{"role":"assistant","content":[{"type":"text","text":"It reads tables."}]}}`+"\n")
	for i := range n {
		writeOld(t, filepath.Join(project, id, "tool-results", fmt.Sprintf("toolu_%06d.txt", i)), strings.Repeat(fmt.Sprintf("output %d\n", i), 20))
	}
}

func writeDatabase(t *testing.T, home string, n int) {
	t.Helper()
	path := filepath.Join(home, ".local", "share", "opencode", "opencode.db")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	d := fakesessiondb.Create(path)
	for i := range n {
		id, at := fmt.Sprintf("ses_%026d", i), longAgo().UnixMilli()+int64(i)*60_000
		d.Session(id, "", fmt.Sprintf("Session %d", i), at)
		for k := range 4 {
			u := d.User(id, at+int64(k), fmt.Sprintf("look at part %d of session %d", k, i))
			d.Answer(fakesessiondb.Turn{Session: id, Message: u, At: at + int64(k) + 1}, fakesessiondb.Tokens(3000, 20, 4000), nil, fakesessiondb.Text("It has what it needs."))
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// writeIndex writes an index of OpenClaw with n entries, of which nine in ten name
// logs that are gone.
func writeIndex(t *testing.T, home string, n int) {
	t.Helper()
	dir := filepath.Join(home, ".openclaw", "agents", "main", "sessions")
	var entries []string
	for i := range n {
		id := fmt.Sprintf("%08d-1111-4222-8333-444455556666", i)
		entries = append(entries, fmt.Sprintf(`"agent:main:thread:%d":{"sessionId":%q,"updatedAt":%d,"totalTokens":1000,"contextTokens":200000}`, i, id, longAgo().UnixMilli()))
		if i%10 == 0 {
			writeOld(t, filepath.Join(dir, id+".jsonl"), piLog(id))
		}
	}
	writeOld(t, filepath.Join(dir, "sessions.json"), "{"+strings.Join(entries, ",")+"}")
}
