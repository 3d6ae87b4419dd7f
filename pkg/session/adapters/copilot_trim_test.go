package adapters_test

import (
	"bytes"
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

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/copilot"
)

// planned is what a trim of a log would leave.
func planned(t testing.TB, s *copilot.Store, path string) (session.Shortening, error) {
	t.Helper()
	f, err := os.Open(path)
	copilotMust(t, err)
	defer f.Close()
	snap, err := session.TakeSnapshot(t.Context(), f, path)
	copilotMust(t, err)
	ref := list(t, s)[0]
	return s.PlanTrim(t.Context(), session.ShortenRequest{Ref: ref, Snapshot: snap, Now: time.Now()})
}

func copilotTrimmed(t testing.TB, log []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	copilotMust(t, copilot.Trim(t.Context(), &out, bytes.NewReader(log), int64(len(log))))
	return out.Bytes()
}

// needed is what a resume needs of a log, from docs/dev/formats.md, by encoding/json
// and in the plainest way.
func needed(log []byte) string {
	type record struct {
		Type, AgentID string
		Data          struct {
			CompactionAttemptID, AssetID string
			Success                      bool
		}
	}
	lines := strings.SplitAfter(string(log), "\n")
	all := make([]record, len(lines))
	cut, starts, last := 0, map[string]int{}, map[string]int{}
	for i, line := range lines {
		if json.Unmarshal([]byte(line), &all[i]) != nil || all[i].AgentID != "" {
			continue
		}
		switch r := all[i]; r.Type {
		case "session.compaction_start":
			starts[r.Data.CompactionAttemptID] = i
		case "session.compaction_complete":
			if r.Data.Success {
				cut = starts[r.Data.CompactionAttemptID]
			}
		}
		last[all[i].Type] = i
	}
	var kept strings.Builder
	for i, line := range lines {
		switch r := all[i]; {
		case strings.HasPrefix(r.Type, "model.") || r.Type == "system.message":
			continue
		case slices.Contains([]string{"session.shutdown", "session.resume", "session.usage_record"}, r.Type):
			if r.AgentID != "" || last[r.Type] != i {
				continue
			}
		case i == 0 || i >= cut || r.AgentID == "" && (r.Type == "user.message" || r.Type == "session.model_change"):
		case r.Type == "session.binary_asset" && strings.Contains(strings.Join(lines[cut:], ""), r.Data.AssetID):
		default:
			continue
		}
		kept.WriteString(line)
	}
	return kept.String()
}

// What stays is what the page of formats says, of every sample, and the smallest
// log that sent the identical request is in it, but for what the model and the
// sizes are kept by.
func TestCopilotTrimKeepsWhatAResumeNeeds(t *testing.T) {
	for path, log := range copilotLogs(t) {
		got := copilotTrimmed(t, log)
		if d := cmp.Diff(needed(log), string(got)); d != "" {
			t.Errorf("%s (-page +sessctl)\n%s", path, d)
		}
		again := copilotTrimmed(t, got)
		if !bytes.Equal(again, got) {
			t.Errorf("%s: a second trim leaves %d of %d bytes", path, len(again), len(got))
		}
		before, _, err := scan(t, log)
		copilotMust(t, err)
		after, _, err := scan(t, got)
		copilotMust(t, err)
		if len(after) > len(before) {
			t.Errorf("%s: %d messages, %d before", path, len(after), len(before))
		}
		if small := filepath.Join(filepath.Dir(path), "events.m.jsonl"); strings.HasSuffix(path, "events.base.jsonl") {
			m, err := os.ReadFile(small)
			copilotMust(t, err)
			for line := range strings.Lines(string(m)) {
				if !strings.Contains(string(got), line) {
					t.Errorf("%s lacks %.80s", path, line)
				}
			}
			if extra := len(got) - len(m); extra > 2000 {
				t.Errorf("%s: %d bytes, %d more than the smallest", path, len(got), extra)
			}
		}
	}
}

// A line that is not understood stays where it is; a log that was not compared with
// the program is not touched.
func TestCopilotTrimLeavesWhatItDoesNotKnow(t *testing.T) {
	lines := strings.SplitAfter(string(bundled(t)), "\n")
	plain := string(copilotTrimmed(t, []byte(strings.Join(lines, ""))))
	for name, odd := range map[string]string{
		"a type of the future":  `{"type":"assistant.dream","data":{"of":"the sea"},"id":"x"}` + "\n",
		"a debug record of it":  `{"type":"model.dream","data":{},"id":"x"}` + "\n",
		"no JSON":               "what is this\n",
		"two records on a line": strings.TrimSuffix(lines[5], "\n") + lines[6],
		"a torn record":         lines[5][:60] + "\n",
		"no data":               `{"type":"assistant.message","id":"x"}` + "\n",
		"a blank line":          "\n",
		"NULs":                  "\x00\x00\x00\n",
		"thinking":              `{"type":"assistant.reasoning","data":{"content":"hm"},"id":"x"}` + "\n",
	} {
		log := strings.Join(lines[:7], "") + odd + strings.Join(lines[7:], "")
		got := string(copilotTrimmed(t, []byte(log)))
		if !strings.Contains(got, odd) || len(got) != len(plain)+len(odd) {
			t.Errorf("%s: %d bytes stay, %d without it", name, len(got), len(plain))
		}
	}
	for name, odd := range map[string]string{
		"session.snapshot_rewind": `{"type":"session.snapshot_rewind","data":{"upToEventId":"x"},"id":"x"}` + "\n",
		"session.truncation":      `{"type":"session.truncation","data":{},"id":"x"}` + "\n",
		"session.rewound_to":      `{"type":"session.rewound_to","data":{"upToEventId":"x"},"id":"x"}` + "\n",
		"first line":              "",
	} {
		log := strings.Join(lines[:7], "") + odd + strings.Join(lines[7:], "")
		if odd == "" {
			log = strings.Join(lines[1:], "")
		}
		s, dir := copilotHome(t, []byte(log))
		if _, err := planned(t, s, filepath.Join(dir, "events.jsonl")); !errors.Is(err, session.ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An image stays if a line that stays names it, whoever wrote that and whether or
// not it is understood; of lines that go, and of what a person typed before the
// compaction, it does not.
func TestCopilotTrimKeepsImagesThatAreNamed(t *testing.T) {
	lines := strings.SplitAfter(string(bundled(t)), "\n")
	id := "sha256:" + strings.Repeat("ab", 32)
	image := `{"type":"session.binary_asset","data":{"assetId":"` + id + `","data":"aGk="},"id":"i"}` + "\n"
	for name, c := range map[string]struct {
		line  string
		stays bool
	}{
		"an agent's line of the future": {`{"type":"assistant.dream","agentId":"a1","data":{"of":"` + id + `"},"id":"x"}`, true},
		"a line of the future":          {`{"type":"assistant.dream","data":{"of":"` + id + `"},"id":"x"}`, true},
		"a line that is no JSON":        {`what is ` + id + ` this`, true},
		"no data":                       {`{"type":"user.message","of":"` + id + `","id":"x"}`, true},
		"what an agent was asked":       {`{"type":"user.message","agentId":"a1","data":{"attachments":[{"assetId":"` + id + `"}]},"id":"x"}`, false},
		"what a person typed":           {`{"type":"user.message","data":{"attachments":[{"assetId":"` + id + `"}]},"id":"x"}`, false},
		"an answer that was summed up":  {`{"type":"assistant.message","data":{"content":"` + id + `"},"id":"x"}`, false},
		"a debug record of the runtime": {`{"type":"model.message","data":{"of":"` + id + `"},"id":"x"}`, true}, // nobody else names it
	} {
		log := strings.Join(lines[:7], "") + image + c.line + "\n" + strings.Join(lines[7:], "")
		if got := string(copilotTrimmed(t, []byte(log))); strings.Contains(got, image) != c.stays {
			t.Errorf("%s: the image stays: %v", name, !c.stays)
		}
	}
}

// Two compactions at a time, or one that ended in another way after the last, were
// not compared; one whose beginning is not there changes nothing.
func TestCopilotTrimOfOddCompactions(t *testing.T) {
	lines := strings.SplitAfter(string(bundled(t)), "\n")
	start := func(attempt string) string {
		return `{"type":"session.compaction_start","data":{"compactionAttemptId":"` + attempt + `"},"id":"x"}` + "\n"
	}
	done := func(attempt, outcome string) string {
		return `{"type":"session.compaction_complete","data":{"compactionAttemptId":"` + attempt + `","success":true,"outcome":"` + outcome + `","summaryContent":"s"},"id":"y"}` + "\n"
	}
	end := lines[len(lines)-4]
	for name, c := range map[string]struct {
		log     string
		refused bool
	}{
		"interleaved":            {strings.Join(lines, "") + start("a") + end + start("b") + end + done("a", "applied") + done("b", "applied"), true},
		"thrown away":            {strings.Join(lines, "") + start("a") + end + done("a", "discarded"), true},
		"thrown away before":     {strings.Join(lines, "") + start("a") + end + done("a", "discarded") + start("b") + done("b", "applied"), false},
		"without its beginning":  {lines[0] + done("a", "applied") + strings.Join(lines[1:20], ""), false},
		"begun and never ended":  {strings.Join(lines, "") + start("a") + end, false},
		"begun again after that": {strings.Join(lines, "") + start("a") + end + start("b") + done("b", "applied"), false},
	} {
		var out bytes.Buffer
		err := copilot.Trim(t.Context(), &out, strings.NewReader(c.log), int64(len(c.log)))
		if c.refused != errors.Is(err, session.ErrUnsupported) || !c.refused && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if name == "without its beginning" && !strings.Contains(out.String(), done("a", "applied")+lines[1]) {
			t.Errorf("%s: %s", name, out.String())
		}
	}
}

// A session of which the program needs nearly everything is left alone, and so is
// the copy before a repair, and one that lies flat.
func TestCopilotTrimOfNothing(t *testing.T) {
	s, dir := copilotHome(t, copilotTrimmed(t, bundled(t)))
	path := filepath.Join(dir, "events.jsonl")
	if _, err := planned(t, s, path); !errors.Is(err, session.ErrNothingToTrim) {
		t.Error(err)
	}
	refs := list(t, s)
	for _, ref := range refs[1:] {
		if by := s.Capabilities().StrategiesOf(ref); by[0] != session.StrategyNone {
			t.Errorf("%s can have %v", ref.Path, by)
		}
	}
	flat := refs[0]
	flat.Path = filepath.Join(filepath.Dir(dir), "5e55c0de-0000-4000-8000-00000000beef.jsonl")
	copilotMust(t, os.WriteFile(flat.Path, bundled(t), 0o600))
	if _, err := s.PlanTrim(t.Context(), session.ShortenRequest{Ref: flat, Now: time.Now()}); !errors.Is(err, session.ErrUnsupported) {
		t.Error(err)
	}
}

// A log that grew, or whose lock appeared, since the plan was made is left as it
// is; a trim that stopped after any step is finished by the next.
func TestCopilotTrimIsOneStep(t *testing.T) {
	log := bundled(t)
	want := copilotTrimmed(t, log)
	for _, name := range []string{"grown", "locked", "stage", "exchange", "keep", ""} {
		s, dir := copilotHome(t, log)
		path := filepath.Join(dir, "events.jsonl")
		plan, err := planned(t, s, path)
		copilotMust(t, err)
		now := log
		switch name {
		case "grown":
			now = append(bytes.Clone(log), `{"type":"session.info","data":{},"id":"x"}`+"\n"...)
			copilotMust(t, os.WriteFile(path, now, 0o600))
		case "locked":
			copilotMust(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("inuse.%d.lock", os.Getpid())), nil, 0o600))
		default:
			s.Changes.Step = stopAfter(name)
			if err := s.Shorten(t.Context(), plan); name != "" && err == nil {
				t.Logf("no step %s", name)
			}
			s.Changes.Step = nil
			now = want
		}
		err = s.Shorten(t.Context(), plan)
		if refused := name == "grown" || name == "locked"; refused != errors.Is(err, session.ErrBusy) || !refused && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, err := os.ReadFile(path)
		copilotMust(t, err)
		if !bytes.Equal(got, now) {
			t.Errorf("%s: the log has %d bytes, want %d", name, len(got), len(now))
		}
		if name == "" {
			old, err := os.ReadFile(plan.Kept)
			copilotMust(t, err)
			if !bytes.Equal(old, log) {
				t.Error("the old log is not what it was")
			}
			copilotMust(t, s.Dispose(t.Context(), plan.Rotation))
		}
	}
}

// The size of the log decides in a run over all sessions; whoever names a session
// is asked nothing.
func TestCopilotDue(t *testing.T) {
	s := copilot.Open(t.TempDir())
	for _, c := range []struct {
		bytes     int64
		requested bool
		due       bool
	}{{1 << 20, false, false}, {4 << 20, false, true}, {1 << 20, true, true}} {
		due, reason, err := s.Due(t.Context(), session.DueQuestion{Ref: session.Ref{Bytes: c.bytes}, Requested: c.requested})
		if due != c.due || err != nil || due == (reason != "") {
			t.Errorf("%+v: %v %q %v", c, due, reason, err)
		}
	}
}
