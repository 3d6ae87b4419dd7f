package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sessctl/sessctl/cmd"
	"github.com/sessctl/sessctl/internal/fakegateway"
	"github.com/sessctl/sessctl/internal/fakemanagers"
	"github.com/sessctl/sessctl/internal/fakestatedb"
	"github.com/sessctl/sessctl/internal/objectstore"
	"github.com/sessctl/sessctl/internal/scratch"
	"github.com/sessctl/sessctl/internal/scriptcmd"
	"github.com/sessctl/sessctl/internal/tier"
)

// The behaviour of the command line is tested by scripts on real files, one
// scenario a file, against the program's own main.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"sessctl":  func() { os.Exit(cmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"openclaw": func() { os.Exit(fakegateway.Program(os.Args[1:], os.Stdout, os.Stderr)) },
		"hermes":   func() { os.Exit(fakestatedb.Program(os.Args[1:], os.Stdout, os.Stderr)) },

		"systemctl": func() { os.Exit(fakemanagers.Program(os.Args, os.Stdin, os.Stdout, os.Stderr)) },
		"launchctl": func() { os.Exit(fakemanagers.Program(os.Args, os.Stdin, os.Stdout, os.Stderr)) },
		"pgrep":     func() { os.Exit(fakemanagers.Program(os.Args, os.Stdin, os.Stdout, os.Stderr)) },
		"crontab":   func() { os.Exit(fakemanagers.Program(os.Args, os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScript runs the scripts. Their commands are those of testscript and of
// internal/scriptcmd. One that says "[smoke] skip" is about a case of which another
// script has the main way; "[smoke] stop" ends a long one after its main way. make
// test-faults runs all of them to their end.
func TestScript(t *testing.T) {
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOTMPDIR", scratch.Dir()) // where testscript makes the directories of the scripts
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("SOURCE", root)
			e.Setenv("NO_COLOR", "1")
			e.Setenv("GOGC", "400") // programs of milliseconds: collecting is a tenth of their time
			scriptcmd.Setup(e)
			for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "OPENCLAW_STATE_DIR", "PI_CODING_AGENT_DIR", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME", "OLLAMA_HOST", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"} {
				e.Setenv(name, "")
			}
			return os.MkdirAll(filepath.Join(e.WorkDir, "home"), 0o755)
		},
		Condition: scriptCondition,
		Cmds:      scriptcmd.Commands(),
	})
}

func scriptCondition(cond string) (bool, error) {
	switch cond {
	case "root":
		return os.Geteuid() == 0, nil
	case "smoke":
		return tier.Smoke(), nil
	}
	switch cond {
	case "storage":
		return objectstore.Available(), nil
	case "postgres":
		return scriptcmd.HasPostgres(), nil
	}
	if name, ok := strings.CutPrefix(cond, "shared:"); ok {
		_, err := os.Stat(filepath.Join("..", "shared", name))
		return err == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}
