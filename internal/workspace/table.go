package workspace

import (
	"os"
	"strings"
)

// Tilde is a path with the home directory as people write it.
func (a *Settings) Tilde(path string) string {
	if rest, below := strings.CutPrefix(path, a.Home()+string(os.PathSeparator)); below && a.Home() != "" {
		return "~" + string(os.PathSeparator) + rest
	}
	return path
}
