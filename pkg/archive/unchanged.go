package archive

import (
	"bufio"
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
	places  map[string]place // by what the line of each begins with
	tells   map[uint64]bool  // by device: durable.ChangeTimeTells
	changed bool

	archives, entries looking
	room              []byte // for what is compared, and not kept
}

// place is a directory of files that were archived and the one where their archives are.
// A run asks for most of its files once: each is kept as the text of its line in the
// cache, and states are compared as that text has them.
type place struct {
	archives string            // the directory of most of them
	known    map[string]string // standings by session and base of the source
}

// standing is a file, its archive and the entry of that, as they were when the archive
// was verified.
type standing struct {
	id, source, stored, entry string
	path                      string // of the archive's file, as place.shortPath gives it
}

// standingWords is how many words a standing has.
const standingWords = 5

func (s standing) String() string {
	return strings.Join([]string{s.id, s.source, s.stored, s.entry, s.path}, "\t")
}

// parseStanding cuts the text of a standing, which was counted when it was read.
func parseStanding(text string) (s standing) {
	for _, word := range []*string{&s.id, &s.source, &s.stored, &s.entry} {
		*word, text, _ = strings.Cut(text, "\t")
	}
	s.path = text
	return s
}

// shortPath is the path of an archive's file. Most are in the directory of their place
// and begin with the id of the session: only the rest is kept of these.
func (p place) shortPath(path, session string) string {
	if rest, ok := strings.CutPrefix(path, p.archives+session); ok {
		return "=" + rest
	}
	return path
}

func (p place) longPath(short, session string) (dir, base string) {
	if rest, ok := strings.CutPrefix(short, "="); ok {
		return p.archives, session + rest
	}
	return filepath.Split(short)
}

// looking is a directory that is held open to look at files in it.
type looking struct {
	dir  string
	held *durable.Looker // nil for none
}

// at looks at a file. Its directory is that of the one before, most of the time.
func (l *looking) at(pins *durable.Pins, dir, base string) (durable.FileState, error) {
	if l.held == nil || dir != l.dir {
		l.release()
		held, err := durable.OpenLooker(pins, dir)
		if err != nil {
			return durable.FileState{}, err
		}
		l.dir, l.held = dir, held
	}
	return l.held.Look(base)
}

func (l *looking) release() {
	if l.held != nil {
		_ = l.held.Close() // it was only looked at
		l.held = nil
	}
}

// settledBy reports whether both times of a file are so old that a change from now
// on gives it others.
func settledBy(now time.Time, f durable.FileState) bool {
	before := now.Add(-unchangedSettled).UnixNano()
	return f.Inode != 0 && f.Modified < before && f.Changed < before
}

// unchangedSettled is how long a file must have been left alone: some file systems
// count time in steps of two seconds.
const unchangedSettled = 2 * time.Second

// OpenUnchanged reads what an earlier run has remembered in file. What cannot be
// used, or with file "", is empty.
func OpenUnchanged(file string) *Unchanged {
	u := &Unchanged{file: file, places: map[string]place{}, tells: map[uint64]bool{}}
	if file != "" {
		sweepUnchanged(file)
		if places, err := readUnchanged(file); err == nil {
			u.places = places
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

// placeOf appends what is common to the files of a directory, nameOf what sets one of
// them apart. Neither has a line's end, nor nameOf a tab beside its own, or the file is
// not remembered.
func placeOf(to []byte, m Meta) []byte {
	return append(append(append(append(append(to, m.Runtime...), '\t'), m.Agent...), '\t'), m.Source[:baseAt(m.Source)]...)
}

func nameOf(to []byte, m Meta) []byte {
	return append(append(append(to, m.Session...), '\t'), m.Source[baseAt(m.Source):]...)
}

// baseAt is where the base of a path begins, which has no separator at its end.
func baseAt(path string) int { return strings.LastIndexByte(path, filepath.Separator) + 1 }

// Find returns the id of the archive of a session's file, if neither the file nor
// the archive's has changed since it was made or verified, nor the entry of the
// catalogue. here is the session's file, a regular one, as it is now.
func (u *Unchanged) Find(s *Store, m Meta, here durable.FileState) (id string, ok bool) {
	u.room = placeOf(u.room[:0], m)
	in, ok := u.places[string(u.room)]
	if !ok {
		return "", false
	}
	u.room = nameOf(u.room[:0], m)
	text, ok := in.known[string(u.room)]
	if !ok {
		return "", false
	}
	known := parseStanding(text)
	if !u.isStill(m.Source, here, known.source) {
		return "", false
	}
	dir, base := in.longPath(known.path, m.Session)
	stored, err := u.archives.at(s.pins, dir, base)
	if err != nil || !u.isStill(dir, stored, known.stored) {
		return "", false
	}
	entry, err := u.entries.at(s.pins, s.dir, entryName(known.id))
	if err != nil || !u.same(entry, known.entry) {
		return "", false
	}
	return known.id, true
}

// isStill reports whether a file is what it was, on a device whose times tell.
func (u *Unchanged) isStill(path string, here durable.FileState, was string) bool {
	return u.same(here, was) && u.timeTells(path, here.Device)
}

func (u *Unchanged) same(here durable.FileState, was string) bool {
	u.room = appendState(u.room[:0], here)
	return string(u.room) == was
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
	if err != nil || !after.Mode().IsRegular() || after.Size() != e.Bytes {
		return
	}
	source := durable.FileStateOf(after)
	if source != durable.FileStateOf(before) || !settledBy(now, source) {
		return
	}
	stored, err := s.pins.Lstat(e.Path)
	if err != nil {
		return
	}
	entry, err := s.pins.Lstat(s.entryPath(e.ID))
	if err != nil {
		return
	}
	u.remember(m, e, source, durable.FileStateOf(stored), durable.FileStateOf(entry))
}

func (u *Unchanged) remember(m Meta, e Entry, source, stored, entry durable.FileState) {
	of, name := string(placeOf(nil, m)), string(nameOf(nil, m))
	dir, _ := filepath.Split(e.Path)
	if line := of + "\t" + dir + "\t" + name + e.Path; strings.Contains(line, "\n") || strings.Count(line, "\t") != 5 {
		return
	}
	in, ok := u.places[of]
	if !ok {
		in = place{dir, map[string]string{}}
		u.places[of] = in
	}
	text := func(f durable.FileState) string { return string(appendState(nil, f)) }
	in.known[name] = standing{e.ID, text(source), text(stored), text(entry), in.shortPath(e.Path, m.Session)}.String()
	u.changed = true
}

// Save writes what is remembered, if there is anything new, without files that are
// gone. A cache that cannot be written costs the next run its time and nothing else.
func (u *Unchanged) Save() error {
	u.archives.release()
	u.entries.release()
	if u.file == "" || !u.changed {
		return nil
	}
	if err := durable.MakeDir(filepath.Dir(u.file), 0o700); err != nil {
		return err
	}
	return durable.ReplaceFile(u.file, 0o600, u.write)
}

// The file is a line that names its format, a line for each place and after it, each
// behind a tab, those of its archives, and the SHA-256 of these in hexadecimal.
const unchangedFormat = "sessctl unchanged 3"

func (u *Unchanged) write(w io.Writer) error {
	sum := sha256.New()
	out := bufio.NewWriter(io.MultiWriter(w, sum))
	_, _ = fmt.Fprintln(out, unchangedFormat) // Flush returns the error
	for _, of := range slices.Sorted(maps.Keys(u.places)) {
		in := u.places[of]
		_, _ = fmt.Fprintf(out, "%s\t%s\n", of, in.archives)
		dir := of[strings.LastIndexByte(of, '\t')+1:]
		for _, name := range slices.Sorted(maps.Keys(in.known)) {
			if present(filepath.Join(dir, name[strings.LastIndexByte(name, '\t')+1:])) {
				_, _ = fmt.Fprintf(out, "\t%s\t%s\n", in.known[name], name)
			}
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, hex.EncodeToString(sum.Sum(nil)))
	return err
}

func present(path string) bool {
	_, err := os.Lstat(path)
	return err == nil || !os.IsNotExist(err)
}

// appendState appends a state as a word of a line.
func appendState(to []byte, f durable.FileState) []byte {
	const base = 32 // of a power of two no digit takes a division
	to = strconv.AppendUint(to, f.Device, base)
	to = strconv.AppendUint(append(to, ','), f.Inode, base)
	for _, number := range []int64{f.Size, f.Modified, f.Changed} {
		to = strconv.AppendInt(append(to, ','), number, base)
	}
	return to
}

// errNotUnchanged is returned for a file that is not such a cache, or a damaged one.
var errNotUnchanged = errors.New("not a cache of what is unchanged, or damaged")

func readUnchanged(file string) (map[string]place, error) {
	body, err := readSummed(file)
	if err != nil {
		return nil, err
	}
	format, lines, _ := strings.Cut(body, "\n")
	if format != unchangedFormat {
		return nil, errNotUnchanged
	}
	places := map[string]place{}
	for len(lines) > 0 {
		var head string
		head, lines, _ = strings.Cut(lines, "\n")
		end := len(lines) // of what belongs to the place
		if next := nextPlace(lines); next >= 0 {
			end = next
		}
		of := strings.LastIndexByte(head, '\t')
		known, err := readStandings(lines[:end])
		if of < 0 || err != nil {
			return nil, errNotUnchanged
		}
		places[head[:of]] = place{head[of+1:], known}
		lines = lines[end:]
	}
	return places, nil
}

// nextPlace is where the first line begins that is no archive's, -1 for none.
func nextPlace(lines string) int {
	for at := 0; at < len(lines); {
		if lines[at] != '\t' {
			return at
		}
		end := strings.IndexByte(lines[at:], '\n')
		if end < 0 {
			return -1
		}
		at += end + 1
	}
	return -1
}

func readStandings(lines string) (map[string]string, error) {
	known := make(map[string]string, strings.Count(lines, "\n"))
	for line := range strings.Lines(lines) {
		line = strings.TrimSuffix(line[1:], "\n")
		end := 0
		for range standingWords {
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

// readSummed reads a file that ends with the SHA-256 of the rest.
func readSummed(file string) (string, error) {
	f, err := durable.OpenRegular(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	const after = 2*sha256.Size + 1
	var text strings.Builder
	text.Grow(int(max(0, info.Size()))) // it is replaced as a whole, and never grows
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(&text, sum), f, max(0, info.Size()-after)); err != nil {
		return "", err
	}
	if last, err := io.ReadAll(f); err != nil || string(last) != hex.EncodeToString(sum.Sum(nil))+"\n" {
		return "", errNotUnchanged
	}
	return text.String(), nil
}
