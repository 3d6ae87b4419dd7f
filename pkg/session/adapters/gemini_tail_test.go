package adapters_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/gemini"
)

// geminiPlant writes a file that was last changed two hours ago.
func geminiPlant(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
}

// geminiTailOf is the tail of a chat in a store of its own.
func geminiTailOf(t *testing.T, name string, text []byte) session.Tail {
	t.Helper()
	root := t.TempDir()
	path := filepath.Join(root, "tmp", "p", "chats", name)
	geminiPlant(t, path, string(text))
	got, err := gemini.Open(root).Tail(context.Background(), session.Ref{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestGeminiTailOfSamples(t *testing.T) {
	for _, c := range []struct {
		name     string
		tokens   int64
		source   string
		messages int
		answered bool
	}{
		{"gemini-cli/deja-vu/session.jsonl", 9 + 8, "estimate", 2, true},
		{"gemini-cli/deja-vu/session-set-snapshot.jsonl", 14 + 13, "estimate", 2, true},
		// after the compression: the snapshot, "Got it." and a question
		{"gemini-cli/derived/tmp/registry-demo/chats/session-2026-04-29T21-39-2e7d1c9a.jsonl", 16 + 3 + 6, "estimate", 8, false},
		{"gemini-cli/jazzyalex/jsonl_v040.jsonl", 12_216, "usage", 4, true},
		{"gemini-cli/jazzyalex/small.json", 15, "usage", 2, true},
		{"_malformed/gemini-rewind-unknown.jsonl", 1, "estimate", 2, false},
		{"real/gemini/session-2026-11-21T03-53-a9d56203.jsonl", 57_442, "usage", 13, true},
		{"real/gemini/session-2026-11-21T03-54-a9d56203.jsonl", 11, "estimate", 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := geminiTailOf(t, filepath.Base(c.name), samples.Read(t, c.name))
			if got.Tokens != c.tokens || got.TokenSource != c.source || got.Messages != c.messages || !got.MessagesExact || got.Answered != c.answered {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func geminiSaid(id, kind, text string, more ...string) string {
	return fmt.Sprintf(`{"id":%q,"timestamp":"2026-11-21T03:53:15.144Z","type":%q,"content":%q%s}`, id, kind, text, strings.Join(more, ""))
}

const (
	head    = `{"sessionId":"s","projectHash":"h","startTime":"2026-11-21T03:53:15.134Z","lastUpdated":"2026-11-21T03:53:15.134Z","kind":"main"}`
	hundred = `,"tokens":{"input":90,"output":10,"total":100}`
	running = `,"toolCalls":[{"id":"c","name":"read","args":{},"status":"executing"}]`
	ran     = `,"toolCalls":[{"id":"c","name":"read","args":{},"status":"success","result":[{"functionResponse":{"id":"c","name":"read","response":{"output":"123456789012"}}}]}]`
	result  = `{"id":"r","timestamp":"2026-11-21T03:53:15.144Z","type":"user","content":[{"functionResponse":{"id":"c","name":"read","response":{"output":"123456789012"}}}]}`
)

// Texts have three characters a token.
func TestGeminiTailTokensAndTurn(t *testing.T) {
	for name, c := range map[string]struct {
		lines    []string
		tokens   int64
		answered bool
	}{
		"nothing":                        {nil, 0, true},
		"the count covers the answer":    {[]string{geminiSaid("a", "user", "123"), geminiSaid("b", "gemini", "123", hundred)}, 100, true},
		"what follows is estimated":      {[]string{geminiSaid("b", "gemini", "123", hundred), geminiSaid("a", "user", "123456")}, 102, false},
		"a result came after its call":   {[]string{geminiSaid("b", "gemini", "", hundred, ran)}, 104, false},
		"a result that is repeated":      {[]string{geminiSaid("b", "gemini", "", hundred, ran), result}, 104, false},
		"a message that grew":            {[]string{geminiSaid("b", "gemini", "1"), geminiSaid("b", "gemini", "1", hundred, running), geminiSaid("b", "gemini", "1", hundred, ran)}, 104, false},
		"a tool that runs":               {[]string{geminiSaid("b", "gemini", "", hundred, running)}, 100, false},
		"a turn that was cancelled":      {[]string{geminiSaid("a", "user", "123"), geminiSaid("i", "info", "Request cancelled.")}, 1, true},
		"a warning ends nothing":         {[]string{geminiSaid("a", "user", "123"), geminiSaid("i", "warning", "slow")}, 1, false},
		"taken back":                     {[]string{geminiSaid("a", "user", "123"), geminiSaid("b", "gemini", "x", hundred), geminiSaid("c", "user", "no"), geminiSaid("d", "gemini", "y", strings.ReplaceAll(hundred, "100", "900")), `{"$rewindTo":"c"}`}, 100, true},
		"all taken back":                 {[]string{geminiSaid("a", "user", "123"), `{"$rewindTo":"nobody"}`, geminiSaid("b", "user", "123456")}, 2, false},
		"a resume repeats":               {[]string{geminiSaid("a", "user", "123"), geminiSaid("b", "gemini", "x", hundred), head, `{"$set":{"messages":[` + geminiSaid("a", "user", "123") + `,` + geminiSaid("b", "gemini", "x") + `]}}`, geminiSaid("c", "user", "123456")}, 102, false},
		"a compression is a new context": {[]string{geminiSaid("a", "user", "123"), geminiSaid("b", "gemini", "x", hundred), `{"$set":{"messages":[` + geminiSaid("z", "user", "<state_snapshot>123456") + `,` + geminiSaid("y", "gemini", "123456") + `]}}`, geminiSaid("c", "user", "123456")}, 12, false},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Join(append([]string{head}, c.lines...), "\n") + "\n"
			got := geminiTailOf(t, "session-a.jsonl", []byte(text))
			if got.Tokens != c.tokens || got.Answered != c.answered {
				t.Errorf("%d tokens, answered %v; want %d, %v", got.Tokens, got.Answered, c.tokens, c.answered)
			}
		})
	}
}

// The end of a large chat is enough.
func TestGeminiTailReadsTheEnd(t *testing.T) {
	var log bytes.Buffer
	log.WriteString(head + "\n")
	messages := 0
	for log.Len() < 2<<20 {
		log.WriteString(geminiSaid(fmt.Sprint("u", messages), "user", strings.Repeat("long ", 40)) + "\n" + geminiSaid(fmt.Sprint("g", messages), "gemini", "answer", hundred) + "\n")
		messages += 2
	}
	r := &geminiCountingReader{r: bytes.NewReader(log.Bytes())}
	got, err := gemini.Tail(context.Background(), r, int64(log.Len()), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if r.bytes > 64<<10 {
		t.Errorf("%d bytes were read", r.bytes)
	}
	if got.Tokens != 100 || got.Messages < messages*9/10 || got.Messages > messages*11/10 {
		t.Errorf("of %d messages: %+v", messages, got)
	}
}

type geminiCountingReader struct {
	r     *bytes.Reader
	bytes int
}

func (c *geminiCountingReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.bytes += n
	return n, err
}

func TestGeminiList(t *testing.T) {
	root := t.TempDir()
	chats := filepath.Join(root, "tmp", "registry-demo", "chats")
	talk := geminiSaid("a", "user", "which port?") + "\n" + geminiSaid("b", "gemini", "7001", hundred) + "\n"
	id := "a9d56203-8a4f-44bb-9e93-8c7a17d2c646"
	chat := strings.Replace(head, `"s"`, `"`+id+`"`, 1) + "\n" + talk
	document := `{"sessionId":"` + id + `","projectHash":"h","messages":[` + geminiSaid("a", "user", "which port?") + `]}`
	geminiPlant(t, filepath.Join(chats, "session-2026-11-21T03-53-a9d56203.jsonl"), chat)
	geminiPlant(t, filepath.Join(chats, "session-2026-11-21T03-53-a9d56203.json"), document)
	geminiPlant(t, filepath.Join(chats, "session-2026-11-21T03-54-a9d56203.jsonl"), strings.SplitAfter(chat, "\n")[0])
	geminiPlant(t, filepath.Join(chats, "session-2025-12-16T23-47-b4f17607.json"), "{\n  \"projectHash\": \"h\",\n  \"sessionId\": \"old\",\n  \"messages\": [\n"+geminiSaid("a", "user", "x")+"\n]}\n")
	geminiPlant(t, filepath.Join(chats, id, "sub-1.jsonl"), strings.Replace(strings.Replace(chat, id, "sub-1", 1), "main", "subagent", 1))
	for _, other := range []string{"session-x.jsonl.tmp-12", "session-x.jsonl.unreadable-12", "notes.txt", "../logs.json", "../checkpoint.json"} {
		geminiPlant(t, filepath.Join(chats, other), "{}\n")
	}
	if err := os.MkdirAll(filepath.Join(root, "tmp", "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	store := gemini.Open(root)
	listing, err := store.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ref := range listing.Refs {
		primary := ""
		if ref.Primary {
			primary = " primary"
		}
		got = append(got, filepath.Base(ref.Path)+" "+ref.Agent+" "+ref.ID+" "+string(ref.Kind)+" "+string(ref.State)+primary)
		if _, err := store.Tail(context.Background(), ref); err != nil {
			t.Error(err)
		}
		if n, err := store.CountMessages(context.Background(), ref); err != nil || n > 2 {
			t.Errorf("%s: %d messages, %v", ref.Path, n, err)
		}
	}
	want := []string{
		"sub-1.jsonl registry-demo sub-1 topic idle",
		"session-2025-12-16T23-47-b4f17607.json registry-demo old live idle primary",
		"session-2026-11-21T03-53-a9d56203.json registry-demo " + id + " backup idle",
		"session-2026-11-21T03-53-a9d56203.jsonl registry-demo " + id + " live idle primary",
		"session-2026-11-21T03-54-a9d56203.jsonl registry-demo " + id + " live idle primary",
	}
	if diff := cmp.Diff(want, got); diff != "" || len(listing.Notices) > 0 {
		t.Errorf("sessions (-want +got):\n%s\nnotices %+v", diff, listing.Notices)
	}
	if diff := cmp.Diff([]string{"registry-demo"}, listing.Agents); diff != "" {
		t.Error(diff)
	}
}
