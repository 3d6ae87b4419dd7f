package carry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/replay"
	"github.com/sessctl/sessctl/pkg/session"
)

// maxTitle is how many characters of the first request are in a title.
const maxTitle = 60

// Title is for the lists of the target: the runtime that it is from, and the first
// request.
func Title(runtime string, c session.Carried) string {
	for _, m := range c.Messages {
		if m.Role == session.RoleUser && strings.TrimSpace(m.Text) != "" {
			first, _, _ := strings.Cut(strings.TrimSpace(m.Text), "\n")
			return "from " + runtime + ": " + session.CutText(first, maxTitle, "...")
		}
	}
	return "from " + runtime
}

// Same returns what of a carried context is not in another one, which was read from a
// log that was made of it.
func Same(want session.Carried, got []replay.Message) error {
	got = slices.Clone(got)
	for i := range got { // what a reader takes for a program's words was carried as a person's
		if _, note := session.OriginOf([]byte(got[i].Text)); !note {
			got[i].Injected = ""
		}
	}
	again, _ := Prepare(got, Options{Tools: Mixed, KeepSecrets: true, Target: session.ToolNames{Images: true, ResultImages: true}})
	if strings.TrimSpace(again.Summary) != strings.TrimSpace(want.Summary) {
		return fmt.Errorf("another summary")
	}
	for i, m := range want.Messages[:min(len(want.Messages), len(again.Messages))] {
		if err := sameMessage(m, again.Messages[i]); err != nil {
			return fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	if len(again.Messages) != len(want.Messages) {
		return fmt.Errorf("%d messages, not %d", len(again.Messages), len(want.Messages))
	}
	return nil
}

func sameMessage(want, got session.CarriedMessage) error {
	if want.Role != got.Role || len(want.Calls) != len(got.Calls) {
		return fmt.Errorf("%s with %d calls, not %s with %d", got.Role, len(got.Calls), want.Role, len(want.Calls))
	}
	// A runtime without a mark for a result that failed has it in the text.
	if text := strings.TrimPrefix(got.Text, failedMark); strings.TrimSpace(text) != strings.TrimSpace(want.Text) && strings.TrimSpace(got.Text) != strings.TrimSpace(want.Text) {
		return fmt.Errorf("another text")
	}
	if !slices.Equal(want.Images, got.Images) {
		return fmt.Errorf("other images")
	}
	for i, call := range want.Calls {
		if call.Name != got.Calls[i].Name {
			return fmt.Errorf("a call of %s, not of %s", got.Calls[i].Name, call.Name)
		}
	}
	return nil
}

const failedMark = "[failed]\n"
