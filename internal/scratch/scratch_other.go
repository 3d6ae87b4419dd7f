//go:build !linux

package scratch

import "os"

// Dir returns the directory for temporary files.
func Dir() string { return os.TempDir() }
