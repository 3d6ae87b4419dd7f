package smallpackages_test

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/fakesessiondb"
	"github.com/sessctl/sessctl/pkg/carry"
	"github.com/sessctl/sessctl/pkg/replay"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/opencode"
)

// begunIn are the stores in which a session can be begun, each with the format of its
// logs.
func begunIn() map[string]session.Format {
	return map[string]session.Format{session.RuntimePi: session.FormatPi, session.RuntimeClaude: session.FormatClaude, session.RuntimeCodex: session.FormatCodex, session.RuntimeQwen: session.FormatQwen, session.RuntimeOpenCode: session.FormatOpenCode, session.RuntimeGemini: session.FormatGemini}
}

// Every log is carried into every runtime: no provider would refuse it, the independent
// reader of that runtime finds in what was written all texts, calls and results in
// their order.
func TestCarriedLikeIndependentReaders(t *testing.T) {
	carried, calls, targets := 0, 0, map[session.Format]session.Store{}
	for _, kind := range begunIn() {
		targets[kind] = storesOf()[kind].(session.Store)
	}
	targets[session.FormatOpenCode] = withDatabase(t)
	for _, path := range wholeLogs(t) {
		log := plainLog(t, path)
		format := session.Detect(path, log[:min(len(log), session.HeadSize)])
		source, ok := storesOf()[format]
		if !ok {
			continue
		}
		messages, scan, err := replay.Read(t.Context(), source, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(string(log))), nil })
		if err != nil || scan.Doubt.Type != "" {
			continue // it is refused
		}
		for runtime, kind := range begunIn() {
			target := targets[kind]
			c, report := carry.Prepare(messages, carry.Options{Tools: carry.Mixed, Target: target.Capabilities().Tools})
			if len(c.Messages) == 0 {
				continue
			}
			carried, calls = carried+1, calls+report.Pairs
			if err := carry.Check(c); err != nil {
				t.Errorf("%s: %s would be refused: %v", path, runtime, err)
			}
			c.Note, c.Directory, c.Now = session.Origin{Runtime: "x", Session: "1"}.Note(), "/repo/a", time.UnixMilli(1_790_000_000_000)
			begun, err := target.Capabilities().Beginner.PlanBegin(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(carriedLines(c), heardLines(readersOf()[kind](begun.Log))); diff != "" {
				t.Errorf("%s in %s (-carried +reader)\n%s", path, runtime, diff)
			}
		}
	}
	t.Logf("%d sessions, %d calls with their results", carried, calls)
	if carried < 10 || calls < 10 {
		t.Errorf("only %d sessions with %d calls", carried, calls)
	}
}

// withDatabase is a store of OpenCode with sessions in it.
func withDatabase(t *testing.T) session.Store {
	dir := t.TempDir()
	d := fakesessiondb.Create(filepath.Join(dir, "opencode.db"))
	fakesessiondb.Story(d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	store := opencode.Open(session.RuntimeOpenCode, dir)
	t.Cleanup(func() { store.Close() })
	return store
}

// carriedLines is what a model would be sent, one line for each text, call and result.
func carriedLines(c session.Carried) (lines []string) {
	if c.Summary != "" {
		lines = append(lines, "user|"+squeezed(c.Summary))
	}
	for _, m := range c.Messages {
		if m.Role == session.RoleToolResult {
			lines = append(lines, "result|"+m.CallID+"|"+squeezed(m.Text))
			continue
		}
		if text := squeezed(m.Text); text != "" {
			lines = append(lines, m.Role.String()+"|"+text)
		}
		for _, call := range m.Calls {
			lines = append(lines, "call|"+call.Name+"/"+call.ID)
		}
	}
	return lines
}

// heardLines is the same of what an independent reader found, without the note of
// origin.
func heardLines(all []heard) (lines []string) {
	for _, h := range all {
		text := squeezed(h.Text)
		if strings.HasPrefix(text, "[Carried over by sessctl") { // OpenCode has it in one message with the question
			_, text, _ = strings.Cut(text, "finds what is not here.]")
			text = squeezed(text)
		}
		switch {
		case text == "" && len(h.Calls) == 0 && h.Role != "tool":
		case h.Role == "tool":
			lines = append(lines, "result|"+h.Answers+"|"+squeezed(strings.TrimPrefix(h.Text, "[failed]\n")))
		default:
			if text != "" {
				role := strings.Replace(h.Role, "summary", "user", 1)
				text = strings.TrimSuffix(strings.TrimPrefix(text, "<state_snapshot> "), " </state_snapshot>")
				lines = append(lines, role+"|"+text)
			}
			for _, call := range h.Calls {
				lines = append(lines, "call|"+call)
			}
		}
	}
	return lines
}

func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }
