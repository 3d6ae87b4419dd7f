//go:build unix

package adapters_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/yarnnn"
)

var now = time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)

func five() []string {
	return []string{"user", "assistant", "user", "assistant", "user", "assistant", "user", "assistant", "user", "assistant"}
}

func openLog(t *testing.T, s *yarnnn.Store, ref session.Ref) string {
	t.Helper()
	log, err := s.OpenLog(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	b, err := io.ReadAll(log)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func find(t *testing.T, s *yarnnn.Store, n int) session.Ref {
	t.Helper()
	l, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(l.Refs, func(r session.Ref) bool { return r.ID == sessionID(n) })
	if i < 0 {
		t.Fatalf("session %d is not among %+v", n, l.Refs)
	}
	return l.Refs[i]
}

func annotation(t *testing.T, s *yarnnn.Store, ref session.Ref, text string) session.Annotation {
	t.Helper()
	log := openLog(t, s, ref)
	a, err := s.PlanAnnotation(t.Context(), session.ShortenRequest{
		Ref: ref, Now: now, Summary: session.Summed{Text: text},
		Snapshot: session.Snapshot{Size: int64(len(log)), SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(log)))},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestYarnnnOnPostgreSQL is one server for all of it: starting one takes seconds.
func TestYarnnnOnPostgreSQL(t *testing.T) {
	dsn := startPostgres(t)
	db := newDatabase(t, dsn)
	s := yarnnn.Open(dsn, yarnnn.Options{})
	t.Cleanup(func() { _ = s.Close() })
	long := now.Add(-24 * time.Hour)
	db.session(1, long)
	db.say(1, long, five()...)
	db.session(2, long)
	db.say(2, long, "user", "assistant", "user", "assistant", "user", "assistant", "user", "reviewer")
	db.session(3, now.Add(-3*time.Hour))
	db.say(3, now.Add(-3*time.Hour), five()...)
	db.session(4, long)
	db.say(4, long, five()...)
	db.run("UPDATE chat_sessions SET summary = 'theirs' WHERE id = $1", sessionID(4))
	db.session(5, long)

	t.Run("list", func(t *testing.T) {
		l, err := s.List(t.Context())
		if err != nil || len(l.Refs) != 5 || l.Refs[0].ID != sessionID(3) || l.Refs[4].ID != sessionID(5) || len(l.Agents) != 1 {
			t.Fatalf("listed %+v, %v", l, err)
		}
		if strings.Contains(l.Refs[0].Path+l.Refs[0].Store, "hunter2") {
			t.Fatalf("the password is shown: %s", l.Refs[0].Path)
		}
	})
	t.Run("due", func(t *testing.T) {
		for n, want := range map[int]bool{1: true, 2: false, 3: false, 4: false, 5: false} {
			due, reason, err := s.Due(t.Context(), session.DueQuestion{Ref: find(t, s, n), Now: now})
			if due != want || err != nil || due != (reason == "") {
				t.Errorf("session %d: due %v (%s), %v; want %v", n, due, reason, err, want)
			}
		}
	})
	t.Run("asked for another size", func(t *testing.T) {
		for n, want := range map[int]bool{1: true, 2: true, 3: true, 4: false} {
			due, reason, err := s.Due(t.Context(), session.DueQuestion{Ref: find(t, s, n), Now: now, Asked: true})
			if due != want || err != nil || due != (reason == "") {
				t.Errorf("session %d: due %v (%s), %v; want %v", n, due, reason, err, want)
			}
		}
	})
	t.Run("log", func(t *testing.T) { testLog(t, s) })
	t.Run("annotate", func(t *testing.T) { testAnnotate(t, s, db) })
	t.Run("recent", func(t *testing.T) { testRecent(t, s, db) })
	t.Run("users", func(t *testing.T) { testUsers(t, dsn, db) })
	t.Run("limits", func(t *testing.T) { testLimits(t, dsn, db) })
	t.Run("metadata", func(t *testing.T) { testOddMetadata(t, s, db) })
}

// Of several users' sessions none are mixed.
func testUsers(t *testing.T, dsn string, db database) {
	db.session(21, now.Add(-time.Hour)) // its user is its own
	db.run("UPDATE chat_sessions SET summary = 'mine' WHERE id = $1", sessionID(21))
	all := yarnnn.Open(dsn, yarnnn.Options{})
	one := yarnnn.Open(dsn, yarnnn.Options{User: sessionID(21)})
	none := yarnnn.Open(dsn, yarnnn.Options{User: "' OR true --"})
	for _, s := range []*yarnnn.Store{all, one, none} {
		t.Cleanup(func() { _ = s.Close() })
	}
	if got, err := all.Recent(t.Context(), now); !errors.Is(err, session.ErrManyUsers) {
		t.Errorf("summaries of several users: %v, %v", got, err)
	}
	if got, err := one.Recent(t.Context(), now); err != nil || !slices.Equal(got, []string{"mine"}) {
		t.Errorf("summaries of one user: %v, %v", got, err)
	}
	if l, err := one.List(t.Context()); err != nil || len(l.Refs) != 1 || l.Refs[0].ID != sessionID(21) {
		t.Errorf("sessions of one user: %+v, %v", l.Refs, err)
	}
	if l, err := none.List(t.Context()); err != nil || len(l.Refs) != 0 {
		t.Errorf("sessions of nobody: %+v, %v", l.Refs, err)
	}
}

// Quiet for four hours, and five messages of the user: to the second and to the
// message; both are settings.
func testLimits(t *testing.T, dsn string, db database) {
	db.session(31, now.Add(-24*time.Hour))
	db.say(31, now.Add(-4*time.Hour-8*time.Minute), five()[:9]...) // the last one four hours ago
	db.session(32, now.Add(-24*time.Hour))
	db.say(32, now.Add(-24*time.Hour), "user", "user", "user", "user", "assistant", "system")
	for _, c := range []struct {
		session int
		now     time.Time
		o       yarnnn.Options
		due     bool
	}{
		{31, now, yarnnn.Options{}, true},
		{31, now.Add(-time.Second), yarnnn.Options{}, false},
		{31, now.Add(-time.Second), yarnnn.Options{Inactivity: time.Hour}, true},
		{31, now, yarnnn.Options{UserMessages: 6}, false},
		{32, now, yarnnn.Options{}, false},
		{32, now, yarnnn.Options{UserMessages: 4}, true},
	} {
		s := yarnnn.Open(dsn, c.o)
		due, reason, err := s.Due(t.Context(), session.DueQuestion{Ref: session.Ref{ID: sessionID(c.session)}, Now: c.now})
		if due != c.due || err != nil {
			t.Errorf("session %d at %s with %+v: due %v (%s), %v", c.session, c.now, c.o, due, reason, err)
		}
		_ = s.Close()
	}
}

// Metadata of any form stand in nobody's way, and what is no object stays.
func testOddMetadata(t *testing.T, s *yarnnn.Store, db database) {
	for i, metadata := range []string{`null`, `"text"`, `[1]`, `7`, `{"summary_through":"x"}`, `{"summary_through":1e30}`, ``} {
		n := 41 + i
		db.session(n, now.Add(-24*time.Hour))
		db.say(n, now.Add(-24*time.Hour), five()...)
		db.run("UPDATE chat_sessions SET context_metadata = nullif($2, '')::jsonb WHERE id = $1", sessionID(n), metadata)
		ref := find(t, s, n)
		before := openLog(t, s, ref)
		if err := s.Annotate(t.Context(), annotation(t, s, ref, "Planned.")); err != nil {
			t.Errorf("%s: %v", metadata, err)
			continue
		}
		if after := openLog(t, s, ref); after != before {
			t.Errorf("%s: the log changed: %s", metadata, cmp.Diff(before, after))
		}
		var got string
		if err := db.QueryRow(t.Context(), "SELECT context_metadata::text FROM chat_sessions WHERE id = $1", sessionID(n)).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if object := i == 0 || i > 3; object != strings.Contains(got, `"summary_through": 10`) || !object && got != metadata {
			t.Errorf("%s became %s", metadata, got)
		}
	}
}

// Every row is in the log, in order, and the log is the same every time, also
// after a summary was written.
func testLog(t *testing.T, s *yarnnn.Store) {
	ref := find(t, s, 2)
	log := openLog(t, s, ref)
	lines := strings.Split(strings.TrimSuffix(log, "\n"), "\n")
	if len(lines) != 9 || log != openLog(t, s, ref) {
		t.Fatalf("the log has %d lines:\n%s", len(lines), log)
	}
	var roles []string
	scan, err := s.Scan(t.Context(), strings.NewReader(log), session.ScanOptions{}, func(m *session.Message) error {
		roles = append(roles, m.Role.String())
		return nil
	})
	want := []string{"user", "assistant", "user", "assistant", "user", "assistant", "user", "injected"}
	if diff := cmp.Diff(want, roles); err != nil || diff != "" || scan.SessionID != sessionID(2) {
		t.Fatalf("%v, session %s (-want +got):\n%s", err, scan.SessionID, diff)
	}
}

func testAnnotate(t *testing.T, s *yarnnn.Store, db database) {
	ref := find(t, s, 1)
	before := openLog(t, s, ref)
	a := annotation(t, s, ref, "Planned the board update.")
	s.Step = func() error { return errors.New("the run ended here") }
	if err := s.Annotate(t.Context(), a); err == nil {
		t.Fatal("no error although the transaction failed")
	}
	if summary, _ := db.summary(1); summary != "" {
		t.Fatalf("the summary %q was written although the transaction failed", summary)
	}
	s.Step = nil
	for range 2 {
		if err := s.Annotate(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	summary, metadata := db.summary(1)
	if summary != "[2026-02-19] Planned the board update." || !strings.Contains(metadata, `"summary_through": 10`) || !strings.Contains(metadata, `"model": "m"`) {
		t.Fatalf("summary %q, metadata %s", summary, metadata)
	}
	if after := openLog(t, s, ref); after != before {
		t.Fatalf("the log changed:\n%s", cmp.Diff(before, after))
	}
	due := func(asked bool) bool {
		due, _, err := s.Due(t.Context(), session.DueQuestion{Ref: ref, Now: now, Asked: asked})
		if err != nil {
			t.Fatal(err)
		}
		return due
	}
	if due(false) || due(true) {
		t.Fatal("a session with a summary is due again")
	}
	db.say(1, now.Add(-10*time.Hour), "user")
	if !due(false) || !due(true) {
		t.Fatal("a session that went on is not due")
	}
	if err := s.Annotate(t.Context(), a); !errors.Is(err, session.ErrBusy) {
		t.Fatalf("error %v for a session that went on, want busy", err)
	}
}

func testRecent(t *testing.T, s *yarnnn.Store, db database) {
	for n, days := range map[int]int{11: 1, 12: 3, 13: 5, 14: 2, 15: 15} {
		db.session(n, now.AddDate(0, 0, -days))
		db.run("UPDATE chat_sessions SET summary = $2, user_id = $3 WHERE id = $1", sessionID(n), sessionID(n), sessionID(1))
	}
	db.run("UPDATE chat_sessions SET summary = NULL WHERE id IN ($1, $2)", sessionID(1), sessionID(4))
	got, err := s.Recent(t.Context(), now)
	if diff := cmp.Diff([]string{sessionID(11), sessionID(14), sessionID(12)}, got); err != nil || diff != "" {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
}

func TestYarnnnUnreachable(t *testing.T) {
	s := yarnnn.Open("postgres://me:hunter2@127.0.0.1:1/db?connect_timeout=2", yarnnn.Options{})
	_, err := s.List(t.Context())
	if err == nil || strings.Contains(err.Error(), "hunter2") || s.Root() != "postgresql://127.0.0.1:1/db" {
		t.Fatalf("root %s, error %v", s.Root(), err)
	}
}

// An export of the messages is read with as many messages as it has lines.
func TestYarnnnSamples(t *testing.T) {
	raw := samples.Read(t, "yarnnn/derived/session_messages.ndjson")
	want := 0
	for line := range strings.Lines(string(raw)) {
		var m struct{ Role string }
		if json.Unmarshal([]byte(line), &m) == nil && m.Role != "" {
			want++
		}
	}
	scan, err := yarnnn.Open("", yarnnn.Options{}).Scan(t.Context(), strings.NewReader(string(raw)), session.ScanOptions{}, func(*session.Message) error { return nil })
	if err != nil || scan.Messages != want || want == 0 {
		t.Fatalf("%d messages, %v; want %d", scan.Messages, err, want)
	}
}
