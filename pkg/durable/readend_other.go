//go:build !linux

package durable

import (
	"errors"
	"io"
)

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
