package smallpackages_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/sessctl/sessctl/pkg/replay"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/agent"
	"github.com/sessctl/sessctl/pkg/session/annabelle"
	"github.com/sessctl/sessctl/pkg/session/claude"
	"github.com/sessctl/sessctl/pkg/session/cline"
	"github.com/sessctl/sessctl/pkg/session/codex"
	"github.com/sessctl/sessctl/pkg/session/copilot"
	"github.com/sessctl/sessctl/pkg/session/gemini"
	"github.com/sessctl/sessctl/pkg/session/hermes"
	"github.com/sessctl/sessctl/pkg/session/macstats"
	"github.com/sessctl/sessctl/pkg/session/omp"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
	"github.com/sessctl/sessctl/pkg/session/opencode"
	"github.com/sessctl/sessctl/pkg/session/pi"
	"github.com/sessctl/sessctl/pkg/session/qwen"
)

// Replay is held to readers that share no code with it: for each runtime one, in
// the plainest code, from docs/dev/formats.md. They take whole logs into memory, know
// nothing of damage, and say in one line what each message is.

// heard is a message as such a reader has it: who speaks, what, and which calls
// it makes or answers.
type heard struct {
	Role, Text string
	Calls      []string // name and id of each
	Answers    string   // id of the call
}

// reader is an independent reader of a runtime's logs.
type reader func(log []byte) []heard

func readersOf() map[session.Format]reader {
	return map[session.Format]reader{
		session.FormatPi: piContext, session.FormatOpenClaw: piContext, session.FormatAgent: agentContext,
		session.FormatAnnabelle: annabelleContext, session.FormatMacStats: macStatsContext,
		session.FormatCodex: codexContext, session.FormatCodexBare: codexContext,
		session.FormatGemini: geminiContext, session.FormatGeminiJSON: geminiContext, session.FormatClaude: claudeContext,
		session.FormatOpenCode: openCodeContext, session.FormatOMP: piContext, session.FormatCopilot: copilotContext, session.FormatHermes: hermesContext, session.FormatQwen: qwenContext, session.FormatCline: clineContext, session.FormatClineTask: taskContext,
	}
}

func storesOf() map[session.Format]session.Scanner {
	return map[session.Format]session.Scanner{
		session.FormatPi: pi.Open(""), session.FormatOpenClaw: openclaw.Open("", openclaw.Options{}), session.FormatAgent: agent.Open("", agent.Options{}),
		session.FormatAnnabelle: annabelle.Open("", annabelle.Options{}), session.FormatMacStats: macstats.Open("", macstats.Options{}),
		session.FormatCodex: codex.Open(""), session.FormatCodexBare: codex.Open(""),
		session.FormatGemini: gemini.Open(""), session.FormatGeminiJSON: gemini.Open(""), session.FormatClaude: claude.Open(""),
		session.FormatOpenCode: opencode.Open(session.RuntimeOpenCode, ""), session.FormatOMP: omp.Open(""), session.FormatCopilot: copilot.Open(""), session.FormatHermes: hermes.Open(""), session.FormatQwen: qwen.Open(""), session.FormatCline: cline.Open(""), session.FormatClineTask: cline.OpenTasks(""),
	}
}

func TestReplayLikeIndependentReaders(t *testing.T) {
	readers, stores, compared := readersOf(), storesOf(), map[session.Format]int{}
	messages, different := 0, 0
	for _, path := range wholeLogs(t) {
		log := plainLog(t, path)
		format := session.Detect(path, log[:min(len(log), session.HeadSize)])
		if readers[format] == nil {
			continue
		}
		want := readers[format](log)
		got, err := replayed(stores[format], string(log))
		if errors.Is(err, session.ErrUnknownFormat) && len(want) == 0 {
			continue // another program's, which looks like one of these at first
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		compared[format]++
		messages += len(want)
		if diff := cmp.Diff(replayLines(want), replayLines(got)); diff != "" {
			different++
			t.Errorf("%s: %s (-reader +sessctl)\n%s", path, format, diff)
		}
	}
	total := 0
	for _, n := range compared {
		total += n
	}
	t.Logf("%d files, %d messages, %d files differ: %v", total, messages, different, compared)
	for _, format := range slices.Sorted(maps.Keys(readers)) {
		if compared[format] == 0 && total > 100 {
			t.Errorf("no log of %s was compared", format)
		}
	}
	if total < 10 {
		t.Errorf("only %d files", total)
	}
}

// wholeLogs are the logs of the repository and, where they are there, the samples
// beside it. Damaged ones have tests of their own.
func wholeLogs(t *testing.T) (paths []string) {
	t.Helper()
	up := filepath.Join("..", "..")
	for _, dir := range []string{filepath.Join(up, "testdata"), filepath.Join(up, "..", "shared", "samples"), filepath.Join(up, "..", "shared", "samples-newer")} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case os.IsNotExist(err):
				return nil
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "_malformed" || d.Name() == "script" || d.Name() == "gen" || d.Name() == "accept"):
				return filepath.SkipDir
			case strings.HasSuffix(filepath.ToSlash(path), "claude-code/jazzyalex/small.jsonl"): // made up: most of its records have one and the same id
			case d.Type().IsRegular() && isLog(d.Name()):
				paths = append(paths, path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

func isLog(name string) bool {
	for _, end := range []string{".jsonl", ".jsonl.zst", ".md", ".json"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return strings.Contains(name, ".jsonl.")
}

func plainLog(t *testing.T, path string) []byte {
	t.Helper()
	log, err := os.ReadFile(path)
	if err == nil && bytes.HasPrefix(log, []byte("\x28\xb5\x2f\xfd")) {
		var r *zstd.Decoder
		if r, err = zstd.NewReader(nil); err == nil {
			log, err = r.DecodeAll(log, nil)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// replayed is what the product makes of a log, in the readers' words.
func replayed(s session.Scanner, log string) (all []heard, err error) {
	messages, _, err := replay.Read(context.Background(), s, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(log)), nil })
	for _, m := range messages {
		h := heard{Role: string(m.Role), Text: m.Text, Answers: m.CallID}
		for _, c := range m.ToolCalls {
			h.Calls = append(h.Calls, c.Name+"/"+c.ID)
		}
		all = append(all, h)
	}
	return all, err
}

// replayLines is one line for each message.
func replayLines(all []heard) []string {
	out := make([]string, 0, len(all))
	for _, h := range all {
		text := strings.Join(strings.Fields(h.Text), " ")
		var value any
		if json.Unmarshal([]byte(text), &value) == nil { // in whatever order its members are
			encoded, _ := json.Marshal(value)
			text = string(encoded)
		}
		if runes := []rune(text); len(runes) > 300 {
			text = fmt.Sprintf("%s … %s (%d)", string(runes[:150]), string(runes[len(runes)-150:]), len(runes))
		}
		out = append(out, strings.TrimSpace(strings.Join([]string{h.Role, text, strings.Join(h.Calls, ","), h.Answers}, "|")))
	}
	return out
}

// replayThing is an object of JSON.
type replayThing = map[string]any

// things are the objects of a log, one a line; other lines are passed over.
func things(log []byte) (all []replayThing) {
	for _, line := range bytes.Split(log, []byte("\n")) {
		var x replayThing
		if json.Unmarshal(line, &x) == nil && x != nil {
			all = append(all, x)
		}
	}
	return all
}

func str(x any) string       { s, _ := x.(string); return s }
func obj(x any) replayThing  { o, _ := x.(replayThing); return o }
func replayList(x any) []any { l, _ := x.([]any); return l }
func is(x any) bool          { b, _ := x.(bool); return b }
func num(x any) float64      { n, _ := x.(float64); return n }

// name is an id: a string, or a number.
func name(x any) string {
	if n, ok := x.(float64); ok {
		return fmt.Sprintf("%.0f", n)
	}
	return str(x)
}

// written is content in its shapes: a string, blocks, or one block. other is
// called with each block that is no text.
func written(content any, other func(replayThing)) string {
	var texts []string
	blocks := replayList(content)
	if blocks == nil && content != nil {
		blocks = []any{content}
	}
	for _, b := range blocks {
		switch o := obj(b); {
		case o == nil:
			texts = append(texts, str(b))
		case str(o["type"]) == "image" || str(o["type"]) == "input_image":
			texts = append(texts, "[image left out]")
		case str(o["text"]) != "" && (o["type"] == nil || strings.Contains(str(o["type"]), "text") || strings.Contains(str(o["type"]), "Text")):
			texts = append(texts, str(o["text"]))
		case other != nil:
			other(o)
		}
	}
	return strings.TrimSpace(strings.Join(texts, "\n"))
}

// forest is what a log goes on with: of each tree the path from its last entry to
// the root, in the order of the log. An entry that names no parent follows the one
// before it, one whose parent is not there begins a tree of its own, and all whose
// parent is null or the header are of one tree.
func forest(entries []replayThing, id, parent string, header string) map[string]bool {
	byID, before := map[string]replayThing{}, map[string]string{}
	previous := ""
	for _, e := range entries {
		byID[str(e[id])] = e
		up, named := e[parent]
		if before[str(e[id])] = str(up); !named {
			before[str(e[id])] = previous
		}
		if up != nil && str(up) == header {
			before[str(e[id])] = ""
		}
		previous = str(e[id])
	}
	root := func(at string) string {
		for before[at] != "" {
			if byID[before[at]] == nil {
				return at
			}
			at = before[at]
		}
		return ""
	}
	leaves := map[string]string{}
	for _, e := range entries {
		leaves[root(str(e[id]))] = str(e[id])
	}
	active := map[string]bool{}
	for _, at := range leaves {
		for ; at != "" && !active[at] && byID[at] != nil; at = before[at] {
			active[at] = true
		}
	}
	return active
}

func (h heard) says() bool { return h.Text != "" || len(h.Calls) > 0 || h.Role == "tool" }

// parsed is text of JSON as a value.
func parsed(text string) (v any) {
	if json.Unmarshal([]byte(text), &v) != nil {
		return nil
	}
	return v
}
