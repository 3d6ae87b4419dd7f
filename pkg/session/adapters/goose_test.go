package adapters_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/fakegoosedb"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/goose"
	"github.com/sessctl/sessctl/pkg/session/goose/goosedb"
)

func gooseMust(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// gooseWritten is a store of our sample.
func gooseWritten(t *testing.T, schema int, more ...string) *goose.Store {
	t.Helper()
	rows, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "goose", "sessions.sql"))
	gooseMust(t, err)
	root := t.TempDir()
	gooseMust(t, fakegoosedb.Write(filepath.Join(root, "sessions.db"), schema, append([]string{string(rows)}, more...)...))
	store := goose.Open(root)
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// log is the log of a session.
func log(t *testing.T, store *goose.Store, ref session.Ref) []byte {
	t.Helper()
	r, err := store.OpenLog(t.Context(), ref)
	gooseMust(t, err)
	all, err := io.ReadAll(r)
	gooseMust(t, err)
	gooseMust(t, r.Close())
	return all
}

func gooseScanned(t *testing.T, text string) (all []string, scan session.Scan) {
	t.Helper()
	scan, err := goose.Open("").Scan(context.Background(), strings.NewReader(text), session.ScanOptions{}, func(m *session.Message) error {
		said := ""
		for _, p := range m.Parts {
			if p.Kind == session.PartToolCall {
				said += "[" + string(p.Name) + string(p.Text) + "]"
			} else {
				said += string(p.Text)
			}
		}
		out := ""
		if m.OutOfContext {
			out = " out"
		}
		all = append(all, strings.TrimSpace(fmt.Sprint(m.Role, out, " ", string(m.CallID), string(m.CustomType), " ", m.Time/1000, " ", said)))
		return nil
	})
	gooseMust(t, err)
	return all, scan
}

// An independent reader: what each row says, by encoding/json.
func TestGooseLikeAnIndependentReader(t *testing.T) {
	for _, schema := range []int{15, 16, 17} {
		store := gooseWritten(t, schema)
		listing, err := store.List(t.Context())
		gooseMust(t, err)
		if len(listing.Refs) != 2 || len(listing.Notices) != 0 {
			t.Fatalf("schema %d: %+v", schema, listing)
		}
		for _, ref := range listing.Refs {
			text := log(t, store, ref)
			got, scan := gooseScanned(t, string(text))
			if diff := cmp.Diff(gooseSaid(t, text), got); diff != "" {
				t.Errorf("schema %d, %s (-encoding/json +scan):\n%s", schema, ref.ID, diff)
			}
			if len(scan.Unknown) > 0 || scan.Counts.Bad > 0 || scan.SessionID != ref.ID || ref.Agent != "home-lea-orchard" {
				t.Errorf("%s: %+v, agent %s", ref.ID, scan, ref.Agent)
			}
			if f := session.Detect("log.jsonl", text); f != session.FormatGoose {
				t.Errorf("taken for %s", f)
			}
		}
	}
}

func gooseSaid(t *testing.T, log []byte) (all []string) {
	type block struct {
		Type, ID, Text string
		ToolCall       struct {
			Value struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		ToolResult struct {
			Error string
			Value struct{ Content []struct{ Text string } }
		}
	}
	for line := range strings.Lines(string(log)) {
		var x struct {
			Type string
			Row  struct {
				Role, Content_json, Metadata_json string
				Created_timestamp                 int64
			}
		}
		gooseMust(t, json.Unmarshal([]byte(line), &x))
		if x.Type != "message" {
			continue
		}
		seen := struct{ UserVisible, AgentVisible bool }{true, true}
		gooseMust(t, json.Unmarshal([]byte(x.Row.Metadata_json), &seen))
		var blocks []block
		gooseMust(t, json.Unmarshal([]byte(x.Row.Content_json), &blocks))
		out, at, text, kind := "", x.Row.Created_timestamp, "", ""
		if at > 1e10 {
			at /= 1000
		}
		if !seen.AgentVisible {
			out = " out"
		}
		if !seen.UserVisible {
			x.Row.Role, kind = "injected", "agent only"
		}
		for _, b := range blocks {
			switch b.Type {
			case "toolRequest":
				text += "[" + b.ToolCall.Value.Name + string(b.ToolCall.Value.Arguments) + "]"
			case "toolResponse":
				given := b.ToolResult.Error
				for _, c := range b.ToolResult.Value.Content {
					given += c.Text
				}
				all = append(all, fmt.Sprint("tool_result", out, " ", b.ID, " ", at, " ", given))
			case "text":
				text += b.Text
			}
		}
		if text != "" {
			all = append(all, fmt.Sprint(x.Row.Role, out, " ", kind, " ", at, " ", text))
		}
	}
	return all
}

// Blocks and rows of any shape cost themselves, and what is not known is counted.
func TestGooseMalformed(t *testing.T) {
	for name, c := range map[string]struct {
		content, want string
		unknown       int
	}{
		"no JSON":              {`half [`, "user  1 half [", 0},
		"an object":            {`{"type":"text","text":"x"}`, `user  1 {"type":"text","text":"x"}`, 0},
		"a number in the list": {`[7,{"type":"text","text":"x"}]`, "user  1 x", 1},
		"an unknown block":     {`[{"type":"hologram","text":"x"}]`, "user  1 x", 1},
		"a list as a result":   {`[{"type":"toolResponse","id":"c","toolResult":{"status":"success","value":[{"type":"text","text":"x"}]}}]`, "tool_result c 1 x", 0},
		"a result of nothing":  {`[{"type":"toolResponse","id":"c"}]`, "tool_result c 1", 0},
		"a call that failed":   {`[{"type":"toolRequest","id":"c","toolCall":{"status":"error","error":"no such tool"}}]`, "user  1 [no such tool]", 0},
	} {
		content, err := json.Marshal(c.content)
		gooseMust(t, err)
		got, scan := gooseScanned(t, `{"type":"goose.session","format":1,"row":{"id":"s"}}`+"\n"+`{"type":"message","row":{"id":1,"role":"user","created_timestamp":1,"content_json":`+string(content)+`}}`+"\n")
		if len(got) != 1 || got[0] != c.want || len(scan.Unknown) != c.unknown {
			t.Errorf("%s: %q, unknown %v", name, got, scan.Unknown)
		}
	}
}

// The context is what the row of the session says; a session of an agent belongs to
// the one that a person sees; nothing is left beside the database.
func TestGooseListAndTail(t *testing.T) {
	store := gooseWritten(t, 17, "UPDATE sessions SET parent_session_id = '20260227_1' WHERE id = '20260227_2'")
	before, err := os.ReadDir(store.Root())
	gooseMust(t, err)
	listing, err := store.List(t.Context())
	gooseMust(t, err)
	first, second := listing.Refs[0], listing.Refs[1]
	if first.ID != "20260227_1" || !first.Primary || second.Parent != first.ID || second.Primary {
		t.Errorf("%+v", listing.Refs)
	}
	tail, err := store.Tail(t.Context(), first)
	gooseMust(t, err)
	if tail.Tokens != 5230 || tail.TokenSource != session.TokensFromUsage || tail.Messages != 9 || !tail.Answered {
		t.Errorf("%+v", tail)
	}
	if tail, err = store.Tail(t.Context(), second); err != nil || tail.TokenSource != session.TokensFromEstimate || tail.Tokens < 10 {
		t.Errorf("%+v %v", tail, err)
	}
	gooseMust(t, store.Busy(t.Context(), session.BusyQuestion{Ref: first, Now: time.Now(), Quiet: time.Minute}))
	after, err := os.ReadDir(store.Root())
	gooseMust(t, err)
	if len(after) != len(before) {
		t.Errorf("beside the database: %v, before %v", after, before)
	}
}

// A database of something else is told, and a newer schema is read with a notice.
func TestGooseOtherDatabases(t *testing.T) {
	store := gooseWritten(t, 99)
	listing, err := store.List(t.Context())
	gooseMust(t, err)
	if len(listing.Refs) != 2 || len(listing.Notices) != 1 || !strings.Contains(listing.Notices[0].Message, "schema is 99") {
		t.Errorf("%+v", listing)
	}
	store = gooseWritten(t, 17, "ALTER TABLE messages RENAME TO talk")
	listing, err = store.List(t.Context())
	gooseMust(t, err)
	if len(listing.Refs) != 1 || listing.Refs[0].Kind != session.KindDatabase || len(listing.Notices) != 1 {
		t.Errorf("%+v", listing)
	}
}

// Messages are found by their ids: a database in which that would miss some, or go
// on for ever, is not read.
func TestGooseOtherIDs(t *testing.T) {
	const copied = "DROP TABLE messages; ALTER TABLE other RENAME TO messages"
	for name, other := range map[string]string{
		"texts":          "CREATE TABLE other AS SELECT * FROM messages; UPDATE other SET id = 'm' || id",
		"none":           "CREATE TABLE other AS SELECT * FROM messages; UPDATE other SET id = NULL WHERE id = 2",
		"the same twice": "CREATE TABLE other AS SELECT * FROM messages; UPDATE other SET id = 1, content_json = content_json || printf('%1100000s', '') WHERE id < 3",
	} {
		t.Run(name, func(t *testing.T) {
			store := gooseWritten(t, 17, other+"; "+copied)
			listing, err := store.List(t.Context())
			gooseMust(t, err)
			r, err := store.OpenLog(t.Context(), listing.Refs[0])
			gooseMust(t, err)
			defer r.Close()
			if _, err = io.Copy(io.Discard, io.LimitReader(r, 16<<20)); !errors.Is(err, goosedb.ErrSchema) {
				t.Errorf("%v", err)
			}
		})
	}
}
