package corpus

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

// shape is what the figures of docs/dev/decisions.md D24 are about.
type shape struct {
	lines    []int
	text     int
	slashes  int
	messages int
	tokens   int64
}

func shapeOf(t *testing.T, log []byte) shape {
	t.Helper()
	s := shape{slashes: bytes.Count(log, []byte{'\\'})}
	if !utf8.Valid(log) {
		t.Error("the log is not UTF-8")
	}
	for line := range bytes.Lines(log) {
		var record struct {
			Type    string
			Message struct {
				Content []struct{ Type, Text string }
				Usage   struct{ TotalTokens int64 }
			}
		}
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatalf("line %d: %v", len(s.lines)+1, err)
		}
		s.lines = append(s.lines, len(line))
		if record.Type == "message" {
			s.messages++
		}
		for _, block := range record.Message.Content {
			s.text += len(block.Text)
		}
		if n := record.Message.Usage.TotalTokens; n > 0 {
			s.tokens = n
		}
	}
	slices.Sort(s.lines)
	return s
}

func TestLogHasTheShapeOfRealOnes(t *testing.T) {
	var out bytes.Buffer
	log, err := writeLog(&out, 7, 8<<20)
	if err != nil {
		t.Fatal(err)
	}
	text := out.Bytes()
	s := shapeOf(t, text)
	if got := (Log{Bytes: int64(len(text)), Lines: len(s.lines), Messages: s.messages, Tokens: s.tokens}); got != log {
		t.Errorf("log says %+v, its lines %+v", log, got)
	}
	perSlash := float64(len(text)) / float64(s.slashes)
	share := float64(s.text) / float64(len(text))
	median, longest := s.lines[len(s.lines)/2], s.lines[len(s.lines)-1]
	ratio := float64(len(text)) / float64(compressed(t, text))
	t.Logf("text %.1f %%, %.1f bytes a backslash, median line %d, longest %d, zstd %.2f, %d messages", 100*share, perSlash, median, longest, ratio, s.messages)
	between(t, "share of text", share, 0.33, 0.40)
	between(t, "bytes a backslash", perSlash, 15, 19)
	between(t, "median line", float64(median), 600, 1100)
	between(t, "longest line", float64(longest), 90_000, 150_000)
	between(t, "zstd ratio", ratio, 5, 8)
}

func between(t *testing.T, what string, got, low, high float64) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s is %.2f, want %.2f to %.2f", what, got, low, high)
	}
}

// TestLogsDoNotCompressAgainstEachOther: two logs together are as large as
// apart, or archives of many would look better than they are.
func TestLogsDoNotCompressAgainstEachOther(t *testing.T) {
	var a, b bytes.Buffer
	for seed, out := range []*bytes.Buffer{&a, &b} {
		if _, err := writeLog(out, uint64(seed), 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	apart := compressed(t, a.Bytes()) + compressed(t, b.Bytes())
	together := compressed(t, append(a.Bytes(), b.Bytes()...))
	between(t, "together / apart", float64(together)/float64(apart), 0.97, 1.03)
}

func compressed(t *testing.T, text []byte) int {
	t.Helper()
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	return len(e.EncodeAll(text, nil))
}

func TestMakeIsTheSameEveryTime(t *testing.T) {
	spec := Spec{Name: "test", Files: 5, Bytes: 200_000, Spread: true}
	first, err := Make(t.TempDir(), spec)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	second, err := Make(dir, spec)
	if err != nil {
		t.Fatal(err)
	}
	for i := range first.Logs {
		a, errA := os.ReadFile(first.Logs[i].Path)
		b, errB := os.ReadFile(second.Logs[i].Path)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("log %d differs (%v, %v)", i, errA, errB)
		}
	}
	again, err := Make(dir, spec)
	if err != nil || !slices.Equal(again.Logs, second.Logs) {
		t.Errorf("the second Make of a directory: %v, want what the first wrote", err)
	}
}

func TestOneLine(t *testing.T) {
	var out bytes.Buffer
	log, err := writeOneLine(&out, 1, 3<<20)
	if err != nil {
		t.Fatal(err)
	}
	s := shapeOf(t, out.Bytes())
	if got := (Log{Bytes: int64(out.Len()), Lines: len(s.lines), Messages: s.messages, Tokens: s.tokens}); got != log {
		t.Errorf("log says %+v, its lines %+v", log, got)
	}
	between(t, "longest line", float64(s.lines[len(s.lines)-1]), 3<<20, 3<<20+200_000)
}

// A log that the machine lost when it stopped is written again.
func TestMakeMendsWhatIsNotWhole(t *testing.T) {
	dir, spec := t.TempDir(), Spec{Name: "mended", Files: 2, Bytes: 200_000}
	first, err := Make(dir, spec)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(first.Logs[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(first.Logs[0].Path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Make(dir, spec); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(first.Logs[0].Path); err != nil || string(got) != string(want) {
		t.Fatalf("%d bytes, want %d (%v)", len(got), len(want), err)
	}
}

// A log of real text is whole, the same every time, and has what tools print.
func TestRealText(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("no source code of Go")
	}
	code := filepath.Join(strings.TrimSpace(string(root)), "src", "net")
	text, err := readSources(Sources{Talk: filepath.Join("..", "recall", "summaries"), Code: []string{code}})
	if err != nil {
		t.Fatal(err)
	}
	var out, again bytes.Buffer
	log, err := text.writeReal(&out, 5, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := text.writeReal(&again, 5, 1<<20); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Errorf("another log for the same seed (%v)", err)
	}
	s := shapeOf(t, out.Bytes())
	if got := (Log{Bytes: int64(out.Len()), Lines: len(s.lines), Messages: s.messages, Tokens: s.tokens}); got != log {
		t.Errorf("log says %+v, its lines %+v", log, got)
	}
	between(t, "share of text", float64(s.text)/float64(out.Len()), 0.45, 0.70)
	for _, want := range []string{": ", "_TOKEN=", "level=info", "func "} {
		if !bytes.Contains(out.Bytes(), []byte(want)) {
			t.Errorf("no %q in the log", want)
		}
	}
}

// A chat is short messages of one vocabulary, and no tools.
func TestChat(t *testing.T) {
	var out bytes.Buffer
	log, err := writeChat(&out, 1, 50_000)
	if err != nil {
		t.Fatal(err)
	}
	s := shapeOf(t, out.Bytes())
	if s.messages != log.Messages || s.messages+1 != len(s.lines) || log.Bytes != int64(out.Len()) {
		t.Errorf("log says %+v; %d messages in %d lines", log, s.messages, len(s.lines))
	}
	between(t, "bytes a line", float64(log.Bytes)/float64(log.Lines), 300, 600)
	if bytes.Contains(out.Bytes(), []byte("toolCall")) {
		t.Error("somebody calls a tool")
	}
}
