package recall

import (
	"net/url"
	"path/filepath"
)

// FileURL is how a browser names a file.
func FileURL(path string) string {
	path = filepath.ToSlash(path)
	if filepath.VolumeName(path) != "" {
		path = "/" + path // file:///C:/...
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
