package smallpackages_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
)

// piLog is a log with one entry a word, each with its parent before the slash:
// "1>2" is a message with id 2, "2>r3" a reset, "3>c4" a compaction.
func piLog(words ...string) string {
	log := `{"type":"session","version":4,"id":"s","timestamp":"2026-09-02T08:00:00.000Z"}` + "\n"
	for _, word := range words {
		parent, id, _ := strings.Cut(word, ">")
		head := fmt.Sprintf(`"id":"id-%s","parentId":"id-%s","timestamp":"2026-09-02T08:00:01.000Z"`, strings.Trim(id, "rc"), parent)
		if parent == "" {
			head = strings.Replace(head, `"id-"`, "null", 1)
		}
		switch id[0] {
		case 'r':
			log += `{"type":"reset",` + head + `,"reason":"reset"}` + "\n"
		case 'c':
			log += `{"type":"compaction",` + head + `,"summary":"up to ` + parent + `","firstKeptEntryId":"id-` + parent + `"}` + "\n"
		default:
			log += `{"type":"message",` + head + `,"message":{"role":"user","content":"` + id + `"}}` + "\n"
		}
	}
	return log
}

// After a reset the model sees only what followed (docs/dev/formats.md, "openclaw
// database").
func TestReplayReset(t *testing.T) {
	for name, c := range map[string]struct {
		log  string
		want []string
	}{
		"none":                      {piLog(">1", "1>2"), []string{"user 1", "user 2"}},
		"between":                   {piLog(">1", "1>r2", "2>3", "3>4"), []string{"user 3", "user 4"}},
		"at the end":                {piLog(">1", "1>2", "2>r3"), nil},
		"at the beginning":          {piLog(">r1", "1>2"), []string{"user 2"}},
		"two":                       {piLog(">1", "1>r2", "2>3", "3>r4", "4>5"), []string{"user 5"}},
		"after a compaction":        {piLog(">1", "1>2", "2>c3", "3>4", "4>r5", "5>6"), []string{"user 6"}},
		"before a compaction":       {piLog(">1", "1>r2", "2>3", "3>4", "4>c5", "5>6"), []string{"summary up to 4", "user 4", "user 6"}},
		"on a branch that was left": {piLog(">1", "1>2", "2>r3", "3>4", "2>5"), []string{"user 1", "user 2", "user 5"}},
		"on the branch that stays":  {piLog(">1", "1>2", "1>r3", "3>4"), []string{"user 4"}},
		"another was left":          {piLog(">1", "1>r2", "2>3", "3>r4", "4>5", "3>6"), []string{"user 3", "user 6"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, brief(read(t, openclaw.Open("", openclaw.Options{}), c.log))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What the real runtime wrote before and after sessions.reset.
func TestReplayResetOfTheRealRuntime(t *testing.T) {
	log := samples.Read(t, "real/openclaw-2026.9.6/transcript.jsonl")
	got := brief(read(t, openclaw.Open("", openclaw.Options{}), string(log)))
	if len(got) != 2 || got[0] != "user Plan the bakery week for me" || !strings.HasPrefix(got[1], "assistant I compared the three suppliers") {
		t.Errorf("%q", got)
	}
}
