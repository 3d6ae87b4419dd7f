package adapters_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

const (
	tailHeader = `{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T08:00:00Z"}` + "\n"
	tailUser   = `{"type":"message","id":"u1","parentId":null,"timestamp":"2026-03-02T08:00:01Z","message":{"role":"user","content":"hi"}}` + "\n"
)

func tailAnswer(id, parent, members string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-03-02T08:00:02Z","message":{"role":"assistant",%s}}`, id, parent, members) + "\n"
}

func TestPiformatTailAnswered(t *testing.T) {
	call := `{"type":"toolCall","id":"c1","name":"read","arguments":{}}`
	for name, c := range map[string]struct {
		log      string
		answered bool
		role     session.Role
	}{
		"nothing yet":       {"", true, 0},
		"only a header":     {tailHeader, true, 0},
		"question":          {tailHeader + tailUser, false, session.RoleUser},
		"answer":            {tailHeader + tailUser + tailAnswer("a1", "u1", `"content":"x","stopReason":"stop"`), true, session.RoleAssistant},
		"too long":          {tailHeader + tailUser + tailAnswer("a1", "u1", `"content":"x","stopReason":"length"`), true, session.RoleAssistant},
		"no stop reason":    {tailHeader + tailUser + tailAnswer("a1", "u1", `"content":"x"`), true, session.RoleAssistant},
		"call":              {tailHeader + tailUser + tailAnswer("a1", "u1", `"content":[`+call+`],"stopReason":"toolUse"`), false, session.RoleAssistant},
		"call, no reason":   {tailHeader + tailUser + tailAnswer("a1", "u1", `"content":[`+call+`]`), false, session.RoleAssistant},
		"failed":            {tailHeader + tailUser + tailAnswer("a1", "u1", `"content":[],"stopReason":"error"`), true, session.RoleAssistant},
		"aborted in a call": {tailHeader + tailUser + tailAnswer("a1", "u1", `"content":[`+call+`],"stopReason":"aborted"`), true, session.RoleAssistant},
		"result": {
			tailHeader + tailUser + tailAnswer("a1", "u1", `"content":[`+call+`],"stopReason":"toolUse"`) +
				`{"type":"message","id":"r1","parentId":"a1","message":{"role":"toolResult","toolCallId":"c1","content":"ok"}}` + "\n", false, session.RoleToolResult,
		},
		"bookkeeping after the answer": {
			tailHeader + tailUser + tailAnswer("a1", "u1", `"content":"x","stopReason":"stop"`) + `{"type":"label","id":"l1","parentId":"a1"}` + "\n", true, session.RoleAssistant,
		},
		"command after the answer": {
			tailHeader + tailUser + tailAnswer("a1", "u1", `"content":"x","stopReason":"stop"`) +
				`{"type":"message","id":"b1","parentId":"a1","message":{"role":"bashExecution","command":"ls","output":""}}` + "\n", true, session.RoleShell,
		},
		"context block after the question": {
			tailHeader + tailUser + `{"type":"custom_message","id":"x1","parentId":"u1","customType":"openclaw.runtime-context","content":"x"}` + "\n", false, session.RoleInjected,
		},
		"compaction after the answer": {
			tailHeader + tailUser + tailAnswer("a1", "u1", `"content":"x","stopReason":"stop"`) + `{"type":"compaction","id":"k1","parentId":"a1","summary":"s"}` + "\n", true, session.RoleSummary,
		},
		"compaction in a turn": {
			tailHeader + tailUser + `{"type":"compaction","id":"k1","parentId":"u1","summary":"s"}` + "\n", false, session.RoleSummary,
		},
		"answered on another branch": {
			tailHeader + tailUser + tailAnswer("a1", "u1", `"content":"x","stopReason":"stop"`) +
				`{"type":"message","id":"u2","parentId":"u1","message":{"role":"user","content":"again"}}` + "\n", false, session.RoleUser,
		},
		"torn answer": {tailHeader + tailUser + strings.TrimSpace(tailAnswer("a1", "u1", `"content":"x"`))[:60], false, session.RoleUser},
		"answer without a line feed": {
			tailHeader + tailUser + strings.TrimSpace(tailAnswer("a1", "u1", `"content":"x"`)), true, session.RoleAssistant,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tail, err := piformatTailOf([]byte(c.log), time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			if tail.Answered != c.answered || tail.LastRole != c.role {
				t.Errorf("answered %v, last role %s; want %v, %s", tail.Answered, tail.LastRole, c.answered, c.role)
			}
		})
	}
}

func TestPiformatTailTokens(t *testing.T) {
	usage := func(total int) string {
		return fmt.Sprintf(`"content":"x","stopReason":"stop","usage":{"totalTokens":%d}`, total)
	}
	user := func(id, parent, text string) string {
		return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"message":{"role":"user","content":%q}}`, id, parent, text) + "\n"
	}
	nine := strings.Repeat("abc", 9)
	for name, c := range map[string]struct {
		log    string
		want   int64
		source string
	}{
		"usage":           {tailUser + tailAnswer("a1", "u1", usage(5000)), 5000, session.TokensFromUsage},
		"usage and more":  {tailUser + tailAnswer("a1", "u1", usage(5000)) + user("u2", "a1", nine), 5009, session.TokensFromUsage},
		"four counts":     {tailUser + tailAnswer("a1", "u1", `"usage":{"input":1,"output":2,"cacheRead":30,"cacheWrite":400}`), 433, session.TokensFromUsage},
		"failed call":     {tailUser + tailAnswer("a1", "u1", usage(5000)) + tailAnswer("a2", "a1", `"stopReason":"error","usage":{"totalTokens":9}`), 5000, session.TokensFromUsage},
		"aborted call":    {tailUser + tailAnswer("a1", "u1", `"stopReason":"aborted","usage":{"totalTokens":9}`), 1, session.TokensFromEstimate},
		"empty usage":     {tailUser + tailAnswer("a1", "u1", `"content":"x","usage":{"totalTokens":0}`), 2, session.TokensFromEstimate},
		"another branch":  {tailUser + tailAnswer("a1", "u1", usage(5000)) + tailAnswer("a2", "a1", usage(9000)) + user("u2", "a1", nine), 5009, session.TokensFromUsage},
		"stale usage":     {tailUser + tailAnswer("a1", "u1", usage(5000)) + `{"type":"compaction","id":"k","parentId":"a1","summary":"` + nine + `"}` + "\n", 9 + 4999, session.TokensFromEstimate},
		"kept":            {tailUser + tailAnswer("a1", "u1", usage(5000)) + `{"type":"compaction","id":"k","parentId":"a1","summary":"` + nine + `","firstKeptEntryId":"a1"}` + "\n" + user("u2", "k", "abc"), 9 + 1 + 1 + 4999, session.TokensFromEstimate},
		"kept is missing": {tailUser + tailAnswer("a1", "u1", usage(5000)) + `{"type":"compaction","id":"k","parentId":"a1","summary":"` + nine + `","firstKeptEntryId":"gone"}` + "\n", 9 + 4999, session.TokensFromEstimate},
		"first call of a copy": { // what the first one says counts, if no summary stands before it
			`{"type":"compaction","id":"j","parentId":null,"summary":"x"}` + "\n" + user("u1", "j", "abc") + tailAnswer("a1", "u1", usage(5000)) +
				`{"type":"compaction","id":"k","parentId":"a1","summary":"` + nine + `"}` + "\n", 9, session.TokensFromEstimate,
		},
		"failed first call": {
			tailUser + tailAnswer("a1", "u1", `"stopReason":"error","usage":{"totalTokens":9}`) + tailAnswer("a2", "a1", `"usage":{"input":70,"output":5000,"cacheRead":30}`) +
				`{"type":"compaction","id":"k","parentId":"a2","summary":"` + nine + `"}` + "\n", 9 + 99, session.TokensFromEstimate,
		},
		"call after a compaction": {
			tailUser + `{"type":"compaction","id":"k","parentId":"u1","summary":"x","firstKeptEntryId":"u1"}` + "\n" + tailAnswer("a1", "k", usage(700)), 700, session.TokensFromUsage,
		},
		"two compactions": {
			tailUser + `{"type":"compaction","id":"k","parentId":"u1","summary":"` + nine + nine + `","firstKeptEntryId":"u1"}` + "\n" + user("u2", "k", nine) +
				`{"type":"compaction","id":"l","parentId":"u2","summary":"abc","firstKeptEntryId":"u1"}` + "\n", 1 + 9 + 1, session.TokensFromEstimate,
		},
		"reset":       {tailUser + tailAnswer("a1", "u1", usage(5000)) + `{"type":"reset","id":"r","parentId":"a1"}` + "\n" + user("u2", "r", nine), 9, session.TokensFromEstimate},
		"lost parent": {tailUser + tailAnswer("a1", "u1", usage(5000)) + user("u2", "gone", nine), 9, session.TokensFromEstimate},
		"cycle":       {user("a", "b", nine) + user("b", "a", nine), 18, session.TokensFromEstimate},
		"own parent":  {user("a", "a", nine), 9, session.TokensFromEstimate},
		"two records on one line": {
			tailUser + strings.TrimSpace(tailAnswer("a1", "u1", usage(5000))) + user("u2", "a1", nine) + user("u3", "u2", nine), 5018, session.TokensFromUsage,
		},
		"fragment before a record": {
			tailUser + tailAnswer("a1", "u1", usage(5000)) + `{"type":"message","id":"u2","par` + user("u2", "a1", nine), 5009, session.TokensFromUsage,
		},
		"images and exclusions": {
			tailUser + tailAnswer("a1", "u1", usage(10)) +
				`{"type":"message","id":"r","parentId":"a1","message":{"role":"toolResult","content":[{"type":"image","data":"` + nine + `"},{"type":"text","text":"abc"}]}}` + "\n" +
				`{"type":"message","id":"b","parentId":"r","message":{"role":"bashExecution","command":"env","output":"` + nine + `","excludeFromContext":true}}` + "\n",
			10 + 1200 + 1, session.TokensFromUsage,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tail, err := piformatTailOf([]byte(tailHeader+c.log), time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			if tail.Tokens != c.want || tail.TokenSource != c.source {
				t.Errorf("%d tokens by %s, want %d by %s", tail.Tokens, tail.TokenSource, c.want, c.source)
			}
		})
	}
}
