package relocate

import (
	"path/filepath"
	"strings"
)

// Into returns where a path of another home is below a directory of this one:
// /old/.pi/agent/sessions/--work--/a.jsonl is --work--/a.jsonl below
// /new/.pi/agent/sessions. The two are taken to be laid out alike from the names
// on that the directory ends in, as many of them as the path has too. It returns
// false if the path has none.
func Into(dir, path string) (string, bool) {
	const separator = string(filepath.Separator)
	dir = filepath.Clean(dir)
	names := strings.Split(strings.TrimPrefix(dir, filepath.VolumeName(dir)+separator), separator)
	for i := range names {
		tail := separator + strings.Join(names[i:], separator) + separator
		if at := strings.LastIndex(path, tail); at >= 0 {
			return filepath.Join(dir, path[at+len(tail):]), true
		}
	}
	return "", false
}
