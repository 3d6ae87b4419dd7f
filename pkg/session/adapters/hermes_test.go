package adapters_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/fakestatedb"
	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/internal/storetest"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/hermes"
)

// hermesTold is a home with the story in it; live leaves all of it in the write-ahead
// log. change changes the database at the end.
func hermesTold(t *testing.T, schema int, live bool, change ...string) (*hermes.Store, string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), ".hermes")
	path := filepath.Join(root, "state.db")
	from := path
	if live {
		from = filepath.Join(t.TempDir(), "a.db")
	}
	d := fakestatedb.Told(from, schema)
	for _, query := range change {
		d.Do(query)
	}
	err := error(nil)
	if live {
		err = d.Leave(from, path)
	} else {
		err = d.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	storetest.Age(t, root)
	return storetest.Opened(t, hermes.Open(root)), path
}

func days(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return fmt.Sprintf("%.0fd", time.Until(t).Hours()/24)
}

// One story, in the oldest and in the newest schema, in the database and in its
// log alone: the sessions, whose they are, how large their contexts are, and when
// the program prunes them. Of a conversation that was compressed an earlier schema
// prunes the first piece by itself, a newer one only with the last.
func TestHermesListAndSizes(t *testing.T) {
	for _, c := range []struct {
		schema int
		live   bool
	}{{16, false}, {16, true}, {30, false}, {30, true}} {
		s, path := hermesTold(t, c.schema, c.live)
		before := tree(t, filepath.Dir(path))
		var got []string
		for id, ref := range storetest.Listed(t, s) {
			tail, err := s.Tail(t.Context(), ref)
			if err != nil {
				t.Fatal(id, err)
			}
			got = append(got, fmt.Sprintf("%s %s parent=%q primary=%v %d %s %d answered=%v %s %s", id, ref.Agent, ref.Parent, ref.Primary, tail.Tokens, tail.TokenSource, tail.Messages, tail.Answered, ref.State, days(ref.Expires)))
			if ref.Path != path+"#"+id || ref.Kind != session.KindStored || ref.Bytes == 0 || ref.Model != "mock-large" {
				t.Errorf("%+v", ref)
			}
			if err := s.Busy(t.Context(), session.BusyQuestion{Ref: ref, Now: time.Now(), Quiet: time.Minute}); err != nil {
				t.Error(id, err)
			}
		}
		sort.Strings(got)
		want := []string{
			fakestatedb.First + ` home-lea-bakery parent="" primary=true 1306 estimate 8 answered=true idle -110d`,
			fakestatedb.Second + ` home-lea-bakery parent="" primary=true 63 estimate 4 answered=true idle -110d`,
			fakestatedb.Delegate + ` home-lea-bakery parent="` + fakestatedb.Second + `" primary=false 25 estimate 2 answered=true idle -110d`,
			fakestatedb.Branch + ` home-lea-bakery parent="" primary=true 25 estimate 2 answered=true idle never`,
			fakestatedb.New + ` hermes parent="" primary=true 18 estimate 2 answered=true idle never`,
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%+v (-want +got):\n%s", c, d)
		}
		if d := cmp.Diff(before, tree(t, filepath.Dir(path))); d != "" {
			t.Errorf("reading has left a trace:\n%s", d)
		}
	}
}

// tree is what can be seen of the files below a directory.
func tree(t *testing.T, root string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			all = append(all, fmt.Sprint(path, info.Size(), info.ModTime()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// When sessions are pruned, by the settings.
func TestHermesRetention(t *testing.T) {
	const kept = "UPDATE sessions SET pinned = 1 WHERE id = '" + fakestatedb.First + "'"
	for _, c := range []struct {
		name, config, change string
		schema               int
		first, second        string // days until they go
		told                 bool   // that it is not known
	}{
		{name: "by default", schema: 30, first: "-110d", second: "-110d"},
		{name: "no settings of sessions", config: "model: x\n", schema: 30, first: "-110d", second: "-110d"},
		{name: "off", config: "sessions:\n  auto_prune: false\n", schema: 30, first: "never", second: "never"},
		{name: "negative", config: "sessions:\n  retention_days: -1\n", schema: 30, first: "never", second: "never"},
		{name: "a year", config: "sessions:\n  auto_prune: true\n  retention_days: 365\n", schema: 30, first: "165d", second: "165d"},
		{name: "no YAML", config: "sessions: [", schema: 30, first: "-110d", second: "-110d", told: true},
		{name: "pinned, and what goes on from it", schema: 30, change: kept, first: "never", second: "never"},
		{name: "a piece whose conversation goes on", schema: 30, change: "UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = '" + fakestatedb.Second + "'", first: "never", second: "never"},
		{name: "the same in an earlier schema", schema: 16, change: "UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = '" + fakestatedb.Second + "'", first: "-110d", second: "never"},
		{name: "no time at all", schema: 30, change: "UPDATE sessions SET ended_at = 5e246 WHERE id = '" + fakestatedb.Second + "'", first: "never", second: "never"},
	} {
		s, path := hermesTold(t, c.schema, false, c.change)
		if c.config != "" {
			if err := os.WriteFile(filepath.Join(filepath.Dir(path), "config.yaml"), []byte(c.config), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		listing, err := s.List(t.Context())
		if err != nil || len(listing.Notices) > 0 != c.told {
			t.Fatal(c.name, err, listing.Notices)
		}
		for _, ref := range listing.Refs {
			want := map[string]string{fakestatedb.First: c.first, fakestatedb.Second: c.second}[ref.ID]
			if want != "" && days(ref.Expires) != want {
				t.Errorf("%s: %s goes in %s, want %s", c.name, ref.ID, days(ref.Expires), want)
			}
		}
	}
}

// Dumps and old transcripts are listed with their session, and nothing else is.
func TestHermesFiles(t *testing.T) {
	s, path := hermesTold(t, 30, false)
	dir := filepath.Join(filepath.Dir(path), "sessions")
	for _, name := range []string{
		"request_dump_" + fakestatedb.First + "_20260506_081300.json", "request_dump_" + fakestatedb.Delegate + "_20260506_081300_123456.json",
		fakestatedb.Second + ".jsonl", "request_dump_gone_20260506_081300.json", "sessions.json", "notes.txt", "request_dump_x.json",
	} {
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, name), []byte(`{"reason":"x"}`), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "request_dump_"+fakestatedb.First+"_20260506_081301.json")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ref := range storetest.Listed(t, s) {
		if ref.Kind != session.KindStored {
			got = append(got, fmt.Sprint(filepath.Base(ref.Path), " ", ref.Kind, " ", ref.Parent, " ", ref.Agent, " ", days(ref.Expires), " ", ref.State))
		}
	}
	sort.Strings(got)
	want := []string{
		fakestatedb.Second + ".jsonl output " + fakestatedb.Second + " home-lea-bakery -110d unsupported",
		"request_dump_" + fakestatedb.First + "_20260506_081300.json output " + fakestatedb.First + " home-lea-bakery -110d unsupported",
		"request_dump_" + fakestatedb.Delegate + "_20260506_081300_123456.json output " + fakestatedb.Second + " home-lea-bakery -110d unsupported",
		"request_dump_gone_20260506_081300.json output gone hermes never unsupported",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// spokenRow is a row of messages as an independent reader sees it: encoding/json and
// nothing of ours.
type spokenRow struct {
	role, content string
	active        int64
}

// texts is what the row says, as a list of texts.
func (r spokenRow) texts(t *testing.T) (all []string) {
	t.Helper()
	rest, structured := strings.CutPrefix(r.content, "\x00json:")
	if !structured {
		if r.content != "" {
			all = append(all, r.content)
		}
		return all
	}
	var parts []map[string]any
	if err := json.Unmarshal([]byte(rest), &parts); err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if text, ok := p["text"].(string); ok {
			all = append(all, text)
		}
	}
	return all
}

// hermesCompareWithTables compares what a scan says of every session with the tables.
func hermesCompareWithTables(t *testing.T, s *hermes.Store, path string) (messages int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?mode=ro&immutable=1") // closed, so all is in it
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for id, ref := range storetest.Listed(t, s) {
		if ref.Kind != session.KindStored {
			continue
		}
		var want []string
		rows, err := db.Query("SELECT role, CAST(content AS BLOB), coalesce(tool_calls, ''), active FROM messages WHERE session_id = ? ORDER BY id", id)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for rows.Next() {
			var r spokenRow
			var content []byte
			var calls string
			if err := rows.Scan(&r.role, &content, &calls, &r.active); err != nil {
				t.Fatal(err)
			}
			r.content = string(content)
			var made []struct {
				Function struct{ Name, Arguments string }
			}
			if calls != "" {
				if err := json.Unmarshal([]byte(calls), &made); err != nil {
					t.Fatal(err)
				}
			}
			want = append(want, r.texts(t)...)
			for _, c := range made {
				want = append(want, c.Function.Name+" "+c.Function.Arguments)
			}
			n++
		}
		var got []string
		scan, err := s.Scan(t.Context(), bytes.NewReader(storetest.LogOf(t, s, ref)), session.ScanOptions{}, func(m *session.Message) error {
			if string(m.CustomType) == "hermes.system_prompt" {
				return nil
			}
			for _, p := range m.Parts {
				switch p.Kind {
				case session.PartText:
					got = append(got, string(p.Text))
				case session.PartToolCall:
					got = append(got, string(p.Name)+" "+string(p.Text))
				}
			}
			return nil
		})
		if err := errors.Join(err, rows.Err()); err != nil || len(scan.Unknown) > 0 || scan.Counts.Bad > 0 || scan.SessionID != id || scan.Records != n {
			t.Error(id, err, scan.Unknown, scan.Counts, scan.SessionID, scan.Records, n)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-tables +scan):\n%s", id, d)
		}
		messages += n
	}
	return messages
}

func TestHermesScanLikeTheTables(t *testing.T) {
	for _, schema := range []int{16, 30} {
		s, path := hermesTold(t, schema, false)
		if n := hermesCompareWithTables(t, s, path); n != 18 {
			t.Error("messages:", n)
		}
	}
}

// The database that the program's own code has written, where it is at hand.
func TestHermesSamples(t *testing.T) {
	dirs := samples.Matching(t, "samples-newer/hermes-*/.hermes")
	if len(dirs) == 0 {
		t.Skip("no sample databases beside the repository")
	}
	for _, dir := range dirs {
		root := t.TempDir()
		if err := os.CopyFS(root, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		storetest.Age(t, root)
		if n := hermesCompareWithTables(t, storetest.Opened(t, hermes.Open(root)), filepath.Join(root, "state.db")); n != 19 {
			t.Error(dir, "messages:", n)
		}
	}
}

// What a scan makes of a row: who speaks, what is still sent, how a call ended.
func TestHermesMessages(t *testing.T) {
	s, _ := hermesTold(t, 30, false,
		"UPDATE messages SET active = 0, compacted = 1 WHERE content = 'Plan the bakery week for me'",
		`UPDATE messages SET content = '{"output": "", "exit_code": 2, "error": null}' WHERE role = 'tool'`,
		"UPDATE messages SET display_kind = 'hidden' WHERE content = 'list the files'",
		"UPDATE messages SET role = 'observer', timestamp = 'yesterday' WHERE content = 'Only notes.txt.'",
	)
	refs := storetest.Listed(t, s)
	got := map[string]string{}
	for _, id := range []string{fakestatedb.First, fakestatedb.Second} {
		_, err := s.Scan(t.Context(), bytes.NewReader(storetest.LogOf(t, s, refs[id])), session.ScanOptions{Thinking: true}, func(m *session.Message) error {
			text := ""
			for _, p := range m.Parts {
				text += fmt.Sprintf("%d:%.30s ", p.Kind, p.Text)
			}
			got[strings.TrimSpace(text)] = fmt.Sprintf("%s %s out=%v exit=%d error=%v inferred=%v", m.Role, m.Branch, m.OutOfContext, m.ExitCode, m.IsError, m.TimeInferred)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{
		"1:You are Hermes, and you work f":                                "injected active out=false exit=0 error=false inferred=true",
		"1:Plan the bakery week for me":                                   "user active out=true exit=0 error=false inferred=false",
		"2:The ovens are the bottleneck. 1:Done: two bakers on the early": "assistant active out=false exit=0 error=false inferred=false",
		"1:list the files":                                                "injected active out=false exit=0 error=false inferred=false",
		"1:Let me look. 3:{\"command\":\"ls -la\"}":                       "assistant active out=false exit=0 error=false inferred=false",
		"1:{\"output\": \"\", \"exit_code\": 2,":                          "tool_result active out=false exit=2 error=true inferred=false",
		"1:Only notes.txt.":                                               "injected active out=false exit=0 error=false inferred=true",
		"1:Look at this tray 4:":                                          "user active out=false exit=0 error=false inferred=false",
		"1:The third tray is too dark.":                                   "assistant active out=false exit=0 error=false inferred=false",
		"1:[CONTEXT COMPACTION — REFERENC":                                "summary active out=false exit=0 error=false inferred=false",
		"1:Who opens on Saturday?":                                        "assistant active out=false exit=0 error=false inferred=false",
		"1:wrong question":                                                "user abandoned out=false exit=0 error=false inferred=false",
		"1:hm":                                                            "assistant abandoned out=false exit=0 error=false inferred=false",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// What a database may be: older, newer, odd, broken. Every row that there is stands
// in a log.
func TestHermesSchemas(t *testing.T) {
	const later = "UPDATE schema_version SET version = 31; ALTER TABLE messages ADD COLUMN mood TEXT; UPDATE messages SET mood = 'warm'; CREATE TABLE session_marks (session_id TEXT, mark BLOB); INSERT INTO session_marks VALUES ('" + fakestatedb.First + "', x'00ff')"
	s, _ := hermesTold(t, 30, false, later)
	listing, err := s.List(t.Context())
	if err != nil || len(listing.Notices) != 1 || !strings.Contains(listing.Notices[0].Message, "its schema is 31") || len(listing.Refs) != 5 {
		t.Fatal(err, listing.Notices, len(listing.Refs))
	}
	for _, ref := range listing.Refs {
		if ref.ID != fakestatedb.First {
			continue
		}
		log := string(storetest.LogOf(t, s, ref))
		for _, want := range []string{`"mood":"warm"`, `{"type":"row","table":"session_marks","row":{"session_id":"` + fakestatedb.First + `","mark":{"blob":"AP8="}}}`, `"table":"session_model_usage"`, `"table":"system_prompts"`, `{"type":"linked","sessions":["` + fakestatedb.Second + `"]}`} {
			if !strings.Contains(log, want) {
				t.Errorf("the log lacks %s", want)
			}
		}
	}
	for name, change := range map[string]string{
		"no version":         "DROP TABLE schema_version",
		"no virtual tables":  "DROP TABLE messages_fts; DROP TRIGGER messages_fts_insert; DROP TRIGGER messages_fts_delete",
		"no model usage":     "DROP TABLE session_model_usage",
		"a loop of parents":  "UPDATE sessions SET parent_session_id = id",
		"no text at all":     "UPDATE messages SET content = NULL, tool_calls = NULL",
		"numbers as content": "UPDATE messages SET content = 5, tool_calls = x'00'",
		"no calls":           "UPDATE messages SET tool_calls = '{\"a\"'",
		"odd times":          "UPDATE sessions SET started_at = 'x', last_activity_at = 1e300; UPDATE messages SET timestamp = x'01'",
	} {
		s, _ := hermesTold(t, 30, false, change)
		for id, ref := range storetest.Listed(t, s) {
			if _, err := s.Tail(t.Context(), ref); err != nil {
				t.Error(name, id, err)
			}
			storetest.LogOf(t, s, ref)
		}
	}
	for name, change := range map[string]string{
		"another program's": "DROP TABLE messages",
		"without content":   "ALTER TABLE messages RENAME COLUMN content TO body",
	} {
		s, _ := hermesTold(t, 16, false, "DROP TRIGGER messages_fts_insert; DROP TRIGGER messages_fts_delete; DROP TRIGGER messages_fts_update; DROP TRIGGER messages_fts_trigram_insert; DROP TRIGGER messages_fts_trigram_delete; DROP TRIGGER messages_fts_trigram_update;"+change)
		listing, err := s.List(t.Context())
		if err != nil || len(listing.Refs) != 1 || listing.Refs[0].Kind != session.KindDatabase || len(listing.Notices) != 1 {
			t.Error(name, err, listing)
		}
	}
}

// A turn that is going on, by the program's own leases, and one that nobody
// answered, for as long as a turn can take.
func TestHermesBusy(t *testing.T) {
	lease := fmt.Sprintf("INSERT INTO session_turn_leases VALUES ('%s', 'host pid=1', 1, %d)", fakestatedb.First, time.Now().Add(time.Hour).Unix())
	s, _ := hermesTold(t, 30, false, lease, "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('"+fakestatedb.Branch+"', 'user', 'And on Monday?', 1778034700)")
	refs := storetest.Listed(t, s)
	for longest, wants := range map[time.Duration]map[string]bool{
		10 * 365 * 24 * time.Hour: {fakestatedb.First: true, fakestatedb.Branch: true, fakestatedb.Second: false},
		0:                         {fakestatedb.First: true, fakestatedb.Branch: false, fakestatedb.Second: false},
	} {
		for id, want := range wants {
			q := session.BusyQuestion{Ref: refs[id], Now: time.Now(), Quiet: time.Minute, LongestTurn: longest}
			if err := s.Busy(t.Context(), q); errors.Is(err, session.ErrBusy) != want {
				t.Error(longest, id, err)
			}
		}
	}
	if err := s.Busy(t.Context(), session.BusyQuestion{Ref: refs[fakestatedb.New], Now: time.Now(), Quiet: 2 * time.Hour}); !errors.Is(err, session.ErrBusy) {
		t.Error("within the quiet period:", err)
	}
}

// What the pages of the database are for.
func TestHermesParts(t *testing.T) {
	s, _ := hermesTold(t, 16, false)
	parts, err := s.DatabaseParts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, p := range parts {
		got[p.Name] = p.Bytes > 0
	}
	for _, name := range []string{"messages", "text copied for search", "search index by words", "search index by trigrams", "sessions and prompts", "other indexes"} {
		if !got[name] {
			t.Errorf("%s: %v", name, parts)
		}
	}
}
