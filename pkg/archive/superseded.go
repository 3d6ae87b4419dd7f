package archive

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
)

// A superseded archive has no file and no entry of its own any more: its session is the
// beginning of a later one's, in whose file it is read. A file for each session, beside
// the entries, has a line for each of them, which is all that is particular to it.

// SupersededName is the directory of these files, in that of the catalogue.
const SupersededName = "superseded"

// beginning is such a line.
type beginning struct {
	ID        string    `json:"id"`
	SHA256    string    `json:"sha256"`
	Bytes     int64     `json:"size_bytes"`
	Lines     int64     `json:"lines"`
	ModTime   time.Time `json:"source_modified_at,omitzero"`
	CreatedAt time.Time `json:"created_at"`
	By        string    `json:"superseded_by"` // the id of the archive that begins with it
}

// Supersede notes in the catalogue that the session of an archive begins with the bytes
// of another one. From when that has no entry of its own any more ([Store.Drop]),
// [Store.Get] returns one by which it is read in the file of the first. Its caller has
// read the archive by to its end and compared.
func (c *catalogue) Supersede(ctx context.Context, e, by Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.Runtime != by.Runtime || e.Agent != by.Agent || e.Session != by.Session || e.Bytes >= by.Bytes {
		return fmt.Errorf("archive %s: %s cannot begin with it", e.ID, by.ID)
	}
	text, err := json.Marshal(beginning{e.ID, e.SHA256, e.Bytes, e.Lines, e.SourceModTime, e.CreatedAt, by.ID})
	if err == nil {
		err = c.pins.MakeDir(filepath.Join(c.dir, SupersededName), 0o700)
	}
	path := c.beginningsPath(e.Meta)
	if info, lookErr := c.pins.Lstat(path); err == nil && lookErr == nil && info.IsDir() {
		err = c.pins.MoveDir(path, path+".damaged") // nobody reads it, and nobody could write here
	}
	if err == nil {
		err = c.pins.AppendLine(path, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("note that archive %s is the beginning of another: %w", e.ID, err)
	}
	if c.superseded != nil {
		c.superseded(e, by)
	}
	return nil
}

// beginningsPath is the file of a session.
func (c *catalogue) beginningsPath(m Meta) string {
	name := sha256.Sum256([]byte(m.Runtime + "\x00" + m.Agent + "\x00" + m.Session))
	return filepath.Join(c.dir, SupersededName, hex.EncodeToString(name[:8])+logEnd)
}

// Superseded returns the archives without a file of their own that can be read, and
// have no entry of their own.
func (c *catalogue) Superseded(ctx context.Context) ([]Entry, error) {
	files, err := c.beginningsFiles()
	if err != nil {
		return nil, err
	}
	var all []Entry
	for _, file := range files {
		known, err := c.beginnings(ctx, file, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, c.readable(known)...)
	}
	return all, nil
}

// readable are the archives of a session that can be read in the file of another one,
// longest first. Each of those is loaded once.
func (c *catalogue) readable(known map[string]beginning) (all []Entry) {
	files := map[string]Entry{} // in whose file an archive is
	longest := func(a, b beginning) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.ID, b.ID)) }
	for _, b := range slices.SortedFunc(maps.Values(known), longest) {
		by, found := files[b.By]
		if !found {
			var err error
			if by, err = c.load(b.By); err != nil {
				continue
			}
			files[b.By] = by
		}
		if by.Bytes <= b.Bytes || ID(by.Meta, b.SHA256) != b.ID {
			continue
		}
		if files[b.ID] = by; !c.entered(b.ID) {
			all = append(all, b.in(by))
		}
	}
	return all
}

// entered reports whether an archive has an entry of its own, readable or not.
func (c *catalogue) entered(id string) bool {
	_, err := c.pins.Lstat(c.entryPath(id))
	return !errors.Is(err, fs.ErrNotExist)
}

// beginningsFiles are the files of sessions. What is in the place of one, and is none,
// is left out, and [Store.Damaged] names it.
func (c *catalogue) beginningsFiles() (paths []string, err error) {
	paths, _, err = c.beginningsPlaces()
	return paths, err
}

func (c *catalogue) beginningsPlaces() (paths []string, damaged []Damage, err error) {
	dir := filepath.Join(c.dir, SupersededName)
	files, err := c.pins.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list archives: %w", err)
	}
	for _, file := range files {
		path := filepath.Join(dir, file.Name())
		switch {
		case filepath.Ext(path) != logEnd:
		case file.IsDir():
			damaged = append(damaged, Damage{path, fmt.Errorf("what leads from superseded archives to later ones: %w", durable.ErrNotRegular)})
		default:
			paths = append(paths, path)
		}
	}
	return paths, damaged, nil
}

// beginnings reads the lines of a session, nil if they do not have the text has. A line
// that a killed run left torn is passed over: that archive still has its own entry.
func (c *catalogue) beginnings(ctx context.Context, path string, has []byte) (map[string]beginning, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	file, err := c.pins.OpenRegular(path)
	if err != nil {
		return nil, fmt.Errorf("list archives: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxBeginnings))
	if err != nil {
		return nil, fmt.Errorf("list archives: %w", err)
	}
	if !bytes.Contains(text, has) {
		return nil, nil
	}
	known := map[string]beginning{}
	for line := range bytes.Lines(text) {
		var b beginning
		if json.Unmarshal(line, &b) == nil && len(b.ID) == idDigits && isID(b.ID) {
			known[b.ID] = b
		}
	}
	return known, nil
}

// maxBeginnings is the largest file of a session: of some 250,000 archives.
const maxBeginnings = 64 << 20

// within is the entry of an archive that is read in the file of another one, or in that
// of the one which has superseded that since. [ErrNotFound] is returned if none of them
// is there.
func (c *catalogue) within(id string, known map[string]beginning) (Entry, error) {
	b := known[id]
	for at := b; ; {
		by, err := c.load(at.By)
		next, superseded := known[at.By]
		switch {
		case err == nil && by.Bytes > b.Bytes && ID(by.Meta, b.SHA256) == id:
			return b.in(by), nil
		case err == nil:
			return Entry{}, fmt.Errorf("%w: %s cannot be the beginning of %s", ErrUnusableEntry, id, by.ID)
		case !errors.Is(err, ErrNotFound):
			return Entry{}, err
		case !superseded || next.Bytes <= at.Bytes:
			return Entry{}, fmt.Errorf("archive %q: %w", id, ErrNotFound)
		}
		at = next
	}
}

// in is the entry of a beginning in the file of an archive.
func (b beginning) in(by Entry) Entry {
	by.SupersededBy = by.ID
	by.ID, by.SHA256, by.Bytes, by.Lines = b.ID, b.SHA256, b.Bytes, b.Lines
	by.CreatedAt, by.SourceModTime, by.Superseded = b.CreatedAt, b.ModTime, nil
	return by
}

// supersededIDs are the ids of such archives that start with a text.
func (c *catalogue) supersededIDs(ctx context.Context, start string) (map[string]Entry, error) {
	files, err := c.beginningsFiles()
	if err != nil {
		return nil, err
	}
	found := map[string]Entry{}
	for _, file := range files {
		known, err := c.beginnings(ctx, file, []byte(`"id":"`+start))
		if err != nil {
			return nil, err
		}
		for id := range known {
			if !strings.HasPrefix(id, start) || c.entered(id) {
				continue
			}
			e, err := c.within(id, known)
			if err == nil {
				found[id] = e
			} else if !errors.Is(err, ErrNotFound) {
				return nil, err
			}
		}
	}
	return found, nil
}
