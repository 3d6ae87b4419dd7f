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
	"errors"
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
const patience = 2 * time.Hour

func main() {
	sessctl := flag.String("sessctl", "bin/sessctl", "the `program` to try")
	only := flag.String("only", "", "play only scenarios whose `name` contains this")
	table := flag.String("table", "", "write what the scenarios of the ferry measured into this `page`")
	newest := flag.Bool("newest", false, "play what is sent and what was replayed with the newest versions that the registry has")
	versions := flag.String("versions", "", "write which of these were played into this `page`")
	keep := flag.Bool("keep", false, "keep the working directory and say where it is")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed, err := run(ctx, options{*sessctl, *only, *table, *versions, *newest, *keep})
	if err != nil {
		fmt.Fprintln(os.Stderr, "accept:", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

type options struct {
	sessctl, only, table, versions string
	newest, keep                   bool
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
	all, from := slices.Concat(scenarios(), ferries(), equals()), packages()
	if o.newest {
		all, from = newestScenarios(), newest(ctx, from)
	}
	wanted := slices.DeleteFunc(all, func(s scenario) bool { return !strings.Contains(s.name, o.only) })
	runtimes := install(ctx, cache, wanted, from)
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
	if o.versions != "" {
		err = errors.Join(err, triedPage(o.versions, r.tried))
	}
	return r.end(), err
}

// scenario is one story with a runtime.
type scenario struct {
	name  string
	needs runtimeName
	play  func(context.Context, *stage)
}

func scenarios() []scenario {
	return slices.Concat(piScenarios("pi", runtimePi), piScenarios("pi 0.73", runtimePiNewer), piScenarios("pi 1.6", runtimePiToday), []scenario{
		{"claude archived", runtimeClaude, playClaude},
		{"claude 2.1.330 archived", runtimeClaudeNewer, playClaude},
		{"claude 2.1.330 hooks", runtimeClaudeNewer, playClaudeHooks},
		{"claude 2.1.330 plugin", runtimeClaudeNewer, playClaudePlugin},
		{"claude 2.1.330 outputs", runtimeClaudeNewer, playClaudeOutputs},
		{"codex compacted", runtimeCodex, playCodexCompacted},
		{"pi 0.73 other letters", runtimePiNewer, playPiLetters},
		{"claude 2.1.330 other letters", runtimeClaudeNewer, playClaudeLetters},
		{"codex other letters", runtimeCodex, playCodexLetters},
		{"codex hooks", runtimeCodex, playCodexHooks},
		{"gemini hooks", runtimeGemini, playGeminiHooks},
		{"openclaw hooks", runtimeOpenClaw, playOpenClawHooks},
		{"openclaw 2026.9 hooks", runtimeOpenClaw9, playOpenClawHooks},
		{"omp", runtimeOMP, playOMP},
		{"qwen", runtimeQwen, playQwen},
		{"openclaw stopped", runtimeOpenClaw, playStopped},
		{"openclaw undo", runtimeOpenClaw, playUndo},
		{"openclaw overlay", runtimeOpenClaw, playOverlay},
		{"openclaw gateway", runtimeOpenClaw, playGateway},
		{"openclaw numbered", runtimeOpenClaw, playNumbered},
		{"claude 2.1.330 next start", runtimeClaudeNewer, playClaudeNextStart},
		{"codex next start", runtimeCodex, playCodexNextStart},
		{"openclaw next start, rotate", runtimeOpenClaw, playOpenClawNextStartRotate},
		{"openclaw next start, overlay", runtimeOpenClaw, playOpenClawNextStartOverlay},
		{"opencode next start", runtimeOpenCode, playOpenCodeNextStart},
		{"opencode shrunk", runtimeOpenCode, playOpenCode},
		{"kilo shrunk", runtimeKilo, playKilo},
		{"copilot trimmed", runtimeCopilot, playCopilot},
		{"cline deleted", runtimeCline, playCline},
		{"hermes pruned", runtimeHermes, playHermes},
		{"n8n workflow", runtimeN8N, playN8N},
		{"schedule systemd", runtimeNone, playScheduleSystemd},
		{"schedule systemd user", runtimeNone, playScheduleUser},
		{"schedule cron", runtimeNone, playScheduleCron},
	})
}

// piScenarios are the stories with one version of pi.
func piScenarios(name string, version runtimeName) []scenario {
	return []scenario{
		{name + " rotate", version, playPi},
		{name + " overlay", version, playPiOverlay},
		{name + " beside an older session", version, playPiOlder},
		{name + " kept from a change of the model", version, playPiKept},
		{name + " alive, rotate", version, playPiAliveRotate},
		{name + " alive, overlay", version, playPiAliveOverlay},
		{name + " context", version, playPiContext},
		{name + " hooks", version, playPiHooks},
		{name + " next start, rotate", version, playPiNextStartRotate},
		{name + " next start, overlay", version, playPiNextStartOverlay},
		{name + " next start, an older one", version, playPiNextStartOlder},
	}
}
