package smallpackages_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/replay"
	"github.com/sessctl/sessctl/pkg/session/claude"
	"github.com/sessctl/sessctl/pkg/session/pi"
)

// keptEntry is an entry of a generated log of pi.
type keptEntry struct {
	Type      string         `json:"type"`
	ID        string         `json:"id,omitempty"`
	Parent    string         `json:"parentId,omitempty"`
	Version   int            `json:"version,omitempty"`
	Timestamp string         `json:"timestamp"`
	Message   map[string]any `json:"message,omitempty"`
	Summary   string         `json:"summary,omitempty"`
	FromID    string         `json:"fromId,omitempty"`
	FirstKept string         `json:"firstKeptEntryId,omitempty"`
	KeptIndex *int           `json:"firstKeptEntryIndex,omitempty"`
	Custom    string         `json:"customType,omitempty"`
	Content   string         `json:"content,omitempty"`
	Model     string         `json:"modelId,omitempty"`
}

// keptLog is such a log, header first, and the path to its last entry.
type keptLog struct {
	version int
	entries []*keptEntry
	path    []*keptEntry
}

func (l *keptLog) add(e *keptEntry) {
	e.Timestamp = fmt.Sprintf("2026-01-01T00:%02d:%02d.000Z", len(l.entries)/60, len(l.entries)%60)
	if l.version > 1 {
		e.ID = fmt.Sprintf("%08x", len(l.entries))
		if len(l.path) > 0 {
			e.Parent = l.path[len(l.path)-1].ID
		}
	}
	l.entries, l.path = append(l.entries, e), append(l.path, e)
}

// firstKeepable is the first entry that the next compaction may keep: pi never
// goes back behind what the one before it kept.
func (l *keptLog) firstKeepable() int {
	for i := len(l.path) - 1; i >= 0; i-- {
		if e := l.path[i]; e.Type == "compaction" {
			return max(keptIn(l.path[:i], l.entries, e), 0)
		}
	}
	return 0
}

// keptIn is the index in path of the first entry that a compaction kept, the
// length of path if there is none.
func keptIn(path, entries []*keptEntry, compaction *keptEntry) int {
	for i, e := range path {
		switch {
		case compaction.KeptIndex != nil && *compaction.KeptIndex > 0 && entries[*compaction.KeptIndex] == e:
			return i
		case compaction.FirstKept != "" && compaction.FirstKept == e.ID:
			return i
		}
	}
	return len(path)
}

func drawLog(t *rapid.T) *keptLog {
	l := &keptLog{version: rapid.IntRange(1, 3).Draw(t, "version")}
	header := &keptEntry{Type: "session", ID: "aaaaaaaa-0000-4000-8000-000000000001", Timestamp: "2026-01-01T00:00:00.000Z"}
	if l.version > 1 {
		header.Version = l.version
	}
	l.entries = append(l.entries, header)
	for n := rapid.IntRange(2, 40).Draw(t, "entries"); len(l.entries) <= n; {
		l.draw(t, len(l.entries))
	}
	return l
}

func (l *keptLog) draw(t *rapid.T, i int) {
	said := func(role, text string) map[string]any {
		return map[string]any{"role": role, "content": []any{map[string]any{"type": "text", "text": text}}, "stopReason": "stop"}
	}
	kinds := []string{"user", "user", "assistant", "assistant", "nothing", "model", "thinking", "compaction", "compaction"}
	if l.version > 1 {
		kinds = append(kinds, "custom", "custom_message", "branch_summary", "fork")
	}
	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
	case "user", "assistant":
		l.add(&keptEntry{Type: "message", Message: said(kind, fmt.Sprintf("%s %d", kind, i))})
	case "nothing":
		l.add(&keptEntry{Type: "message", Message: said("assistant", "")})
	case "model":
		l.add(&keptEntry{Type: "model_change", Model: "m"})
	case "thinking":
		l.add(&keptEntry{Type: "thinking_level_change"})
	case "custom":
		l.add(&keptEntry{Type: "custom", Custom: "x"})
	case "custom_message":
		l.add(&keptEntry{Type: "custom_message", Custom: "x", Content: fmt.Sprintf("custom %d", i)})
	case "branch_summary":
		l.add(&keptEntry{Type: "branch_summary", FromID: "root", Summary: fmt.Sprintf("branch %d", i)})
	case "fork":
		if len(l.path) > 2 {
			l.path = l.path[:rapid.IntRange(1, len(l.path)).Draw(t, "fork")]
		}
	case "compaction":
		l.drawCompaction(t, i)
	}
}

func (l *keptLog) drawCompaction(t *rapid.T, i int) {
	e := &keptEntry{Type: "compaction", Summary: fmt.Sprintf("summary %d", i)}
	if least := l.firstKeepable(); least < len(l.path) {
		kept := l.path[rapid.IntRange(least, len(l.path)-1).Draw(t, "kept")]
		if l.version == 1 {
			for at := range l.entries {
				if l.entries[at] == kept {
					e.KeptIndex = &at
				}
			}
		} else {
			e.FirstKept = kept.ID
		}
	}
	l.add(e)
}

// context is what pi sends, as its buildSessionContext makes it: the summary of
// the last compaction on the path, then what stands from the first kept entry
// on, without the summaries of other compactions.
func (l *keptLog) context() (said []string) {
	from := 0
	for i, e := range l.path {
		if e.Type == "compaction" {
			said, from = []string{e.Summary}, i
			for _, kept := range l.path[keptIn(l.path[:i], l.entries, e):i] {
				said = kept.said(said)
			}
		}
	}
	for _, e := range l.path[from:] {
		said = e.said(said)
	}
	return said
}

func (e *keptEntry) said(to []string) []string {
	text := e.Content
	switch e.Type {
	case "message":
		text = e.Message["content"].([]any)[0].(map[string]any)["text"].(string)
	case "branch_summary":
		text = e.Summary
	case "compaction":
		return to
	}
	if text == "" {
		return to
	}
	return append(to, text)
}

func (l *keptLog) text() string {
	var b bytes.Buffer
	for _, e := range l.entries {
		_ = json.NewEncoder(&b).Encode(e)
	}
	return b.String()
}

// A compaction may name any record as the first that it kept: what stands from
// there on stays, whatever the record is.
func TestReplayReadKeepsByPlace(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		log := drawLog(r)
		if last := log.entries[len(log.entries)-1]; log.version > 1 && last != log.path[len(log.path)-1] {
			r.Skip("ends in a fork")
		}
		got := texts(read(t, pi.Open(""), log.text()))
		if diff := cmp.Diff(log.context(), got); diff != "" {
			r.Fatalf("(-pi +sessctl)\n%s\n%s", diff, log.text())
		}
	})
}

func texts(messages []replay.Message) (said []string) {
	for _, m := range messages {
		said = append(said, m.Text)
	}
	return said
}

// Claude Code names the first record of the segment that it kept, which may
// hold nothing but a thought.
func TestReplayReadKeepsFromAThought(t *testing.T) {
	record := func(id, parent, rest string) string {
		return fmt.Sprintf(`{"uuid":%q,"parentUuid":%s,"sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z",%s}`+"\n", id, parent, rest)
	}
	log := record("u1", "null", `"type":"user","message":{"role":"user","content":"long ago"}`) +
		record("a1", `"u1"`, `"type":"assistant","message":{"id":"r1","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"}]}`) +
		record("a2", `"a1"`, `"type":"assistant","message":{"id":"r1","role":"assistant","content":[{"type":"text","text":"kept answer"}]}`) +
		record("b1", "null", `"type":"system","subtype":"compact_boundary","logicalParentUuid":"a2","compactMetadata":{"trigger":"manual","preservedSegment":{"headUuid":"a1","anchorUuid":"c1","tailUuid":"a2"}}`) +
		record("c1", `"b1"`, `"type":"user","isCompactSummary":true,"message":{"role":"user","content":"The summary."}`) +
		record("u2", `"c1"`, `"type":"user","message":{"role":"user","content":"go on"}`)
	got := strings.Join(texts(read(t, claude.Open(""), log)), "|")
	if want := "The summary.|kept answer|go on"; got != want {
		t.Errorf("context %q, want %q", got, want)
	}
}
