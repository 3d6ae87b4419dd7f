//go:build linux && amd64

package faults

import (
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/crashloop"
)

// blind says whether the program cannot know, where there are no leases, that
// a writer is at the log: one that only has it open, or one that writes between
// the last look at the log and the switch. Its lines come late then.
func (w writer) blind(b *Bench, c crashloop.Call) bool {
	if !b.home.Command.Lacking.Leases {
		return false
	}
	if w.before != nil || w.after != nil {
		return true
	}
	calls, err := b.calls(nil, true)
	return err != nil || c.N > lastLook(&b.home, calls)
}

// lastLook is the number of the last call that looks at the log where it lies.
func lastLook(h *Home, calls []crashloop.Call) int {
	for _, c := range slices.Backward(calls) {
		if c.Path == h.Log() && strings.Contains(c.Name, "stat") {
			return c.N
		}
	}
	return 0
}
