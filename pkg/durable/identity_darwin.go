package durable

import (
	"os"
	"syscall"
	"time"
)

func identify(fi os.FileInfo) Identity {
	stat, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return Identity{}
	}
	return Identity{
		Device: uint64(stat.Dev), Inode: stat.Ino, Links: uint64(stat.Nlink),
		Changed: time.Unix(stat.Ctimespec.Unix()),
	}
}
