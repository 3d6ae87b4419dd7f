package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
)

// Unchanged remembers what the files that were archived were like then, and what
// their archives' files were like, so that neither is read again to find that
// nothing has changed. It is a cache: without it every file is read. It is for one
// goroutine.
type Unchanged struct {
	file    string
	known   map[string]string // standings by the name of the file
	tells   map[uint64]bool   // by device: durable.ChangeTimeTells
	changed bool

	dir  string   // that was looked into last
	held *os.Root // the directory; nil for none
}

// standing is a file, its archive and the entry of that, as they were when the archive
// was verified. A run asks for most of them once: they are kept as the text of their
// line in the cache, and states are compared as that text has them.
type standing struct {
	id, source, stored, entry, path string // path is that of the archive's file
}

func (s standing) String() string {
	return strings.Join([]string{s.id, s.source, s.stored, s.entry, s.path}, "\t")
}

func parseStanding(text string) (standing, bool) {
	var words [5]string
	n := 0
	for word := range strings.SplitSeq(text, "\t") {
		if n == len(words) {
			return standing{}, false
		}
		words[n] = word
		n++
	}
	return standing{words[0], words[1], words[2], words[3], words[4]}, n == len(words)
}

// fileState tells whether a file is what it was. Times are nanoseconds.
type fileState struct {
	device, inode     uint64
	size              int64
	modified, changed int64
}

func stateOf(info os.FileInfo) fileState {
	id := durable.Identify(info)
	return fileState{id.Device, id.Inode, info.Size(), info.ModTime().UnixNano(), id.Changed.UnixNano()}
}

// settledBy reports whether both times of a file are so old that a change from now
// on gives it others.
func (f fileState) settledBy(now time.Time) bool {
	before := now.Add(-unchangedSettled).UnixNano()
	return f.inode != 0 && f.modified < before && f.changed < before
}

// unchangedSettled is how long a file must have been left alone: some file systems
// count time in steps of two seconds.
const unchangedSettled = 2 * time.Second

// OpenUnchanged reads what an earlier run has remembered in file. What cannot be
// used, or with file "", is empty.
func OpenUnchanged(file string) *Unchanged {
	u := &Unchanged{file: file, known: map[string]string{}, tells: map[uint64]bool{}}
	if file != "" {
		sweepUnchanged(file)
		if known, err := readUnchanged(file); err == nil {
			u.known = known
		}
	}
	return u
}

// sweepUnchanged removes what a killed run has left beside the cache. The caller holds
// the lock of the data directory; who uses another one loses at most a cache.
func sweepUnchanged(file string) {
	dir, base := filepath.Split(file)
	names, _ := os.ReadDir(dir) // usually there is none
	for _, name := range names {
		if strings.HasPrefix(name.Name(), "."+base+".") && strings.HasSuffix(name.Name(), ".tmp") {
			_ = durable.RemoveFile(filepath.Join(dir, name.Name()))
		}
	}
}

// nameOf names a file as the source of a session's archive.
func nameOf(m Meta) string {
	return strings.Join([]string{m.Runtime, m.Agent, m.Session, m.Source}, "\t")
}

// Find returns the id of the archive of a session's file, if neither the file nor
// the archive's has changed since it was made or verified, nor the entry of the
// catalogue. here is the session's file as it is now.
func (u *Unchanged) Find(s *Store, m Meta, here os.FileInfo) (id string, ok bool) {
	known, ok := parseStanding(u.known[nameOf(m)])
	if !ok || !here.Mode().IsRegular() || !u.isStill(m.Source, here, known.source) {
		return "", false
	}
	stored, err := u.lookAt(s, known.path)
	if err != nil || !u.isStill(known.path, stored, known.stored) {
		return "", false
	}
	if entry, err := s.pins.Lstat(s.entryPath(known.id)); err != nil || stateOf(entry).String() != known.entry {
		return "", false
	}
	return known.id, true
}

// isStill reports whether a file is what it was, on a device whose times tell.
func (u *Unchanged) isStill(path string, here os.FileInfo, was string) bool {
	state := stateOf(here)
	return state.String() == was && u.timeTells(path, state.device)
}

// lookAt looks at the file of an archive. Its directory is that of the one before, most
// of the time, and is held open for the next.
func (u *Unchanged) lookAt(s *Store, path string) (os.FileInfo, error) {
	dir, base := filepath.Split(path)
	if u.held == nil || dir != u.dir {
		u.release()
		held, err := s.pins.OpenDir(dir)
		if err != nil {
			return nil, err
		}
		u.dir, u.held = dir, held
	}
	return u.held.Lstat(base)
}

func (u *Unchanged) release() {
	if u.held != nil {
		_ = u.held.Close() // it was only looked at
		u.held = nil
	}
}

// timeTells says whether a file of that device needs no reading to be known for
// what it was.
func (u *Unchanged) timeTells(path string, device uint64) bool {
	tells, known := u.tells[device]
	if !known {
		tells = durable.ChangeTimeTells(path)
		u.tells[device] = tells
	}
	return tells
}

// Keep remembers the archive of a session's file, which was made or verified a moment
// ago. before is the file as it was before it was read. Nothing is remembered of a
// file that has changed since, or shortly before.
func (u *Unchanged) Keep(s *Store, m Meta, e Entry, before os.FileInfo, now time.Time) {
	after, err := os.Lstat(m.Source)
	if err != nil || !after.Mode().IsRegular() || stateOf(after) != stateOf(before) || !stateOf(after).settledBy(now) || after.Size() != e.Bytes {
		return
	}
	stored, err := s.pins.Lstat(e.Path)
	if line := nameOf(m) + e.Path; err != nil || strings.Contains(line, "\n") || strings.Count(line, "\t") != 3 {
		return
	}
	entry, err := s.pins.Lstat(s.entryPath(e.ID))
	if err != nil {
		return
	}
	u.known[nameOf(m)] = standing{e.ID, stateOf(after).String(), stateOf(stored).String(), stateOf(entry).String(), e.Path}.String()
	u.changed = true
}

// Save writes what is remembered, if there is anything new, without files that are
// gone. A cache that cannot be written costs the next run its time and nothing else.
func (u *Unchanged) Save() error {
	u.release()
	if u.file == "" || !u.changed {
		return nil
	}
	if err := durable.MakeDir(filepath.Dir(u.file), 0o700); err != nil {
		return err
	}
	return durable.ReplaceFile(u.file, 0o600, u.write)
}

// The file is a line that names its format, a line for each archive, and the
// SHA-256 of these in hexadecimal.
const unchangedFormat = "sessctl unchanged 1"

func (u *Unchanged) write(w io.Writer) error {
	sum := sha256.New()
	out := bufio.NewWriter(io.MultiWriter(w, sum))
	_, _ = fmt.Fprintln(out, unchangedFormat) // Flush returns the error
	for _, name := range slices.Sorted(maps.Keys(u.known)) {
		if k := u.known[name]; present(name) {
			_, _ = fmt.Fprintf(out, "%s\t%s\n", k, name)
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, hex.EncodeToString(sum.Sum(nil)))
	return err
}

func present(name string) bool {
	_, err := os.Lstat(name[strings.LastIndexByte(name, '\t')+1:])
	return err == nil || !os.IsNotExist(err)
}

// String is a state as a word of a line.
func (f fileState) String() string {
	var room [100]byte
	text := strconv.AppendUint(room[:0], f.device, 10)
	text = strconv.AppendUint(append(text, ','), f.inode, 10)
	for _, number := range []int64{f.size, f.modified, f.changed} {
		text = strconv.AppendInt(append(text, ','), number, 10)
	}
	return string(text)
}

// errNotUnchanged is returned for a file that is not such a cache, or a damaged one.
var errNotUnchanged = errors.New("not a cache of what is unchanged, or damaged")

func readUnchanged(file string) (map[string]string, error) {
	f, err := durable.OpenRegular(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	text := make([]byte, info.Size()) // it is replaced as a whole, and never grows
	if _, err := io.ReadFull(f, text); err != nil {
		return nil, err
	}
	body := text[:max(0, len(text)-2*sha256.Size-1)]
	if want := sha256.Sum256(body); !bytes.Equal(bytes.TrimSuffix(text[len(body):], []byte("\n")), []byte(hex.EncodeToString(want[:]))) {
		return nil, errNotUnchanged
	}
	format, lines, _ := strings.Cut(string(body), "\n")
	if format != unchangedFormat {
		return nil, errNotUnchanged
	}
	known := make(map[string]string, strings.Count(lines, "\n"))
	for line := range strings.Lines(lines) {
		line = strings.TrimSuffix(line, "\n")
		end := 0
		for range 5 {
			word := strings.IndexByte(line[end:], '\t')
			if word < 0 {
				return nil, errNotUnchanged
			}
			end += word + 1
		}
		known[line[end:]] = line[:end-1]
	}
	return known, nil
}
