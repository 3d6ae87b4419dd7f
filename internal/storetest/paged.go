package storetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/internal/fakeagentdb"
	"github.com/sessctl/sessctl/internal/fakegoosedb"
	"github.com/sessctl/sessctl/internal/fakesessiondb"
	"github.com/sessctl/sessctl/internal/fakestatedb"
	"github.com/sessctl/sessctl/pkg/session"
)

// Paged is a database in which so many sessions lie, of so many messages each.
type Paged struct{ Sessions, Messages int }

// PagedRuntimes are the runtimes of which [Paged.Write] can write a database.
func PagedRuntimes() []string {
	return []string{session.RuntimeHermes, session.RuntimeOpenCode, session.RuntimeKilo, session.RuntimeGoose, session.RuntimeOpenClaw}
}

// Write writes a database below a home and returns its path.
func (p Paged) Write(runtime, home string) (path string, err error) {
	switch runtime {
	case session.RuntimeHermes:
		path = filepath.Join(home, ".hermes", "state.db")
		return path, p.state(path)
	case session.RuntimeGoose:
		path = filepath.Join(home, ".local", "share", "goose", "sessions", "sessions.db")
		return path, p.goose(path)
	case session.RuntimeOpenClaw:
		path = filepath.Join(home, ".openclaw", "agents", "main", "agent", "openclaw-agent.sqlite")
		return path, p.agent(path)
	}
	path = filepath.Join(home, ".local", "share", runtime, runtime+".db")
	return path, p.session(path)
}

// pagedText is what is said in a session, long enough that no two sessions are all on
// the same pages.
func pagedText(of, message int) string {
	return fmt.Sprintf("heron%02d message %02d about the ledger of herons. ", of, message) + strings.Repeat("The heron stands in the reeds. ", 4)
}

func pagedRole(message int) string { return []string{"user", "assistant"}[message%2] }

func (p Paged) state(path string) error {
	d := fakestatedb.Create(path, 30)
	d.Row("system_prompts", "hash", "p1", "prompt", "You watch herons.")
	for i := range p.Sessions {
		id := fmt.Sprintf("20260506_0812%02d_a1b2c3", i)
		d.Row("sessions", "id", id, "source", "cli", "started_at", 1788250000+i, "system_prompt_hash", "p1", "title", fmt.Sprintf("heron%02d", i))
		for j := range p.Messages {
			d.Say(id, pagedRole(j), pagedText(i, j), float64(1788250000+j))
		}
	}
	return d.Close()
}

func (p Paged) session(path string) error {
	d := fakesessiondb.Create(path)
	fakesessiondb.Story(d)
	for i := range p.Sessions {
		id := fmt.Sprintf("ses_heron%02d", i)
		d.Session(id, "", "heron", 1788336000000)
		for j := range p.Messages {
			d.User(id, 1788336000000+int64(j), pagedText(i, j))
		}
	}
	return d.Close()
}

func (p Paged) goose(path string) error {
	statements := []string{"BEGIN"}
	for i := range p.Sessions {
		statements = append(statements, fmt.Sprintf("INSERT INTO sessions (id, name, working_dir) VALUES ('20260227_%d', 'heron', '/home/lea')", i))
		for j := range p.Messages {
			statements = append(statements, fmt.Sprintf(`INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES ('20260227_%d', '%s', '[{"type":"text","text":"%s"}]', %d)`,
				i, pagedRole(j), pagedText(i, j), 1772200800+j))
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return fakegoosedb.Write(path, 17, strings.Join(append(statements, "COMMIT"), ";"))
}

func (p Paged) agent(path string) error {
	c := fakeagentdb.Content{Version: 23, Main: "main", Long: true}
	for i := range p.Sessions {
		id := fmt.Sprintf("600fa7f5-3a0b-4cc5-9e68-d8388de117%02d", i)
		c.Windows = append(c.Windows, [2]string{id, fmt.Sprintf("agent:main:%d", i)})
		c.Nodes = append(c.Nodes, fakeagentdb.Node{Key: fmt.Sprintf("agent:main:%d", i), Session: id, Entry: `{"sessionId":"` + id + `"}`})
		c.Rows = append(c.Rows, fakeagentdb.Row{Session: id, JSON: `{"type":"session","version":4,"id":"` + id + `","timestamp":"2026-09-02T08:00:00.000Z","cwd":"/w"}`, At: 1788336000000})
		for j := range p.Messages {
			line := fmt.Sprintf(`{"type":"message","id":"m%d","parentId":%q,"timestamp":"2026-09-02T08:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":%q}]}}`, j, fmt.Sprint("m", j-1), pagedText(i, j))
			c.Rows = append(c.Rows, fakeagentdb.Row{Session: id, Seq: int64(j + 1), JSON: line, Length: int64(len(line)), At: 1788336000000 + int64(j)})
		}
	}
	return fakeagentdb.Write(path, c)
}
