// Command accept tries sessctl on the real runtimes.
//
// What sessctl leaves behind is right only if the runtime that owns the
// session takes it so, and no test with made-up files can say that. This
// program installs the runtimes from npm (into a cache, once), lets them talk
// to a model of its own on the loopback interface, lets sessctl change their
// sessions in between, and checks what the runtimes do next. The model counts
// the user messages of each request: a fresh session has one, a continued one
// has more.
//
//	go run ./testdata/accept -sessctl bin/sessctl
//
// Each check is one line. The exit code is 0 if all passed, 1 if one failed;
// a runtime that cannot be installed is skipped, which is said.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// patience is how long the whole run may take, installing not counted.
const patience = 40 * time.Minute

func main() {
	sessctl := flag.String("sessctl", "bin/sessctl", "the `program` to try")
	only := flag.String("only", "", "play only scenarios whose `name` contains this")
	table := flag.String("table", "", "write what the scenarios of the ferry measured into this `page`")
	keep := flag.Bool("keep", false, "keep the working directory and say where it is")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed, err := run(ctx, options{*sessctl, *only, *table, *keep})
	if err != nil {
		fmt.Fprintln(os.Stderr, "accept:", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

type options struct {
	sessctl, only, table string
	keep                 bool
}

// run goes through the scenarios and returns how many checks failed.
func run(ctx context.Context, o options) (failed int, err error) {
	program, err := filepath.Abs(o.sessctl)
	if err != nil {
		return 0, err
	}
	if _, err := os.Stat(program); err != nil {
		return 0, fmt.Errorf("build sessctl first (make build): %w", err)
	}
	if name := strings.TrimSuffix(filepath.Base(program), ".exe"); name != "sessctl" {
		return 0, fmt.Errorf("-sessctl %s: the program must be named sessctl, as the plugin calls it in PATH", o.sessctl)
	}
	work, err := os.MkdirTemp("", "sessctl-accept-")
	if err != nil {
		return 0, err
	}
	if o.keep {
		fmt.Println("working directory:", work)
	} else {
		defer os.RemoveAll(work)
	}
	cache, err := cacheDir()
	if err != nil {
		return 0, err
	}
	wanted := slices.DeleteFunc(append(scenarios(), ferries()...), func(s scenario) bool { return !strings.Contains(s.name, o.only) })
	runtimes := install(ctx, cache, wanted)
	model, err := startModel(filepath.Join(work, "requests.jsonl"))
	if err != nil {
		return 0, err
	}
	defer model.stop()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r := &report{began: time.Now()}
	ferried := &ferryTable{}
	for _, s := range wanted {
		r.scenario(ctx, s, &bench{sessctl: program, work: work, model: model, runtimes: runtimes, ferried: ferried})
	}
	if o.table != "" {
		err = ferried.write(o.table)
	}
	return r.end(), err
}

// scenario is one story with a runtime.
type scenario struct {
	name  string
	needs runtimeName
	play  func(context.Context, *stage)
	also  []runtimeName // that it tries if they are there
}

func scenarios() []scenario {
	return []scenario{
		{"pi rotate", runtimePi, playPi, nil},
		{"pi overlay", runtimePi, playPiOverlay, nil},
		{"pi beside an older session", runtimePi, playPiOlder, nil},
		{"pi kept from a change of the model", runtimePi, playPiKept, nil},
		{"pi alive, rotate", runtimePi, playPiAliveRotate, nil},
		{"pi alive, overlay", runtimePi, playPiAliveOverlay, nil},
		{"pi context", runtimePi, playPiContext, nil},
		{"pi 0.73 context", runtimePiNewer, playPiContext, nil},
		{"pi 0.73 rotate", runtimePiNewer, playPi, nil},
		{"pi 0.73 overlay", runtimePiNewer, playPiOverlay, nil},
		{"pi 0.73 beside an older session", runtimePiNewer, playPiOlder, nil},
		{"pi 0.73 kept from a change of the model", runtimePiNewer, playPiKept, nil},
		{"pi 0.73 alive, rotate", runtimePiNewer, playPiAliveRotate, nil},
		{"pi 0.73 alive, overlay", runtimePiNewer, playPiAliveOverlay, nil},
		{"claude archived", runtimeClaude, playClaude, nil},
		{"claude 2.1.330 archived", runtimeClaudeNewer, playClaude, nil},
		{"claude 2.1.330 hooks", runtimeClaudeNewer, playClaudeHooks, nil},
		{"claude 2.1.330 plugin", runtimeClaudeNewer, playClaudePlugin, nil},
		{"claude 2.1.330 outputs", runtimeClaudeNewer, playClaudeOutputs, nil},
		{"codex compacted", runtimeCodex, playCodexCompacted, nil},
		{"pi 0.73 other letters", runtimePiNewer, playPiLetters, nil},
		{"claude 2.1.330 other letters", runtimeClaudeNewer, playClaudeLetters, nil},
		{"codex other letters", runtimeCodex, playCodexLetters, nil},
		{"codex hooks", runtimeCodex, playCodexHooks, nil},
		{"gemini hooks", runtimeGemini, playGeminiHooks, nil},
		{"pi 0.73 hooks", runtimePiNewer, playPiHooks, nil},
		{"openclaw hooks", runtimeOpenClaw, playOpenClawHooks, nil},
		{"openclaw 2026.9 hooks", runtimeOpenClaw9, playOpenClawHooks, nil},
		{"omp", runtimeOMP, playOMP, nil},
		{"qwen", runtimeQwen, playQwen, nil},
		{"openclaw stopped", runtimeOpenClaw, playStopped, nil},
		{"openclaw undo", runtimeOpenClaw, playUndo, nil},
		{"openclaw overlay", runtimeOpenClaw, playOverlay, nil},
		{"openclaw gateway", runtimeOpenClaw, playGateway, nil},
		{"openclaw numbered", runtimeOpenClaw, playNumbered, nil},
		{"pi next start, rotate", runtimePi, playPiNextStartRotate, nil},
		{"pi next start, overlay", runtimePi, playPiNextStartOverlay, nil},
		{"pi next start, an older one", runtimePi, playPiNextStartOlder, nil},
		{"pi 0.73 next start, rotate", runtimePiNewer, playPiNextStartRotate, nil},
		{"pi 0.73 next start, overlay", runtimePiNewer, playPiNextStartOverlay, nil},
		{"pi 0.73 next start, an older one", runtimePiNewer, playPiNextStartOlder, nil},
		{"claude 2.1.330 next start", runtimeClaudeNewer, playClaudeNextStart, nil},
		{"codex next start", runtimeCodex, playCodexNextStart, nil},
		{"openclaw next start, rotate", runtimeOpenClaw, playOpenClawNextStartRotate, nil},
		{"openclaw next start, overlay", runtimeOpenClaw, playOpenClawNextStartOverlay, nil},
		{"opencode next start", runtimeOpenCode, playOpenCodeNextStart, nil},
		{"opencode shrunk", runtimeOpenCode, playOpenCode, nil},
		{"kilo shrunk", runtimeKilo, playKilo, nil},
		{"copilot trimmed", runtimeCopilot, playCopilot, nil},
		{"cline deleted", runtimeCline, playCline, nil},
		{"n8n workflow", runtimeN8N, playN8N, nil},
		{"schedule systemd", runtimeNone, playScheduleSystemd, nil},
		{"schedule systemd user", runtimeNone, playScheduleUser, nil},
		{"schedule cron", runtimeNone, playScheduleCron, nil},
	}
}
