package recall

import (
	"path/filepath"
	"strconv"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/report"
)

// PageLinks leads from lines of archives to the pages that are kept.
type PageLinks struct {
	dir   string
	names []string
}

// KeptPages are the pages that are kept. That they cannot be listed is no reason
// not to answer without them.
func KeptPages(run *workspace.Run) PageLinks {
	links := PageLinks{dir: run.PagesDir()}
	entries, _ := run.Pins.ReadDir(links.dir)
	for _, e := range entries {
		links.names = append(links.names, e.Name())
	}
	return links
}

// of is the address of a line of an archive, or "" where no page of it is kept.
func (l PageLinks) of(id string, line int) string {
	name, begins, whole := "", 0, false
	for _, n := range l.names {
		at, ok := report.PageLine(id+".html", n)
		whole = whole || ok && n == id+".html"
		if ok && (at <= line || n == id+".html") && at > begins {
			name, begins = n, at
		}
	}
	if !whole || id == "" { // the first page is written last
		return ""
	}
	return FileURL(filepath.Join(l.dir, name)) + "#L" + strconv.Itoa(line)
}
