package compact

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// fileOperations collects which files the summed up part of a session read and
// changed. It is cumulative: what earlier compactions listed stays listed
// (seed 001, 7.5.3 step 3).
type fileOperations struct {
	read, modified map[string]bool
	calls          map[string]fileCall // by id, until they are answered
	cursor         jsonl.Cursor
}

// fileCall is a call of a file tool.
type fileCall struct {
	path string
	to   map[string]bool
	new  bool // the path was not listed before
}

func newFileOperations() *fileOperations {
	return &fileOperations{read: map[string]bool{}, modified: map[string]bool{}, calls: map[string]fileCall{}}
}

// add takes in a message: the calls of an agent, or the summary of an earlier
// compaction with its lists.
func (f *fileOperations) add(m *session.Message) {
	if m.Role == session.RoleToolResult {
		f.answered(m)
		return
	}
	f.list(f.read, m.ReadFiles)
	f.list(f.modified, m.ModifiedFiles)
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Kind == session.PartToolCall:
			f.call(p)
		case m.Compaction && p.Kind == session.PartText:
			f.merge(string(p.Text))
		}
	}
}

// call notes the file of one call. The names are those of seed 001 with its
// aliases, and the same in Claude Code's spelling.
func (f *fileOperations) call(p *session.Part) {
	c := fileCall{}
	switch strings.ToLower(string(p.Name)) {
	case "read", "read_file":
		c.to = f.read
	case "write", "write_file", "edit", "edit_file", "multiedit":
		c.to = f.modified
	default:
		return
	}
	if c.path = f.path(p.Text); c.path == "" {
		return
	}
	c.new = !c.to[c.path]
	c.to[c.path] = true
	f.calls[string(p.CallID)] = c
}

// answered takes a file off the lists again whose only call failed.
func (f *fileOperations) answered(m *session.Message) {
	if c, ok := f.calls[string(m.CallID)]; ok && m.IsError && c.new {
		delete(c.to, c.path)
	}
	delete(f.calls, string(m.CallID))
}

// path returns the argument "path" or "file_path" of a call, if it is a string
// that can stand on a line of its own.
func (f *fileOperations) path(arguments []byte) string {
	c := &f.cursor
	c.Reset(arguments)
	if !c.EnterObject() {
		return ""
	}
	for c.NextKey() {
		switch string(c.Key()) {
		case "path", "file_path":
			if b, ok := c.Bytes(); ok && len(b) > 0 && !strings.ContainsAny(string(b), "\n\r<>") {
				return string(b)
			}
		default:
			c.Skip()
		}
	}
	return ""
}

const (
	readTag     = "read-files"
	modifiedTag = "modified-files"
)

var fileTags = regexp.MustCompile(`(?s)\n*<(read-files|modified-files)>(.*?)</(?:read-files|modified-files)>`)

func (f *fileOperations) merge(summary string) {
	for _, found := range fileTags.FindAllStringSubmatch(summary, -1) {
		to := f.read
		if found[1] == modifiedTag {
			to = f.modified
		}
		f.list(to, slices.Collect(strings.Lines(found[2])))
	}
}

// list takes in paths that an earlier compaction has listed.
func (f *fileOperations) list(to map[string]bool, paths []string) {
	for _, path := range paths {
		if path = strings.TrimSpace(path); path != "" && !strings.ContainsAny(path, "\n\r<>") {
			to[path] = true
		}
	}
}

// summed is a summary with the lists of files: once each, a file that was
// changed only as changed, at the end of the text as tags. Tags that the text
// already has, from a summary that was fed forward, are taken out first.
func (f *fileOperations) summed(s Summary) session.Summed {
	modified := slices.Sorted(maps.Keys(f.modified))
	var read []string
	for _, path := range slices.Sorted(maps.Keys(f.read)) {
		if !f.modified[path] {
			read = append(read, path)
		}
	}
	text := strings.TrimSpace(fileTags.ReplaceAllString(s.Text, ""))
	return session.Summed{
		Text: text + tagged(readTag, read) + tagged(modifiedTag, modified), Kind: s.Kind,
		ReadFiles: append([]string{}, read...), ModifiedFiles: append([]string{}, modified...), Lessons: s.Lessons,
	}
}

func tagged(tag string, paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	return "\n\n<" + tag + ">\n" + strings.Join(paths, "\n") + "\n</" + tag + ">"
}
