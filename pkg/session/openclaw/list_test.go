package openclaw_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/internal/fakeagentdb"
	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
)

// seen is what a test compares of a ref.
type seen struct {
	Agent, ID, Key string
	Kind           session.Kind
	State          session.State
	Primary        bool
}

func byName(refs []session.Ref) map[string]seen {
	all := map[string]seen{}
	for _, r := range refs {
		all[filepath.Base(r.Path)] = seen{r.Agent, r.ID, r.Key, r.Kind, r.State, r.Primary}
	}
	return all
}

func TestListKinds(t *testing.T) {
	s := newMain(t)
	const other = "0b6f2a54-7f61-4d3e-9a53-0c1c2d3e4f50"
	for _, name := range []string{
		"orphan.jsonl", other + "-topic-42.jsonl", "2026-01-10T09-00-00-000Z_" + other + ".jsonl",
		mainID + ".jsonl.reset.2026-01-03T04-05-06.789Z", mainID + ".jsonl.deleted.2026-01-03T04-05-06.789Z.zst",
		mainID + ".jsonl.bak-1-2", mainID + ".checkpoint.22222222-2222-4222-8222-222222222222.jsonl",
		mainID + ".trajectory.jsonl", mainID + ".jsonl.lock.tmp", ".usage-cost-cache.json",
	} {
		s.log(name, transcript("x"))
	}
	s.index(fmt.Sprintf(`{
  "agent:coordinator:main": {"sessionId": %q, "updatedAt": 2, "model": "m", "contextTokens": 200000, "totalTokens": 170000, "totalTokensFresh": true},
  "Agent:Coordinator:MAIN": {"sessionId": "orphan", "updatedAt": 1},
  "agent:coordinator:telegram:group:-1:topic:42": {"sessionId": %q},
  "agent:coordinator:gone": {"sessionId": "gone", "systemSent": false}
}`, mainID, other))
	idle, closed := session.StateIdle, session.StateUnsupported
	want := map[string]seen{
		mainID + ".jsonl":         {agent, mainID, mainKey, session.KindLive, idle, true},
		"orphan.jsonl":            {agent, "orphan", "Agent:Coordinator:MAIN", session.KindLive, idle, false},
		other + "-topic-42.jsonl": {agent, other + "-topic-42", "agent:coordinator:telegram:group:-1:topic:42", session.KindTopic, idle, false},
		"2026-01-10T09-00-00-000Z_" + other + ".jsonl":                    {agent, other, "", session.KindOrphan, idle, false},
		mainID + ".jsonl.reset.2026-01-03T04-05-06.789Z":                  {agent, mainID, "", session.KindReset, closed, false},
		mainID + ".jsonl.deleted.2026-01-03T04-05-06.789Z.zst":            {agent, mainID, "", session.KindDeleted, closed, false},
		mainID + ".jsonl.bak-1-2":                                         {agent, mainID, "", session.KindBackup, closed, false},
		mainID + ".checkpoint.22222222-2222-4222-8222-222222222222.jsonl": {agent, mainID, "", session.KindCheckpoint, closed, false},
	}
	listing := s.list()
	if diff := cmp.Diff(want, byName(listing.Refs)); diff != "" {
		t.Error(diff)
	}
	if len(listing.Notices) > 0 {
		t.Errorf("notices: %+v", listing.Notices)
	}
	ref := s.ref(mainID + ".jsonl")
	if ref.Model != "m" || ref.ContextWindow != 200000 || ref.Counter != (session.Counter{Tokens: 170000, Fresh: true}) || ref.Bytes != int64(len(transcript(mainID))) {
		t.Errorf("%+v", ref)
	}
	if ref.Runtime != "openclaw" || ref.Store != s.root || ref.Path != s.path(mainID+".jsonl") {
		t.Errorf("%+v", ref)
	}
}

// Of two spellings of the main key the newer one is the main session, whatever
// their order.
func TestPrimaryIsNewest(t *testing.T) {
	for _, c := range []struct{ lower, upper int }{{1, 2}, {2, 1}} {
		s := newState(t)
		s.log("a.jsonl", transcript("a"))
		s.log("b.jsonl", transcript("b"))
		s.index(fmt.Sprintf(`{"Agent:Coordinator:main": {"sessionId":"b","updatedAt":%d}, "agent:coordinator:main": {"sessionId":"a","updatedAt":%d}}`, c.upper, c.lower))
		if s.ref("a.jsonl").Primary != (c.lower > c.upper) || s.ref("b.jsonl").Primary != (c.upper > c.lower) {
			t.Errorf("%+v: %+v", c, byName(s.list().Refs))
		}
	}
}

// One log, several keys: the main key stands for it, else one that is not of a
// single run, else the newest.
func TestBestKey(t *testing.T) {
	for _, c := range []struct{ index, want string }{
		{`{"agent:coordinator:cron:x:run:1":{"sessionId":"a","updatedAt":9},"agent:coordinator:cron:x":{"sessionId":"a"}}`, "agent:coordinator:cron:x"},
		{`{"agent:coordinator:x":{"sessionId":"a","updatedAt":9},"agent:coordinator:main":{"sessionId":"a"}}`, "agent:coordinator:main"},
		{`{"agent:coordinator:x":{"sessionId":"a","updatedAt":1},"agent:coordinator:y":{"sessionId":"a","updatedAt":2}}`, "agent:coordinator:y"},
		{`{"agent:coordinator:y":{"sessionId":"a"},"agent:coordinator:x":{"sessionId":"a"}}`, "agent:coordinator:x"},
		{`{"agent:other:main":{"sessionId":"a","updatedAt":1},"global":{"sessionId":"a","updatedAt":2}}`, "global"},
		{`{"k":{"sessionId":"b","sessionFile":"C:\\Users\\me\\.openclaw\\agents\\x\\sessions\\a.jsonl"}}`, "k"},
		{`{"k":{"sessionId":"b","sessionFile":"/etc/a.jsonl"}}`, "k"},
		{`{"k":{"sessionId":"a","sessionFile":"/etc/passwd"}}`, "k"},
		{`{"k":{"sessionId":"a","sessionFile":"../../x/gone.jsonl"}}`, "k"},
		{`{"k":{"sessionId":"old"},"k":{"sessionId":"a"}}`, "k"},
		{`{"k":{"sessionId":"a"},"k":{"sessionId":"old"}}`, ""},
		{`{"k":{"SessionId":"a"}}`, ""},
	} {
		s := newState(t)
		s.log("a.jsonl", transcript("a"))
		s.index(c.index)
		if got := s.ref("a.jsonl").Key; got != c.want {
			t.Errorf("%s: key %q, want %q", c.index, got, c.want)
		}
	}
}

// A thread's log whose session is in the index, but not as this thread, is
// read and never changed: nobody knows which entry uses it.
func TestThreadOfUnknownEntry(t *testing.T) {
	s := newState(t)
	s.log("a.jsonl", transcript("a"))
	s.log("a-topic-7.jsonl", transcript("a"))
	s.index(`{"k":{"sessionId":"a"}}`)
	ref := s.ref("a-topic-7.jsonl")
	if ref.State != session.StateUnsupported || !strings.Contains(ref.Reason, "thread of session a") {
		t.Errorf("%+v", ref)
	}
	if ref := s.ref("a.jsonl"); ref.Key != "k" || ref.State != session.StateIdle {
		t.Errorf("%+v", ref)
	}
}

func TestCounters(t *testing.T) {
	for entry, want := range map[string]session.Counter{
		`"totalTokens": 170000, "totalTokensFresh": true`:   {Tokens: 170000, Fresh: true},
		`"totalTokens": 170000, "totalTokensFresh": false`:  {Tokens: 170000},
		`"totalTokens": 170000, "totalTokensFresh": "true"`: {Tokens: 170000},
		`"totalTokens": 170000.0`:                           {Tokens: 170000},
		`"totalTokens": 1.7e5`:                              {Tokens: 170000},
		`"totalTokens": 1.5`:                                {},
		`"totalTokens": "170000"`:                           {},
		`"totalTokens": -5`:                                 {},
		`"totalTokens": null`:                               {},
		`"totalTokens": 1e+21`:                              {},
		`"totalTokens": [1]`:                                {},
		`"inputTokens": 1573537`:                            {},
		`"TotalTokens": 5`:                                  {},
	} {
		s := newState(t)
		s.log("a.jsonl", transcript("a"))
		s.index(`{"k":{"sessionId":"a",` + entry + `}}`)
		if got := s.ref("a.jsonl").Counter; got != want {
			t.Errorf("%s: %+v, want %+v", entry, got, want)
		}
	}
}

// A main session in a format of a newer era is seen in the listing.
func TestListNewerFormat(t *testing.T) {
	for number, want := range map[int]session.State{1: session.StateIdle, 3: session.StateIdle, 4: session.StateUnsupported} {
		s := newMain(t)
		s.log(mainID+".jsonl", version(mainID, number))
		if ref := s.ref(mainID + ".jsonl"); ref.State != want || (ref.Reason == "") != (want == session.StateIdle) {
			t.Errorf("version %d: %s %s", number, ref.State, ref.Reason)
		}
	}
}

func TestListBusy(t *testing.T) {
	s := newMain(t)
	s.age(s.path(mainID+".jsonl"), 5*time.Second)
	if ref := s.ref(mainID + ".jsonl"); ref.State != session.StateBusy || !strings.Contains(ref.Reason, "changed") {
		t.Errorf("just changed: %+v", ref)
	}
	s.age(s.path(mainID+".jsonl"), time.Hour)
	s.log(mainID+".jsonl.lock", fmt.Sprintf(`{"pid":%d}`, os.Getpid()))
	if ref := s.ref(mainID + ".jsonl"); ref.State != session.StateIdle {
		t.Errorf("a lock that is two hours old: %+v", ref)
	}
	s.age(s.path(mainID+".jsonl.lock"), time.Minute)
	if ref := s.ref(mainID + ".jsonl"); ref.State != session.StateBusy || !strings.Contains(ref.Reason, fmt.Sprint(os.Getpid())) {
		t.Errorf("locked: %+v", ref)
	}
}

func TestListOddNames(t *testing.T) {
	s := newMain(t)
	s.log("-1.jsonl", "x")
	s.log("a b.jsonl", "x")
	s.log("x.jsonl.imported-1", "x")
	if err := os.Mkdir(s.path("dir.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, part := range map[string]string{"-1.jsonl": "not a name", "a b.jsonl": "not a name", "x.jsonl.imported-1": "not a name", "dir.jsonl": "a directory"} {
		s.noticed(name, part)
	}
	if len(s.list().Refs) != 1 {
		t.Errorf("%+v", byName(s.list().Refs))
	}
}

func TestListAgents(t *testing.T) {
	s := newMain(t)
	s.write(filepath.Join(s.root, "agents", "zeta", "sessions", "z.jsonl"), transcript("z"))
	s.write(filepath.Join(s.root, "agents", "bad agent", "sessions", "z.jsonl"), transcript("z"))
	s.write(filepath.Join(s.root, "agents", "README"), "x")
	s.write(filepath.Join(s.root, "agents", "empty", "agent", "auth.json"), "x")
	s.write(filepath.Join(s.root, "agents", "file", "sessions"), "x")
	agents := map[string]bool{}
	for _, ref := range s.list().Refs {
		agents[ref.Agent] = true
	}
	if diff := cmp.Diff(map[string]bool{agent: true, "zeta": true}, agents); diff != "" {
		t.Error(diff)
	}
	s.noticed("bad agent", "not safe in a path")
	s.noticed("sessions", "not a directory")
	// z has no index beside it
	s.noticed("sessions.json", "none beside the transcripts")
}

func TestListWithoutAgents(t *testing.T) {
	s := newState(t)
	if refs := s.list().Refs; len(refs) > 0 {
		t.Errorf("%+v", refs)
	}
	s.noticed(filepath.Base(s.root), "no agents here")
	if _, err := openclaw.Open(filepath.Join(s.root, "gone"), openclaw.Options{}).List(t.Context()); !os.IsNotExist(unwrapAll(err)) {
		t.Error("a store that is not there:", err)
	}
}

func unwrapAll(err error) error {
	for {
		inner, ok := err.(interface{ Unwrap() error })
		if _, path := err.(*os.PathError); path || !ok {
			return err
		}
		err = inner.Unwrap()
	}
}

// Every file of the samples is what its name says, and an open log that the
// index does not name is an orphan.
func TestSampleKinds(t *testing.T) {
	for sample, want := range map[string]map[string]session.Kind{
		"openclaw/derived": {
			"0001.jsonl": session.KindLive, "0002.jsonl": session.KindLive, "0003-topic-42.jsonl": session.KindTopic,
			"0004.jsonl.deleted.2026-01-02T03-04-05.678Z":     session.KindDeleted,
			"0013.jsonl.deleted.2026-08-21T10-11-12.131Z.zst": session.KindDeleted,
			"0005.jsonl.reset.2026-01-03T04-05-06.789Z":       session.KindReset,
			"0006.jsonl": session.KindOrphan,
			"0001.checkpoint.22222222-2222-4222-8222-222222222222.jsonl": session.KindCheckpoint,
		},
		"openclaw/deja-vu": {
			"a1b2c3d4-e5f6-4a7b-8c9d-0e1f2a3b4c5d.jsonl":                                                 session.KindLive,
			"a1b2c3d4-e5f6-4a7b-8c9d-0e1f2a3b4c5d.checkpoint.11111111-2222-4333-8444-555555555555.jsonl": session.KindCheckpoint,
		},
	} {
		t.Run(sample, func(t *testing.T) {
			s := newState(t)
			copied(t, samples.Beside(t, "samples/"+sample), s.root)
			got := map[string]session.Kind{}
			for _, ref := range s.list().Refs {
				got[strings.TrimPrefix(filepath.Base(ref.Path), "11111111-1111-4111-8111-11111111")] = ref.Kind
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const importedDir = "session-sqlite-import-archive"

func (s *state) importedPath(name string) string {
	return filepath.Join(s.root, "agents", agent, importedDir, name)
}

// What the runtime kept when it moved into its database is listed under the
// ids of its sessions, and read.
func TestImportedLogs(t *testing.T) {
	const id = "c7a35ced-19c6-4f1a-8735-ea6417e25648"
	want := map[string]string{
		id + ".jsonl.imported-1788220800000":                                                  id,
		"agent_coordinator_main." + id + ".jsonl.imported-1795233303450":                      id,
		"agent_x_recovered_" + id + "." + id + ".jsonl.imported-1795233303451":                id,
		"unreferenced." + id + ".jsonl.reset.2026-11-21T03-46-20.116Z.imported-1795233303452": id,
		id + "-topic-42.jsonl.imported-1":                                                     id + "-topic-42",
		"plain.jsonl.imported-1":                                                              "plain",
	}
	s := newStored(t, fakeagentdb.Story(false))
	for name := range want {
		s.write(s.importedPath(name), transcript(id))
	}
	for _, name := range []string{"legacy-store.sessions.json.imported-1", "a.jsonl", "a.jsonl.imported-", "a.jsonl.imported-1.tmp", ".jsonl.imported-1", ".a.jsonl.imported-1"} {
		s.write(s.importedPath(name), transcript(id))
	}
	before := s.tree()
	got := map[string]string{}
	for _, ref := range s.list().Refs {
		if ref.Kind != session.KindBackup {
			continue
		}
		got[filepath.Base(ref.Path)] = ref.ID
		tail, err := s.Tail(t.Context(), ref)
		n, err2 := s.CountMessages(t.Context(), ref)
		if err != nil || err2 != nil || n != 2 || tail.Tokens != 10 || ref.Agent != agent || ref.State != session.StateUnsupported {
			t.Error(ref, n, tail, err, err2)
		}
		if err := s.Untouchable(ref.Path); !errors.Is(err, session.ErrUnsupported) {
			t.Error(ref.Path, err)
		}
		_, err = s.PlanRotation(t.Context(), ref, session.Snapshot{}, time.Now())
		if err == nil {
			t.Error("rotated:", ref.Path)
		}
		if _, err := s.Place(t.Context(), ref.Path, time.Now()); !errors.Is(err, session.ErrUnsupported) {
			t.Error(ref.Path, err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantTree(t, before, s.tree())
}

// What is no log of the store there is not read.
func TestImportedLogsThatLead(t *testing.T) {
	s := newStored(t, fakeagentdb.Story(false))
	outside := filepath.Join(t.TempDir(), "secret")
	s.write(outside, transcript("secret"))
	s.write(s.importedPath("a.jsonl.imported-1"), transcript("a"))
	if err := os.Symlink(outside, s.importedPath("b.jsonl.imported-1")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if err := os.Mkdir(s.importedPath("c.jsonl.imported-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, ref := range s.list().Refs {
		if ref.Kind == session.KindBackup {
			kept++
		}
	}
	if kept != 1 {
		t.Error(kept, "imported logs")
	}
	s.noticed("b.jsonl.imported-1", "symbolic link")
	s.noticed("c.jsonl.imported-1", "a directory")
	for _, path := range []string{s.importedPath("b.jsonl.imported-1"), s.importedPath("../../x/sessions/y.jsonl"), s.importedPath("deep/er.jsonl.imported-1")} {
		if _, err := s.Tail(t.Context(), session.Ref{Runtime: session.RuntimeOpenClaw, Agent: agent, Path: path, Kind: session.KindBackup}); err == nil {
			t.Error("read:", path)
		}
	}

	// the directory itself leads out of the store
	whole := filepath.Dir(s.importedPath("x"))
	if err := os.RemoveAll(whole); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(outside), whole); err != nil {
		t.Fatal(err)
	}
	s.noticed(importedDir, "skipped")
}

// The real runtime's names.
func TestSampleImportedLogs(t *testing.T) {
	s := newStored(t, fakeagentdb.Story(false))
	copied(t, filepath.Join(filepath.Dir(samples.Beside(t, "samples/real/openclaw-migrated-9.6/doctor.txt")), importedDir), filepath.Dir(s.importedPath("x")))
	var ids []string
	for _, ref := range s.list().Refs {
		if ref.Kind == session.KindBackup && strings.Contains(ref.Path, ref.ID) {
			ids = append(ids, ref.ID)
		}
	}
	want := []string{"c7a35ced-19c6-4f1a-8735-ea6417e25648", "9848be1c-c527-4076-8b9f-61d8fbf593c8"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Error(diff)
	}
}
