package archive

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"
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
	// the bytes were archived again. Whatever is there is left as it is.
	Superseded []string `json:"superseded_paths,omitempty"`
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
	// ToolVersion is noted in every entry.
	ToolVersion string
}

// Store is a set of archives and their catalogue. It may be used by several
// goroutines and processes at the same time.
type Store struct {
	catalogue string
	options   Options
	// step is called after each step of Put, with its name. Tests stop there.
	step func(name string)
}

// Open returns the store whose catalogue is in the directory catalogue. It
// makes nothing; the directories appear with the first [Store.Put].
func Open(catalogue string, o Options) (*Store, error) {
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
	catalogue, err := filepath.Abs(catalogue)
	if err != nil {
		return nil, fmt.Errorf("open archives: %w", err)
	}
	return &Store{catalogue: catalogue, options: o, step: func(string) {}}, nil
}

// dirOf is the directory where the archives of m's agent are.
func (s *Store) dirOf(m Meta) (string, error) {
	dir, err := filepath.Abs(filepath.Join(s.options.Dir(m), safeName(m.Agent)))
	if err != nil {
		return "", err
	}
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
