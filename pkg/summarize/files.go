package summarize

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxFiles bounds the files that are remembered. When there are more, the
// half that was touched longest ago goes, read ones first.
const maxFiles = 1024

// files are the files that tools have read and changed.
type files struct {
	byPath    map[string]*file
	committed int // line of the last commit that worked
}

type file struct {
	path            string
	changed, read   int
	lineOfLastTouch int
	made            bool // written as a whole, and not there before as far as the log tells
	removed         bool
	undone          int // line of a command that may have undone it
}

// touch counts a call that worked. A file that was ever changed is told as
// changed only.
func (f *files) touch(c call) {
	if f.byPath == nil {
		f.byPath = map[string]*file{}
	}
	for _, path := range c.paths {
		path = oneLine(path, 200)
		if path == "" {
			continue
		}
		known := f.byPath[path]
		if known == nil {
			known = &file{path: path}
			f.byPath[path] = known
		}
		if c.action == changes {
			known.made = known.made || known.changed+known.read == 0 && c.whole
			known.removed, known.undone = false, 0
			known.changed++
			known.lineOfLastTouch = c.line
		} else {
			known.read++
			if known.changed == 0 {
				known.lineOfLastTouch = c.line
			}
		}
	}
	if len(f.byPath) > maxFiles {
		f.forget()
	}
}

func (f *files) forget() {
	for _, old := range f.sorted()[maxFiles/2:] {
		delete(f.byPath, old.path)
	}
}

// sorted returns the files with the most important first: changed before
// read, and the newest first.
func (f *files) sorted() []*file {
	return slices.SortedFunc(maps.Values(f.byPath), func(a, b *file) int {
		if (a.changed > 0) != (b.changed > 0) {
			return cmp.Compare(b.changed, a.changed)
		}
		if a.lineOfLastTouch != b.lineOfLastTouch {
			return b.lineOfLastTouch - a.lineOfLastTouch
		}
		return strings.Compare(a.path, b.path)
	})
}

// ran takes in a command that worked: what it removes is gone, and what it
// commits is safe.
func (f *files) ran(command string, line int) {
	if !strings.Contains(command, "rm ") && !strings.Contains(command, "git ") {
		return
	}
	for part := range strings.SplitSeq(strings.ReplaceAll(string(cut([]byte(command), argumentBytes)), "&&", ";"), ";") {
		words := commandWords(strings.TrimSpace(part))
		if len(words) > 1 && words[0] == "git" && words[1] == "commit" {
			f.committed = line
		}
		if discards(words) {
			f.undo(line)
		}
		if len(words) > 2 && words[0] == "git" && words[1] == "rm" {
			words = words[1:]
		}
		if len(words) < 2 || words[0] != "rm" {
			continue
		}
		for _, word := range words[1:] {
			f.remove(strings.Trim(word, `'"`), line)
		}
	}
}

// discards tells whether a command throws changes away.
func discards(words []string) bool {
	if len(words) < 3 || words[0] != "git" {
		return false
	}
	switch words[1] {
	case "branch":
		return words[2] == "-D"
	case "reset":
		return words[2] == "--hard"
	case "checkout", "restore":
		return words[2] == "." || words[2] == "--"
	}
	return false
}

// undo notes that changes since the last commit may be gone.
func (f *files) undo(line int) {
	for _, known := range f.byPath {
		if known.changed > 0 && known.lineOfLastTouch > f.committed {
			known.undone = line
		}
	}
}

// remove notes that a file, or what is below a directory, is gone.
func (f *files) remove(path string, line int) {
	for _, known := range f.byPath {
		if path != "" && (known.path == path || strings.HasSuffix(known.path, "/"+path) || strings.HasPrefix(known.path, strings.TrimRight(path, "/")+"/")) {
			known.removed, known.lineOfLastTouch = true, line
		}
	}
}

// state is what became of a file.
func (f *files) state(known *file) string {
	var is []string
	switch {
	case known.removed:
		return " removed"
	case known.made:
		is = append(is, "new")
	}
	if n := known.changed; n > 1 {
		is = append(is, "×"+strconv.Itoa(n))
	}
	if f.committed > 0 && known.lineOfLastTouch > f.committed {
		is = append(is, "not committed")
	}
	if known.undone > 0 {
		is = append(is, "perhaps undone"+followedBy+strconv.Itoa(known.undone))
	}
	if len(is) == 0 {
		return ""
	}
	return " " + strings.Join(is, ", ")
}

// candidates returns the changed or the read files, most important first. Those
// that were only read are told where they are few, or nothing was changed.
func (f *files) candidates(changed bool, inFocus func([]byte) int) []candidate {
	var out []candidate
	onlyRead := 0
	for _, known := range f.byPath {
		if known.changed == 0 {
			onlyRead++
		}
	}
	many := onlyRead > fewRead && onlyRead < len(f.byPath)
	for _, known := range f.sorted() {
		focus := inFocus([]byte(known.path))
		switch {
		case (known.changed > 0) != changed, changed && known.removed && known.made:
			continue
		case !changed && focus == 0 && (many || len(out) >= maxRead):
			continue
		}
		out = append(out, candidate{text: code(known.path) + f.state(known), line: known.lineOfLastTouch, score: min(known.changed, 4) + 4*focus})
	}
	sortByScore(out)
	return out
}

// How many files are named that were only read: where something was changed, and
// where nothing was.
const (
	fewRead = 3
	maxRead = 6
)

// sortByScore puts the highest score first and keeps the order of equals.
func sortByScore(c []candidate) {
	slices.SortStableFunc(c, func(a, b candidate) int { return b.score - a.score })
}
