//go:build !linux

package durable

import (
	"errors"
	"io"
	"os"
)

func takeLease(*os.File) error { return ErrUnsupported }

func leaseHeld(*os.File) bool { return false }

func dropLease(*os.File) error { return nil }

// pathOf: there is no path that goes by a descriptor.
func pathOf(*os.File) string { return "" }

func readAt(path string, p []byte, from int64) (int, error) {
	file, err := OpenRegular(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	n, err := file.ReadAt(p, from)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func changeTimeTells(string) bool { return false }
