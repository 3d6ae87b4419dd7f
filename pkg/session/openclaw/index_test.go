package openclaw_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
	"pgregory.net/rapid"
)

// An index that the runtime could not read either leaves the transcripts
// readable and every one of them unchangeable.
func TestUnreadableIndex(t *testing.T) {
	for name, text := range map[string]string{
		"zero bytes": "", "blank": " \n", "truncated": `{"k": {"sessionId": "a"`, "array": `[{"sessionId":"a"}]`,
		"comments": "{\n// by hand\n\"k\": {\"sessionId\": \"a\"},\n}", "trailing comma": `{"k":{"sessionId":"a"},}`,
		"two documents": `{} {}`, "number": "1", "NUL": "\x00\x00", "not JSON": "sessions",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newState(t)
			s.log("a.jsonl", transcript("a"))
			s.index(text)
			ref := s.ref("a.jsonl")
			if ref.Kind != session.KindOrphan || ref.State != session.StateUnsupported || ref.Reason != "sessions.json cannot be read" || ref.Primary || ref.Key != "" {
				t.Errorf("%+v", ref)
			}
			s.noticed("sessions.json", "sessions.json cannot be read: it is ")
			_, err := s.PlanRotation(context.Background(), ref, s.snapshot(ref), time.Now())
			if !errors.Is(err, session.ErrUnsupported) {
				t.Errorf("PlanRotation: %v", err)
			}
			if got := s.read("sessions.json"); got != text {
				t.Errorf("the index is %q", got)
			}
		})
	}
}

// What listing does not look at may be no JSON; then nothing is changed.
func TestIndexThatOnlyLooksRight(t *testing.T) {
	s := newState(t)
	s.log("a.jsonl", transcript("a"))
	s.index("{\"agent:coordinator:main\":{\"sessionId\":\"a\",\"note\":\"a\nb\"}}")
	ref := s.ref("a.jsonl")
	if _, err := s.PlanRotation(context.Background(), ref, s.snapshot(ref), time.Now()); !errors.Is(err, session.ErrUnsupported) {
		t.Error(err)
	}
	s.index(`{"agent:coordinator:main":{"sessionId":"a"}}`)
	r := s.plan(ref)
	s.index("{\"agent:coordinator:main\":{\"sessionId\":\"a\",\"note\":\"a\nb\"}}")
	before := s.tree()
	wantBusy(t, s.rotate(r), "sessions.json cannot be read")
	wantTree(t, before, s.tree())
}

// With a byte order mark the keys can be read, but the runtime sees an empty
// index: nothing is changed.
func TestIndexWithByteOrderMark(t *testing.T) {
	s := newState(t)
	s.log("a.jsonl", transcript("a"))
	s.index("\xEF\xBB\xBF" + `{"agent:coordinator:main":{"sessionId":"a"}}`)
	ref := s.ref("a.jsonl")
	if ref.Key != mainKey || !ref.Primary || ref.State != session.StateUnsupported {
		t.Errorf("%+v", ref)
	}
	s.noticed("sessions.json", "byte order mark")
	if _, err := s.PlanRotation(context.Background(), ref, s.snapshot(ref), time.Now()); !errors.Is(err, session.ErrUnsupported) {
		t.Error(err)
	}
}

func TestMissingIndex(t *testing.T) {
	s := newState(t)
	s.log("a.jsonl", transcript("a"))
	if ref := s.ref("a.jsonl"); ref.Kind != session.KindOrphan || ref.State != session.StateUnsupported {
		t.Errorf("%+v", ref)
	}
	s.noticed("sessions.json", "there is none")
}

// Odd entries are skipped one by one; those beside them count.
func TestOddEntries(t *testing.T) {
	s := newState(t)
	s.log("a.jsonl", transcript("a"))
	s.index(`{"null":null,"text":"x","list":[1],"none":{"updatedAt":1},"number":{"sessionId":12345},"empty":{"sessionId":""},
"path":{"sessionId":"../../../../etc/passwd"},"agent:coordinator:main":{"sessionId":"a"}}`)
	if ref := s.ref("a.jsonl"); !ref.Primary || ref.State != session.StateIdle {
		t.Errorf("%+v", ref)
	}
	if notices := s.list().Notices; len(notices) != 7 {
		t.Errorf("%d notices: %+v", len(notices), notices)
	}
}

// An index that is being written is read again, three times.
func TestIndexIsReadAgain(t *testing.T) {
	for _, needed := range []int{1, 3, 4} {
		s := newMain(t)
		whole := s.read("sessions.json")
		s.index("")
		waited := 0
		s.SetPause(func() {
			if waited++; waited == needed {
				s.index(whole)
			}
		})
		ref := s.ref(mainID + ".jsonl")
		if ref.Primary != (needed <= 3) || waited != min(needed, 3) {
			t.Errorf("whole after %d: waited %d times, %+v", needed, waited, ref)
		}
	}
}

func TestListCancelled(t *testing.T) {
	s := newMain(t)
	s.index("")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.List(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The malformed indexes among the samples, each with its manifest's outcome.
func TestSampleIndexes(t *testing.T) {
	dir := samples.Beside(t, "samples/_malformed/sessions-json")
	const id = "33333333-3333-4333-8333-333333333333"
	for name, want := range map[string]struct {
		state session.State
		key   string
	}{
		"zero-bytes.json":       {session.StateUnsupported, ""},
		"truncated.json":        {session.StateUnsupported, ""},
		"array.json":            {session.StateUnsupported, ""},
		"jsonc.json":            {session.StateUnsupported, ""},
		"bom.json":              {session.StateUnsupported, "agent:main:main"},
		"odd-entries.json":      {session.StateIdle, "agent:main:main"},
		"dup-key.json":          {session.StateIdle, "agent:main:main"},
		"same-id-two-keys.json": {session.StateIdle, "agent:main:cron:x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			s := newState(t)
			sessions := filepath.Join(s.root, "agents", "main", "sessions")
			s.write(filepath.Join(sessions, id+".jsonl"), transcript(id))
			s.write(filepath.Join(sessions, "sessions.json"), string(text))
			ref := s.ref(id + ".jsonl")
			if ref.State != want.state || ref.Key != want.key {
				t.Fatalf("%+v", ref)
			}
			if want.state == session.StateIdle {
				s.mustRotate(s.plan(ref))
				return
			}
			if _, err := s.PlanRotation(context.Background(), ref, s.snapshot(ref), time.Now()); !errors.Is(err, session.ErrUnsupported) {
				t.Error(err)
			}
		})
	}
}

// Of the sample's counters only k0 is one to trust.
func TestSampleCounters(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(samples.Beside(t, "samples/_malformed/sessions-json"), "token-shapes.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := newState(t)
	for i := range 9 {
		s.log("33333333-3333-4333-8333-00000000000"+string(rune('0'+i))+".jsonl", transcript("x"))
	}
	s.index(string(text))
	for _, ref := range s.list().Refs {
		if fresh := ref.Key == "k0"; ref.Counter.Fresh != fresh || fresh && ref.Counter.Tokens != 170000 || ref.Counter.Tokens > 170000 {
			t.Errorf("%s: %+v", ref.Key, ref.Counter)
		}
	}
}

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

// What is kept and what is not, by the names of docs/dev/formats.md, "openclaw", and
// of a real entry.
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
