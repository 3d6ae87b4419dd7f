package facts_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/facts"
	"github.com/sessctl/sessctl/pkg/session"
)

// call is a command or a file that is read, and what came of it.
type call struct {
	tool, argument, output string
	failed                 bool
}

// worked makes the messages of a session in which tools were called: a line for
// each call and each result, behind one message of a person.
func worked(t *testing.T, calls ...call) []facts.Message {
	t.Helper()
	w := facts.NewWindow(0)
	add := func(m *session.Message) {
		t.Helper()
		if err := w.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	add(&session.Message{Role: session.RoleUser, Line: 1, Time: 1000, Parts: []session.Part{{Kind: session.PartText, Text: []byte("have a look at it")}}})
	for i, c := range calls {
		name := map[string]string{"Bash": "command", "Read": "file_path"}[c.tool]
		arguments, err := json.Marshal(map[string]string{name: c.argument})
		if err != nil {
			t.Fatal(err)
		}
		id, line := []byte{'t', byte('a' + i)}, 2*i+2
		at := int64(1000 * line)
		add(&session.Message{Role: session.RoleAssistant, Ordinal: line, Line: line, Time: at, Parts: []session.Part{{Kind: session.PartToolCall, Name: []byte(c.tool), CallID: id, Text: arguments}}})
		add(&session.Message{Role: session.RoleToolResult, Ordinal: line + 1, Line: line + 1, Time: at + 500, ToolName: []byte(c.tool), CallID: id, IsError: c.failed, Parts: []session.Part{{Kind: session.PartText, Text: []byte(c.output)}}})
	}
	return w.Messages()
}

// A call that succeeded proves what it printed of itself; one that failed proves
// nothing, and neither do files that are read and what ran on another machine.
func TestProved(t *testing.T) {
	for name, tt := range map[string]struct {
		call call
		want string
	}{
		"a version":    {call{"Bash", "node --version", "v20.17.0", false}, "Version: node 20.17.0."},
		"a repository": {call{"Bash", "git remote -v", "origin\tgit@codeberg.org:acme/site.git (fetch)", false}, "The repository is at git@codeberg.org:acme/site."},

		"it failed":           {call{"Bash", "node --version", "v20.17.0", true}, ""},
		"a version elsewhere": {call{"Bash", "ssh web1 'python3 --version'", "Python 3.11.2", false}, ""},
		"a number in a text":  {call{"Bash", "cat notes.txt", "Python 3.11.2 is what we had", false}, ""},
		"a file named so":     {call{"Bash", "grep -rn ssh .", "ssh root@10.0.0.1", false}, ""},
		"a host in a program": {call{"Bash", `python3 -c 'import os; os.system("ssh a@b.example")'`, "", false}, ""},
	} {
		found, _ := facts.Outright(worked(t, tt.call), facts.DefaultConfidence)
		var got string
		for _, f := range found {
			if f.Kind != facts.Environment || f.Line != 3 || f.Quote == "" || f.Speaker != session.RoleToolResult {
				t.Errorf("%s: %+v", name, f)
			}
			got = f.Text
		}
		if tt.want == "" && len(found) > 0 || tt.want != "" && !slices.ContainsFunc(found, func(f facts.Fact) bool { return f.Text == tt.want }) {
			t.Errorf("%s: %q, not %q", name, got, tt.want)
		}
	}
}

// What a call proves again is not new, and another value supersedes the one
// before.
func TestProvedSupersedes(t *testing.T) {
	found, _ := facts.Outright(worked(t,
		call{tool: "Bash", argument: "node --version", output: "v18.19.0"},
		call{tool: "Bash", argument: "node --version", output: "v18.19.0"},
		call{tool: "Bash", argument: "fnm use 20 && node --version", output: "v20.17.0"},
	), facts.DefaultConfidence)
	m := facts.Merge(found, nil, -1)
	var texts []string
	for _, f := range m.Facts {
		texts = append(texts, f.Text)
	}
	want := []string{"Version: node 18.19.0.", "Version: node 20.17.0."}
	if !slices.Equal(texts, want) {
		t.Fatalf("%q", texts)
	}
	if len(m.Late) != 1 || m.Late[0] != (facts.Successor{Index: 1}) {
		t.Errorf("superseded: %+v", m.Late)
	}
	if m.Facts[0].Line != 3 || m.Facts[1].Line != 7 {
		t.Errorf("lines %d and %d", m.Facts[0].Line, m.Facts[1].Line)
	}
}

// A repository is one, with the user that ssh takes and without.
func TestProvedRepositoryOnce(t *testing.T) {
	found, _ := facts.Outright(worked(t,
		call{tool: "Bash", argument: "git remote -v", output: "origin\tgit@codeberg.org:acme/site.git (fetch)\norigin\tgit@codeberg.org:acme/site.git (push)"},
		call{tool: "Bash", argument: "git push", output: "To codeberg.org:acme/site.git"},
	), facts.DefaultConfidence)
	if len(found) != 1 {
		t.Errorf("%+v", found)
	}
}

// What opens something is in no fact, wherever a command has it.
func TestProvedHoldsNoSecret(t *testing.T) {
	secret := "Zx9" + strings.Repeat("kQ4w", 7)
	for _, c := range []call{
		{"Bash", "PGPASSWORD=" + secret + " psql -h db.acme.example -p 5433 -U shop -c 'select 1'", "1", false},
		{"Bash", "mysql -h db.acme.example -u root -p" + secret + " -e 'select 1'", "1", false},
		{"Bash", "mysql -h db.acme.example --password=" + secret + " shop", "1", false},
		{"Bash", "redis-cli -h cache.acme.example -a " + secret + " ping", "PONG", false},
		{"Bash", "sshpass -p " + secret + " ssh deploy@web1 uptime", "up", false},
		{"Bash", "curl -u admin:" + secret + " http://localhost:8080/x", "ok", false},
		{"Bash", "curl http://admin:" + secret + "@localhost:8080/x", "ok", false},
		{"Bash", "curl 'http://localhost:8080/x?token=" + secret + "'", "ok", false},
		{"Bash", "git remote -v", "origin https://maint:" + secret + "@git.acme.example/a/b.git (fetch)", false},
		{"Bash", "git remote get-url origin", "https://oauth2:" + secret + "@git.acme.example/a/b.git", false},
		{"Bash", "psql postgres://shop:" + secret + "@db.acme.example:5432/shop -c 'select 1'", "1", false},
		{"Bash", "aws s3 ls --profile " + secret + " --secret-key " + secret, "ok", false},
		{"Bash", "docker run -d --name x -e API_KEY=" + secret + " -p 8080:8080 x:1", "abc", false},
		{"Read", "Dockerfile", "FROM acme:1.2\nENV TOKEN=" + secret, false},
	} {
		found, _ := facts.Outright(worked(t, c), 0)
		for _, f := range found {
			if c.argument != "aws s3 ls --profile "+secret+" --secret-key "+secret && strings.Contains(f.Text+f.Quote+f.Value+f.Topic, secret[3:15]) {
				t.Errorf("%q became %+v", c.argument, f)
			}
		}
	}
}
