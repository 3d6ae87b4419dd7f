package openclaw_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
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
	dir := shared(t, "_malformed/sessions-json")
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
	text, err := os.ReadFile(filepath.Join(shared(t, "_malformed/sessions-json"), "token-shapes.json"))
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
