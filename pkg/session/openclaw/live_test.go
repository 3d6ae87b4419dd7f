package openclaw_test

import (
	"os"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// Whatever an agent does to its log or to the index after the snapshot, the
// session is busy and nothing is changed.
func TestRotateRefusesChanges(t *testing.T) {
	const name = mainID + ".jsonl"
	for what, c := range map[string]struct {
		change func(s *state, r session.Rotation)
		reason string
	}{
		"line appended":      {func(s *state, r session.Rotation) { appendTo(s.t, r.Live, question) }, "bytes were added"},
		"cut short":          {func(s *state, r session.Rotation) { truncate(s.t, r.Live, 10) }, "shorter"},
		"emptied":            {func(s *state, r session.Rotation) { truncate(s.t, r.Live, 0) }, "shorter"},
		"rewritten in place": {func(s *state, r session.Rotation) { s.log(name, transcript(mainID)) }, "touched or rewritten"},
		"touched":            {func(s *state, r session.Rotation) { s.age(r.Live, time.Hour) }, "touched or rewritten"},
		"entry updated": {func(s *state, r session.Rotation) {
			s.index(`{"agent:coordinator:main":{"sessionId":"` + mainID + `","updatedAt":1772359300001}}`)
		}, "its entry in sessions.json has changed"},
		"entry reset": {func(s *state, r session.Rotation) {
			s.index(`{"agent:coordinator:main":{"sessionId":"x","updatedAt":1772359300000}}`)
		}, "its entry in sessions.json has changed"},
		"entry removed": {func(s *state, r session.Rotation) { s.index(`{}`) }, "its entry in sessions.json has changed"},
		"second entry": {func(s *state, r session.Rotation) {
			s.index(`{"agent:coordinator:main":{"sessionId":"` + mainID + `","updatedAt":1772359300000},"x":{"sessionId":"` + mainID + `"}}`)
		}, "its entry in sessions.json has changed"},
		"index emptied": {func(s *state, r session.Rotation) { s.index("") }, "sessions.json cannot be read"},
		"index gone":    {func(s *state, r session.Rotation) { os.Remove(s.path("sessions.json")) }, "there is no sessions.json"},
		"log replaced":  {func(s *state, r session.Rotation) { s.replace(name, transcript(mainID)) }, ""},
		"log linked":    {func(s *state, r session.Rotation) { os.Link(r.Live, s.path("second.txt")) }, ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newMain(t)
			r := s.plan(s.ref(name))
			c.change(s, r)
			before := s.tree()
			wantBusy(t, s.rotate(r), c.reason)
			wantTree(t, before, s.tree())
		})
	}
}

// The index that a gateway writes while ours is written, or right after it,
// wins: the session goes on and its log stays.
func TestRotateLosesToTheGateway(t *testing.T) {
	for _, step := range []string{"check", "index"} {
		s := newMain(t)
		r := s.plan(s.ref(mainID + ".jsonl"))
		theirs := `{"agent:coordinator:main":{"sessionId":"` + mainID + `","updatedAt":1772359300001}}`
		s.SetStep(func(name string) error {
			if name == step {
				s.replace("sessions.json", theirs)
			}
			return nil
		})
		wantBusy(t, s.rotate(r), "")
		if s.read("sessions.json") != theirs || s.read(mainID+".jsonl") != transcript(mainID) || len(s.tree()) != 2 {
			t.Errorf("%s: %v", step, s.tree())
		}
	}
}

// replace puts a new file at a name, as the gateway does.
func (s *state) replace(name, text string) {
	s.t.Helper()
	s.log(name+".tmp", text)
	if err := os.Rename(s.path(name+".tmp"), s.path(name)); err != nil {
		s.t.Fatal(err)
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func truncate(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

// A log that somebody renames into the place of the one that was archived goes
// on, also when that happens after the last look before the index is switched:
// the lease is on the file that he took away.
func TestRotateLosesToAReplacedLog(t *testing.T) {
	for _, step := range []string{"check", "index"} {
		s := newMain(t)
		r := s.plan(s.ref(mainID + ".jsonl"))
		index, theirs := s.read("sessions.json"), transcript(mainID)+question
		s.SetStep(func(name string) error {
			if name == step {
				s.replace(mainID+".jsonl", theirs)
			}
			return nil
		})
		wantBusy(t, s.rotate(r), "another file has taken its place")
		if s.read(mainID+".jsonl") != theirs || s.read("sessions.json") != index {
			t.Errorf("after %q: %v", step, s.tree())
		}
	}
}
