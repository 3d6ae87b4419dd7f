package tailcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

const (
	// endBytes is how much of the end of a log is compared. The last record of
	// every format has a time, an id or a count in it.
	endBytes = 256
	// settled is how long a log must have been left alone to be remembered:
	// some file systems count time in steps of two seconds.
	settled = 2 * time.Second
)

// Cache is a [session.TailCache] that can outlive the run. It may be used by
// several goroutines at once.
type Cache struct {
	mu      sync.Mutex
	file    string // "" if it lives in memory only
	stamp   string
	now     func() time.Time
	known   []entry           // of the file, in order of path
	next    int               // the one of these that is likely to be asked for
	kept    map[string]*entry // by path, in this run: they hide known ones
	changed bool              // what is in the file is not what is here
	end     [endBytes]byte
	tells   map[uint64]bool // by device: durable.ChangeTimeTells
}

// Options say where a cache is kept.
type Options struct {
	File  string // "" for a cache that lives in memory only
	Stamp string // of the program: what another one has written is not used
	Now   func() time.Time
}

// entry is what is known of one log.
type entry struct {
	path  string
	key   key
	end   digest
	seen  session.CachedTail
	valid bool // it is what the log is now: checked, or kept, in this run
	young bool // it was changed too recently to be remembered
}

// digest is the first half of a SHA-256.
type digest [16]byte

// key tells whether a file is still what it was.
type key struct {
	device, inode     uint64
	size              int64
	modified, changed int64 // nanoseconds
}

// keyOf returns false where the system does not tell files apart.
func keyOf(info os.FileInfo) (key, bool) {
	id := durable.Identify(info)
	return key{id.Device, id.Inode, info.Size(), info.ModTime().UnixNano(), id.Changed.UnixNano()}, id.Inode != 0
}

// Open reads a cache. One that cannot be used is empty.
func Open(o Options) *Cache {
	c := &Cache{file: o.File, stamp: o.Stamp, now: o.Now, kept: map[string]*entry{}, tells: map[uint64]bool{}}
	if c.file == "" {
		return c
	}
	if known, err := load(c.file, c.stamp); err == nil {
		c.known = known
	}
	return c
}

// Empty reports whether nothing is known from an earlier run.
func (c *Cache) Empty() bool { return len(c.known) == 0 }

// find returns what is known of the log at path, or nil. Logs are listed in
// nearly the order in which they are written down, and then asked for once more
// in that order, so the next one mostly is the right one.
func (c *Cache) find(path string) *entry {
	if e := c.kept[path]; e != nil {
		return e
	}
	if c.next >= len(c.known) {
		c.next = 0
	}
	if c.next < len(c.known) && c.known[c.next].path != path {
		at, ok := slices.BinarySearchFunc(c.known, path, func(e entry, path string) int { return strings.Compare(e.path, path) })
		if !ok {
			return nil
		}
		c.next = at
	}
	if len(c.known) == 0 {
		return nil
	}
	c.next++
	return &c.known[c.next-1]
}

// Find implements [session.TailCache].
func (c *Cache) Find(path string, info os.FileInfo) (session.CachedTail, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.find(path)
	if e == nil {
		return session.CachedTail{}, false
	}
	k, ok := keyOf(info)
	e.valid = ok && k == e.key && (c.timeTells(path, k.device) || c.sameEnd(path, info.Size(), e.end))
	if !e.valid {
		return session.CachedTail{}, false
	}
	return e.seen, true
}

// timeTells says whether a log needs no opening to be known for what it was.
// Every log that is remembered was left alone for some time before it was
// looked at, so a change since then has given it another time of change.
func (c *Cache) timeTells(path string, device uint64) bool {
	tells, known := c.tells[device]
	if !known {
		tells = durable.ChangeTimeTells(path)
		c.tells[device] = tells
	}
	return tells
}

// sameEnd compares the last bytes of a log.
func (c *Cache) sameEnd(path string, size int64, end digest) bool {
	n, err := durable.ReadEnd(path, size, c.end[:])
	return err == nil && digestOf(c.end[:n]) == end
}

// Seen returns what is known of a log that was looked up or kept in this run.
func (c *Cache) Seen(path string) (session.CachedTail, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.find(path)
	if e == nil || !e.valid {
		return session.CachedTail{}, false
	}
	return e.seen, true
}

// Keep implements [session.TailCache].
func (c *Cache) Keep(path string, info os.FileInfo, log io.ReaderAt, seen session.CachedTail) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := keyOf(info)
	e := &entry{path: path, key: k, seen: seen, valid: true, young: true}
	if before := c.now().Add(-settled).UnixNano(); ok && c.file != "" && k.changed < before && k.modified < before && writable(seen) {
		end := c.end[:min(endBytes, info.Size())]
		_, err := log.ReadAt(end, info.Size()-int64(len(end)))
		e.end, e.young = digestOf(end), err != nil
	}
	c.kept[path] = e
	c.changed = c.changed || !e.young
}

// writable reports whether the times can be written as nanoseconds. A log may
// say anything.
func writable(seen session.CachedTail) bool {
	for _, t := range [...]time.Time{seen.Head.Time, seen.Tail.LastActivity, seen.Tail.LastRecord} {
		if !t.IsZero() && (t.Year() < 1971 || t.Year() > 2200) {
			return false
		}
	}
	return true
}

// Add takes in more of a log that was just seen, if the log still is what it was
// then.
func (c *Cache) Add(path string, more func(*session.CachedTail)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.find(path)
	info, err := os.Lstat(path)
	if e == nil || !e.valid || err != nil {
		return
	}
	if k, ok := keyOf(info); !ok || k != e.key {
		return
	}
	more(&e.seen)
	c.changed = c.changed || !e.young
}

func digestOf(end []byte) (d digest) {
	sum := sha256.Sum256(end)
	copy(d[:], sum[:])
	return d
}

// Save writes the cache if there is anything new in it. What is known of logs
// that were not looked at is kept as long as they are there.
func (c *Cache) Save() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == "" || !c.changed {
		return nil
	}
	c.gather()
	if err := durable.MakeDir(filepath.Dir(c.file), 0o700); err != nil {
		return err
	}
	text := c.encode()
	return durable.ReplaceFile(c.file, 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// gather makes known of all that is to be written down.
func (c *Cache) gather() {
	all := c.known
	for _, e := range c.kept {
		all = append(all, *e)
	}
	all = slices.DeleteFunc(all, func(e entry) bool {
		now := c.kept[e.path]
		return e.young || now != nil && *now != e || !e.valid && gone(e.path)
	})
	slices.SortFunc(all, func(x, y entry) int { return strings.Compare(x.path, y.path) })
	c.known = slices.CompactFunc(all, func(x, y entry) bool { return x.path == y.path })
	clear(c.kept)
}

func gone(path string) bool {
	_, err := os.Lstat(path)
	return err != nil && os.IsNotExist(err)
}

// A cache file is a line that names the format, the program's stamp and a
// line feed, the number of entries, the entries in order of path, and the
// SHA-256 of all that. Numbers are varints; texts have their length before them.
const (
	format = "sessctl tailCache 7\n"
	// maxFile is the size in bytes above which a file is not read: that of a
	// million logs.
	maxFile = 512 << 20
)

// errDamaged is returned when a file is not a cache of this program.
var errDamaged = errors.New("not a cache of this program, or damaged")

func load(file, stamp string) ([]entry, error) {
	f, err := durable.OpenRegular(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%w: it has %d bytes", errDamaged, info.Size())
	}
	var text strings.Builder // the entries' texts are parts of it
	text.Grow(int(info.Size()))
	sum, digest := sha256.New(), make([]byte, sha256.Size)
	body := io.LimitReader(f, max(info.Size()-sha256.Size, 0))
	if _, err := io.CopyBuffer(&text, io.TeeReader(body, sum), make([]byte, 64<<10)); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(f, digest); err != nil || !bytes.Equal(sum.Sum(nil), digest) {
		return nil, errDamaged
	}
	return decode(text.String(), stamp)
}

// decode reads what stands before the digest.
func decode(text, stamp string) ([]entry, error) {
	text, ok := strings.CutPrefix(text, format+stamp+"\n")
	if !ok {
		return nil, errDamaged
	}
	d := decoder{text: text}
	count := d.uint()
	if count > uint64(len(text)) {
		return nil, errDamaged
	}
	all := make([]entry, count)
	for i := range all {
		all[i].path = d.string()
		d.entry(&all[i])
		if i > 0 && all[i-1].path >= all[i].path {
			return nil, errDamaged
		}
	}
	if d.failed || d.text != "" {
		return nil, errDamaged
	}
	return all, nil
}

// decoder reads values from the start of text. After the first that is not
// there, all are zero.
type decoder struct {
	text   string
	failed bool
}

func (d *decoder) uint() uint64 {
	value, shift := uint64(0), 0
	for i := 0; i < len(d.text) && i < binary.MaxVarintLen64; i++ {
		value |= uint64(d.text[i]&0x7f) << shift
		shift += 7
		if d.text[i] < 0x80 {
			d.text = d.text[i+1:]
			return value
		}
	}
	d.text, d.failed = "", true
	return 0
}

func (d *decoder) int() int64 {
	n := d.uint()
	return int64(n>>1) ^ -int64(n&1)
}

func (d *decoder) string() string {
	n := d.uint()
	if n > uint64(len(d.text)) {
		d.text, d.failed = "", true
		return ""
	}
	s := d.text[:n]
	d.text = d.text[n:]
	return s
}

// time reads nanoseconds, 0 for no time.
func (d *decoder) time() time.Time {
	if n := d.int(); n != 0 {
		return time.Unix(0, n).UTC()
	}
	return time.Time{}
}

func (d *decoder) flags() (a, b, c bool) {
	n := d.uint()
	return n&1 != 0, n&2 != 0, n&4 != 0
}

func (d *decoder) entry(e *entry) {
	e.key = key{d.uint(), d.uint(), d.int(), d.int(), d.int()}
	copy(e.end[:], d.string())
	h, t := &e.seen.Head, &e.seen.Tail
	h.ID, h.Version, h.Time = d.string(), int(d.int()), d.time()
	h.Found, h.Continued, h.Fragment = d.flags()
	t.Tokens, t.TokenSource, t.Messages = d.int(), d.string(), int(d.int())
	t.MessagesExact, t.Answered, t.Torn = d.flags()
	t.LastRole, t.LastActivity, t.LastRecord = session.Role(d.uint()), d.time(), d.time()
	t.ContextWindow = int(d.int())
	e.seen.Name.Title, e.seen.Name.Project = d.string(), d.string()
	e.seen.Name.From = session.Origin{Runtime: d.string(), Session: d.string(), At: d.int()}
	e.seen.Named, e.seen.Judged, _ = d.flags()
	e.seen.Refused = d.string()
}

// encode is the content of the cache's file.
func (c *Cache) encode() []byte {
	text := []byte(format + c.stamp + "\n")
	text = binary.AppendUvarint(text, uint64(len(c.known)))
	for i := range c.known {
		text = appendEntry(appendString(text, c.known[i].path), &c.known[i])
	}
	sum := sha256.Sum256(text)
	return append(text, sum[:]...)
}

func appendEntry(text []byte, e *entry) []byte {
	text = binary.AppendUvarint(text, e.key.device)
	text = binary.AppendUvarint(text, e.key.inode)
	for _, n := range [...]int64{e.key.size, e.key.modified, e.key.changed} {
		text = binary.AppendVarint(text, n)
	}
	text = appendString(text, string(e.end[:]))
	h, t := e.seen.Head, e.seen.Tail
	text = appendTime(binary.AppendVarint(appendString(text, h.ID), int64(h.Version)), h.Time)
	text = appendFlags(text, h.Found, h.Continued, h.Fragment)
	text = appendString(binary.AppendVarint(text, t.Tokens), t.TokenSource)
	text = appendFlags(binary.AppendVarint(text, int64(t.Messages)), t.MessagesExact, t.Answered, t.Torn)
	text = appendTime(appendTime(binary.AppendUvarint(text, uint64(t.LastRole)), t.LastActivity), t.LastRecord)
	text = binary.AppendVarint(text, int64(t.ContextWindow))
	text = appendString(appendString(text, e.seen.Name.Title), e.seen.Name.Project)
	from := e.seen.Name.From
	text = binary.AppendVarint(appendString(appendString(text, from.Runtime), from.Session), from.At)
	text = appendFlags(text, e.seen.Named, e.seen.Judged)
	return appendString(text, e.seen.Refused)
}

func appendString(text []byte, s string) []byte {
	return append(binary.AppendUvarint(text, uint64(len(s))), s...)
}

// appendTime appends nanoseconds, 0 for no time: the first of 1970 is none.
func appendTime(text []byte, t time.Time) []byte {
	if t.IsZero() {
		return binary.AppendVarint(text, 0)
	}
	return binary.AppendVarint(text, t.UnixNano())
}

func appendFlags(text []byte, flags ...bool) []byte {
	n := uint64(0)
	for i, set := range flags {
		if set {
			n |= 1 << i
		}
	}
	return binary.AppendUvarint(text, n)
}
