package workspace

import (
	"os"
	"strings"
)

// Tilde is a path with the home directory as people write it.
func (s *Settings) Tilde(path string) string {
	if rest, below := strings.CutPrefix(path, s.Home()+string(os.PathSeparator)); below && s.Home() != "" {
		return "~" + string(os.PathSeparator) + rest
	}
	return path
}
