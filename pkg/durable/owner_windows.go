package durable

import "os"

// Owner returns the user id that a file belongs to; Windows has none.
func Owner(os.FileInfo) (uid int, known bool) { return 0, false }
