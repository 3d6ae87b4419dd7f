package memory

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"modernc.org/libc"
	sqlitelib "modernc.org/sqlite/lib"
)

// heldVFS is the name of SQLite's usual way to files with one difference: it
// takes paths as they are. The usual one resolves the links of a path first, so
// that a directory that is held open, which is a link below /proc/self/fd,
// becomes the path that it had, where another may be by now. A link in the place
// of the database, or of a file beside it, is refused by both.
const heldVFS = "sessctl-held"

// registerHeld makes heldVFS known to SQLite. Two that do so at the same time
// register it twice, which does no harm.
func registerHeld() error {
	tls := libc.NewTLS()
	defer tls.Close()
	name, err := libc.CString(heldVFS) // SQLite keeps it
	if err != nil {
		return err
	}
	if sqlitelib.Xsqlite3_vfs_find(tls, name) != 0 {
		libc.Xfree(tls, name)
		return nil
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	vfs := new(sqlitelib.Tsqlite3_vfs)
	pin.Pin(vfs)
	here, size := uintptr(unsafe.Pointer(vfs)), libc.Tsize_t(unsafe.Sizeof(*vfs))
	usual, own := sqlitelib.Xsqlite3_vfs_find(tls, 0), libc.Xmalloc(tls, size)
	if usual == 0 || own == 0 {
		return errors.New("SQLite has no way to files")
	}
	libc.Xmemcpy(tls, here, usual, size)
	function := fullPathname
	vfs.FpNext, vfs.FzName, vfs.FxFullPathname = 0, name, *(*uintptr)(unsafe.Pointer(&function))
	libc.Xmemcpy(tls, own, here, size)
	if code := sqlitelib.Xsqlite3_vfs_register(tls, own, 0); code != sqlitelib.SQLITE_OK {
		return fmt.Errorf("register with SQLite: code %d", code)
	}
	return nil
}

// fullPathname is xFullPathname of heldVFS: it copies a path into a buffer of
// size bytes.
func fullPathname(tls *libc.TLS, _, path uintptr, size int32, buffer uintptr) int32 {
	length := libc.Xstrlen(tls, path)
	if length >= libc.Tsize_t(size) {
		return sqlitelib.SQLITE_CANTOPEN
	}
	libc.Xmemcpy(tls, buffer, path, length+1)
	return sqlitelib.SQLITE_OK
}
