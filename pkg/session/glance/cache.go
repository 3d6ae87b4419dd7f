package glance

import (
	"crypto/sha256"
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

// Cache is a [session.Glances] that can outlive the run. It may be used by
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
	seen  session.Glance
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

// Glance implements [session.Glances].
func (c *Cache) Glance(path string, info os.FileInfo) (session.Glance, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.find(path)
	if e == nil {
		return session.Glance{}, false
	}
	k, ok := keyOf(info)
	e.valid = ok && k == e.key && (c.timeTells(path, k.device) || c.sameEnd(path, info.Size(), e.end))
	if !e.valid {
		return session.Glance{}, false
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
func (c *Cache) Seen(path string) (session.Glance, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.find(path)
	if e == nil || !e.valid {
		return session.Glance{}, false
	}
	return e.seen, true
}

// Keep implements [session.Glances].
func (c *Cache) Keep(path string, info os.FileInfo, log io.ReaderAt, seen session.Glance) {
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
func writable(seen session.Glance) bool {
	for _, t := range [...]time.Time{seen.Head.Time, seen.Tail.LastActivity, seen.Tail.LastRecord} {
		if !t.IsZero() && (t.Year() < 1971 || t.Year() > 2200) {
			return false
		}
	}
	return true
}

// Counted takes in the exact number of messages of a log that was just seen,
// if the log still is what it was then.
func (c *Cache) Counted(path string, messages int) {
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
	e.seen.Tail.Messages, e.seen.Tail.MessagesExact = messages, true
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
