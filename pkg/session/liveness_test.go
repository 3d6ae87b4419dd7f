package session_test

import (
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// A turn is going on for as long as one can take, and was broken off afterwards,
// in every runtime and however it is seen.
func TestCheckTurn(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	open := session.Tail{LastRole: session.RoleUser}
	for name, c := range map[string]struct {
		tail    session.Tail
		age     time.Duration // of the last change
		longest time.Duration
		runtime string
		reason  string
	}{
		"an answer":                    {tail: session.Tail{Answered: true, LastRole: session.RoleAssistant}},
		"no message":                   {tail: session.Tail{Answered: true}},
		"torn":                         {tail: session.Tail{Answered: true, Torn: true}, reason: "its last line is not finished"},
		"a question":                   {tail: open, reason: "the last message is from the user"},
		"a result":                     {tail: session.Tail{LastRole: session.RoleToolResult}, reason: "the last message is from the tool"},
		"an open call":                 {tail: session.Tail{LastRole: session.RoleAssistant}, reason: "the last message is from the assistant"},
		"of the runtime":               {tail: session.Tail{LastRole: session.RoleInjected}, reason: "the last message is from the runtime"},
		"a question of a day":          {tail: open, age: 24 * time.Hour, reason: "the last message is from the user"},
		"an older question":            {tail: open, age: 24*time.Hour + time.Second},
		"an older torn line":           {tail: session.Tail{Answered: true, Torn: true}, age: 25 * time.Hour},
		"a bound that was asked for":   {tail: open, age: 2 * time.Hour, longest: time.Hour},
		"a longer one":                 {tail: open, age: 25 * time.Hour, longest: 48 * time.Hour, reason: "the last message is from the user"},
		"mac-stats gives up":           {tail: open, age: 31 * time.Minute, runtime: session.RuntimeMacStats},
		"mac-stats, longer":            {tail: open, age: 31 * time.Minute, longest: 48 * time.Hour, runtime: session.RuntimeMacStats},
		"mac-stats in use":             {tail: open, age: 29 * time.Minute, runtime: session.RuntimeMacStats, reason: "the last message is from the user"},
		"a clock that went back":       {tail: open, age: -time.Hour, reason: "the last message is from the user"},
		"a time that is far off":       {tail: open, age: -25 * time.Hour},
		"a server whose clock is off":  {tail: session.Tail{LastRole: session.RoleUser, LastRecord: now.Add(-time.Minute)}, age: 48 * time.Hour, reason: "the last message is from the user"},
		"a record of a time far off":   {tail: session.Tail{LastRole: session.RoleUser, LastRecord: now.Add(48 * time.Hour)}, age: 48 * time.Hour},
		"a copy made a moment ago":     {tail: session.Tail{LastRole: session.RoleUser, LastRecord: now.Add(-48 * time.Hour)}, age: time.Minute, reason: "the last message is from the user"},
		"an old record in an old file": {tail: session.Tail{LastRole: session.RoleUser, LastRecord: now.Add(-49 * time.Hour)}, age: 48 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			q := session.BusyQuestion{Ref: session.Ref{Path: "x", Runtime: c.runtime}, Now: now, LongestTurn: c.longest}
			wantReason(t, session.CheckTurn(q, c.tail, now.Add(-c.age)), c.reason)
		})
	}
}
