package smallpackages_test

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/replay"
	"github.com/sessctl/sessctl/pkg/session/pi"
)

// A turn that failed or was broken off is left out with its results, and so is
// nothing else: half a turn that is sent again is refused by providers.
func TestReplayFailedTurnsAreLeftOut(t *testing.T) {
	const calls = `{"type":"text","text":"let me"},{"type":"toolCall","id":"a","name":"x","arguments":{}},{"type":"toolCall","id":"b","name":"x","arguments":{}}`
	for _, stop := range []string{"aborted", "error"} {
		log := `{"type":"session","version":3,"id":"s","timestamp":"2026-09-02T08:00:00.000Z","cwd":"/w"}` + "\n"
		for i, message := range []string{
			`{"role":"user","content":"q"}`,
			`{"role":"assistant","content":[` + calls + `],"stopReason":"` + stop + `"}`,
			`{"role":"toolResult","toolCallId":"a","toolName":"x","content":[{"type":"text","text":"1"}]}`,
			`{"role":"user","content":"again"}`,
			`{"role":"assistant","content":[{"type":"text","text":"yes"},{"type":"toolCall","id":"c","name":"x","arguments":{}}],"stopReason":"toolUse"}`,
			`{"role":"toolResult","toolCallId":"c","toolName":"x","content":[{"type":"text","text":"3"}]}`,
		} {
			parent := `"` + string(rune('a'+i-1)) + `"`
			if i == 0 {
				parent = "null"
			}
			log += `{"type":"message","id":"` + string(rune('a'+i)) + `","parentId":` + parent + `,"timestamp":"2026-09-02T08:00:01.000Z","message":` + message + "}\n"
		}
		all, _, err := replay.Read(t.Context(), pi.Open("."), func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(log)), nil })
		if err != nil || len(all) != 6 {
			t.Fatalf("%d messages, %v", len(all), err)
		}
		var got []string
		for _, m := range replay.Repair(all) {
			got = append(got, string(m.Role)+" "+m.Text)
		}
		if diff := cmp.Diff([]string{"user q", "user again", "assistant yes", "tool 3"}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", stop, diff)
		}
	}
}
