package carry

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
)

// Check returns what a provider would refuse of a context, by their public rules: each
// call has its result at once and only one, no result is without its call, ids are new
// and short, names are of few characters, arguments are an object, nothing is empty,
// and people and the model take turns.
func Check(c session.Carried) error {
	ids := map[string]bool{}
	var open []session.CarriedCall
	last := session.Role(0)
	for i, m := range c.Messages {
		if m.Role == session.RoleToolResult {
			if len(open) == 0 || open[0].ID != m.CallID || open[0].Name != m.ToolName {
				return fmt.Errorf("message %d: a result without its call", i+1)
			}
			open = open[1:]
			continue
		}
		if err := checkSaid(m, last, len(open), ids); err != nil {
			return fmt.Errorf("message %d: %w", i+1, err)
		}
		open, last = m.Calls, m.Role
	}
	if len(open) > 0 {
		return fmt.Errorf("a call without its result: %s", open[0].Name)
	}
	return nil
}

func checkSaid(m session.CarriedMessage, last session.Role, open int, ids map[string]bool) error {
	switch {
	case open > 0:
		return fmt.Errorf("a call before it has no result")
	case m.Role != session.RoleUser && m.Role != session.RoleAssistant:
		return fmt.Errorf("said by %s", m.Role)
	case m.Role == last && m.Role == session.RoleUser, m.Role != session.RoleAssistant && len(m.Calls) > 0:
		return fmt.Errorf("%s twice, or with calls", m.Role)
	case strings.TrimSpace(m.Text) == "" && len(m.Calls) == 0 && len(m.Images) == 0:
		return fmt.Errorf("nothing is said")
	case len(m.Images) > 0 && m.Role == session.RoleAssistant:
		return fmt.Errorf("an image of %s", m.Role)
	}
	for _, call := range m.Calls {
		if err := checkCall(call, ids); err != nil {
			return err
		}
	}
	return nil
}

// maxID is how long an id may be, for providers.
const maxID = 40

func checkCall(call session.CarriedCall, ids map[string]bool) error {
	var arguments map[string]any
	switch {
	case ids[call.ID] || !validName(call.ID) || len(call.ID) > maxID:
		return fmt.Errorf("the id %q of a call", call.ID)
	case !validName(call.Name):
		return fmt.Errorf("the name %q of a tool", call.Name)
	case json.Unmarshal(call.Arguments, &arguments) != nil:
		return fmt.Errorf("arguments of %s that are no object", call.Name)
	}
	ids[call.ID] = true
	return nil
}
