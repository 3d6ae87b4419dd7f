package claude

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

const (
	// pasteCacheName is the directory of texts that were pasted into a prompt and are
	// too long for its line. Claude Code deletes them like sessions, by their age.
	pasteCacheName = "paste-cache"
	pasteEnd       = ".txt"
	// pasteHash is how many digits of a text's SHA-256 name it.
	pasteHash = 16
	// maxPaste bounds a text that is read, in bytes. Claude Code itself holds ten
	// million characters of pastes at most.
	maxPaste = 64 << 20
	// pasteType is the type of the line with which a log of prompts has such a text,
	// after the first line that names it. Claude Code writes no such record.
	pasteType = "pasted-text"
)

// errOtherText is returned for a file that is not the text that its name says.
var errOtherText = errors.New("it is not the text that its name says")

// pasteCache reads pasted texts.
type pasteCache struct{ dir *logfile.Dir } // nil if there are none

// openPastes opens the directory of pasted texts. That it is not there is no error:
// no text is, then.
func (s *Store) openPastes() (pasteCache, error) {
	config, err := logfile.Open(s.config)
	if err != nil {
		return pasteCache{}, err
	}
	defer config.Close()
	dir, err := config.Below(pasteCacheName)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return pasteCache{}, err
	}
	return pasteCache{dir}, nil
}

func (c pasteCache) close() {
	if c.dir != nil {
		c.dir.Close()
	}
}

// pasteLine makes lines of texts. What it is made in is used again for the next
// one: a listing measures thousands.
type pasteLine struct {
	text bytes.Buffer
	line []byte
}

// read reads the text of a hash. An error that wraps [fs.ErrNotExist] or
// errOtherText is returned where there is none.
func (l *pasteLine) read(c pasteCache, hash string) (string, error) {
	if c.dir == nil || !isPasteHash(hash) {
		return "", fs.ErrNotExist
	}
	file, info, err := c.dir.OpenLog(hash + pasteEnd)
	if errors.Is(err, durable.ErrNotRegular) {
		return "", fmt.Errorf("%w: %w", errOtherText, err)
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	if info.Size() > maxPaste {
		return "", fmt.Errorf("%w: it has %d bytes", errOtherText, info.Size())
	}
	l.text.Reset()
	l.text.Grow(int(info.Size()) + bytes.MinRead)
	if _, err := l.text.ReadFrom(io.LimitReader(file, maxPaste)); err != nil {
		return "", fmt.Errorf("read a pasted text: %w", err)
	}
	text := l.text.Bytes()
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:])[:pasteHash] != hash || !utf8.Valid(text) {
		return "", errOtherText
	}
	return string(text), nil
}

// of is the line of a text, with its line feed, until the next call; an error if the
// text is not there.
func (l *pasteLine) of(c pasteCache, p paste) ([]byte, error) {
	text, err := l.read(c, p.hash)
	if err != nil {
		return nil, err
	}
	l.line = fmt.Appendf(l.line[:0], `{"type":%q,"contentHash":%q,"timestamp":%d,"content":`, pasteType, p.hash, p.time)
	l.line = append(jsonl.AppendQuoted(l.line, text), "}\n"...)
	return l.line, nil
}

// measure returns how many bytes the lines of texts have, and of how many there is
// none, with what is wrong with one that is there and cannot be used.
func (l *pasteLine) measure(c pasteCache, all pastes) (size int64, lacking int, problem error) {
	for _, p := range all {
		line, err := l.of(c, p)
		if err != nil {
			lacking++
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && problem == nil {
			problem = fmt.Errorf("%s: %w", p.hash, err)
		}
		size += int64(len(line))
	}
	return size, lacking, problem
}

// pasteReader reads the line of a text once it is its turn: nothing if it is not
// there, which the listing counts. One that is there and cannot be read is an error:
// an archive without it would pass for whole.
type pasteReader struct {
	cache pasteCache
	paste paste
	line  *bytes.Reader
}

// Read implements io.Reader.
func (r *pasteReader) Read(p []byte) (int, error) {
	if r.line == nil {
		line, err := new(pasteLine).of(r.cache, r.paste)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errOtherText) {
			return 0, err
		}
		r.line = bytes.NewReader(line)
	}
	return r.line.Read(p)
}

func isPasteHash(name string) bool {
	return len(name) == pasteHash && !slices.ContainsFunc([]byte(name), func(c byte) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'f')
	})
}

// paste is a text that a prompt names.
type paste struct {
	hash string
	time int64 // of the first prompt that names it, epoch milliseconds
}

// pastesOf calls name with the hash of each text that a line of the history names
// and does not have itself, and text with each that it has.
func pastesOf(pasted []byte, name, text func([]byte)) {
	if len(pasted) == 0 {
		return
	}
	c := new(jsonl.Cursor)
	c.Reset(pasted)
	for ok := c.EnterObject(); ok && c.NextKey(); {
		var content, hash []byte
		for ok := c.EnterObject(); ok && c.NextKey(); {
			switch string(c.Key()) {
			case "content":
				content, _ = c.Bytes()
			case "contentHash":
				hash, _ = c.Bytes()
			}
		}
		switch {
		case len(content) > 0:
			text(content)
		case len(hash) > 0:
			name(hash)
		}
	}
}

// pastes are the texts that several lines name, each once.
type pastes []paste

// add takes in what a line names, and returns what is new of it.
func (all *pastes) add(p promptLine) (added []paste) {
	for _, hash := range p.pasted {
		if !slices.ContainsFunc(*all, func(x paste) bool { return x.hash == hash }) {
			added = append(added, paste{hash, p.time})
			*all = append(*all, paste{hash, p.time})
		}
	}
	return added
}
