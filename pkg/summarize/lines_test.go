package summarize_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// TestLines checks every item of every summary against the line of the log
// that it names, with encoding/json and not with our reader.
func TestLines(t *testing.T) {
	logs := []string{sample(t, coordinator), sample(t, workOrders), sample(t, "sessions/pi-v1.jsonl"), sample(t, "sessions/pi-v3-tree.jsonl")}
	for _, log := range append(logs, samples.Matching(t, "samples/pi/large-session.jsonl", "samples/real/pi/*.jsonl", "samples/real/openclaw-2026.7.1/*/*.jsonl")...) {
		checkLines(t, log, summarize.Options{})
		checkLines(t, log, summarize.Options{MaxRunes: 40_000, Focus: "test file"})
	}
}

// TestLargeSession: what a person would want to know of a real session of a
// thousand records is in its summary.
func TestLargeSession(t *testing.T) {
	logs := samples.Matching(t, "samples/pi/large-session.jsonl")
	if len(logs) == 0 {
		t.Skip("no ../shared/samples beside the module")
	}
	got := summarizeFile(t, logs[0], summarize.Options{})
	for _, want := range []string{
		"we still need to port over user-message-selector.ts",
		"- invalid themes must NEVER explode (line 856)",
		"- `packages/coding-agent/src/theme/dark.json` ×",
		"git push origin v0.8.0` ok (line 1005)",
		"- minor, this is a big change (asked: ", // and not an error of its beginning that is long over
	} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("missing %q in\n%s", want, got.Text)
		}
	}
}

func checkLines(t *testing.T, log string, o summarize.Options) {
	t.Helper()
	lines := spoken(t, log)
	s := summarizeFile(t, log, o)
	raw, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if messages := strings.Contains(string(raw), `"role":`); messages != (s.Text != "") {
		t.Errorf("%s: has messages is %v, has a summary is %v", log, messages, !messages)
	}
	for _, section := range s.Sections {
		for _, item := range section.Items {
			if item.Line < 1 || item.Line > len(lines) {
				t.Errorf("%s: %s: line %d of %d", log, item.Text, item.Line, len(lines))
				continue
			}
			if quote := quoteOf(section.Title, item.Text); !strings.Contains(lines[item.Line-1], quote) {
				t.Errorf("%s line %d does not hold %q (%s)", log, item.Line, quote, section.Title)
			}
		}
	}
}

// quoteOf returns what the log must hold in the line of an item: its words
// without ours.
func quoteOf(section, text string) string {
	for _, ours := range []string{"**User**: ", "**Agent**: ", "Not answered: ", "Asked last: "} {
		text = strings.TrimPrefix(text, ours)
	}
	text, _, _ = strings.Cut(text, summarize.Redacted)
	text, _, _ = strings.Cut(text, " → ")
	text, _, _ = strings.Cut(text, " (asked: ")
	switch {
	case strings.HasPrefix(section, "Files"), section == "Commands", section == "Errors", section == "Fixed", section == "Also in the log":
		text, _, _ = strings.Cut(text, ", worked later at line ")
		if (section == "Errors" || section == "Fixed") && !strings.Contains(text, ": `") {
			return "" // nothing was printed; the command stands in another line
		}
		text = lastCode(text)
	case strings.HasPrefix(section, "Earlier"):
		text = strings.Trim(text, "*")
	}
	text, _, _ = strings.Cut(text, "…")
	return text
}

// lastCode returns what the last code span of a text quotes.
func lastCode(text string) string {
	end := strings.LastIndex(text, "`")
	if end < 0 {
		return text
	}
	fence := "`"
	for strings.HasSuffix(text[:end+1-len(fence)], "`") {
		fence += "`"
	}
	body := text[:end+1-len(fence)]
	start := strings.LastIndex(body, fence)
	return strings.TrimSpace(body[start+len(fence):])
}

// spoken returns all strings of each line, with white space as a single space.
func spoken(t *testing.T, log string) []string {
	t.Helper()
	file, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var lines []string
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		var value any
		_ = json.Unmarshal(scanner.Bytes(), &value) // a damaged line says nothing
		lines = append(lines, strings.Join(strings.Fields(strings.Join(stringsOf(value), " ")), " "))
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

func stringsOf(value any) []string {
	var out []string
	switch v := value.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, inner := range v {
			out = append(out, stringsOf(inner)...)
		}
	case map[string]any:
		for _, inner := range v {
			out = append(out, stringsOf(inner)...)
		}
	}
	return out
}
