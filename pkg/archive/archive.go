package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/relocate"
)

// The ways an archive is stored.
const (
	CompressionNone = "none"
	CompressionZstd = "zstd"
)

// Returned by [Store.Verify] and by the reader of [Store.OpenEntry].
var (
	// ErrMissing is returned when the archive's file is not there.
	ErrMissing = errors.New("archive is missing")
	// ErrCorrupt is returned when the archive's length or hash is not the one
	// its entry names, or when it cannot be decompressed.
	ErrCorrupt = errors.New("archive is corrupt")
)

// Returned by [Store.Get].
var (
	// ErrNotFound is returned when no entry has the id or prefix.
	ErrNotFound = errors.New("no such archive")
	// ErrAmbiguous is returned when several entries have the prefix.
	ErrAmbiguous = errors.New("several archives match")
	// ErrUnusableEntry is returned when an entry is damaged, or of a newer version.
	ErrUnusableEntry = errors.New("unusable entry of the catalogue")
)

// Meta says what session an archive is of.
type Meta struct {
	Runtime string `json:"runtime"`
	Agent   string `json:"agent"`
	Session string `json:"session"`
	// Key is the runtime's routing key, or "".
	Key string `json:"key"`
	// Source is the path that the bytes came from.
	Source string `json:"source_path"`
	// SourceModTime is when that file was last modified, as far as known.
	SourceModTime time.Time `json:"source_modified_at,omitzero"`
	// Kind is what kind of file it was ("live", "reset", ...).
	Kind string `json:"kind"`
	// Reason is why it was archived ("compact", "archive", ...).
	Reason string `json:"reason"`
	// Title is what the session was called then, and Project the directory that its
	// agent worked in; "" where that is not known.
	Title   string `json:"title,omitempty"`
	Project string `json:"project,omitempty"`
}

// Entry is the catalogue's record of one archive.
type Entry struct {
	Schema int    `json:"schema"`
	ID     string `json:"id"` // 16 hexadecimal digits, see [ID]
	Meta
	// Path is the archive's file, absolute.
	Path string `json:"path"`
	// SHA256 is the hash of the session's bytes, in lower-case hexadecimal.
	SHA256 string `json:"sha256"`
	// Bytes is the length of the session.
	Bytes int64 `json:"size_bytes"`
	// Lines counts the session's lines, a last one without a line end too.
	Lines int64 `json:"lines"`
	// Compression is "none" or "zstd".
	Compression string `json:"compression"`
	// StoredSHA256 is the hash of the file as it is stored; it is what
	// sha256sum prints for Path.
	StoredSHA256 string `json:"stored_sha256"`
	// StoredBytes is the length of the file as it is stored.
	StoredBytes int64     `json:"stored_size_bytes"`
	CreatedAt   time.Time `json:"created_at"`
	ToolVersion string    `json:"tool_version"`
	// Superseded are earlier files of the same bytes that did not verify when
	// the bytes were archived again. They are left as they are.
	Superseded []string `json:"superseded_paths,omitempty"`
	// Others are further places that the same bytes of the same session came from:
	// a second database with the same rows, say.
	Others []string `json:"other_source_paths,omitempty"`
	// Remote is the copy of the file on object storage, nil without one.
	Remote *Remote `json:"remote,omitempty"`
	// SupersededBy is the id of a later archive of the session, if this one has no
	// file of its own any more: its session is the beginning of that one's. What is
	// said of the file (Path, Compression, Stored..., Remote) is said of the later
	// one's. [Store.List] leaves such archives out, [Store.Get] returns them.
	SupersededBy string `json:"superseded_by,omitempty"`

	// Begins is the id of the longest earlier archive with whose lines this one begins, ""
	// where none is known. [Store.Put] and [Options.Entered] tell; it is not recorded.
	Begins string `json:"-"`
}

// Sources are all places that the bytes came from, the first one first.
func (e Entry) Sources() []string { return append([]string{e.Source}, e.Others...) }

// Remote is a copy of an archive's file on object storage, as it was when its
// checksum was last read back.
type Remote struct {
	// URL names the object: s3://bucket/key.
	URL string `json:"url"`
	// SHA256 is the hash of the object, in lower-case hexadecimal; that of the
	// archive's file unless the object is encrypted.
	SHA256 string `json:"sha256"`
	// Bytes is the length of the object.
	Bytes int64 `json:"size_bytes"`
	// Checksum is the SHA-256 of those of the object's parts, as storages give it of
	// an object that was sent in parts; "" of one that was sent at once.
	Checksum string `json:"checksum,omitempty"`
	// ETag is what the storage calls the version of the object that was seen, "" if it
	// is not known. A listing has it: another one says that the object is another.
	ETag string `json:"etag,omitempty"`
	// Encrypted says that the object is an age file of the archive's file.
	Encrypted bool `json:"encrypted"`
	// CheckedAt is when the storage last gave this checksum of the object.
	CheckedAt time.Time `json:"checked_at"`
	// RetainUntil is until when the storage keeps the object from being deleted;
	// zero for not at all.
	RetainUntil time.Time `json:"retain_until,omitzero"`
	// Seen says that this host has sent these bytes, or has read them to their end.
	// Of an entry that was found on the storage it is not so.
	Seen bool `json:"seen,omitempty"`
}

// ObjectName is the name of the archive's file on object storage, below a prefix:
// it follows from the session and its bytes, so that a repeated upload meets the
// first one. number is 1 for the first object; where that is damaged, the next one
// has another name, as nothing there is replaced.
func (e Entry) ObjectName(number int) string {
	end := sourceEnd(e.Source)
	if e.Compression == CompressionZstd {
		end += zstdEnd
	}
	id := e.ID
	if number > 1 {
		id += "." + strconv.Itoa(number)
	}
	return path.Join("archives", safeName(e.Runtime), safeName(e.Agent), safeName(e.Session)+"."+id+end)
}

// schema is the version of the catalogue's entries: fields may be added, never
// renamed.
const schema = 1

// Options say where archives go and how they are stored.
type Options struct {
	// Dir returns the directory under which the archives of a session are
	// kept; the agent's name is added. It is required.
	Dir func(Meta) string
	// Compression is "none" (the default) or "zstd".
	Compression string
	// Plain reports the sessions whose archives are not compressed all the same;
	// nil for none. Archives that are there already stay as they are.
	Plain func(Meta) bool
	// ToolVersion is noted in every entry.
	ToolVersion string
	// Moves say what was recorded under another path than it has now.
	Moves relocate.Moves
	// Find returns where the file of an entry is, whatever the entry says: a
	// store can be moved without the catalogue. nil trusts the entry.
	Find func(Entry) string
	// Fetch opens a verified copy of an archive's file that was got from object
	// storage, for entries with [Entry.Remote] whose own file is not there; nil
	// fetches nothing.
	Fetch func(context.Context, Entry) (*os.File, error)
	// Entered, if not nil, is told of every archive that has got an entry.
	Entered func(Entry)
	// Superseded, if not nil, is told of every archive before it leaves its place to a
	// longer one of its session.
	Superseded func(e, by Entry)
	// Pins hold the directories of archives and catalogue open during a run; nil
	// looks for them by their paths each time.
	Pins *durable.Pins
}

// tellEntered tells of an archive that has got an entry.
func (o Options) tellEntered(e Entry) {
	if o.Entered != nil {
		o.Entered(e)
	}
}

// Store is a set of archives and their catalogue. It may be used by several
// goroutines and processes at the same time.
type Store struct {
	*catalogue
	*storedFiles
	options Options
	pins    *durable.Pins
	// step is called after each step of Put and Sweep, with its name. Tests stop there.
	step func(name string)
	// files are the names that the directories of archives held when they were
	// first looked through.
	files *listings
}

// Open returns the store whose catalogue is in the directory dir. It
// makes nothing; the directories appear with the first [Store.Put].
func Open(dir string, o Options) (*Store, error) {
	if o.Dir == nil {
		return nil, errors.New("open archives: no directory is set")
	}
	switch o.Compression {
	case "":
		o.Compression = CompressionNone
	case CompressionNone, CompressionZstd:
	default:
		return nil, fmt.Errorf("open archives: compression %q is neither %q nor %q", o.Compression, CompressionNone, CompressionZstd)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open archives: %w", err)
	}
	o.Pins.Top(dir)
	return &Store{
		catalogue: &catalogue{dir, o.Pins, o.Moves, o.Find, o.Superseded}, storedFiles: &storedFiles{pins: o.Pins, fetch: o.Fetch},
		options: o, pins: o.Pins, step: func(string) {}, files: &listings{},
	}, nil
}

// CountingCopies returns the store as one in which an archive whose file is not
// here is whole if copied says so of its copy on object storage: [Store.Verify]
// asks it and fetches nothing, and [Store.Put] makes no second copy of such bytes.
// Reading fetches as ever.
func (s *Store) CountingCopies(copied func(context.Context, Entry) error) *Store {
	counting, files := *s, *s.storedFiles
	files.copied = copied
	counting.storedFiles = &files
	return &counting
}

// compressionOf is how an archive of m is stored.
func (s *Store) compressionOf(m Meta) string {
	if s.options.Plain != nil && s.options.Plain(m) {
		return CompressionNone
	}
	return s.options.Compression
}

// dirOf is the directory where the archives of m's agent are.
func (s *Store) dirOf(m Meta) (string, error) {
	place, err := filepath.Abs(s.options.Dir(m))
	if err != nil {
		return "", err
	}
	s.pins.Top(place)
	dir := filepath.Join(place, safeName(m.Agent))
	if !utf8.ValidString(dir) { // an entry, which is JSON, could not name it
		return "", fmt.Errorf("directory %q is not valid UTF-8", dir)
	}
	return dir, nil
}

// normalise makes a Meta what it will be after a round trip through JSON.
func (m Meta) normalise() (Meta, error) {
	if m.Runtime == "" || m.Agent == "" || m.Session == "" {
		return m, errors.New("runtime, agent and session must be named")
	}
	for _, field := range []*string{&m.Runtime, &m.Agent, &m.Session, &m.Key, &m.Source, &m.Kind, &m.Reason} {
		*field = strings.ToValidUTF8(*field, "\uFFFD")
	}
	m.SourceModTime = plainTime(m.SourceModTime)
	return m, nil
}

// plainTime is t in UTC and without its monotonic reading.
func plainTime(t time.Time) time.Time { return t.UTC().Round(0) }

const (
	idDigits = 16 // 64 bits of hash: one collision in 4 billion archives
	// maxName leaves room in 255 bytes for time, hash and suffixes.
	maxName    = 128
	stampForm  = "20060102T150405Z"
	logEnd     = ".jsonl"
	zstdEnd    = ".zst"
	shortDigit = 8
)

// ID returns the id of the archive of the bytes with this hash (lower-case
// hexadecimal) of this session. The same bytes of the same session always have
// the same id.
func ID(m Meta, sha256Hex string) string {
	hash := sha256.New()
	for _, part := range []string{"sessctl archive 1", m.Runtime, m.Agent, m.Session, sha256Hex} {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(hash.Sum(nil))[:idDigits]
}

// fileNames are the names an archive may have, best first: a longer piece of
// the hash is used only where a shorter one is taken by something else.
func fileNames(e Entry) []string {
	end := sourceEnd(e.Source)
	if e.Compression == CompressionZstd {
		end += zstdEnd
	}
	var names []string
	for digits := shortDigit; digits <= len(e.SHA256); digits *= 2 {
		names = append(names, safeName(e.Session)+"."+e.CreatedAt.Format(stampForm)+"."+e.SHA256[:digits]+end)
	}
	return names
}

// sourceKind finds what a session's file is in its name, wherever the runtime
// has added something (x.md.rotated.2026-01-01T00-00-00.000Z).
var sourceKind = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^.*\.(jsonl|json|md|txt)(?:\.|$)`) })

// sourceEnd is the end of the name of an archive that is not compressed: that
// of the file which the bytes came from. A source that is no file is a log.
func sourceEnd(source string) string {
	base := strings.ToLower(path.Base(filepath.ToSlash(source)))
	m := sourceKind().FindStringSubmatch(base)
	if m == nil {
		return logEnd
	}
	if strings.HasSuffix(base, zstdEnd) {
		return "." + m[1] + zstdEnd
	}
	return "." + m[1]
}

// parsedName is what the name of an archive's file says.
type parsedName struct {
	createdAt   time.Time
	compression string
}

// parseName reads the name of a file that may be an archive of e's bytes.
func parseName(name string, e Entry) (parsedName, bool) {
	rest, ok := strings.CutPrefix(name, safeName(e.Session)+".")
	stamp, rest, cut := strings.Cut(rest, ".")
	hash, end, cutAgain := strings.Cut(rest, ".")
	createdAt, err := time.Parse(stampForm, stamp)
	if !ok || !cut || !cutAgain || err != nil || len(hash) < shortDigit || !strings.HasPrefix(e.SHA256, hash) {
		return parsedName{}, false
	}
	// Archives of Markdown may be older than their own end, and end like logs.
	for _, known := range []string{sourceEnd(e.Source), logEnd} {
		switch "." + end {
		case known:
			return parsedName{createdAt, CompressionNone}, true
		case known + zstdEnd:
			return parsedName{createdAt, CompressionZstd}, true
		}
	}
	return parsedName{}, false
}

var notPlain = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9._-]`) })

// safeName turns an agent or session id into a file name of letters, digits,
// dots, underscores and dashes. An id that is one already stays as it is; of
// another one the rest is replaced and a hash of the id is added, so that
// different ids have different names.
func safeName(id string) string {
	plain := notPlain().ReplaceAllString(id, "_")
	plain = strings.TrimRight(strings.TrimLeft(plain, ".-"), ".")
	if plain == id && id != "" && len(id) <= maxName && !isDeviceName(id) {
		return id
	}
	hash := sha256.Sum256([]byte(id))
	short := plain[:min(len(plain), maxName-shortDigit-1)]
	if short != "" {
		short += "-"
	}
	return short + hex.EncodeToString(hash[:])[:shortDigit]
}

// isDeviceName reports the names that Windows keeps for devices, with or
// without an extension.
func isDeviceName(name string) bool {
	base, _, _ := strings.Cut(strings.ToUpper(name), ".")
	if slices.Contains([]string{"CON", "PRN", "AUX", "NUL"}, base) {
		return true
	}
	digit := strings.TrimPrefix(strings.TrimPrefix(base, "COM"), "LPT")
	return digit != base && len(digit) == 1 && digit >= "0" && digit <= "9"
}

// entryName is the catalogue's file for an id.
func entryName(id string) string { return id + ".json" }

// isID reports whether text may be an id or the start of one. Nothing else
// becomes part of a path.
func isID(text string) bool {
	return text != "" && len(text) <= idDigits && strings.Trim(text, "0123456789abcdef") == ""
}

// idOfFile is the id that a file of the catalogue is named after.
func idOfFile(name string) (string, bool) {
	id := strings.TrimSuffix(name, ".json")
	return id, filepath.Ext(name) == ".json" && len(id) == idDigits && isID(id)
}
