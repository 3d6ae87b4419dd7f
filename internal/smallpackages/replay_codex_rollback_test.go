package smallpackages_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session/codex"
)

// What Codex 0.169 sends of a rollout in which turns were rolled back after a
// compaction: each was resumed with the real program, before a mock model. It puts
// the summary behind what it kept, a replay before it.
//
// A compaction with a history of its own is taken back with the turns that came
// before it. One without stays in force, and counts as a turn.
func TestReplayCodexRollbackPastCompaction(t *testing.T) {
	between, within := "between", "within" // turns two and three, or the third
	for _, test := range []struct {
		where    string
		history  bool
		rollback int
		want     string
	}{
		{between, true, 0, "summary q1 q2 q3 a3 q4"},
		{between, true, 1, "summary q1 q2 q4"},
		{between, true, 2, "q1 a1 q4"},
		{between, true, 3, "q4"},
		{within, true, 0, "summary q1 q2 q3 a3 q4"},
		{within, true, 1, "q1 a1 q2 a2 q4"},
		{within, true, 2, "q1 a1 q4"},
		{within, true, 3, "q4"},
		{between, false, 0, "summary q1 q2 q3 a3 q4"},
		{between, false, 1, "summary q1 q2 q4"},
		{between, false, 2, "q1 q2 q4"},
		{between, false, 3, "q1 q4"},
		{within, false, 0, "summary q1 q2 q3 a3 q4"},
		{within, false, 1, "q1 q2 q3 q4"},
		{within, false, 2, "q1 q2 q4"},
		{within, false, 3, "q1 q4"},
	} {
		t.Run(fmt.Sprintf("%s, history %v, rollback %d", test.where, test.history, test.rollback), func(t *testing.T) {
			log := codexCompacted(test.where, test.history, test.rollback)
			got := strings.Join(texts(read(t, codex.Open(""), log)), " ")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-codex +sessctl)\n%s\n%s", diff, log)
			}
		})
	}
}

// codexCompacted is a rollout of four turns, the fourth after the rollback.
func codexCompacted(where string, history bool, rollback int) string {
	var lines []string
	add := func(kind, payload string) {
		lines = append(lines, fmt.Sprintf(`{"timestamp":"2026-05-01T10:00:%02d.000Z","type":%q,"payload":%s}`, len(lines), kind, payload))
	}
	said := func(role, text string) string {
		return fmt.Sprintf(`{"type":"message","role":%q,"content":[{"type":"input_text","text":%q}]}`, role, text)
	}
	compact := func(at string, turns int) {
		kept := ""
		for i := 1; history && i <= turns; i++ {
			kept += said("user", fmt.Sprintf("q%d", i)) + ","
		}
		switch {
		case at == where && history:
			add("compacted", `{"message":"summary","replacement_history":[`+kept+said("user", "summary")+`]}`)
		case at == where:
			add("compacted", `{"message":"summary"}`)
		}
	}
	add("session_meta", `{"id":"019f8a11","cwd":"/w"}`)
	for turn := 1; turn <= 4; turn++ {
		switch {
		case turn == 3:
			compact("between", 2)
		case turn == 4 && rollback > 0:
			add("event_msg", fmt.Sprintf(`{"type":"thread_rolled_back","num_turns":%d}`, rollback))
		}
		add("event_msg", `{"type":"task_started"}`)
		add("response_item", said("user", fmt.Sprintf("q%d", turn)))
		if turn == 3 {
			compact("within", 3)
		}
		if turn < 4 {
			add("response_item", said("assistant", fmt.Sprintf("a%d", turn)))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}
