package wording

import (
	"fmt"
	"strings"
)

// DueBy is which part of a threshold made a session due, and from how many tokens on
// it is by that; "" if nothing did.
func DueBy(part string, tokens int64) string {
	switch part {
	case "tokens":
		return "by tokens, from " + Count(tokens) + " on"
	case "share":
		return "by the share of its window, from " + Count(tokens) + " tokens on"
	case "runtime":
		return "by its runtime's own rule"
	}
	return ""
}

// Threshold is when a session is due: "150,000 tokens or 80 % of the window". A part
// that is 0 does not decide.
func Threshold(tokens, percent int64) string {
	var parts []string
	if tokens > 0 {
		parts = append(parts, Count(tokens)+" tokens")
	}
	if percent > 0 {
		parts = append(parts, fmt.Sprintf("%d %% of the window", percent))
	}
	return strings.Join(parts, " or ")
}
