package session

import (
	"os"
	"syscall"
	"time"
)

// identity returns device, inode and ctime of a file.
func identity(info os.FileInfo) (device, inode uint64, changed time.Time) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, time.Time{}
	}
	return uint64(stat.Dev), stat.Ino, time.Unix(stat.Ctimespec.Unix())
}
