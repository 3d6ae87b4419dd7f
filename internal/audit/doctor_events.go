package audit

import "fmt"

// CountTries says how often an event was tried.
func CountTries(n int) string {
	if n == 1 {
		return "1 try"
	}
	return fmt.Sprintf("%d tries", n)
}
