package durable

// ChangeTimeTells reports whether the file system at path is one that changes
// [Identity].Changed with every write to a file, and does so here: a local
// file system of Linux whose driver is known for it. There a file that was
// left alone for longer than a clock may stand still, and has the same
// identity, size and times later, has the same bytes.
//
// It is false for network and FUSE file systems, which may tell what they knew
// a moment ago, for FAT, which has no such time, and on other systems, where a
// program can set it (macOS, setattrlist) or there is none (Windows). Not even
// where it is true does it tell of writing through a memory map, for up to the
// half minute that such pages stay in memory.
func ChangeTimeTells(path string) bool { return changeTimeTells(path) }
