//go:build !linux && !darwin

package process

import "time"

// booted is when this machine was started: it does not say.
func booted() (time.Time, bool) { return time.Time{}, false }
