package main_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sessctl/sessctl/cmd"
	"github.com/sessctl/sessctl/internal/fakeagentdb"
)

// The behaviour of the command line is tested by scripts on real files, one
// scenario a file, against the program's own main.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"sessctl":  func() { os.Exit(cmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"openclaw": runOpenClaw,
	})
}

func TestScript(t *testing.T) {
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("SOURCE", root)
			e.Setenv("NO_COLOR", "1")
			e.Values[gatewayKey{}] = &scriptGateway{}
			e.Values[embeddingKey{}] = &scriptEmbedding{}
			e.Values[modelKey{}] = &scriptModel{}
			for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "OPENCLAW_STATE_DIR", "PI_CODING_AGENT_DIR", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME", "OLLAMA_HOST", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"} {
				e.Setenv(name, "")
			}
			return os.MkdirAll(filepath.Join(e.WorkDir, "home"), 0o755)
		},
		Condition: scriptCondition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"copytree": copyTree,
			"aged":     aged,
			"tree":     tree,
			"jsonhas":  jsonHas,
			"mkfifo":   makeFIFO,
			"sameas":   sameAs,
			"exit":     exitStatus,
			"gateway":  gateway,
			"embedder": embedder,
			"model":    model,
			"agentdb":  agentDB,
		},
	})
}

// copytree FROM TO copies a directory; relative sources are under the module.
func copyTree(ts *testscript.TestScript, neg bool, args []string) {
	from, to := filepath.Join(ts.Getenv("SOURCE"), args[0]), ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(to, 0o755))
	ts.Check(filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o600)
	}))
}

// agentdb FILE [live] [later] [cold] [damaged] writes a database with
// OpenClaw's sessions; with live the last turn is only in the write-ahead log
// beside it, with later its schema is one of tomorrow, with cold a session is
// elsewhere, with damaged row 3 of the current session cannot be decompressed.
func agentDB(ts *testscript.TestScript, neg bool, args []string) {
	story := fakeagentdb.Story(slices.Contains(args, "live"))
	if slices.Contains(args, "later") {
		story.Version = 24
	}
	if slices.Contains(args, "cold") {
		story.Cold = []string{"7b3a9d64-52c1-4f0e-8a77-0c5de1f20d77"}
	}
	for i := range story.Rows {
		if r := &story.Rows[i]; slices.Contains(args, "damaged") && r.Packed != nil {
			r.Packed = r.Packed[:len(r.Packed)/2]
		}
	}
	ts.Check(fakeagentdb.Write(ts.MkAbs(args[0]), story))
}

// aged DURATION PATH... makes files (all files below a directory) this old.
func aged(ts *testscript.TestScript, neg bool, args []string) {
	age, err := time.ParseDuration(args[0])
	ts.Check(err)
	when := time.Now().Add(-age)
	for _, arg := range args[1:] {
		ts.Check(filepath.WalkDir(ts.MkAbs(arg), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			return os.Chtimes(path, when, when)
		}))
	}
}

// tree DIR FILE writes names, modes, sizes, times and hashes of everything
// below DIR to FILE, so that two states can be compared.
func tree(ts *testscript.TestScript, neg bool, args []string) {
	var out bytes.Buffer
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum := ""
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum = fmt.Sprintf("%x", sha256.Sum256(data))
		}
		fmt.Fprintln(&out, path, info.Mode(), info.ModTime().UnixNano(), sum)
		return nil
	}))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), out.Bytes(), 0o600))
}

// jsonhas FILE PATH REGEXP checks one value of a JSON document; PATH is
// dotted, with numbers for list elements ("sessions.0.outcome") and len for
// the length of a list.
func jsonHas(ts *testscript.TestScript, neg bool, args []string) {
	var value any
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	dec.UseNumber()
	ts.Check(dec.Decode(&value))
	for _, step := range strings.Split(args[1], ".") {
		value = stepInto(ts, value, step)
	}
	got := strings.TrimSpace(fmt.Sprint(value))
	if matched := regexp.MustCompile("(?s)^(?:" + args[2] + ")$").MatchString(got); matched == neg {
		ts.Fatalf("%s: %s is %q, want match %v of %q", args[0], args[1], got, !neg, args[2])
	}
}

func stepInto(ts *testscript.TestScript, value any, step string) any {
	switch v := value.(type) {
	case map[string]any:
		inner, ok := v[step]
		if !ok {
			ts.Fatalf("no key %q", step)
		}
		return inner
	case []any:
		if step == "len" {
			return len(v)
		}
		var i int
		if _, err := fmt.Sscan(step, &i); err != nil || i >= len(v) {
			ts.Fatalf("no element %q of %d", step, len(v))
		}
		return v[i]
	}
	ts.Fatalf("%q of a value that has no parts", step)
	return nil
}

// sameas A B compares two files byte for byte.
func sameAs(ts *testscript.TestScript, neg bool, args []string) {
	same := ts.ReadFile(args[0]) == ts.ReadFile(args[1])
	if same == neg {
		ts.Fatalf("%s and %s: same bytes is %v", args[0], args[1], same)
	}
}

// exit CODE COMMAND... runs a command and checks its exit code.
func exitStatus(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

func scriptCondition(cond string) (bool, error) {
	if cond == "root" {
		return os.Geteuid() == 0, nil
	}
	if name, ok := strings.CutPrefix(cond, "shared:"); ok {
		_, err := os.Stat(filepath.Join("..", "shared", name))
		return err == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}
