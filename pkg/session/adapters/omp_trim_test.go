package adapters_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// ompRecord is an entry as encoding/json has it.
type ompRecord struct {
	Type, ID, FirstKeptEntryID, Summary, CustomType, Model string
	ParentID                                               *string
	Message                                                struct {
		Role, ToolName string
		Content        any
	}
}

func ompRecords(t testing.TB, log []byte) (all []ompRecord) {
	t.Helper()
	for line := range bytes.Lines(log) {
		var r ompRecord
		ompMust(t, json.Unmarshal(line, &r))
		if r.ID != "" && r.Type != "session" {
			all = append(all, r)
		}
	}
	return all
}

// sent is what oh-my-pi sends of a log, and how things stand there, in the order of
// its own source: the way from the last entry to the root, the last compaction, and
// what follows the first entry that it keeps.
func sent(t testing.TB, log []byte) (out []string) {
	all, byID := ompRecords(t, log), map[string]ompRecord{}
	for _, r := range all {
		byID[r.ID] = r
	}
	var path []ompRecord
	for at := &all[len(all)-1]; at != nil; {
		path = append(path, *at)
		var up *ompRecord
		if at.ParentID != nil {
			if r, ok := byID[*at.ParentID]; ok {
				up = &r
			}
		}
		at = up
	}
	slices.Reverse(path)
	state, squeezed, todo := map[string]string{}, -1, ""
	for i, r := range path {
		switch r.Type {
		case "compaction":
			squeezed = i
		case "model_change", "thinking_level_change", "mode_change":
			state[r.Type] = r.ID
		}
		if r.Message.ToolName == "todo" {
			todo = r.ID
		}
	}
	from, keep := 0, squeezed < 0
	if squeezed >= 0 {
		out = append(out, path[squeezed].Summary)
	}
	for i, r := range path[from:] {
		keep = keep || r.ID == path[max(squeezed, 0)].FirstKeptEntryID || i > squeezed
		if keep && r.Type == "message" {
			said, err := json.Marshal(r.Message)
			ompMust(t, err)
			out = append(out, string(said))
		}
	}
	return append(out, fmt.Sprint(state, todo))
}

func ompTrimmed(t testing.TB, log []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	ompMust(t, piformat.Trim(t.Context(), &out, bytes.NewReader(log), int64(len(log))))
	return out.Bytes()
}

// squeezed is a log whose messages up to the fourth were summed up, with what tells
// how things stood.
func squeezed(more ...string) []byte {
	entry := func(id, parent, rest string) string {
		return fmt.Sprintf(`{"type":%s,"id":"%s","parentId":"%s"}`, rest, id, parent)
	}
	said := func(id, parent, role, text string) string {
		return entry(id, parent, fmt.Sprintf(`"message","message":{"role":"%s","content":[{"type":"text","text":"%s"}]}`, role, text))
	}
	lines := []string{
		`{"type":"title","v":1,"title":"beds","updatedAt":"2026-05-04T08:00:00.000Z","pad":""}`,
		`{"type":"session","version":3,"id":"s","timestamp":"2026-05-04T08:00:00.000Z","cwd":"/home/lea/garden"}`,
		strings.Replace(entry("m", "", `"model_change","model":"mock/large"`), `"parentId":""`, `"parentId":null`, 1),
		said("1", "m", "user", "the first question"), said("2", "1", "assistant", "an answer"), said("3", "2", "user", "the second question"),
		entry("4", "3", `"message","message":{"role":"toolResult","toolName":"bash","toolCallId":"c","content":[{"type":"text","text":"`+strings.Repeat("sown ", 200)+`"}]}`),
		entry("5", "4", `"message","message":{"role":"toolResult","toolName":"todo","toolCallId":"d","content":[],"details":{"phases":[]}}`),
		entry("6", "5", `"custom","customType":"session_exit"`), entry("7", "6", `"custom","customType":"context_notes"`),
		said("8", "7", "user", "kept question"), said("9", "8", "assistant", "kept answer"),
		entry("c", "9", `"compaction","summary":"the beds","firstKeptEntryId":"8","tokensBefore":9`),
		said("a", "c", "user", "and now"),
	}
	return []byte(strings.Join(append(lines, more...), "\n") + "\n")
}

// What oh-my-pi sends, and how things stand, is the same before a trim and after it,
// of our log and of those that the program has written.
func TestOmpTrimKeepsWhatIsSent(t *testing.T) {
	logs := map[string][]byte{"ours": squeezed()}
	for _, path := range samples.Matching(t, "samples-newer/omp-*/stages/*.jsonl", "samples-newer/omp-*/.omp/agent/sessions/*/*.jsonl") {
		log, err := os.ReadFile(path)
		ompMust(t, err)
		logs[path] = log
	}
	for path, log := range logs {
		got := ompTrimmed(t, log)
		if diff := cmp.Diff(sent(t, log), sent(t, got)); diff != "" {
			t.Errorf("%s (-before +after)\n%s", path, diff)
		}
		if squeezed := bytes.Contains(log, []byte(`"type":"compaction"`)); squeezed == (len(got) == len(log)) {
			t.Errorf("%s: %d of %d bytes stay", path, len(got), len(log))
		}
		if again := ompTrimmed(t, got); !bytes.Equal(again, got) {
			t.Errorf("%s: a second trim leaves %d of %d bytes", path, len(again), len(got))
		}
		for line := range bytes.Lines(got) { // every line but for what it hangs on
			if from, _, _ := bytes.Cut(line, []byte(`"parentId"`)); !bytes.Contains(log, from) {
				t.Errorf("%s: not a line of before: %.100s", path, line)
			}
		}
	}
}

// Of what stands before the cut only what is named goes.
func TestOmpTrimLeavesWhatMayMatter(t *testing.T) {
	var left []string
	for _, r := range ompRecords(t, ompTrimmed(t, squeezed())) {
		parent := "null"
		if r.ParentID != nil {
			parent = *r.ParentID
		}
		left = append(left, r.ID+" on "+parent)
	}
	want := []string{"m on null", "1 on m", "5 on 1", "7 on 5", "8 on 7", "9 on 8", "c on 9", "a on c"}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("(-want +left)\n%s", diff)
	}
}

// A log that is not understood, or whose compaction was not compared, stays.
func TestOmpTrimRefuses(t *testing.T) {
	plain := string(squeezed())
	for name, log := range map[string]string{
		"a type of the future":          plain + `{"type":"dream","id":"x","parentId":"a"}` + "\n",
		"no JSON":                       plain + "what is this\n",
		"NULs":                          plain + "\x00\x00\n",
		"an id twice":                   plain + `{"type":"label","id":"9","parentId":"a"}` + "\n",
		"a parent that is nowhere":      plain + `{"type":"label","id":"x","parentId":"gone"}` + "\n",
		"no id":                         plain + `{"type":"label"}` + "\n",
		"another header":                plain + `{"type":"session","version":3,"id":"t"}` + "\n",
		"nothing kept":                  strings.Replace(plain, `"firstKeptEntryId":"8"`, `"firstKeptEntryId":"gone"`, 1),
		"kept from itself on":           strings.Replace(plain, `"firstKeptEntryId":"8"`, `"firstKeptEntryId":"c"`, 1),
		"kept from after it":            strings.Replace(plain, `"firstKeptEntryId":"8"`, `"firstKeptEntryId":"a"`, 1),
		"history of a provider":         strings.Replace(plain, `"tokensBefore"`, `"preserveData":{},"tokensBefore"`, 1),
		"replayed by a provider":        strings.Replace(plain, `"tokensBefore"`, `"providerReplayThroughEntryId":"4","tokensBefore"`, 1),
		"a compaction of another kind":  strings.Replace(plain, `"tokensBefore"`, `"details":{"kind":"experimental-context-rollover"},"tokensBefore"`, 1),
		"no change of the model":        strings.Replace(plain, `"model_change"`, `"label"`, 1),
		"an older version":              strings.Replace(plain, `"version":3`, `"version":2`, 1),
		"a header that does not come 1": `{"type":"label","id":"0","parentId":null}` + "\n" + plain,
	} {
		if err := piformat.Trim(t.Context(), &bytes.Buffer{}, strings.NewReader(log), int64(len(log))); !errors.Is(err, session.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A torn last line stays where it is.
	const torn = `{"type":"mess`
	if got := string(ompTrimmed(t, []byte(plain+torn))); got != string(ompTrimmed(t, []byte(plain)))+torn {
		t.Errorf("with a torn line %d bytes stay", len(got))
	}
	// One that went back to before its compaction has none: nothing goes.
	back := plain + `{"type":"message","id":"x","parentId":"2","message":{"role":"user","content":"another way"}}` + "\n"
	if got := string(ompTrimmed(t, []byte(back))); got != back {
		t.Errorf("%d of %d bytes stay", len(got), len(back))
	}
}
