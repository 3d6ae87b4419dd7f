package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// snapshotBuffer is how many bytes are hashed at a time.
const snapshotBuffer = 256 << 10

// TakeSnapshot pins the bytes that an open log has now: it reads exactly the
// size that the file had at the start, through one buffer of 256 KiB, and
// hashes them. The position of f does not matter and does not move.
//
// A [*BusyError] is returned when the file changed while it was read, or when
// path is not this file any more.
func TakeSnapshot(ctx context.Context, f *os.File, path string) (Snapshot, error) {
	before, err := f.Stat()
	if err != nil {
		return Snapshot{}, fmt.Errorf("look at the log: %w", err)
	}
	snap := Observe(path, before)
	snap.SHA256, err = hashBytes(ctx, f, snap.Size)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return Snapshot{}, &BusyError{Path: path, Reason: ReasonShorterRead.Text(), Change: ChangeShorter}
	}
	if err != nil {
		return Snapshot{}, fmt.Errorf("read the log: %w", err)
	}
	return snap, snap.still(f)
}

// still checks that the open file has not changed and is the one at the path.
func (s Snapshot) still(f *os.File) error {
	after, err := f.Stat()
	if err != nil {
		return fmt.Errorf("look at the log again: %w", err)
	}
	if err := s.Matches(after); err != nil {
		return err
	}
	named, err := os.Lstat(s.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &BusyError{Path: s.Path, Reason: ReasonMovedRead.Text()}
	case err != nil:
		return fmt.Errorf("look at the log again: %w", err)
	case !os.SameFile(named, after):
		return &BusyError{Path: s.Path, Reason: ReasonReplacedRead.Text()}
	}
	return nil
}

// Settled is how long a log must have been left alone, by both of its times,
// for them to tell whether it changes from now on: some file systems count time
// in steps of two seconds, and a clock may tick more slowly than a program
// writes.
const Settled = 2 * time.Second

// Watch returns the bytes of an observation, once, for a log that had been left
// alone for [Settled] before now and lies where durable.ChangeTimeTells holds: with
// the last of them it looks at the open file again. A [*BusyError] takes the
// place of those last bytes if the file has changed since, or is not the one at
// its path any more. ok is false if the times are too young to tell.
//
// So a log needs to be read only once to be copied: that no other bytes than
// those of the observation went through is known without a hash to compare.
func (s Snapshot) Watch(f *os.File, now time.Time) (r io.Reader, ok bool) {
	before := now.Add(-Settled)
	if s.Changed.IsZero() || !s.Changed.Before(before) || !s.ModTime.Before(before) {
		return nil, false
	}
	return &watched{snap: s, file: f, bytes: io.NewSectionReader(f, 0, s.Size), left: s.Size}, true
}

// watched reads the bytes of a snapshot and looks after them.
type watched struct {
	snap  Snapshot
	file  *os.File
	bytes *io.SectionReader
	left  int64
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.bytes.Read(p)
	if w.left -= int64(n); w.left == 0 && n > 0 {
		if changed := w.snap.still(w.file); changed != nil {
			return 0, changed
		}
	}
	return n, err
}

func hashBytes(ctx context.Context, r io.ReaderAt, size int64) (string, error) {
	sum := sha256.New()
	buffer := make([]byte, snapshotBuffer)
	for at := int64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := r.ReadAt(buffer[:min(snapshotBuffer, size-at)], at)
		sum.Write(buffer[:n])
		at += int64(n)
		if errors.Is(err, io.EOF) && at < size {
			return "", io.ErrUnexpectedEOF
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Observe is a snapshot without a hash: which bytes are at a path, as far as
// what os.Lstat, os.Stat or File.Stat returned can tell.
func Observe(path string, info os.FileInfo) Snapshot {
	device, inode, changed := identity(info)
	return Snapshot{
		Path: path, Device: device, Inode: inode,
		Size: info.Size(), ModTime: info.ModTime().UTC(), Changed: changed.UTC(),
	}
}

// SameBytes reports whether two snapshots show the same bytes of the same
// file: device, inode, size and both times are equal, and the hashes where
// both have one. The path does not matter. Where the system has no inodes
// (Windows) size and modification time decide.
func (s Snapshot) SameBytes(other Snapshot) bool {
	return s.Device == other.Device && s.SameFile(other) && s.Size == other.Size &&
		s.ModTime.Equal(other.ModTime) && s.Changed.Equal(other.Changed) &&
		(s.SHA256 == "" || other.SHA256 == "" || s.SHA256 == other.SHA256)
}

// SameFile reports whether two snapshots are of the same inode, whatever its
// bytes. It is always true where the system has no inodes. The two are of one
// directory, so the number of its device does not tell files apart; a file
// system gets another one at the next start of the machine, and what an earlier
// run has done must be recognised then.
func (s Snapshot) SameFile(other Snapshot) bool { return s.Inode == other.Inode }

// Matches returns a [*BusyError] that says what changed unless info shows the
// bytes of the snapshot.
func (s Snapshot) Matches(info os.FileInfo) error {
	now := Observe(s.Path, info)
	if s.SameBytes(now) {
		return nil
	}
	busy := &BusyError{Path: s.Path, Reason: ReasonTouched.Text(), Change: ChangeTouched}
	switch {
	case !s.SameFile(now):
		busy.Reason, busy.Change = ReasonReplaced.Text(), ChangeReplaced
	case now.Size > s.Size:
		busy.Reason, busy.Change = ReasonGrew.Text(now.Size-s.Size), ChangeGrew
	case now.Size < s.Size:
		busy.Reason, busy.Change = ReasonShorter.Text(), ChangeShorter
	}
	return busy
}

// MatchesMoved is [Snapshot.Matches] for a log that has got another name since,
// which changes the time of its last change of status.
func (s Snapshot) MatchesMoved(info os.FileInfo) error {
	s.Changed = Observe(s.Path, info).Changed
	return s.Matches(info)
}

// Change is what has become of a log that was read before, as far as looking
// at it tells: whether its first bytes are still the same bytes only a hash
// tells.
type Change string

// The changes of a log. The zero value is for everything else.
const (
	ChangeGrew     Change = "grew"     // the same file, longer
	ChangeShorter  Change = "shorter"  // the same file, shorter: it may be being rewritten
	ChangeTouched  Change = "touched"  // the same file, as long as before
	ChangeReplaced Change = "replaced" // another file is at its path
)
