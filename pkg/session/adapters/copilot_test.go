package adapters_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/copilot"
)

func copilotMust(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// copilotLogs are the bundled log and, where they are, the samples beside the module.
func copilotLogs(t testing.TB) map[string][]byte {
	t.Helper()
	up := filepath.Join("..", "..", "..")
	paths := []string{filepath.Join(up, "testdata", "copilot", "pottery.jsonl")}
	more := samples.Matching(t, "samples-newer/copilot-*/*/events*.jsonl", "samples-newer/copilot-*/.copilot/session-state/*/events.jsonl")
	all := map[string][]byte{}
	for _, path := range append(paths, more...) {
		raw, err := os.ReadFile(path)
		copilotMust(t, err)
		all[path] = raw
	}
	return all
}

func bundled(t testing.TB) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "copilot", "pottery.jsonl"))
	copilotMust(t, err)
	return raw
}

// copilotSaid is a message in a few words.
func copilotSaid(m *session.Message) string {
	where := ""
	if m.OutOfContext {
		where = "apart "
	}
	return fmt.Sprintf("%s%s %d: %s", where, m.Role, m.Line, strings.Join(strings.Fields(string(m.AppendText(nil))), " "))
}

func scan(t testing.TB, log []byte) (all []string, result session.Scan, err error) {
	t.Helper()
	result, err = copilot.Open("").Scan(t.Context(), bytes.NewReader(log), session.ScanOptions{}, func(m *session.Message) error {
		all = append(all, copilotSaid(m))
		return nil
	})
	return all, result, err
}

// independent reads a log by encoding/json: every text of every record, in order.
func independent(log []byte) (all []string, other map[string]int) {
	other = map[string]int{}
	for i, line := range strings.Split(string(log), "\n") {
		var e struct {
			Type, AgentID string
			Data          struct {
				Content, TransformedContent, SummaryContent, Message string
				Success                                              bool
				Attachments                                          []struct{ AssetID string }
				ToolRequests                                         []struct {
					Name      string
					Arguments json.RawMessage
				}
				Result struct{ Content, DetailedContent string }
				Error  any
			}
		}
		if json.Unmarshal([]byte(line), &e) != nil {
			continue
		}
		d := e.Data
		add := func(role, text string) {
			if text = strings.Join(strings.Fields(text), " "); e.AgentID != "" || role == "apart assistant" {
				role = "apart " + strings.TrimPrefix(role, "apart ")
			}
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %d: %s", role, i+1, text)))
		}
		switch e.Type {
		case "user.message":
			before, after, _ := strings.Cut(d.TransformedContent, d.Content)
			if strings.TrimSpace(before) != "" {
				add("injected", before)
			}
			if role := "user"; e.AgentID == "" {
				add(role, d.Content)
			} else {
				add("injected", d.Content)
			}
			if strings.TrimSpace(after) != "" {
				add("injected", after)
			}
		case "assistant.message":
			text := d.Content
			for _, c := range d.ToolRequests {
				text += " [tool call] " + c.Name + " " + string(c.Arguments)
			}
			add("assistant", text)
		case "tool.execution_complete":
			text := d.Result.Content
			if o, ok := d.Error.(map[string]any); ok {
				text += o["message"].(string)
			}
			add("tool_result", text+" "+string(session.Unsent([]byte(text), []byte(d.Result.DetailedContent))))
		case "session.compaction_complete":
			if d.Success {
				add("summary", d.SummaryContent)
			}
		case "session.error":
			add("apart assistant", "[error] "+d.Message)
		default:
			other[e.Type]++
		}
	}
	return all, other
}

// Every text of every sample is said, once, in order; what says nothing is known.
func TestCopilotScanLikeAnIndependentReader(t *testing.T) {
	for path, log := range copilotLogs(t) {
		got, result, err := scan(t, log)
		want, _ := independent(log)
		for i := range got {
			got[i] = strings.TrimSpace(got[i])
		}
		if d := cmp.Diff(want, got); d != "" || err != nil || len(result.Unknown) > 0 {
			t.Errorf("%s: %v, unknown %v (-reader +sessctl)\n%s", path, err, result.Unknown, d)
		}
		if result.Counts.Bad > 0 || result.Headers != 1 || result.Version != 1 {
			t.Errorf("%s: %+v", path, result)
		}
	}
}

// A type that is not known is counted, and nothing of a damaged line is lost that
// can be read.
func TestCopilotScanOfDamagedLogs(t *testing.T) {
	log := bundled(t)
	whole, _, err := scan(t, log)
	copilotMust(t, err)
	lines := strings.SplitAfter(string(log), "\n")
	for name, c := range map[string]struct {
		log     string
		missing int
		unknown string
		bad     int
	}{
		"a type of the future":    {lines[0] + `{"type":"session.dream","data":{},"id":"x","timestamp":"2026-11-20T09:00:00Z","parentId":null}` + "\n" + strings.Join(lines[1:], ""), 0, "session.dream", 0},
		"data that is no object":  {lines[0] + `{"type":"user.message","data":7,"id":"x","timestamp":"2026-11-20T09:00:00Z"}` + "\n" + strings.Join(lines[1:], ""), 0, "user.message", 0},
		"a line in a line":        {lines[0] + `{"type":"assistant.message","data":{"content":"torn ` + lines[1] + strings.Join(lines[2:], ""), 0, "", 1},
		"NULs after a crash":      {string(log) + "\x00\x00\x00\x00", 0, "", 0},
		"no line feed at the end": {strings.TrimSuffix(string(log), "\n"), 0, "", 0},
		"a torn last line":        {strings.TrimSuffix(string(log), "\n")[:len(log)-40], 0, "", 0},
		"sent as something else":  {strings.Replace(string(log), "\"content\":\"Is the clay dry", "\"content\":\"/dry", 1), 0, "", 0},
		"without the header":      {strings.Join(lines[1:], ""), 0, "", 0},
		"with U+2028":             {strings.ReplaceAll(string(log), "Is the clay dry", "Is\u2028the clay dry"), 0, "", 0},
	} {
		got, result, err := scan(t, []byte(c.log))
		if err != nil || len(got) != len(whole)-c.missing || result.Counts.Bad != c.bad || c.unknown != "" && result.Unknown[c.unknown] != 1 {
			t.Errorf("%s: %d of %d messages, %d bad lines, unknown %v, %v", name, len(got), len(whole), result.Counts.Bad, result.Unknown, err)
		}
	}
	if _, _, err := scan(t, []byte(`{"type":"session","id":"a"}`+"\n")); !errors.Is(err, session.ErrUnknownFormat) {
		t.Errorf("a log of another runtime: %v", err)
	}
}

// copilotHome is a store of one session that nobody uses.
func copilotHome(t *testing.T, log []byte) (*copilot.Store, string) {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "session-state", "5e55c0de-0000-4000-8000-00000000cafe")
	copilotMust(t, os.MkdirAll(filepath.Join(dir, "checkpoints"), 0o700))
	for name, text := range map[string]string{
		"events.jsonl": string(log), "workspace.yaml": "cwd: /home/lea/pottery\n", "session.db": "SQLite format 3\x00", "checkpoints/001-x.md": "# x\n",
		"events.jsonl.backup-before-recovery-0123456789abcdef": string(log),
	} {
		path := filepath.Join(dir, name)
		copilotMust(t, os.WriteFile(path, []byte(text), 0o600))
		then := time.Now().Add(-time.Hour)
		copilotMust(t, os.Chtimes(path, then, then))
	}
	return copilot.Open(root), dir
}

func list(t testing.TB, s *copilot.Store) []session.Ref {
	t.Helper()
	listing, err := s.List(context.Background())
	copilotMust(t, err)
	return listing.Refs
}

// The log comes first, then the copy before a repair, then what belongs to it.
func TestCopilotList(t *testing.T) {
	s, dir := copilotHome(t, bundled(t))
	flat := filepath.Join(filepath.Dir(dir), "5e55c0de-0000-4000-8000-00000000beef.jsonl")
	copilotMust(t, os.WriteFile(flat, bundled(t), 0o600))
	listing, err := s.List(t.Context())
	copilotMust(t, err)
	var got []string
	for _, r := range listing.Refs {
		got = append(got, fmt.Sprintf("%s %s %s %v", r.Kind, r.Agent, strings.ReplaceAll(r.ID, "5e55c0de-0000-4000-8000-00000000", ""), r.Primary))
		if _, err := s.Place(t.Context(), r.Path, time.Now()); err != nil {
			t.Errorf("%s could not be put back: %v", r.Path, err)
		}
	}
	want := []string{
		"live home-lea-pottery beef true", "live home-lea-pottery cafe true", "backup home-lea-pottery cafe false",
		"output home-lea-pottery cafe.checkpoints.001-x.md false", "output home-lea-pottery cafe.session.db false", "output home-lea-pottery cafe.workspace.yaml false",
	}
	got[0], got[1] = min(got[0], got[1]), max(got[0], got[1])
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(listing.Notices) != 0 {
		t.Errorf("notices %+v", listing.Notices)
	}
}

// The context is what the last call counted, cached input included, and what
// followed; after a compaction what the runtime estimates.
func TestCopilotTail(t *testing.T) {
	log := bundled(t)
	lines := strings.SplitAfter(string(log), "\n")
	upTo := func(kind string) []byte { // and with the last record of a type
		for i := len(lines) - 1; i >= 0; i-- {
			if strings.HasPrefix(lines[i], `{"type":"`+kind+`"`) {
				return []byte(strings.Join(lines[:i+1], ""))
			}
		}
		t.Fatal(kind)
		return nil
	}
	for name, c := range map[string]struct {
		log      []byte
		least    int64
		most     int64
		source   string
		answered bool
		role     session.Role
	}{
		"as it is":             {log, 9330, 9330, session.TokensFromUsage, true, session.RoleAssistant},
		"a question waits":     {upTo("user.message"), 8970 + 1200, 8970 + 1300, session.TokensFromUsage, false, session.RoleUser},
		"it was broken off":    {upTo("abort"), 8970, 8970, session.TokensFromUsage, true, session.RoleAssistant},
		"a tool still runs":    {upTo("tool.execution_start"), 9120, 9120, session.TokensFromUsage, false, session.RoleAssistant},
		"a tool has run":       {upTo("tool.execution_complete"), 9121, 9150, session.TokensFromUsage, false, session.RoleToolResult},
		"after the compaction": {[]byte(strings.Join(lines[:62], "")), 0, 0, "", true, 0},
	} {
		s, dir := copilotHome(t, c.log)
		if name == "after the compaction" {
			var at int
			for i, l := range lines {
				if strings.Contains(l, "session.compaction_complete") {
					at = i
					break
				}
			}
			copilotMust(t, os.WriteFile(filepath.Join(dir, "events.jsonl"), []byte(strings.Join(lines[:at+1], "")), 0o600))
			c.least, c.most, c.source, c.role = 8800, 8800, session.TokensFromEstimate, session.RoleSummary
		}
		tail, err := s.Tail(t.Context(), list(t, s)[0])
		copilotMust(t, err)
		if tail.Tokens < c.least || tail.Tokens > c.most || tail.TokenSource != c.source || tail.Answered != c.answered || tail.LastRole != c.role {
			t.Errorf("%s: %+v", name, tail)
		}
		_, result, err := scan(t, c.log)
		copilotMust(t, err)
		if name != "after the compaction" && (!tail.MessagesExact || tail.Messages != result.Records) {
			t.Errorf("%s: %d messages, a scan has %d", name, tail.Messages, result.Records)
		}
	}
}

// A session is busy while its lock is held, also by a process that is not seen,
// and while that cannot be told. A lock that a killed program left does not count,
// and neither does the turn that it was killed in.
func TestCopilotBusy(t *testing.T) {
	log := bundled(t)
	open := log[:bytes.LastIndex(log, []byte(`{"type":"assistant.message"`))]
	dead := deadProcess(t)
	for name, c := range map[string]struct {
		log    []byte
		locks  map[string]string
		age    time.Duration // of the locks and the log
		held   bool
		busy   string
		listed bool
	}{
		"without a lock":                      {log: log},
		"without, and unanswered":             {log: open, busy: "not answered"},
		"of this process":                     {log: log, locks: map[string]string{fmt.Sprintf("inuse.%d.lock", os.Getpid()): "", fmt.Sprintf("inuse.%d.hold", os.Getpid()): ""}, busy: "a running Copilot has it open", listed: true},
		"of a killed one":                     {log: open, locks: map[string]string{fmt.Sprintf("inuse.%d.lock", dead): "", fmt.Sprintf("inuse.%d.hold", dead): ""}},
		"held from elsewhere":                 {log: log, locks: map[string]string{fmt.Sprintf("inuse.%d.lock", dead): "", fmt.Sprintf("inuse.%d.hold", dead): ""}, held: true, busy: "a running Copilot has it open", listed: true},
		"that cannot be judged":               {log: log, locks: map[string]string{fmt.Sprintf("inuse.%d.lock", dead): ""}, busy: "may have it open", listed: true},
		"that cannot be judged, of yesterday": {log: log, locks: map[string]string{fmt.Sprintf("inuse.%d.lock", dead): ""}, age: 25 * time.Hour},
		"from before the machine was started": {log: open, locks: map[string]string{fmt.Sprintf("inuse.%d.lock", os.Getpid()): ""}, age: 20 * 365 * 24 * time.Hour},
		"held, and as old":                    {log: log, locks: map[string]string{fmt.Sprintf("inuse.%d.lock", dead): "", fmt.Sprintf("inuse.%d.hold", dead): ""}, age: 20 * 365 * 24 * time.Hour, held: true, busy: "a running Copilot has it open", listed: true},
	} {
		s, dir := copilotHome(t, c.log)
		for lock, text := range c.locks {
			path := filepath.Join(dir, lock)
			copilotMust(t, os.WriteFile(path, []byte(text), 0o600))
			if c.held && strings.HasSuffix(lock, ".hold") {
				held := flock.New(path)
				if ok, err := held.TryLock(); !ok || err != nil {
					t.Fatal(err)
				}
				defer held.Unlock()
			}
			if c.age > 0 {
				old := time.Now().Add(-c.age)
				copilotMust(t, errors.Join(os.Chtimes(path, old, old), os.Chtimes(filepath.Join(dir, "events.jsonl"), old, old)))
			}
		}
		ref := list(t, s)[0]
		err := s.Busy(t.Context(), session.BusyQuestion{Ref: ref, Now: time.Now(), Quiet: time.Minute})
		if c.busy == "" && err != nil || c.busy != "" && (!errors.Is(err, session.ErrBusy) || !strings.Contains(err.Error(), c.busy)) {
			t.Errorf("%s: %v, want %q", name, err, c.busy)
		}
		if (ref.State == session.StateBusy) != c.listed {
			t.Errorf("%s: listed as %s (%s)", name, ref.State, ref.Reason)
		}
		locks, err := s.Locks(t.Context(), time.Now())
		if wantLocks := min(len(c.locks), 1); len(locks) != wantLocks || err != nil {
			t.Errorf("%s: locks %+v, %v", name, locks, err)
		}
		if name == "of a killed one" && !locks[0].Stale {
			t.Errorf("%s: %+v", name, locks)
		}
	}
}

// deadProcess is the number of a process that has ended.
func deadProcess(t *testing.T) int {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=NoSuchTest")
	copilotMust(t, c.Run())
	return c.Process.Pid
}
