package crashloop

import "syscall"

// operand says where a call names its file.
type operand int

const (
	byFD operand = iota
	byPath
	byDirPath    // dirfd, path
	byTwoPaths   // path, path
	byTwoDirPath // dirfd, path, dirfd, path
	byOpen       // path, flags
	byOpenAt     // dirfd, path, flags
)

type traced struct {
	name  string
	kind  operand
	write bool // the third argument is a length that can be cut
}

// mutating lists the calls that change files.
func mutating() map[uint64]traced {
	return map[uint64]traced{
		syscall.SYS_WRITE: {"write", byFD, true}, syscall.SYS_PWRITE64: {"pwrite64", byFD, true},
		syscall.SYS_WRITEV: {"writev", byFD, false}, syscall.SYS_PWRITEV: {"pwritev", byFD, false},
		syscall.SYS_FSYNC: {"fsync", byFD, false}, syscall.SYS_FDATASYNC: {"fdatasync", byFD, false},
		syscall.SYS_FTRUNCATE: {"ftruncate", byFD, false}, syscall.SYS_TRUNCATE: {"truncate", byPath, false},
		syscall.SYS_FALLOCATE: {"fallocate", byFD, false},
		syscall.SYS_RENAME:    {"rename", byTwoPaths, false}, syscall.SYS_RENAMEAT: {"renameat", byTwoDirPath, false}, 316: {"renameat2", byTwoDirPath, false},
		syscall.SYS_LINK: {"link", byTwoPaths, false}, syscall.SYS_LINKAT: {"linkat", byTwoDirPath, false},
		syscall.SYS_UNLINK: {"unlink", byPath, false}, syscall.SYS_UNLINKAT: {"unlinkat", byDirPath, false}, syscall.SYS_RMDIR: {"rmdir", byPath, false},
		syscall.SYS_MKDIR: {"mkdir", byPath, false}, syscall.SYS_MKDIRAT: {"mkdirat", byDirPath, false},
		syscall.SYS_OPEN: {"open", byOpen, false}, syscall.SYS_OPENAT: {"openat", byOpenAt, false},
		syscall.SYS_CHMOD: {"chmod", byPath, false}, syscall.SYS_FCHMOD: {"fchmod", byFD, false}, syscall.SYS_FCHMODAT: {"fchmodat", byDirPath, false},
		syscall.SYS_FCHOWN: {"fchown", byFD, false}, syscall.SYS_FCHOWNAT: {"fchownat", byDirPath, false},
		syscall.SYS_UTIMENSAT: {"utimensat", byDirPath, false},
		326:                   {"copy_file_range", byFD, false},
	}
}

// reading lists what else is counted with Options.Reads: the boundaries at
// which somebody else's write can fall.
func reading() map[uint64]traced {
	return map[uint64]traced{
		syscall.SYS_READ: {"read", byFD, false}, syscall.SYS_PREAD64: {"pread64", byFD, false},
		syscall.SYS_FSTAT: {"fstat", byFD, false}, syscall.SYS_NEWFSTATAT: {"newfstatat", byDirPath, false},
		syscall.SYS_FCNTL: {"fcntl", byFD, false}, syscall.SYS_GETDENTS64: {"getdents64", byFD, false},
		syscall.SYS_CLOSE: {"close", byFD, false}, syscall.SYS_FLOCK: {"flock", byFD, false},
	}
}
