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
type files struct{ byPath map[string]*file }

type file struct {
	path            string
	changed, read   int
	lineOfLastTouch int
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

// candidates returns the changed or the read files, most important first.
func (f *files) candidates(changed bool, inFocus func([]byte) int) []candidate {
	var out []candidate
	for _, known := range f.sorted() {
		if (known.changed > 0) != changed {
			continue
		}
		text := code(known.path)
		if n := known.changed; n > 1 {
			text += " ×" + strconv.Itoa(n)
		}
		out = append(out, candidate{text: text, line: known.lineOfLastTouch, score: min(known.changed, 4) + 4*inFocus([]byte(known.path))})
	}
	sortByScore(out)
	return out
}

// sortByScore puts the highest score first and keeps the order of equals.
func sortByScore(c []candidate) {
	slices.SortStableFunc(c, func(a, b candidate) int { return b.score - a.score })
}
