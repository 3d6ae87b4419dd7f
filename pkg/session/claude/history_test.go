package claude_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/claude"
)

// home is a configuration directory with this history and no logs.
func historyHome(t *testing.T, history string) *claude.Store {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "projects", "-repo-mill"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "history.jsonl"), history)
	return claude.Open(root)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// prompts are the listed prompts with what is said in each, by agent and id.
func prompts(t *testing.T, store *claude.Store) (said map[string][]string, notices []session.Notice) {
	t.Helper()
	listing, err := store.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	said = map[string][]string{}
	for _, ref := range listing.Refs {
		if ref.Kind != session.KindPrompts {
			continue
		}
		log, err := store.OpenLog(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(log)
		if err != nil || log.Close() != nil || int64(len(raw)) != ref.Bytes {
			t.Fatalf("%s: %v, %d bytes of %d", ref.Path, err, len(raw), ref.Bytes)
		}
		_, err = store.Scan(t.Context(), bytes.NewReader(raw), session.ScanOptions{}, func(m *session.Message) error {
			text := ""
			for _, p := range m.Parts {
				text += "|" + string(p.Text)
			}
			said[ref.Agent+" "+ref.ID] = append(said[ref.Agent+" "+ref.ID], fmt.Sprint(m.Role, " ", m.Time, text))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if f := session.Detect("lines.jsonl", raw); f != session.FormatClaudeHistory && bytes.Contains(raw, []byte("project")) {
			t.Errorf("%s is taken for %s", ref.Path, f)
		}
	}
	return said, listing.Notices
}

// An independent reader: encoding/json says the same of the history of the sample, and
// of one that Claude Code 2.1.330 wrote.
func TestHistoryLikeAnIndependentReader(t *testing.T) {
	for _, sample := range []string{"claude-history", "claude-history-2.1.330"} {
		raw, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", sample, ".claude", "history.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		sameHistory(t, raw)
	}
}

// A long paste is named by the beginning of its hash.
func TestPastesAreNamedByTheirHash(t *testing.T) {
	home := filepath.Join("..", "..", "..", "testdata", "claude-history-2.1.330", ".claude")
	history, err := os.ReadFile(filepath.Join(home, "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(history), `"contentHash":"`)
	name, _, _ := strings.Cut(after, `"`)
	text, err := os.ReadFile(filepath.Join(home, "paste-cache", name+".txt"))
	if sum := fmt.Sprintf("%x", sha256.Sum256(text)); err != nil || !found || sum[:16] != name {
		t.Errorf("%q, %v: %s", name, err, sum)
	}
}

// A text that lies elsewhere stands once in the log of the prompts that name it, after
// the first, and the listing counts what is not there.
func TestPastedTexts(t *testing.T) {
	text := "kiln \"A\" <1>\u2028\n" + strings.Repeat("glaze ", 400)
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16]
	line := func(time int, hash string) string {
		return fmt.Sprintf(`{"display":"see [Pasted text #1]","pastedContents":{"1":{"id":1,"type":"text","contentHash":%q}},"timestamp":%d,"project":"/repo/mill","sessionId":"s1"}`+"\n", hash, time)
	}
	for name, test := range map[string]struct {
		file, text string // in the cache
		want       int
		told       bool
	}{
		"there":         {sum + ".txt", text, 0, false},
		"gone":          {"other.txt", text, 1, false},
		"other text":    {sum + ".txt", text + "x", 1, true},
		"not its place": {sum, text, 1, false},
	} {
		store := historyHome(t, line(1770109200000, sum)+line(1770109200001, sum))
		cache := filepath.Join(store.Root(), "paste-cache")
		if err := os.Mkdir(cache, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(cache, test.file), test.text)
		said, notices := prompts(t, store)
		got := said["repo-mill s1.prompts"]
		want := []string{"user 1770109200000|see [Pasted text #1]", "user 1770109200001|see [Pasted text #1]"}
		if test.want == 0 {
			want = slices.Insert(want, 1, "user 1770109200000|"+text)
		}
		if d := cmp.Diff(want, got); d != "" || len(notices) > 0 != test.told {
			t.Errorf("%s: %v (-want +got)\n%s", name, notices, d)
		}
		listing, err := store.List(t.Context())
		if err != nil || len(listing.Refs) != 1 || listing.Refs[0].Lacking != test.want {
			t.Errorf("%s: %v %+v", name, err, listing.Refs)
		}
	}
	// names that are no hash lead nowhere, and neither does a link
	store := historyHome(t, line(1770109200000, "../../../x")+line(1770109200001, sum))
	elsewhere := t.TempDir()
	write(t, filepath.Join(elsewhere, sum+".txt"), text)
	if err := os.Symlink(elsewhere, filepath.Join(store.Root(), "paste-cache")); err != nil {
		t.Skip(err)
	}
	said, notices := prompts(t, store)
	if len(said["repo-mill s1.prompts"]) != 2 || len(notices) != 1 {
		t.Errorf("through a link: %v %v", said, notices)
	}
}

func sameHistory(t *testing.T, raw []byte) {
	t.Helper()
	want := map[string][]string{}
	for line := range bytes.Lines(raw) {
		var p struct {
			Display, Project, SessionID string
			Timestamp                   int64
			PastedContents              map[string]struct{ Content string }
		}
		if err := json.Unmarshal(line, &p); err != nil {
			t.Fatal(err)
		}
		agent, id, text := strings.Trim(strings.ReplaceAll(p.Project, "/", "-"), "-"), p.SessionID, p.Display
		if agent == "" {
			agent = "claude"
		}
		if id == "" {
			id = time.UnixMilli(p.Timestamp).UTC().Format(time.DateOnly)
		}
		for _, k := range slices.Sorted(maps.Keys(p.PastedContents)) {
			if c := p.PastedContents[k].Content; c != "" {
				text += "|" + c
			}
		}
		want[agent+" "+id+".prompts"] = append(want[agent+" "+id+".prompts"], fmt.Sprint("user ", p.Timestamp, "|", text))
	}
	got, notices := prompts(t, historyHome(t, string(raw)))
	if d := cmp.Diff(want, got); d != "" || len(notices) > 0 {
		t.Errorf("%v (-encoding/json +history):\n%s", notices, d)
	}
}

// Lines of any shape cost themselves and are counted.
func TestMalformedHistory(t *testing.T) {
	const good = `{"display":"grind","timestamp":1770109200000,"project":"/repo/mill","sessionId":"s1"}` + "\n"
	for name, line := range map[string]string{
		"no object": `"grind"`, "broken": `{"display":"x" "timestamp":1}`, "no time": `{"display":"x","sessionId":"s1"}`,
		"an odd time": `{"display":"x","timestamp":{},"sessionId":"s1"}`, "no text": `{"timestamp":1770109200000,"sessionId":"s1"}`,
		"text of another kind": `{"display":7,"timestamp":1770109200000,"sessionId":"s1"}`,
	} {
		got, notices := prompts(t, historyHome(t, good+line+"\n"))
		if len(got) != 1 || len(got["repo-mill s1.prompts"]) != 1 || len(notices) != 1 || !strings.Contains(notices[0].Message, "not read: 1") {
			t.Errorf("%s: %v %v", name, got, notices)
		}
	}
	got, _ := prompts(t, historyHome(t, good+`{"display":"../x","timestamp":1770109200000,"project":7,"sessionId":"../../etc"}`+"\n"+`{"display":"torn","times`))
	for key := range got {
		if _, id, _ := strings.Cut(key, " "); !session.SafeID(id) {
			t.Errorf("an unsafe id: %s", key)
		}
	}
	if len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// Only what is gone is listed: not a session that has a log, that runs, or that was
// typed in a moment ago, and not a day of which all was typed while logs were written
// that are there.
func TestHistoryOfWhatIsThere(t *testing.T) {
	line := func(session string, at time.Time) string {
		return fmt.Sprintf(`{"display":"x","timestamp":%d,"project":"/repo/mill","sessionId":%q}`+"\n", at.UnixMilli(), session)
	}
	old := time.Now().Add(-24 * time.Hour)
	unnamed := strings.ReplaceAll(line("", old), `,"sessionId":""`, "")
	store := historyHome(t, line("there", old)+line("gone", old)+line("new", time.Now())+unnamed)
	log := filepath.Join(store.Root(), "projects", "-repo-mill", "there.jsonl")
	write(t, log, fmt.Sprintf(`{"type":"user","uuid":"u","sessionId":"there","timestamp":%q,"message":{"role":"user","content":"x"}}`+"\n", old.Add(-time.Hour).UTC().Format(time.RFC3339)))
	got, _ := prompts(t, store)
	if keys := slices.Sorted(maps.Keys(got)); !slices.Equal(keys, []string{"repo-mill gone.prompts"}) {
		t.Errorf("listed: %v", keys)
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	got, _ = prompts(t, store)
	if len(got) != 3 {
		t.Errorf("listed without the log: %v", got)
	}
}
