package glance

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// A cache file is a line that names the format, the program's stamp and a
// line feed, the number of entries, the entries in order of path, and the
// SHA-256 of all that. Numbers are varints; texts have their length before them.
const (
	format = "sessctl glances 2\n"
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
	h.Found, h.Continued, _ = d.flags()
	t.Tokens, t.TokenSource, t.Messages = d.int(), d.string(), int(d.int())
	t.MessagesExact, t.Answered, t.Torn = d.flags()
	t.LastRole, t.LastActivity, t.LastRecord = session.Role(d.uint()), d.time(), d.time()
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
	text = appendFlags(text, h.Found, h.Continued, false)
	text = appendString(binary.AppendVarint(text, t.Tokens), t.TokenSource)
	text = appendFlags(binary.AppendVarint(text, int64(t.Messages)), t.MessagesExact, t.Answered, t.Torn)
	return appendTime(appendTime(binary.AppendUvarint(text, uint64(t.LastRole)), t.LastActivity), t.LastRecord)
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
