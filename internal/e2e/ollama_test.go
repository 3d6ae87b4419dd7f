package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// ollamaUser is a person who uses the built program with an Ollama server.
type ollamaUser struct {
	*testing.T
	program string
	home    string
	server  ollamaServer
	proxy   *ollamaProxy
	model   string
	digest  string // of the model now
	builtin bool   // with the built-in embedder
}

// otherSession of the agent coordinator is compacted while the server is away.
const otherSession = "12969c36-b5c2-40d3-9935-541d523704d3"

// TestOllama is a person's whole way with a real Ollama server: the one that
// OLLAMA_TEST_URL names. Models are made for the test and removed
// (docs/dev/testing.md).
func TestOllama(t *testing.T) {
	base := os.Getenv("OLLAMA_TEST_URL")
	if base == "" {
		t.Skip("skipped: OLLAMA_TEST_URL names no Ollama server")
	}
	u := &ollamaUser{T: t, program: buildProgram(t), home: t.TempDir(), server: ollamaServer{base}, proxy: newOllamaProxy(t, base), model: "sessctl-test-nomic-embed-text"}
	if err := os.CopyFS(u.home, os.DirFS(filepath.Join(module, "testdata/sample"))); err != nil {
		t.Fatal(err)
	}
	u.age()
	first, second := testModel(t, 1), testModel(t, 2)
	u.digest = u.server.create(t, u.model, first)
	t.Cleanup(func() { u.server.remove(t, u.model) })
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"compact and recall", u.compactAndRecall},
		{"too long", u.tooLong},
		{"stopped", u.stopped},
		{"pulled again", func() { u.pulledAgain(second) }},
		{"killed during a reindex", u.killedReindex},
		{"reindex to another model and back", u.thereAndBack},
	} {
		if !t.Run(step.name, func(t *testing.T) { u.T = t; step.do() }) {
			return // the next step begins where this one ends
		}
	}
}

// age makes all sessions old enough to be compacted.
func (u *ollamaUser) age() {
	u.Helper()
	old := time.Now().Add(-2 * time.Hour)
	for _, dir := range []string{".openclaw", ".pi"} {
		err := filepath.WalkDir(filepath.Join(u.home, dir), func(path string, _ os.DirEntry, err error) error {
			return errors.Join(err, os.Chtimes(path, old, old))
		})
		if err != nil {
			u.Fatal(err)
		}
	}
}

func (u *ollamaUser) command(args ...string) (c *exec.Cmd, out, errs *bytes.Buffer) {
	c, out, errs = exec.Command(u.program, args...), &bytes.Buffer{}, &bytes.Buffer{}
	c.Dir, c.Stdout, c.Stderr = u.home, out, errs
	c.Env = []string{"HOME=" + u.home, "PATH=" + os.Getenv("PATH")}
	if !u.builtin {
		c.Env = append(c.Env, "SESSCTL_EMBED_PROVIDER=ollama", "SESSCTL_EMBED_MODEL="+u.model, "OLLAMA_HOST="+u.proxy.address)
	}
	return c, out, errs
}

// run fails the test unless the exit code is as wanted.
func (u *ollamaUser) run(want int, args ...string) string {
	u.Helper()
	c, out, errs := u.command(args...)
	err := c.Run()
	if code := c.ProcessState.ExitCode(); code != want {
		u.Fatalf("sessctl %q: exit code %d, want %d, %v\n%s%s", args, code, want, err, out, errs)
	}
	return out.String() + errs.String()
}

// json is run of a command that prints a document.
func (u *ollamaUser) json(want int, args ...string) map[string]any {
	u.Helper()
	c, out, errs := u.command(append(args, "--json")...)
	_ = c.Run() // the exit code says it
	var document map[string]any
	if err := json.Unmarshal(out.Bytes(), &document); err != nil || c.ProcessState.ExitCode() != want {
		u.Fatalf("sessctl %q: exit code %d, %v\n%s%s", args, c.ProcessState.ExitCode(), err, out, errs)
	}
	return document
}

func (u *ollamaUser) want(text string, parts ...string) {
	u.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			u.Errorf("no %q in\n%s", part, text)
		}
	}
}

func (u *ollamaUser) equal(what string, got, want any) {
	u.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		u.Errorf("%s is %v, want %v", what, got, want)
	}
}

// identity begins the name of the model's vectors.
func (u *ollamaUser) identity() string {
	return "ollama/" + u.model + "@" + u.digest + ";dim=768;norm=l2;qp="
}

func (u *ollamaUser) compactAndRecall() {
	session := u.json(0, "compact", "--agent", "coordinator")["sessions"].([]any)[0].(map[string]any)
	u.equal("outcome", session["outcome"], "compacted")
	u.equal("chunks_pending", session["chunks_pending"], 0)
	calls, _ := u.proxy.seen()
	most := 0
	for _, c := range calls {
		most = max(most, len(c.Input))
		if c.Truncate == nil || *c.Truncate || c.Options.Context == 0 || c.KeepAlive == "" || !strings.HasPrefix(c.Input[0], "search_document: ") && c.Input[0] != "hello world" {
			u.Fatalf("a call without what it must have: %+v", c)
		}
	}
	u.equal("texts in the largest call", most, 64)
	u.Logf("%d calls, of which %d were refused", len(calls), u.proxy.refused)
	u.want(u.run(0, "memory", "stats"), "model "+u.identity())
	for _, rank := range []string{"vector", "hybrid"} {
		found := u.json(0, "recall", "--rank", rank, "--limit", "3", "why did we move the server to port 8090")
		u.equal("rank", found["rank"], rank)
		u.equal("notice", found["notice"], "")
		if rank == "hybrid" {
			u.want(fmt.Sprint(found["hits"]), "8090")
		}
	}
	u.run(0, "memory", "verify")
}

// tooLong: a chunk of more tokens than the model takes is embedded in parts.
func (u *ollamaUser) tooLong() {
	const id = "0464eea1-fd05-4c0e-8971-000000000001"
	var log bytes.Buffer
	fmt.Fprintf(&log, `{"type":"session","version":3,"id":%q,"timestamp":"2026-05-04T06:12:31.114Z","cwd":"/repo/long"}`+"\n", id)
	for i, text := range []string{"the heron table: " + strings.Repeat("1,2;3,4;", 400), "noted"} {
		role := []string{`"user"`, `"assistant","provider":"none","model":"none","stopReason":"stop"`}[i]
		parent := []string{`null`, `"00000000"`}[i]
		fmt.Fprintf(&log, `{"type":"message","id":"0000000%d","parentId":%s,"timestamp":"2026-05-04T06:13:31.114Z","message":{"role":%s,"content":[{"type":"text","text":%q}],"timestamp":1777875211114}}`+"\n", i, parent, role, text)
	}
	dir := filepath.Join(u.home, ".pi", "agent", "sessions", "--work-long--")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		u.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "2026-05-04T06-12-31-114Z_"+id+".jsonl"), log.Bytes(), 0o600); err != nil {
		u.Fatal(err)
	}
	u.age()
	u.proxy.forget(nil)
	session := u.json(0, "compact", "--session", id, "--force", "--strategy", "rotate")["sessions"].([]any)[0].(map[string]any)
	u.equal("outcome", session["outcome"], "compacted")
	u.equal("chunks_pending", session["chunks_pending"], 0)
	if u.proxy.refused == 0 {
		u.Error("the server took the long text whole")
	}
	found := u.json(0, "recall", "--rank", "vector", "--session", id, "1,2;3,4;")
	u.want(fmt.Sprint(found["hits"]), "the heron table")
}

// stopped: what is compacted without the server waits, and is found by words.
func (u *ollamaUser) stopped() {
	u.proxy.stop(u.T)
	document := u.json(0, "compact", "--session", otherSession, "--force")
	session := document["sessions"].([]any)[0].(map[string]any)
	u.equal("outcome", session["outcome"], "compacted")
	if session["chunks_pending"] == 0.0 {
		u.Error("nothing waits")
	}
	u.want(fmt.Sprint(document["notes"]), "embedder unavailable", "memory reindex --pending")
	found := u.json(0, "recall", "why did we move the server to port 8090")
	u.equal("rank", found["rank"], "text")
	u.want(fmt.Sprint(found["notice"]), "could not be embedded", "found by words only")
	u.want(fmt.Sprint(found["hits"]), "8090")
	u.want(u.run(0, "memory", "stats"), "pending", "without a vector of", "ollama/")
	u.want(u.run(3, "memory", "reindex", "--pending"), "embedder unavailable", "wait")

	u.proxy.start(u.T)
	u.proxy.forget(nil)
	document = u.json(0, "memory", "reindex", "--pending")
	u.equal("waiting", document["waiting"], 0)
	u.equal("pending", document["pending"], 0)
	_, texts := u.proxy.seen()
	u.equal("texts embedded", texts, session["chunks_pending"])
	found = u.json(0, "recall", "--rank", "vector", "port")
	u.equal("notice", found["notice"], "")
}

// pulledAgain: another model under the same name is refused, and both are named.
func (u *ollamaUser) pulledAgain(path string) {
	before := u.identity()
	u.digest = u.server.create(u.T, u.model, path)
	if before == u.identity() {
		u.Fatal("the digest did not change")
	}
	found := u.json(0, "recall", "port")
	u.equal("rank", found["rank"], "text")
	u.want(fmt.Sprint(found["notice"]), before, u.identity(), "memory reindex")
	for _, args := range [][]string{{"recall", "--rank", "vector", "port"}, {"memory", "reindex", "--pending"}} {
		u.want(u.run(1, args...), before, u.identity(), "sessctl memory reindex")
	}
}

// killedReindex: before the change-over the old vectors are in use; the next
// run embeds only what the killed one had not.
func (u *ollamaUser) killedReindex() {
	all := u.json(0, "memory", "stats")
	u.proxy.forget(nil)
	c, _, _ := u.command("memory", "reindex")
	killed := make(chan struct{})
	u.proxy.forget(func(n int) {
		if n == 3 {
			_ = c.Process.Kill()
			<-killed
		}
	})
	err := c.Run()
	close(killed)
	if err == nil {
		u.Fatal("it was not killed")
	}
	before, _ := u.proxy.seen()
	u.want(fmt.Sprint(u.json(0, "memory", "stats")["models"]), fmt.Sprint(all["models"].([]any)[0].(map[string]any)["name"]))
	u.want(fmt.Sprint(u.json(0, "recall", "port")["notice"]), "memory reindex")

	u.proxy.forget(nil)
	u.equal("pending", u.json(0, "memory", "reindex")["pending"], 0)
	after, _ := u.proxy.seen()
	for _, c := range after {
		if len(c.Input) == 0 || slices.Contains(c.Input, before[0].Input[0]) {
			u.Error("what was embedded before the kill is embedded again")
		}
	}
	stats := u.json(0, "memory", "stats")["models"].([]any)
	u.equal("models", len(stats), 1)
	u.want(fmt.Sprint(stats), u.identity())
	u.equal("notice", u.json(0, "recall", "--rank", "vector", "port")["notice"], "")
	u.run(0, "memory", "verify")
}

// thereAndBack goes to the built-in model with --model, and back.
func (u *ollamaUser) thereAndBack() {
	u.want(u.run(0, "memory", "reindex", "--model", "builtin"), "builtin/lexglove-1024@", "is not the configured model")
	u.want(u.run(0, "recall", "port"), "memory has vectors of builtin/", u.identity())
	u.run(0, "memory", "reindex")
	u.equal("notice", u.json(0, "recall", "port")["notice"], "")
	u.want(u.run(0, "memory", "stats"), "model "+u.identity())
	u.run(0, "memory", "verify")
}
