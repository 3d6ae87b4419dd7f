//go:build !linux && !darwin

package session

import (
	"os"
	"time"
)

// identity returns nothing: size and modification time have to do.
func identity(os.FileInfo) (device, inode uint64, changed time.Time) {
	return 0, 0, time.Time{}
}
