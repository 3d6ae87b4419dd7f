package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// safeName makes a directory name of an agent's id: what is safe of it, and a
// hash, so that two agents never share one, also where case does not count.
func safeName(agent string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r
		}
		return '_'
	}, agent)
	sum := sha256.Sum256([]byte(agent))
	return safe[:min(len(safe), 60)] + "-" + hex.EncodeToString(sum[:4])
}
