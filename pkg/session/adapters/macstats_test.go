package adapters_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/macstats"
)

const (
	name          = "session-memory-1475112233445566778-20260214-093015-how-warm-is-it.md"
	macstatsTalk  = "## User\n\nhow warm is it?\n\n## Assistant\n\n21 °C.\n\n## User\n\nand tomorrow?\n\n## Assistant\n\n19 °C.\n\n"
	macstatsShort = "## Assistant\n\nSummary of the conversation so far:\n\nThe user asked for the weather.\n\n"
)

// macstatsStore is a ~/.mac-stats of the test's own.
type macstatsStore struct {
	t   *testing.T
	dir string
	*macstats.Store
}

func newMacstatsStore(t *testing.T) macstatsStore {
	dir := t.TempDir()
	return macstatsStore{t, dir, macstats.Open(dir, macstats.Options{})}
}

func (s macstatsStore) write(file, text string, age time.Duration) string {
	s.t.Helper()
	path := filepath.Join(s.dir, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(path, at, at); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func (s macstatsStore) want(path, text string) {
	s.t.Helper()
	got, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		got, err = []byte("nothing"), nil
	}
	if err != nil {
		s.t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(got)); diff != "" {
		s.t.Fatalf("%s (-want +got):\n%s", path, diff)
	}
}

func (s macstatsStore) plan(path string, lessons ...string) session.Shortening {
	s.t.Helper()
	f, err := os.Open(path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	snap, err := session.TakeSnapshot(s.t.Context(), f, path)
	if err != nil {
		s.t.Fatal(err)
	}
	l, err := s.List(s.t.Context())
	if err != nil || len(l.Refs) != 1 {
		s.t.Fatalf("listed %+v, %v", l, err)
	}
	plan, err := s.PlanRewrite(s.t.Context(), session.ShortenRequest{
		Ref: l.Refs[0], Snapshot: snap, Now: time.Now(), Summary: session.Summed{Text: "The user asked for the weather.", Lessons: lessons},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return plan
}

func TestMacstatsScan(t *testing.T) {
	type block struct {
		Role, Text string
		Line       int
	}
	for name, c := range map[string]struct {
		log  string
		want []block
	}{
		"a talk":               {"## User\n\na\n\nb\n\n## Assistant\n\nc\n", []block{{"user", "a\n\nb", 1}, {"assistant", "c", 7}}},
		"no line feed":         {"## User\n\nhi", []block{{"user", "hi", 1}}},
		"cut in the heading":   {"## User\n\nhi\n\n## Assis", []block{{"user", "hi\n\n## Assis", 1}}},
		"a heading in a text":  {"## User\n\na\n## User\nb\n", []block{{"user", "a", 1}, {"user", "b", 4}}},
		"a longer heading":     {"## User\n\na\n## Users\nb\n", []block{{"user", "a\n## Users\nb", 1}}},
		"text before":          {"lost?\n## User\n\na\n", []block{{"injected", "lost?", 1}, {"user", "a", 2}}},
		"CRLF and white space": {"  ## User \r\n\r\na\r\n", []block{{"user", "a", 1}}},
		"an empty block":       {"## User\n\n## Assistant\n\nb\n", []block{{"assistant", "b", 3}}},
		"nothing":              {"", nil},
		"a summary of ours":    {macstatsShort + "## User\n\na\n", []block{{"summary", "The user asked for the weather.", 1}, {"user", "a", 7}}},
		"a summary, quoted":    {"## User\n\na\n\n" + macstatsShort, []block{{"user", "a", 1}, {"assistant", "Summary of the conversation so far:\n\nThe user asked for the weather.", 5}}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []block
			end := int64(0)
			_, err := newMacstatsStore(t).Scan(t.Context(), strings.NewReader(c.log), session.ScanOptions{}, func(m *session.Message) error {
				if m.Offset < end || m.Offset+m.Length > int64(len(c.log)) {
					t.Errorf("message at %d, %d bytes, overlaps", m.Offset, m.Length)
				}
				end = m.Offset + m.Length
				got = append(got, block{m.Role.String(), strings.ReplaceAll(string(m.Parts[0].Text), "\r", ""), m.Line})
				return nil
			})
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Fatalf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	_, err := newMacstatsStore(t).Scan(t.Context(), strings.NewReader("# A readme\n"), session.ScanOptions{}, func(*session.Message) error { return nil })
	if !errors.Is(err, session.ErrUnknownFormat) {
		t.Fatalf("error %v, want an unknown format", err)
	}
}

func TestMacstatsParseName(t *testing.T) {
	for file, want := range map[string]string{
		name: "1475112233445566778",
		"session-memory-how-warm-is-it-1475112233445566778-20260120-081500.md": "1475112233445566778",
		"session-memory-room-12-77-20260120-081500.md":                         "77",
		"session-memory-77-20260120-081500-room-12-88-20260121-081500.md":      "77",
		"session-memory-77-20260120-081500-.md":                                "77",
		"memory.md":                                                            "", "session-memory-x.md": "", name + ".rotated.2026-01-01T00-00-00.000Z": "", name + ".tmp": "",
	} {
		s := newMacstatsStore(t)
		s.write("session/"+file, macstatsTalk, time.Hour)
		listing, err := s.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(listing.Refs) > 0 && listing.Refs[0].Kind == session.KindLive {
			got = listing.Refs[0].Key
		}
		if got != want {
			t.Errorf("%s: conversation %q, want %q", file, got, want)
		}
	}
}

// A session in use is replaced by its summary, the lessons are learned first,
// and it may end after any step.
func TestMacstatsActiveSessionIsReplaced(t *testing.T) {
	for _, stop := range []string{"", "lessons", "lease", "stage", "exchange", "keep"} {
		s := newMacstatsStore(t)
		path := s.write("session/"+name, macstatsTalk, 10*time.Minute)
		memory := s.write("agents/memory.md", "- Use °C.", time.Hour)
		plan := s.plan(path, "use °c", "Ask before you delete.")
		s.Step = stopAfter(stop)
		_ = s.Shorten(t.Context(), plan)
		s.Step = nil
		if err := s.Shorten(t.Context(), plan); err != nil {
			t.Fatalf("stopped after %q, then: %v", stop, err)
		}
		s.want(path, macstatsShort)
		s.want(plan.Kept, macstatsTalk)
		s.want(memory, "- Use °C.\n- Ask before you delete.\n")
	}
}

func TestMacstatsInactiveSessionIsCleared(t *testing.T) {
	for _, stop := range []string{"", "lessons", "lease", "move"} {
		s := newMacstatsStore(t)
		path := s.write("session/"+name, macstatsTalk, 31*time.Minute)
		plan := s.plan(path, "Ask before you delete.")
		s.Step = stopAfter(stop)
		_ = s.Shorten(t.Context(), plan)
		s.Step = nil
		if err := s.Shorten(t.Context(), plan); err != nil {
			t.Fatalf("stopped after %q, then: %v", stop, err)
		}
		s.want(path, "nothing")
		s.want(plan.Kept, macstatsTalk)
		s.want(filepath.Join(s.dir, "agents/memory.md"), "- Ask before you delete.\n")
		if err := s.Dispose(t.Context(), plan.Rotation); err != nil {
			t.Fatal(err)
		}
		s.want(plan.Kept, "nothing")
	}
}

func TestMacstatsChangedSessionIsLeftAlone(t *testing.T) {
	s := newMacstatsStore(t)
	path := s.write("session/"+name, macstatsTalk, 10*time.Minute)
	plan := s.plan(path)
	s.write("session/"+name, macstatsTalk+"## User\n\nlate\n\n", 0)
	if err := s.Shorten(t.Context(), plan); !errors.Is(err, session.ErrBusy) {
		t.Fatalf("error %v, want busy", err)
	}
	s.want(path, macstatsTalk+"## User\n\nlate\n\n")
}

// A store that somebody puts in the place of another, with a copy of its
// session, learns nothing.
func TestMacstatsCopyOfTheSessionTeachesNothing(t *testing.T) {
	s := newMacstatsStore(t)
	path := s.write("session/"+name, macstatsTalk, 10*time.Minute)
	plan := s.plan(path, "Ask before you delete.")
	if err := os.Rename(path, filepath.Join(t.TempDir(), name)); err != nil {
		t.Fatal(err)
	}
	s.write("session/"+name, macstatsTalk, 10*time.Minute)
	if err := s.Shorten(t.Context(), plan); !errors.Is(err, session.ErrBusy) {
		t.Fatalf("error %v, want busy", err)
	}
	s.want(path, macstatsTalk)
	s.want(filepath.Join(s.dir, "agents/memory.md"), "nothing")
}

// A session is due from 4 messages on in a run over everything, from 8 when
// asked.
func TestMacstatsThresholds(t *testing.T) {
	s := newMacstatsStore(t)
	for _, c := range []struct {
		messages  int
		requested bool
		want      bool
	}{{3, false, false}, {4, false, true}, {7, true, false}, {8, true, true}} {
		got, _, err := s.Due(t.Context(), session.DueQuestion{Tail: session.Tail{Messages: c.messages}, Requested: c.requested})
		if got != c.want || err != nil {
			t.Errorf("%d messages, requested %v: due %v, want %v", c.messages, c.requested, got, c.want)
		}
	}
}

func TestMacstatsSamples(t *testing.T) {
	dir := samples.Beside(t, "samples/mac-stats/derived")
	s := macstats.Open(dir, macstats.Options{})
	l, err := s.List(t.Context())
	if err != nil || len(l.Refs) != 3 {
		t.Fatalf("listed %+v, %v", l, err)
	}
	for _, ref := range l.Refs {
		raw, err := os.ReadFile(ref.Path)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Count("\n"+string(raw), "\n## User\n") + strings.Count("\n"+string(raw), "\n## Assistant\n")
		scan, err := s.Scan(t.Context(), strings.NewReader(string(raw)), session.ScanOptions{}, func(*session.Message) error { return nil })
		if err != nil || scan.Messages != want {
			t.Errorf("%s: %d messages, %v; want %d", ref.Path, scan.Messages, err, want)
		}
	}
}
