package workspace

import (
	"context"
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
// has an event. Where there is less room, half of that is kept, or a quarter, down to
// leastReserve: what was written needs room besides, to be noted as delivered.
const (
	reserveSize  = 128 << 10
	leastReserve = 8 << 10
)

func (s *Settings) reservePath() string { return filepath.Join(s.DataDir(), "reserve") }

// KeepReserve makes the file that keeps room for a run's record and its events, unless
// it is there, as large as there is room. The caller holds a lock. That it cannot be
// made is told, and no failure.
func KeepReserve(run *Run) {
	path, err := run.reservePath(), error(nil)
	info, lookErr := run.Pins.Lstat(path)
	if lookErr == nil && info.Size() == reserveSize {
		return
	}
	for size := int64(reserveSize); size >= leastReserve && (lookErr != nil || size > info.Size()); size /= 2 {
		err = run.Pins.ReplaceFile(path, 0o600, func(w io.Writer) error {
			_, err := io.CopyN(w, rand.Reader, size) // a file system that compresses gives no room for zeros
			return err
		})
		if !NoRoom(err) {
			break
		}
	}
	if err != nil && lookErr != nil {
		run.Notice(Note{Path: path, Message: "no room is kept for the record of a run on a full disk: " + err.Error()})
	}
}

// LacksReserve is where [KeepReserve] would make its file, "" where it is already.
func LacksReserve(run *Run) string {
	if _, err := run.Pins.Lstat(run.reservePath()); err == nil {
		return ""
	}
	return run.reservePath()
}

// KeepFirstReserve is [KeepReserve] before the first run, which may meet a full disk, and
// reports whether the file is there now. Where another sessctl has the lock, that makes it
// if it is a run.
func KeepFirstReserve(ctx context.Context, run *Run) (bool, error) {
	if err := run.Guard(ctx); err != nil {
		return false, err
	}
	if err := run.Pins.MakeDir(run.DataDir(), 0o700); err != nil {
		return false, err
	}
	lock, err := run.Pins.Lock(filepath.Join(run.DataDir(), "lock"))
	if err != nil {
		return false, err
	}
	defer lock.Unlock()
	KeepReserve(run)
	return LacksReserve(run) == "", nil
}

// NoRoom reports whether something could not be written because the disk, or what of it
// one may use, is full.
func NoRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// OfReserve reports whether a file is what a killed run has left of the reserve.
func OfReserve(name string) bool { return strings.HasPrefix(name, ".reserve.") }

// UseReserve writes what must be written on a full disk too: where there is no room, it
// is tried again with the room of [KeepReserve]. What is left of that is kept for the
// next one.
func UseReserve(run *Run, write func() error) error {
	err := write()
	if !NoRoom(err) {
		return err
	}
	if run.Pins.RemoveFile(run.reservePath()) != nil {
		return err
	}
	err = write()
	KeepReserve(run)
	return err
}
