package adapters_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/droid"
)

// readOnly is a runtime whose logs are only read (package readonly): its fixture, the
// samples beside the repository, and a reader of its logs that shares no code with it.
type readOnly struct {
	open   func(root string) session.Store
	format session.Format
	root   string // of the store in the fixture and in the samples
	sample string // where the samples are, below samples-unread
	listed []string
	said   func(t *testing.T, line map[string]any) []string
}

func readOnlys() map[string]readOnly {
	return map[string]readOnly{
		"droid": {
			open: func(root string) session.Store { return droid.Open(root) }, format: session.FormatDroid,
			root: ".factory", sample: "droid", said: droidSaid,
			listed: []string{
				"home-lea-smithy 7d1c0a52-6b0e-4c55-9a3e-2f4b8d6e1a01 live true",
				"home-lea-smithy 7d1c0a52-6b0e-4c55-9a3e-2f4b8d6e1a02 subagent false 7d1c0a52-6b0e-4c55-9a3e-2f4b8d6e1a01",
			},
		},
	}
}

// readOnlyScanned is what is said in a log, a line for each message.
func readOnlyScanned(t *testing.T, store session.Store, log []byte) (all []string, scan session.Scan, err error) {
	scan, err = store.Scan(t.Context(), bytes.NewReader(log), session.ScanOptions{Thinking: true}, func(m *session.Message) error {
		line := fmt.Sprint(m.Role, " ", string(m.CallID), " ", m.IsError, " ", m.Compaction, " ")
		for _, p := range m.Parts {
			switch p.Kind {
			case session.PartToolCall:
				line += "[" + string(p.Name) + " " + string(p.CallID) + " " + compact(p.Text) + "]"
			case session.PartThinking:
				line += "(" + string(p.Text) + ")"
			default:
				line += string(p.Text)
			}
		}
		all = append(all, strings.TrimSpace(line))
		return nil
	})
	return all, scan, err
}

func compact(raw []byte) string {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return string(raw)
	}
	again, _ := json.Marshal(value)
	return string(again)
}

// heard is a line as readOnlyScanned makes it.
func heard(role, call string, failed, compaction bool, text string) string {
	return strings.TrimSpace(fmt.Sprint(role, " ", call, " ", failed, " ", compaction, " ", text))
}

// at is the value at a path of a document, "" if it is no string.
func at(x any, path ...string) string {
	for _, name := range path {
		x = x.(map[string]any)[name]
		if x == nil {
			return ""
		}
	}
	text, _ := x.(string)
	return text
}

// TestReadOnlyLikeAnIndependentReader: encoding/json says the same of the fixtures, and
// of the samples that real programs wrote.
func TestReadOnlyLikeAnIndependentReader(t *testing.T) {
	for name, r := range readOnlys() {
		compared := 0
		for _, home := range []string{filepath.Join("..", "..", "..", "testdata", name), filepath.Join("..", "..", "..", "..", "shared", "samples-unread", r.sample, "home")} {
			root := filepath.Join(home, filepath.FromSlash(r.root))
			if _, err := os.Stat(root); err != nil {
				continue
			}
			listing, err := r.open(root).List(t.Context())
			cursorMust(t, err)
			var listed []string
			for _, ref := range listing.Refs {
				listed = append(listed, strings.TrimSpace(fmt.Sprint(ref.Agent, " ", ref.ID, " ", ref.Kind, " ", ref.Primary, " ", ref.Parent)))
				r.compare(t, ref)
				compared++
			}
			if diff := cmp.Diff(r.listed, listed); diff != "" && home == filepath.Join("..", "..", "..", "testdata", name) {
				t.Errorf("%s (-want +listed):\n%s", name, diff)
			}
		}
		if compared == 0 {
			t.Errorf("%s: no log was compared", name)
		}
	}
}

func (r *readOnly) compare(t *testing.T, ref session.Ref) {
	log, err := os.ReadFile(ref.Path)
	cursorMust(t, err)
	var want []string
	for line := range bytes.Lines(log) {
		var x map[string]any
		cursorMust(t, json.Unmarshal(line, &x))
		want = append(want, r.said(t, x)...)
	}
	got, scan, err := readOnlyScanned(t, r.open(""), log)
	if diff := cmp.Diff(want, got); diff != "" || err != nil || len(scan.Unknown) > 0 || scan.Counts.Bad > 0 {
		t.Errorf("%s: %v, unknown %v (-encoding/json +scan):\n%s", ref.Path, err, scan.Unknown, diff)
	}
	if f := session.Detect(ref.Path, log); f != r.format {
		t.Errorf("%s is taken for %s", ref.Path, f)
	}
}

// blocksSaid is what the content of a message says, and the results in it.
func blocksSaid(content any) (text string, results []string) {
	if plain, ok := content.(string); ok {
		return plain, nil
	}
	for _, b := range content.([]any) {
		switch at(b, "type") {
		case "text":
			text += at(b, "text")
		case "thinking":
			text += "(" + at(b, "thinking") + ")"
		case "tool_use":
			input, _ := json.Marshal(b.(map[string]any)["input"])
			text += "[" + at(b, "name") + " " + at(b, "id") + " " + string(input) + "]"
		case "tool_result":
			said, _ := blocksSaid(b.(map[string]any)["content"])
			failed, _ := b.(map[string]any)["is_error"].(bool)
			results = append(results, heard("tool_result", at(b, "tool_use_id"), failed, false, said))
		}
	}
	return text, results
}

func droidSaid(_ *testing.T, x map[string]any) []string {
	switch at(x, "type") {
	case "compaction_state":
		return []string{heard("summary", "", false, true, at(x, "summaryText"))}
	case "message":
		role := at(x, "message", "role")
		if at(x, "message", "visibility") == "llm_only" {
			role = "injected"
		}
		text, results := blocksSaid(x["message"].(map[string]any)["content"])
		if text != "" || len(results) == 0 {
			results = append(results, heard(role, "", false, false, text))
		}
		return results
	}
	return nil
}

// TestReadOnlyMalformed: lines of any shape cost themselves, and what is not known is
// counted.
func TestReadOnlyMalformed(t *testing.T) {
	type c struct {
		line         string
		bad, unknown int
		want         []string
	}
	for name, x := range map[string]struct {
		first string
		lines map[string]c
	}{
		"droid": {`{"type":"message","message":{"role":"user","content":"here"}}`, map[string]c{
			"no object":        {`"text"`, 1, 0, nil},
			"broken":           {`{"type":"message" "message":{}}`, 1, 0, nil},
			"cut off":          {`{"type":"message","message":{"content":[{"ty`, 1, 0, nil},
			"an unknown type":  {`{"type":"weather"}`, 0, 1, nil},
			"content is odd":   {`{"type":"message","message":{"role":"assistant","content":[7,null,{"type":7}]}}`, 0, 0, nil},
			"a message is odd": {`{"type":"message","message":[]}`, 0, 0, nil},
			"no content":       {`{"type":"message","message":{"role":"assistant"}}`, 0, 0, nil},
			"an unknown role":  {`{"type":"message","message":{"role":"smith","content":"x"}}`, 0, 1, []string{"injected  false false x"}},
			"an unknown block": {`{"type":"message","message":{"role":"assistant","content":[{"type":"hologram","text":"x"}]}}`, 0, 1, []string{"assistant  false false x"}},
			"an odd result":    {`{"type":"message","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":{"n":1}}]}}`, 0, 0, []string{`tool_result c false false {"n":1}`}},
			"no result":        {`{"type":"message","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c"}]}}`, 0, 0, []string{`tool_result c false false`}},
			"an odd summary":   {`{"type":"compaction_state","summaryText":[1]}`, 0, 0, []string{"summary  false true"}},
		}},
	} {
		r := readOnlys()[name]
		for what, c := range x.lines {
			got, scan, err := readOnlyScanned(t, r.open(""), []byte(x.first+"\n"+c.line+"\n"))
			if diff := cmp.Diff(append([]string{"user  false false here"}, c.want...), got); diff != "" || err != nil || scan.Counts.Bad != c.bad || len(scan.Unknown) != c.unknown {
				t.Errorf("%s, %s: %v, bad %d, unknown %v (-want +got):\n%s", name, what, err, scan.Counts.Bad, scan.Unknown, diff)
			}
		}
	}
}
