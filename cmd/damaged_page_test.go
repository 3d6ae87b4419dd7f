package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/fakeagentdb"
	"github.com/sessctl/sessctl/internal/fakegoosedb"
	"github.com/sessctl/sessctl/internal/fakesessiondb"
	"github.com/sessctl/sessctl/internal/fakestatedb"
	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/session"
)

const (
	pagedSessions = 8  // of each database
	pagedMessages = 40 // of each session
	pageSize      = 4096
)

// pagedText is what is said in a session, long enough that no two sessions are all on
// the same pages.
func pagedText(of, message int) string {
	return fmt.Sprintf("heron%02d message %02d about the ledger of herons. ", of, message) + strings.Repeat("The heron stands in the reeds. ", 4)
}

// pagedDatabases write databases in which many sessions lie, each below a home.
var pagedDatabases = map[string]func(home string) (database string, err error){
	session.RuntimeHermes: func(home string) (string, error) {
		path := filepath.Join(home, ".hermes", "state.db")
		d := fakestatedb.Create(path, 30)
		for i := range pagedSessions {
			id := fmt.Sprintf("20260506_0812%02d_a1b2c3", i)
			d.Row("sessions", "id", id, "source", "cli", "started_at", 1788250000+i)
			for j := range pagedMessages {
				d.Say(id, []string{"user", "assistant"}[j%2], pagedText(i, j), float64(1788250000+j))
			}
		}
		return path, d.Close()
	},
	session.RuntimeOpenCode: func(home string) (string, error) { return pagedSessionDB(home, "opencode", "opencode.db") },
	session.RuntimeKilo:     func(home string) (string, error) { return pagedSessionDB(home, "kilo", "kilo.db") },
	session.RuntimeGoose: func(home string) (string, error) {
		path := filepath.Join(home, ".local", "share", "goose", "sessions", "sessions.db")
		statements := []string{}
		for i := range pagedSessions {
			statements = append(statements, fmt.Sprintf("INSERT INTO sessions (id, name, working_dir) VALUES ('20260227_%d', 'heron', '/home/lea')", i))
			for j := range pagedMessages {
				statements = append(statements, fmt.Sprintf(`INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES ('20260227_%d', '%s', '[{"type":"text","text":"%s"}]', %d)`,
					i, []string{"user", "assistant"}[j%2], pagedText(i, j), 1772200800+j))
			}
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return "", err
		}
		return path, fakegoosedb.Write(path, 17, "BEGIN", strings.Join(statements, ";"), "COMMIT")
	},
	session.RuntimeOpenClaw: func(home string) (string, error) {
		path := filepath.Join(home, ".openclaw", "agents", "main", "agent", "openclaw-agent.sqlite")
		c := fakeagentdb.Content{Version: 23, Main: "main"}
		for i := range pagedSessions {
			id := fmt.Sprintf("600fa7f5-3a0b-4cc5-9e68-d8388de117%02d", i)
			c.Windows = append(c.Windows, [2]string{id, fmt.Sprintf("agent:main:%d", i)})
			c.Rows = append(c.Rows, fakeagentdb.Row{Session: id, JSON: `{"type":"session","version":4,"id":"` + id + `","timestamp":"2026-09-02T08:00:00.000Z","cwd":"/w"}`, At: 1788336000000})
			for j := range pagedMessages {
				line := fmt.Sprintf(`{"type":"message","id":"m%d","parentId":%q,"timestamp":"2026-09-02T08:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":%q}]}}`, j, fmt.Sprint("m", j-1), pagedText(i, j))
				c.Rows = append(c.Rows, fakeagentdb.Row{Session: id, Seq: int64(j + 1), JSON: line, Length: int64(len(line)), At: 1788336000000 + int64(j)})
			}
		}
		return path, fakeagentdb.Write(path, c)
	},
}

func pagedSessionDB(home, program, name string) (string, error) {
	path := filepath.Join(home, ".local", "share", program, name)
	d := fakesessiondb.Create(path)
	fakesessiondb.Story(d)
	for i := range pagedSessions {
		id := fmt.Sprintf("ses_heron%02d", i)
		d.Session(id, "", "heron", 1788336000000)
		for j := range pagedMessages {
			d.User(id, 1788336000000+int64(j), pagedText(i, j))
		}
	}
	return path, d.Close()
}

// One damaged page of a database hides what lies on it and nothing else, and the
// database is archived as the file that it is.
func TestDamagedPage(t *testing.T) {
	tier.SkipSmoke(t, "it embeds hundreds of messages of five runtimes")
	for runtime, write := range pagedDatabases {
		t.Run(runtime, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("HOME", home)
			for _, variable := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "HERMES_HOME"} {
				t.Setenv(variable, "")
			}
			path, err := write(home)
			if err != nil {
				t.Fatal(err)
			}
			whole := sizesOf(t, runtime, 0)
			damagePage(t, path)
			left := sizesOf(t, runtime, 3)
			same := 0
			for id, messages := range whole {
				if left[id] == messages {
					same++
				}
			}
			if same < len(whole)-2 || same == len(whole) {
				t.Errorf("%d of %d sessions are read whole", same, len(whole))
			}
			archived := archiveDamaged(t, runtime)
			if n := len(whole) - archived.sessions; n < 1 || n > 2 {
				t.Errorf("%d of %d sessions are archived", archived.sessions, len(whole))
			}
			if again := archiveDamaged(t, runtime); again.file != archived.file || !again.unchanged || archived.unchanged || archived.file == "" {
				t.Errorf("the file is archived as %+v, and then as %+v", archived, again)
			}
			copied := filepath.Join(home, "copy")
			wantExit(t, 0, "restore", archived.file, "--to", copied)
			here, err := os.ReadFile(path)
			there, errThere := os.ReadFile(copied)
			if err := errors.Join(err, errThere); err != nil || !bytes.Equal(here, there) {
				t.Errorf("what was archived of the file is another: %v", err)
			}
			wantExit(t, 0, "archives", "verify")
			wantExit(t, 0, "memory", "reindex", "--from-archives")
		})
	}
}

// archivedDamaged is what was archived of a damaged database.
type archivedDamaged struct {
	sessions  int
	file      string // the archive of the file
	unchanged bool
}

func archiveDamaged(t *testing.T, runtime string) (all archivedDamaged) {
	t.Helper()
	var doc struct {
		Archives []struct {
			ID, Session, Outcome string
			Unchanged            bool
		}
	}
	if err := json.Unmarshal(wantExit(t, 3, "archive", "--all", "--remember", "--json", "--runtime", runtime), &doc); err != nil {
		t.Fatal(err)
	}
	for _, row := range doc.Archives {
		switch ext := filepath.Ext(row.Session); {
		case row.Outcome != "archived":
		case ext == ".db" || ext == ".sqlite":
			all.file, all.unchanged = row.ID, row.Unchanged
		default:
			all.sessions++
		}
	}
	return all
}

// wantExit runs a command and returns what it prints.
func wantExit(t *testing.T, want int, args ...string) []byte {
	t.Helper()
	var out, errOut bytes.Buffer
	if exit := Main(args, strings.NewReader(""), &out, &errOut); exit != want {
		t.Fatalf("%v ends with %d: %.2000s%.2000s", args, exit, out.String(), errOut.String())
	}
	return out.Bytes()
}

// sizesOf are the numbers of messages of all sessions.
func sizesOf(t *testing.T, runtime string, want int) map[string]int {
	t.Helper()
	var doc struct {
		Sessions []struct {
			Session  string
			Messages int
		}
	}
	if err := json.Unmarshal(wantExit(t, want, "sizes", "--all", "--json", "--no-cache", "--runtime", runtime), &doc); err != nil {
		t.Fatal(err)
	}
	of := map[string]int{}
	for _, s := range doc.Sessions {
		of[s.Session] = s.Messages
	}
	return of
}

// damagePage overwrites a page on which messages of the sixth session lie, and no other
// session's.
func damagePage(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const leafOfTable = 13
	for page := pageSize; page+pageSize <= len(text); page += pageSize {
		rows := text[page : page+pageSize]
		journal := bytes.Contains(rows, []byte(`"sessionID"`)) // of OpenCode, which no session is read from
		if rows[0] == leafOfTable && !journal && bytes.Contains(rows, []byte("heron05 message")) && !bytes.Contains(rows, []byte("heron04")) && !bytes.Contains(rows, []byte("heron06")) {
			copy(rows, bytes.Repeat([]byte{0xa5}, pageSize))
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("no such page")
}
