package openclaw_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
)

const fresh = "729cacf6-dad2-4c0e-8d2e-5f4422893833"

func editTime() time.Time { return time.UnixMilli(1795232784687) }

// Before and after, byte for byte. The "before" files hold what an encoder
// would spoil: escapes, large and odd numbers, repeated keys, tabs, CRLF.
func TestEditGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/rotation/*.before.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no testdata", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			after, err := os.ReadFile(strings.Replace(file, ".before.", ".after.", 1))
			if err != nil {
				t.Fatal(err)
			}
			got, err := openclaw.Edit(before, []string{"agent:desk:main", "agent:desk:cron:daily:run:1"}, fresh, editTime())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(after), string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// What is kept and what is not, by the names of research/formats.md section
// 4.2 and of a real entry.
func TestKept(t *testing.T) {
	yes := strings.Fields(`model modelProvider modelOverride providerOverride authProfileOverride authProfileOverrideSource
		thinkingLevel verboseLevel reasoningLevel elevatedLevel responseUsage sendPolicy queueMode queueDebounceMs queueCap queueDrop
		execHost execSecurity execAsk execNode ttsAuto label displayName origin deliveryContext lastChannel lastTo lastAccountId lastThreadId
		channel chatType groupId groupChannel subject space skillsSnapshot contextTokens spawnedBy spawnDepth spawnedWorkspaceDir
		subagentRole compactionCount compactionCheckpoints`)
	no := strings.Fields(`sessionId updatedAt sessionFile systemSent abortedLastRun inputTokens outputTokens totalTokens totalTokensFresh
		cacheRead cacheWrite memoryFlushAt memoryFlushCompactionCount status startedAt endedAt runtimeMs sessionStartedAt lastInteractionAt
		lastActivityAt estimatedCostUsd agentHarnessId systemPromptReport contextBudgetStatus cliSessionIds claudeCliSessionId usageFamilyKey
		queued executed last exec`)
	for _, name := range yes {
		if !openclaw.Kept(name) {
			t.Errorf("%s is lost", name)
		}
	}
	for _, name := range no {
		if openclaw.Kept(name) {
			t.Errorf("%s is kept", name)
		}
	}
}

func TestNewSessionID(t *testing.T) {
	pattern := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for range 100 {
		id := openclaw.NewSessionID()
		if !pattern.MatchString(id) || seen[id] {
			t.Fatal(id)
		}
		seen[id] = true
	}
}

// document is a random index as text, with what a test needs to know of it.
type document struct {
	text  string
	keys  []string // of objects
	named []string // to be rotated
}

var (
	spaces = []string{"", " ", "\n  ", "\r\n\t", "\n"}
	names  = []string{"sessionId", "updatedAt", "sessionFile", "label", "model", "modelOverride", "lastTo", "lastInteractionAt",
		"queueMode", "status", "compactionCheckpoints", "totalTokens", "Label", "k\\u0065y", "label\\u0000", "x y", "", "lab\\u0065l"}
	values = []string{`"a"`, `"<&>\u003c\ud83d"`, `12345678901234567890123`, `1.0`, `-0`, `1e400`, `null`, `true`, `{}`, `[ ]`,
		`{"a":[1, {"b":"}"}], "a":2}`, `"\"}{\\"`, `"` + "\u2028é" + `"`, `[[],"]"]`, "{\n    \"x\" : 1\n  }"}
)

func drawDocument(t *rapid.T) document {
	space := func() string { return rapid.SampledFrom(spaces).Draw(t, "space") }
	var d document
	var text strings.Builder
	text.WriteString(space() + "{")
	count := rapid.IntRange(0, 6).Draw(t, "entries")
	for i := range count {
		key := fmt.Sprintf("agent:a:%d", i)
		if i > 0 {
			text.WriteString(",")
		}
		value, object := drawEntry(t, space)
		fmt.Fprintf(&text, "%s%q%s:%s%s%s", space(), key, space(), space(), value, space())
		if object {
			d.keys = append(d.keys, key)
		}
	}
	text.WriteString("}" + space())
	d.text = text.String()
	for _, key := range d.keys {
		if rapid.Bool().Draw(t, "rotate "+key) {
			d.named = append(d.named, key)
		}
	}
	return d
}

func drawEntry(t *rapid.T, space func() string) (text string, object bool) {
	if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
		return rapid.SampledFrom([]string{"null", `"x"`, "[1]", "7"}).Draw(t, "odd value"), false
	}
	var b strings.Builder
	b.WriteString("{")
	for i := range rapid.IntRange(0, 6).Draw(t, "fields") {
		if i > 0 {
			b.WriteString(",")
		}
		name, value := rapid.SampledFrom(names).Draw(t, "name"), rapid.SampledFrom(values).Draw(t, "value")
		fmt.Fprintf(&b, `%s"%s"%s:%s%s%s`, space(), name, space(), space(), value, space())
	}
	b.WriteString(space() + "}")
	return b.String(), true
}

// For any index: only the named entries change, every byte outside of their
// values stays, and a named entry says what the rule says, with kept values
// untouched byte for byte.
func TestEditChangesOnlyWhatIsNamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDocument(t)
		edited, err := openclaw.Edit([]byte(d.text), d.named, fresh, editTime())
		if err != nil {
			t.Fatalf("%v\n%s", err, d.text)
		}
		var before, after map[string]json.RawMessage
		if err := json.Unmarshal([]byte(d.text), &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(edited, &after); err != nil {
			t.Fatalf("%v\n%s", err, edited)
		}
		back := edited
		for key, old := range before {
			now := after[key]
			if !slices.Contains(d.named, key) {
				if !bytes.Equal(old, now) {
					t.Fatalf("%s was changed: %s to %s", key, old, now)
				}
				continue
			}
			checkEntry(t, old, now)
			back = putBack(t, back, key, now, old)
		}
		if string(back) != d.text {
			t.Fatalf("bytes outside of the entries changed:\n%q\n%q", d.text, back)
		}
	})
}

// putBack replaces the value of one key by its old text.
func putBack(t *rapid.T, text []byte, key string, now, old json.RawMessage) []byte {
	name := []byte(fmt.Sprintf("%q", key))
	at := bytes.Index(text, name)
	if at < 0 {
		t.Fatalf("%s is gone: %s", key, text)
	}
	head, rest := text[:at+len(name)], text[at+len(name):]
	return slices.Concat(head, bytes.Replace(rest, now, old, 1))
}

func checkEntry(t *rapid.T, old, now json.RawMessage) {
	var was, is map[string]json.RawMessage
	if err := json.Unmarshal(old, &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(now, &is); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"sessionId": `"` + fresh + `"`, "updatedAt": "1795232784687", "systemSent": "false", "abortedLastRun": "false",
		"inputTokens": "0", "outputTokens": "0", "totalTokens": "0", "totalTokensFresh": "true",
	}
	for name, value := range was {
		if openclaw.Kept(name) {
			want[name] = string(value)
		}
	}
	got := map[string]string{}
	for name, value := range is {
		got[name] = string(value)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s became %s:\n%s", old, now, diff)
	}
}

// The entries are read as encoding/json reads them.
func TestEntriesAgainstEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDocument(t)
		got, err := openclaw.Entries([]byte(d.text))
		if err != nil {
			t.Fatalf("%v\n%s", err, d.text)
		}
		var raw map[string]json.RawMessage
		if err := json.Unmarshal([]byte(d.text), &raw); err != nil {
			t.Fatal(err)
		}
		want := map[string][2]string{}
		for key, value := range raw {
			var fields map[string]json.RawMessage
			json.Unmarshal(value, &fields)
			var id string
			if json.Unmarshal(fields["sessionId"], &id) != nil || !session.SafeID(id) {
				id = ""
			}
			want[key] = [2]string{id, string(fields["updatedAt"])}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n%s", d.text, diff)
		}
	})
}
