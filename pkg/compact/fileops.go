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
	cursor         jsonl.Cursor
}

func newFileOperations() *fileOperations {
	return &fileOperations{read: map[string]bool{}, modified: map[string]bool{}}
}

// add takes in a message: the calls of an agent, or the summary of an earlier
// compaction with its lists.
func (f *fileOperations) add(m *session.Message) {
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Kind == session.PartToolCall:
			f.call(string(p.Name), p.Text)
		case m.Compaction && p.Kind == session.PartText:
			f.merge(string(p.Text))
		}
	}
}

// call notes the file of one call. The names are those of seed 001 with its
// aliases, and the same in Claude Code's spelling.
func (f *fileOperations) call(name string, arguments []byte) {
	var to map[string]bool
	switch strings.ToLower(name) {
	case "read", "read_file":
		to = f.read
	case "write", "write_file", "edit", "edit_file", "multiedit":
		to = f.modified
	default:
		return
	}
	if path := f.path(arguments); path != "" {
		to[path] = true
	}
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
		for line := range strings.Lines(found[2]) {
			if line = strings.TrimSpace(line); line != "" {
				to[line] = true
			}
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
		ReadFiles: append([]string{}, read...), ModifiedFiles: append([]string{}, modified...),
	}
}

func tagged(tag string, paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	return "\n\n<" + tag + ">\n" + strings.Join(paths, "\n") + "\n</" + tag + ">"
}
