package smallpackages_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/exchange"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/replay"
	"github.com/sessctl/sessctl/pkg/session"
)

// readerFor is the reader of a log, nil for a file that is none.
func readerFor(path string, log []byte) session.Scanner {
	format := session.Detect(path, log[:min(len(log), session.HeadSize)])
	for _, kind := range workspace.Runtimes() {
		if slices.Contains(kind.Traits().Formats, format) {
			return kind.Open(os.TempDir(), workspace.Config{})
		}
	}
	return nil
}

// allLogs are all samples that somebody reads, damaged ones too, each with its content.
func allLogs(t *testing.T, each func(path string, reader session.Scanner, log []byte)) {
	t.Helper()
	for _, dir := range []string{filepath.Join("..", "..", "testdata"), filepath.Join("..", "..", "..", "shared", "samples"), filepath.Join("..", "..", "..", "shared", "samples-newer"), filepath.Join("..", "..", "..", "shared", "samples-unread")} {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || !isLog(d.Name()) || strings.Contains(path, "bomb") {
				return nil
			}
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			plain, _, err := jsonl.Decompress(f, 0)
			if err != nil {
				return nil
			}
			defer plain.Close()
			log, err := io.ReadAll(plain)
			if reader := readerFor(path, log); reader != nil && err == nil {
				each(path, reader, log)
			}
			return nil
		})
	}
}

func opener(log []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(log)), nil }
}

// everything is all that a log says: texts, thoughts, calls and results, in no order.
func everything(t *testing.T, reader session.Scanner, log []byte) (lines []string, err error) {
	t.Helper()
	_, err = session.ScanActive(t.Context(), thinking{reader}, opener(log), func() func(*session.Message) error {
		lines = nil
		return func(m *session.Message) error {
			lines = append(lines, linesOf(m)...)
			return nil
		}
	})
	slices.Sort(lines)
	return lines, err
}

type thinking struct{ session.Scanner }

func (s thinking) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	o.Thinking = true
	return s.Scanner.Scan(ctx, r, o, emit)
}

// linesOf is what one message says.
func linesOf(m *session.Message) (lines []string) {
	kind := m.Role.String() + " " + m.Branch.String()
	if m.OutOfContext {
		kind += " aside"
	}
	if m.Role != session.RoleToolResult && !m.TimeInferred {
		kind += time.UnixMilli(m.Time).UTC().Format(" 2006-01-02T15:04:05.000")
	}
	text := *m
	text.Parts = nil
	thought := ""
	for _, p := range m.Parts {
		switch p.Kind {
		case session.PartToolCall:
			lines = append(lines, kind+" call|"+string(p.Name)+"|"+canonical(p.Text))
		case session.PartThinking:
			thought += " " + string(p.Text)
		default:
			text.Parts = append(text.Parts, p)
		}
	}
	if thought = squeezed(thought); thought != "" {
		lines = append(lines, kind+" thought|"+thought)
	}
	if said := squeezed(strings.ToValidUTF8(string(text.AppendText(nil)), "\uFFFD")); said != "" || m.Role == session.RoleToolResult {
		lines = append(lines, kind+"|"+said)
	}
	return lines
}

// canonical is JSON without what says nothing.
func canonical(raw []byte) string {
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return strings.ToValidUTF8(string(raw), "\uFFFD")
	}
	return compact.String()
}

// Every sample of every runtime as a trajectory: what is read back is all that was said,
// on the branches where it was said, and each result is of a call of its own step.
func TestExchangeTrajectoriesLoseNothing(t *testing.T) {
	written, dir := 0, t.TempDir()
	var files []string
	allLogs(t, func(path string, reader session.Scanner, log []byte) {
		want, err := everything(t, reader, log)
		if err != nil {
			return
		}
		var out bytes.Buffer
		_, err = exchange.ATIF(t.Context(), &out, exchange.Session{Runtime: "x"}, reader, opener(log))
		if errors.Is(err, exchange.ErrNothing) && len(want) == 0 {
			return
		}
		back := readerFor("x.json", out.Bytes())
		if err != nil || back == nil {
			t.Errorf("%s: %v, read back by %v", path, err, back)
			return
		}
		got, err := everything(t, back, out.Bytes())
		if d := diff.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v (-log +trajectory)\n%.3000s", path, err, d)
		}
		written++
		files = append(files, filepath.Join(dir, strings.NewReplacer("/", "_", ".", "_").Replace(path)+".json"))
		if err := os.WriteFile(files[len(files)-1], out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%d trajectories", written)
	if written < 20 {
		t.Errorf("only %d trajectories", written)
	}
	validTrajectories(t, files)
}

// validTrajectories asks the validator that came with the samples.
func validTrajectories(t *testing.T, files []string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no Python")
	}
	check := samples.Beside(t, "samples-unread/atif/atif_check.py")
	if out, err := exec.CommandContext(t.Context(), python, append([]string{check}, files...)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%.5000s", err, strings.Join(slices.DeleteFunc(strings.Split(string(out), "\n"), func(line string) bool { return strings.HasSuffix(line, ": valid") }), "\n"))
	}
}

// flattened is what a context says, each text, call and result by itself, in no order.
func flattened(t *testing.T, messages []replay.Message) (lines []string) {
	t.Helper()
	var array bytes.Buffer
	if err := replay.Write(&array, replay.OpenAI, replay.Origin{}, messages); err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Role    string
		Content *string
		Calls   []struct {
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(array.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.Content != nil {
			lines = append(lines, m.Role+"|"+squeezed(*m.Content))
		}
		for _, c := range m.Calls {
			lines = append(lines, "call|"+c.Function.Name+"|"+canonical([]byte(c.Function.Arguments)))
		}
	}
	slices.Sort(lines)
	return lines
}

// Every sample's context in the formats of one conversation a line: what is read back is
// the same context, and no result has lost its call.
func TestExchangeLinesLoseNothing(t *testing.T) {
	formats := []replay.Format{exchange.FormatChat, exchange.FormatResponses, exchange.FormatShareGPT}
	written := 0
	allLogs(t, func(path string, reader session.Scanner, log []byte) {
		messages, _, err := replay.Read(t.Context(), reader, opener(log))
		messages = replay.Repair(messages)
		if err != nil || len(messages) == 0 {
			return
		}
		want := flattened(t, messages)
		for _, format := range formats {
			var out bytes.Buffer
			if err := exchange.Write(&out, format, replay.Origin{}, messages); err != nil {
				t.Fatal(err)
			}
			back := readerFor("x.jsonl", out.Bytes())
			if back == nil || bytes.Count(out.Bytes(), []byte("\n")) != 1 {
				t.Errorf("%s: %s is read by %v: %.200s", path, format, back, out.Bytes())
				continue
			}
			read, _, err := replay.Read(t.Context(), back, opener(out.Bytes()))
			if d := diff.Diff(want, flattened(t, replay.Repair(read))); d != "" || err != nil {
				t.Errorf("%s: %s: %v (-context +read back)\n%.2000s", path, format, err, d)
			}
			written++
		}
	})
	t.Logf("%d contexts", written)
	if written < 60 {
		t.Errorf("only %d contexts", written)
	}
}
