//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/internal/crashloop"
)

// second runs the same command a second time, from beginning to end, while the
// first stands still before a call. One of the two does the work; the other
// finds it done or is told to come back.
func second(b *Bench, c crashloop.Call) (problem, err error) {
	h, err := b.fresh()
	if err != nil {
		return nil, err
	}
	var code int
	var out string
	var ran error
	got, err := h.trace(true, once(c.N, crashloop.Fault{Hook: func() { code, out, ran = h.Run(h.args()...) }}))
	if err = errors.Join(err, ran); err != nil {
		return nil, err
	}
	if problem := orderly(got); problem != nil {
		return problem, nil
	}
	// Where the second did all of it before the first took the lock, nothing is
	// left that the first may do.
	late := code == 0 && h.refused(got.Output)
	if code != 0 && code != 75 || got.Exit != 0 && got.Exit != 75 && !late {
		return fmt.Errorf("the second run: exit %d: %s; the first: exit %d: %s", code, strings.TrimSpace(out), got.Exit, got.Output), nil
	}
	return h.survived(), nil
}
