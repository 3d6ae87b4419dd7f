package session

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"strings"
)

// Name is what a person knows a session by.
type Name struct {
	Title   string // one line; "" if nobody said anything
	Project string // the working directory, as the log names it; "" if it names none
	From    Origin // the session whose words it began with; nothing for its own
}

// Or is the name with what it lacks taken from another one.
func (n Name) Or(other Name) Name {
	return Name{cmp.Or(n.Title, other.Title), cmp.Or(n.Project, other.Project), cmp.Or(n.From, other.From)}
}

// TitleRecord is a record in which a runtime writes the title of a session.
type TitleRecord struct {
	Key, Is string // what tells it: "type", "custom-title"
	Field   string // the title, with dots between the names of nested objects
}

// titleReach is how much of the beginning and of the end of a log is searched for
// titles. Claude Code reads as much, and repeats a title near the end.
const titleReach = 64 << 10

// TitleIn is the title that a log of JSON lines gives its session: the last one of
// the first kind of record that is there, "" without any.
func TitleIn(log io.ReaderAt, size int64, kinds []TitleRecord) string {
	found := make([]string, len(kinds))
	for _, from := range []int64{0, max(titleReach, size-titleReach)} {
		text := make([]byte, max(min(titleReach, size-from), 0))
		n, _ := log.ReadAt(text, from) // what cannot be read has no title
		for line := range bytes.Lines(text[:n]) {
			for i, kind := range kinds {
				found[i] = cmp.Or(kind.titleOf(line), found[i])
			}
		}
	}
	return cmp.Or(found...)
}

func (k TitleRecord) titleOf(line []byte) string {
	if !bytes.Contains(line, []byte(`"`+k.Is+`"`)) {
		return ""
	}
	var record map[string]any
	if json.Unmarshal(line, &record) != nil || record[k.Key] != k.Is {
		return ""
	}
	names := strings.Split(k.Field, ".")
	for _, name := range names[:len(names)-1] {
		record, _ = record[name].(map[string]any)
	}
	title, _ := record[names[len(names)-1]].(string)
	return title
}

// FolderOf is the name that Claude Code gives to the directory of the sessions of a
// working directory: every character but letters and digits is a dash, and one beyond
// the first 65,536 two.
func FolderOf(cwd string) string {
	var name strings.Builder
	for _, r := range cwd {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9':
			name.WriteRune(r)
		case r > 0xFFFF:
			name.WriteString("--")
		default:
			name.WriteByte('-')
		}
	}
	return name.String()
}

// AgentOfDirectory is the name of the agent that works in a directory: its path
// with dashes, as pi writes it ("/home/lea/api" is "home-lea-api"), or none if
// that is empty.
func AgentOfDirectory(cwd, none string) string {
	name := strings.Trim(strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(cwd), "-")
	if name == "" {
		return none
	}
	return CleanAgent(name)
}

// AgentOfProject is the name of the agent that works in a project, "" for none: that
// of its directory, where a worktree that Claude Code has made is part of the project
// that it was made of, and a drive is the same in small letters.
func AgentOfProject(cwd string) string {
	for _, mark := range []string{"/.claude/worktrees/", `\.claude\worktrees\`} {
		cwd, _, _ = strings.Cut(cwd, mark)
	}
	if len(cwd) > 1 && cwd[1] == ':' {
		cwd = strings.ToUpper(cwd[:1]) + cwd[1:]
	}
	return AgentOfDirectory(cwd, "")
}
