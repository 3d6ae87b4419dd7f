package adapters_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/cline"
)

// editor is where the extensions of our sample keep their tasks.
var editor = filepath.Join("..", "..", "..", "testdata", "cline-tasks", ".config", "Code", "User", "globalStorage")

func taskScanned(log []byte) (all []string, scan session.Scan, err error) {
	scan, err = cline.OpenTasks("").Scan(context.Background(), bytes.NewReader(log), session.ScanOptions{}, func(m *session.Message) error {
		text := ""
		for _, p := range m.Parts {
			if p.Kind == session.PartToolCall {
				text += "[" + string(p.Name) + "]"
			} else {
				text += string(p.Text)
			}
		}
		all = append(all, strings.TrimSpace(fmt.Sprint(m.Role, " ", string(m.CallID), string(m.CustomType), " ", text)))
		return nil
	})
	return all, scan, err
}

// taskSaid is what the messages of a task say, by encoding/json.
func taskSaid(t *testing.T, log []byte) (all []string) {
	var messages []struct {
		Role, Type string
		IsSummary  bool
		Content    any
	}
	clineMust(t, json.Unmarshal(log, &messages))
	given := regexp.MustCompile(`^\[([a-z_]+).*\] Result:$`)
	for _, m := range messages {
		if m.Type != "" {
			continue
		}
		if m.IsSummary {
			m.Role = "summary"
		}
		said, tool, printed, around := "", "", "", ""
		if text, ok := m.Content.(string); ok {
			said = text
		}
		blocks, _ := m.Content.([]any)
		for _, b := range blocks {
			block := b.(map[string]any)
			text, _ := block["text"].(string)
			switch {
			case block["type"] == "tool_use":
				said += "[" + block["name"].(string) + "]"
			case block["type"] == "tool_result":
				all = append(all, fmt.Sprint("tool_result ", block["tool_use_id"], " ", block["content"]))
			case strings.HasPrefix(text, "<environment_details>"):
				around = text
			case given.MatchString(text):
				tool = given.FindStringSubmatch(text)[1]
			case m.Role == "user" && regexp.MustCompile(`^<(task|feedback|user_message)>`).MatchString(text):
				said += strings.Split(text, "\n")[1]
			case tool != "":
				printed += text
			default:
				said += text
			}
		}
		if tool != "" {
			all = append(all, strings.TrimSpace("injected tool "+tool+" "+printed))
		}
		if said != "" {
			all = append(all, m.Role+"  "+said)
		}
		if around != "" {
			all = append(all, "injected cline.environment "+around)
		}
	}
	return all
}

// An independent reader of tasks: encoding/json says the same.
func TestClineTasksLikeAnIndependentReader(t *testing.T) {
	logs, err := filepath.Glob(filepath.Join(editor, "*", "tasks", "*", "api_conversation_history.json"))
	clineMust(t, err)
	if len(logs) != 2 {
		t.Fatalf("samples: %v", logs)
	}
	for _, path := range logs {
		log, err := os.ReadFile(path)
		clineMust(t, err)
		got, scan, err := taskScanned(log)
		clineMust(t, err)
		if diff := cmp.Diff(taskSaid(t, log), got); diff != "" {
			t.Errorf("%s (-encoding/json +scan):\n%s", path, diff)
		}
		if len(scan.Unknown) > 0 || scan.Counts.Bad > 0 || scan.Counts.Torn {
			t.Errorf("%s: unknown %v, %+v", path, scan.Unknown, scan.Counts)
		}
		if f := session.Detect(path, log); f != session.FormatClineTask {
			t.Errorf("%s is taken for %s", path, f)
		}
	}
}

// Elements of any shape cost themselves, a task that was cut off is read as far as
// it goes.
func TestClineMalformedTasks(t *testing.T) {
	const whole = `{"role":"user","content":[{"type":"text","text":"<task>\nhere\n</task>"}]}`
	for name, c := range map[string]struct {
		element string
		bad     int
		want    []string
	}{
		"a number":             {`7`, 1, nil},
		"no role":              {`{"content":"x"}`, 1, nil},
		"a broken object":      {`{"role":"user" "content":"x"}`, 1, nil},
		"a list":               {`[{"role":"user","content":"x"}]`, 1, nil},
		"content is null":      {`{"role":"assistant","content":null}`, 0, []string{"assistant"}},
		"half a tag":           {`{"role":"user","content":"<task>x"}`, 0, []string{"user  <task>x"}},
		"a result of nothing":  {`{"role":"user","content":"[execute_command] Result:"}`, 0, []string{"injected tool execute_command"}},
		"a result with a call": {`{"role":"user","content":"[x for 'y'] Result: z"}`, 0, []string{"injected tool x z"}},
	} {
		got, scan, err := taskScanned([]byte("[" + whole + "," + c.element + "]"))
		if diff := cmp.Diff(append([]string{"user  here"}, c.want...), got); diff != "" || err != nil || scan.Counts.Bad != c.bad || scan.Counts.Torn {
			t.Errorf("%s: %v, %+v (-want +got):\n%s", name, err, scan.Counts, diff)
		}
	}
	log, err := os.ReadFile(filepath.Join(editor, "saoudrizwan.claude-dev", "tasks", "1772100000000", "api_conversation_history.json"))
	clineMust(t, err)
	all, _, err := taskScanned(log)
	clineMust(t, err)
	for cut := 1; cut < len(log)-1; cut += 97 {
		part, scan, _ := taskScanned(log[:cut])
		if !scan.Counts.Torn || len(part) > len(all) || !slices.Equal(part, all[:len(part)]) {
			t.Fatalf("cut at %d: torn %v, %d messages", cut, scan.Counts.Torn, len(part))
		}
	}
}

// The context is what the last call counted, and what was said since; after the
// context was condensed it is an estimate.
func TestClineTaskContext(t *testing.T) {
	for _, c := range []struct {
		id, extension, source string
		tokens                int64
		answered              bool
	}{
		{"1772100000000", "saoudrizwan.claude-dev", session.TokensFromUsage, 510 + 28 + 3300, true},
		{"0197d2aa-4c11-7d30-8b52-6a0f1e2d3c4b", "rooveterinaryinc.roo-cline", session.TokensFromEstimate, 45, true},
	} {
		store := cline.OpenTasks(filepath.Join(editor, c.extension))
		listing, err := store.List(t.Context())
		clineMust(t, err)
		got, err := store.Tail(t.Context(), listing.Refs[0])
		clineMust(t, err)
		if listing.Refs[0].ID != c.id || got.Tokens != c.tokens || got.TokenSource != c.source || got.Answered != c.answered {
			t.Errorf("%s: %+v", listing.Refs[0].ID, got)
		}
	}
}

// A directory of settings that is a link to a disk which is not mounted may hold
// tasks of every editor: who reads them says why they cannot be read. One that is
// not there holds none.
func TestTaskRootsBehindALink(t *testing.T) {
	home := t.TempDir()
	getenv := func(string) string { return "" }
	if roots := cline.TaskRoots(home, getenv); len(roots) != 0 {
		t.Errorf("in an empty home: %q", roots)
	}
	if err := os.Symlink(filepath.Join(home, "unmounted"), filepath.Join(home, ".config")); err != nil {
		t.Skip(err)
	}
	if roots := cline.TaskRoots(home, getenv); len(roots) != 15 { // three extensions in five editors
		t.Errorf("behind a link that leads nowhere: %q", roots)
	}
}
