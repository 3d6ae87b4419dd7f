//go:build linux || darwin

package durable

import (
	"os"
	"syscall"
)

// Owner returns the user id that a file belongs to, as os.Lstat, os.Stat or
// File.Stat saw it; false where the system has none (Windows).
func Owner(fi os.FileInfo) (uid int, known bool) {
	stat, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}
