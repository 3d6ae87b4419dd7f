package adapters_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/cline"
)

// compactedTo is what a compaction says beside its messages.
type compactedTo map[string]any

// used reports whether the compaction beside a session is what comes first of its
// context.
func used(t *testing.T, log []byte, head compactedTo) bool {
	t.Helper()
	dir := t.TempDir()
	document := maps.Clone(head)
	for name, value := range (compactedTo{"version": 1, "updated_at": "2026-03-01T10:01:30.000Z", "messages": []any{map[string]any{"id": "sum", "role": "user", "content": "sum"}}}) {
		if _, there := document[name]; !there {
			document[name] = value
		}
	}
	raw, err := json.Marshal(document)
	clineMust(t, err)
	clineMust(t, os.WriteFile(filepath.Join(dir, "s.messages.json"), log, 0o600))
	clineMust(t, os.WriteFile(filepath.Join(dir, "s.compaction.json"), raw, 0o600))
	first := ""
	_, err = cline.Open("").ScanContext(t.Context(), session.Ref{Path: filepath.Join(dir, "s.messages.json")}, bytes.NewReader(log), session.ScanOptions{}, func(m *session.Message) error {
		if first == "" {
			first = string(m.ID)
		}
		return nil
	})
	clineMust(t, err)
	return first == "sum"
}

// The hashes were made by Cline's own code, of messages in which everything is odd
// that its hash has to do with: what a person typed in tags, halves of characters,
// names that are numbers and names that come twice, numbers of every size.
func TestCompactionLikeCline(t *testing.T) {
	log, err := os.ReadFile(filepath.Join("testdata", "cline", "odd.messages.json"))
	clineMust(t, err)
	raw, err := os.ReadFile(filepath.Join("testdata", "cline", "odd.prefixes.json"))
	clineMust(t, err)
	var heads []compactedTo
	clineMust(t, json.Unmarshal(raw, &heads))
	if len(heads) < 8 {
		t.Fatal("too few")
	}
	for i, head := range heads {
		if !used(t, log, head) {
			t.Errorf("not used: %v", head)
		}
		// the hash decides, whatever the last message is
		other := maps.Clone(head)
		other["source_prefix_hash"] = heads[(i+1)%len(heads)]["source_prefix_hash"]
		if used(t, log, other) {
			t.Errorf("used with another hash: %v", other)
		}
		// a compaction of a version without hashes names its last message
		delete(other, "source_prefix_hash")
		if _, named := other["source_last_message_key"]; !named {
			other["source_last_message_key"] = "id:u1"
			if used(t, log, other) {
				t.Error("used without a message that it stands for")
			}
		} else if !used(t, log, other) {
			t.Errorf("not used by its last message: %v", other)
		}
	}
	changed := bytes.Replace(log, []byte("Fire the kiln"), []byte("Fire the kilm"), 1)
	if used(t, changed, heads[2]) || !used(t, changed, heads[0]) {
		t.Error("a changed message")
	}
	if last := heads[len(heads)-1]; used(t, bytes.Replace(log, []byte(`"a notice","metadata":{"displayOnly":true`), []byte(`"a notice","metadata":{"displayOnly":1`), 1), last) {
		t.Error("a message that is sent after all")
	}
}

// What Cline does not take for a compaction of the session is not shown as one.
func TestCompactionThatClineDiscards(t *testing.T) {
	log := []byte(`{"messages":[{"id":"a","role":"user","content":"one"},{"id":"b","role":"assistant","content":"two"}]}`)
	good := compactedTo{"source_message_count": 2, "source_last_message_key": "id:b"}
	for name, set := range map[string]compactedTo{
		"another version": {"version": 2}, "no version": {"version": nil}, "no time": {"updated_at": "yesterday"},
		"a time elsewhere": {"updated_at": "2026-03-01T10:01:30+02:00"}, "another session": {"conversation_id": "other"},
		"an empty hash": {"source_prefix_hash": ""}, "less than nothing": {"source_message_count": -1}, "half a message": {"source_message_count": 1.5},
		"no messages": {"messages": nil}, "a message of nobody": {"messages": []any{map[string]any{"role": "system", "content": "x"}}},
		"a message without content": {"messages": []any{map[string]any{"role": "user"}}}, "more than there are": {"source_message_count": 3},
	} {
		head := maps.Clone(good)
		maps.Copy(head, set)
		if used(t, log, head) {
			t.Errorf("%s: used", name)
		}
	}
	for name, text := range map[string]string{"one that is no object": `"x"`, "one of a role with a colon": `{"role":"us:er","content":"x"}`, "one without content": `{"role":"user"}`} {
		if used(t, []byte(strings.Replace(string(log), `{"id":"b"`, text+`,{"id":"b"`, 1)), compactedTo{"source_message_count": 3, "source_last_message_key": "id:b"}) {
			t.Errorf("%s: used", name)
		}
	}
	head := maps.Clone(good)
	head["conversation_id"] = "s"
	if !used(t, log, good) || !used(t, log, head) {
		t.Error("not used")
	}
}
