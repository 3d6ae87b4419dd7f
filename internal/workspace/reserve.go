package workspace

import (
	"crypto/rand"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"syscall"
)

// On a full disk the record of a run, what the monitor has told, and the events that
// say so need space themselves. A file of the data directory keeps it for them.

// reserveSize is the room that is kept, in bytes: a record has a few thousand, and so
// has an event.
const reserveSize = 128 << 10

func (s *Settings) reservePath() string { return filepath.Join(s.DataDir(), "reserve") }

// KeepReserve makes the file that keeps room for a run's record and its events, unless
// it is there. The caller holds a lock. That it cannot be made is told, and no failure.
func KeepReserve(run *Run) {
	path := run.reservePath()
	if info, err := run.Pins.Lstat(path); err == nil && info.Size() == reserveSize {
		return
	}
	err := run.Pins.ReplaceFile(path, 0o600, func(w io.Writer) error {
		_, err := io.CopyN(w, rand.Reader, reserveSize) // a file system that compresses gives no room for zeros
		return err
	})
	if err != nil {
		run.Notice(Note{Path: path, Message: "no room is kept for the record of a run on a full disk: " + err.Error()})
	}
}

// OfReserve reports whether a file is what a killed run has left of the reserve.
func OfReserve(name string) bool { return strings.HasPrefix(name, ".reserve.") }

// UseReserve writes what must be written on a full disk too: where there is no room, it
// is tried again with the room of [KeepReserve].
func UseReserve(run *Run, write func() error) error {
	err := write()
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	if run.Pins.RemoveFile(run.reservePath()) != nil {
		return err
	}
	return write()
}
