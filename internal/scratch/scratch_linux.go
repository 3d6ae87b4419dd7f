package scratch

import (
	"os"
	"syscall"
)

// Dir returns a directory in memory, if there is one with room and TMPDIR asks
// for no other, else the directory for temporary files.
func Dir() string {
	const memory, tmpfs, room = "/dev/shm", 0x01021994, 1 << 30
	var there syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" {
		return os.TempDir()
	}
	if err := syscall.Statfs(memory, &there); err != nil || there.Type != tmpfs || there.Bavail*uint64(there.Bsize) < room {
		return os.TempDir()
	}
	if syscall.Access(memory, 2) != nil { // W_OK
		return os.TempDir()
	}
	return memory
}
