package smallpackages_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/replay"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/agent"
	"github.com/sessctl/sessctl/pkg/session/annabelle"
	"github.com/sessctl/sessctl/pkg/session/claude"
	"github.com/sessctl/sessctl/pkg/session/codex"
	"github.com/sessctl/sessctl/pkg/session/gemini"
	"github.com/sessctl/sessctl/pkg/session/macstats"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
	"github.com/sessctl/sessctl/pkg/session/pi"
	"github.com/sessctl/sessctl/pkg/session/yarnnn"
)

// readers are the readers of the samples, by the directory that they lie in.
func readers() map[string]session.Scanner {
	return map[string]session.Scanner{
		"pi": pi.Open(""), "openclaw": openclaw.Open("", openclaw.Options{}), "agent-ulid": agent.Open("", agent.Options{}),
		"annabelle": annabelle.Open("", annabelle.Options{}), "claude-code": claude.Open(""), "codex": codex.Open(""), "gemini-cli": gemini.Open(""),
		"mac-stats": macstats.Open("", macstats.Options{}), "yarnnn": yarnnn.Open("", yarnnn.Options{}),
		"real/pi": pi.Open(""), "real/openclaw-2026.9.6": openclaw.Open("", openclaw.Options{}), "real/claude-code": claude.Open(""), "real/codex": codex.Open(""), "real/gemini": gemini.Open(""),
		"_malformed": pi.Open(""),
	}
}

// Every sample of every runtime, whole and at random damaged, is taken by every
// provider once it is repaired.
func TestReplayDamagedSamplesForProviders(t *testing.T) {
	root := samples.Beside(t, "samples")
	files := 0
	for dir, s := range readers() {
		for _, path := range logsIn(t, filepath.Join(root, dir)) {
			files++
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			// What is damaged must not depend on the order of the files.
			random := rand.New(rand.NewPCG(20, uint64(crc32.ChecksumIEEE(raw))))
			for try := range 6 {
				log := string(raw)
				if try > 0 {
					log = damaged(log, random)
				}
				if messages, ok := readAny(t, s, log); ok {
					taken(t, fmt.Sprintf("%s, try %d", path, try), messages)
				}
			}
		}
	}
	if files < 60 {
		t.Errorf("only %d samples were found", files)
	}
}

// logsIn are the logs below a directory, of up to a megabyte.
func logsIn(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if ext := filepath.Ext(path); err == nil && info.Size() <= 1<<20 && (ext == ".jsonl" || ext == ".md" || ext == ".json") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// damaged is a log without some of its lines, with some twice or elsewhere, and
// cut off.
func damaged(log string, random *rand.Rand) string {
	lines := strings.SplitAfter(log, "\n")
	for range 1 + random.IntN(4) {
		at, to := random.IntN(len(lines)), random.IntN(len(lines))
		switch random.IntN(4) {
		case 0:
			if len(lines) > 1 {
				lines = slices.Delete(lines, at, at+1)
			}
		case 1:
			lines = slices.Insert(lines, to, lines[at])
		case 2:
			lines[at], lines[to] = lines[to], lines[at]
		case 3:
			lines[at] = lines[at][:random.IntN(len(lines[at])+1)]
		}
	}
	return strings.Join(lines, "")
}

// readAny reads a log; false if it is no session of the runtime any more.
func readAny(t *testing.T, s session.Scanner, log string) ([]replay.Message, bool) {
	t.Helper()
	messages, _, err := replay.Read(t.Context(), s, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(log)), nil })
	return messages, err == nil
}

// taken fails unless every provider takes messages once they are repaired.
func taken(t *testing.T, what string, messages []replay.Message) {
	t.Helper()
	messages = replay.Truncate(replay.Repair(messages), 2)
	for _, f := range []replay.Format{replay.OpenAI, replay.Anthropic, replay.AISDK} {
		var b bytes.Buffer
		if err := replay.Write(&b, f, replay.Origin{}, messages); err != nil {
			t.Fatalf("%s, %s: %v", what, f, err)
		}
		if err := validate(f, b.Bytes()); err != nil {
			t.Errorf("%s, %s: %v", what, f, err)
		}
	}
}

const coreLog = `{"type":"header","chatId":"1","agentId":"a","createdAt":"2026-03-01T10:00:00Z","version":1}
{"type":"turn","user":"q","assistant":"done","timestamp":"2026-03-01T10:00:01Z","messages":[{"role":"user","content":[{"type":"text","text":"q"}],"providerOptions":{"x":1}},{"id":"m1","role":"assistant","content":[{"type":"tool-call","toolCallId":"a","toolName":"read","args":{"p":1}},{"type":"tool-call","toolCallId":"b","toolName":"read","args":{"p":2}},{"type":"text","text":"both"}]},{"id":"m2","role":"tool","content":[{"type":"tool-result","toolCallId":"a","toolName":"read","result":{"ok":true},"extra":[1]},{"type":"tool-result","toolCallId":"b","toolName":"read","result":"two"}]},{"id":"m3","role":"assistant","content":[{"type":"text","text":"done"}]}]}
`

// Core messages of the log come out as they went in, unless they were repaired
// or cut.
func TestReplayCoreMessagesAreUnchanged(t *testing.T) {
	s := annabelle.Open("", annabelle.Options{})
	written := func(log string, keep int) (all []any) {
		var b bytes.Buffer
		if err := replay.Write(&b, replay.AISDK, replay.Origin{}, replay.Truncate(replay.Repair(read(t, s, log)), keep)); err != nil {
			t.Fatal(err)
		}
		if err := validate(replay.AISDK, b.Bytes()); err != nil {
			t.Error(err)
		}
		if err := json.Unmarshal(b.Bytes(), &all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	var turn struct{ Messages []any }
	if err := json.Unmarshal([]byte(strings.Split(coreLog, "\n")[1]), &turn); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(turn.Messages, written(coreLog, -1)); diff != "" {
		t.Errorf("unchanged (-want +got):\n%s", diff)
	}
	second := written(strings.Replace(coreLog, `"toolCallId":"b","toolName":"read","result":"two"`, `"toolCallId":"c","toolName":"read","result":"two"`, 1), -1)
	if diff := cmp.Diff(turn.Messages[1], second[1]); diff != "" {
		t.Errorf("the calls (-want +got):\n%s", diff)
	}
	if text := fmt.Sprint(second[2]); strings.Contains(text, "extra") || !strings.Contains(text, "unavailable") {
		t.Errorf("repaired results are as in the log: %v", text)
	}
	long := strings.Replace(coreLog, `"result":"two"`, `"result":"`+strings.Repeat("two ", 99)+`"`, 1)
	if text := fmt.Sprint(written(long, 0)[2]); !strings.Contains(text, "truncated, was") {
		t.Errorf("a result that is to be cut is whole: %.200s", text)
	}
}
