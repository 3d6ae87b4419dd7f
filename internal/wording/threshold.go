package wording

import (
	"fmt"
	"strings"
)

// Threshold is when a session is due: "150,000 tokens or 80 % of its window". A part
// that is 0 does not decide.
func Threshold(tokens, percent int64) string {
	var parts []string
	if tokens > 0 {
		parts = append(parts, Count(tokens)+" tokens")
	}
	if percent > 0 {
		parts = append(parts, fmt.Sprintf("%d %% of its window", percent))
	}
	return strings.Join(parts, " or ")
}
