package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"golang.org/x/mod/sumdb/tlog"
)

// perFile is how many leaves a file has before the next one begins.
const perFile = 4096

// sealWait is how long a signature waits: whoever has the lock signs as well.
const sealWait = 2 * time.Second

// lockWait is how long an append waits for that of another process, which takes
// milliseconds.
const lockWait = 20 * time.Second

// ErrDamaged is returned when the ledger is not what it was: leaves or hashes are
// missing, or contradict each other.
var ErrDamaged = errors.New("the ledger is damaged")

// Log is a ledger in a directory. Its methods may be called by several goroutines and
// processes; those that append take turns.
type Log struct {
	dir  string
	pins *durable.Pins
}

// Open returns the ledger in a directory. One that is not there is empty; it is made by
// the first [Log.Append]. pins hold the directories of a run, nil for none.
func Open(dir string, pins *durable.Pins) *Log { return &Log{dir: filepath.Clean(dir), pins: pins} }

// Dir is the directory.
func (l *Log) Dir() string { return l.dir }

// leavesFile is the name of the file that has the leaf perFile*number first.
func leavesFile(number int64) string { return fmt.Sprintf("leaves-%06d.jsonl", number) }

// extent is how much there is of a ledger.
type extent struct {
	size   int64 // leaves
	number int64 // of the last file of leaves; 0 if there is none
	end    int64 // in bytes, of the last complete line of that file
	// tail are the hashes of the leaves in that file.
	tail []tlog.Hash
}

// full is how many leaves are in files that are full and not the last one.
func (x extent) full() int64 { return x.number * perFile }

// look finds out how much there is. Of the files before the last one only their names
// are looked at; [Log.Verify] reads them.
func look(root *os.Root) (extent, error) {
	names, err := fs.Glob(root.FS(), "leaves-*.jsonl")
	if err != nil || len(names) == 0 {
		return extent{}, err
	}
	x := extent{number: int64(len(names) - 1)}
	text, err := root.ReadFile(leavesFile(x.number))
	if errors.Is(err, fs.ErrNotExist) {
		return extent{}, fmt.Errorf("%w: %s is missing", ErrDamaged, leavesFile(firstGap(names)))
	}
	if err != nil {
		return extent{}, err
	}
	lines := linesIn(text)
	if len(lines) > perFile {
		return extent{}, fmt.Errorf("%w: %s has %d leaves", ErrDamaged, leavesFile(x.number), len(lines))
	}
	for _, line := range lines {
		x.tail = append(x.tail, HashOf(line))
		x.end += int64(len(line)) + 1
	}
	x.size = x.full() + int64(len(lines))
	return x, nil
}

// linesIn are the complete lines of a text.
func linesIn(text []byte) [][]byte {
	lines := bytes.Split(text[:bytes.LastIndexByte(text, '\n')+1], []byte("\n"))
	return lines[:len(lines)-1]
}

func firstGap(names []string) int64 {
	for i, name := range names {
		if name != leavesFile(int64(i)) {
			return int64(i)
		}
	}
	return int64(len(names))
}

// Append adds leaves that are not in the ledger yet, in their order, and makes them
// durable with one sync. If it returns an error, some of the first may have been added:
// appending all of them again adds the others.
func (l *Log) Append(ctx context.Context, leaves ...Leaf) error {
	if len(leaves) == 0 {
		return nil
	}
	texts := make([][]byte, 0, len(leaves))
	for _, f := range leaves {
		text, err := f.Encode()
		if err != nil {
			return err
		}
		texts = append(texts, text)
	}
	return l.exclusively(ctx, lockWait, func(root *os.Root) error { return l.append(root, texts) })
}

// Sweep removes what a killed run has left in the directory, unless another process
// writes there now: it may be its.
func (l *Log) Sweep() error {
	left, err := l.pins.Leftovers(l.dir, 0)
	if err != nil || len(left) == 0 {
		return err
	}
	lock, err := l.pins.Lock(filepath.Join(l.dir, "lock"))
	if errors.Is(err, durable.ErrLocked) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep the ledger: %w", err)
	}
	defer lock.Unlock()
	return l.pins.Sweep(l.dir, 0)
}

// Move moves the ledger away while no other process writes it.
func (l *Log) Move(ctx context.Context, to string) error {
	return l.exclusively(ctx, sealWait, func(*os.Root) error { return l.pins.MoveDir(l.dir, to) })
}

// exclusively calls act with the directory, while no other process changes it.
func (l *Log) exclusively(ctx context.Context, wait time.Duration, act func(*os.Root) error) error {
	if _, err := l.pins.Lstat(l.dir); errors.Is(err, fs.ErrNotExist) {
		if err := l.pins.MakeDir(l.dir, 0o700); err != nil {
			return fmt.Errorf("make the ledger: %w", err)
		}
	}
	lock, err := durable.LockWithin(ctx, l.pins.Lock, filepath.Join(l.dir, "lock"), wait)
	if err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	defer lock.Unlock()
	root, err := l.pins.OpenDir(l.dir)
	if err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	defer root.Close()
	if err := act(root); err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	return nil
}

func (l *Log) append(root *os.Root, texts [][]byte) error {
	at, err := look(root)
	if err != nil {
		return err
	}
	if err := complete(root, at); err != nil {
		return err
	}
	texts, err = unknown(root, at, texts)
	if err != nil {
		return err
	}
	for len(texts) > 0 {
		room := perFile - (at.size - at.full())
		if room == 0 {
			at, room = extent{size: at.size, number: at.number + 1}, perFile
		}
		some := texts[:min(int64(len(texts)), room)]
		texts = texts[len(some):]
		if at, err = write(root, at, some); err != nil {
			return err
		}
	}
	return nil
}

// write adds leaves to the last file, which has room for them, and then their hashes.
func write(root *os.Root, at extent, texts [][]byte) (extent, error) {
	text := append(bytes.Join(texts, []byte("\n")), '\n')
	if err := durable.WriteTailIn(root, leavesFile(at.number), at.end, text, true); err != nil {
		return at, err
	}
	hashes := make([]tlog.Hash, 0, len(texts))
	for _, t := range texts {
		hashes = append(hashes, HashOf(t))
	}
	before := at.size
	at.size, at.end = at.size+int64(len(texts)), at.end+int64(len(text))
	return at, extendTiles(root, before, hashes)
}

// Size is how many leaves there are.
func (l *Log) Size() (int64, error) {
	var size int64
	err := l.reading(func(r *reader) error { size = r.size; return nil })
	return size, err
}

// Leaf returns a leaf by its number, from 0.
func (l *Log) Leaf(i int64) (Leaf, error) {
	text, err := l.Text(i)
	if err != nil {
		return Leaf{}, err
	}
	return Parse(text)
}

// Text returns the text of a leaf by its number, from 0, as it is hashed.
func (l *Log) Text(i int64) (text []byte, err error) {
	err = l.reading(func(r *reader) error {
		if i < 0 || i >= r.size {
			return fmt.Errorf("there is no leaf %d of %d", i, r.size)
		}
		lines, err := linesOf(r.root, i/perFile)
		if err == nil {
			text = lines[i%perFile]
		}
		return err
	})
	return text, err
}

// Texts calls yield with the texts of all leaves from a number on, in their order, until
// it returns an error, which is returned as it is. A text is valid until yield returns.
func (l *Log) Texts(ctx context.Context, from int64, yield func(i int64, text []byte) error) error {
	return l.reading(func(r *reader) error {
		for i := from; i < r.size; {
			if err := ctx.Err(); err != nil {
				return err
			}
			lines, err := linesOf(r.root, i/perFile)
			if err != nil {
				return err
			}
			for in := i % perFile; in < int64(len(lines)) && i < r.size; in, i = in+1, i+1 {
				if err := yield(i, lines[in]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Leaves is [Log.Texts] with the leaves themselves.
func (l *Log) Leaves(ctx context.Context, from int64, yield func(i int64, f Leaf) error) error {
	return l.Texts(ctx, from, func(i int64, text []byte) error {
		f, err := Parse(text)
		if err != nil {
			return fmt.Errorf("leaf %d: %w: %w", i, ErrDamaged, err)
		}
		return yield(i, f)
	})
}

// linesOf returns the complete lines of a file of leaves.
func linesOf(root *os.Root, number int64) ([][]byte, error) {
	text, err := root.ReadFile(leavesFile(number))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s is missing", ErrDamaged, leavesFile(number))
	}
	if err != nil {
		return nil, err
	}
	lines := linesIn(text)
	next, err := root.Lstat(leavesFile(number + 1))
	if err == nil && next.Mode().IsRegular() && len(lines) != perFile {
		return nil, fmt.Errorf("%w: %s has %d leaves of %d", ErrDamaged, leavesFile(number), len(lines), perFile)
	}
	return lines, nil
}

// reading opens the directory to read from it. A ledger that is not there is empty.
func (l *Log) reading(act func(*reader) error) error {
	root, err := l.pins.OpenDir(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return act(&reader{})
	}
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	defer root.Close()
	r, err := newReader(root)
	if err == nil {
		defer r.close()
		err = act(r)
	}
	if err != nil && !strings.HasPrefix(err.Error(), "read the ledger") {
		return fmt.Errorf("read the ledger: %w", err)
	}
	return err
}
