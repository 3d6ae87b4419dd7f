package archive

import (
	"context"
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

	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/relocate"
)

// Filter picks entries. An empty field picks all.
type Filter struct {
	Runtime, Session string
	Agent            agentset.Set
}

func (f Filter) picks(e Entry) bool {
	return (f.Runtime == "" || f.Runtime == e.Runtime) &&
		f.Agent.Holds(e.Runtime, e.Agent) &&
		(f.Session == "" || f.Session == e.Session)
}

// Damage is a file of the catalogue that cannot be used, and why.
type Damage struct {
	Path string
	Err  error
}

// catalogue is the directory of entries.
type catalogue struct {
	dir   string
	pins  *durable.Pins
	moves relocate.Moves     // of what entries name
	find  func(Entry) string // where a file is; nil trusts the entry
	// superseded is [Options.Superseded].
	superseded func(e, by Entry)
}

// longest is the id of the longest archive with whose bytes that of e begins, "" for
// none. starts are hashes of its beginnings, the longest last.
func (c *catalogue) longest(e Entry, starts []string) string {
	for _, sum := range slices.Backward(starts) {
		if id := ID(e.Meta, sum); sum != e.SHA256 && c.entered(id) {
			return id
		}
	}
	return ""
}

// List returns the entries that the filter picks, oldest first. Files of the
// catalogue that cannot be read are left out, and [Store.Damaged] names them.
// A catalogue that does not exist yet is empty.
func (c *catalogue) List(ctx context.Context, f Filter) ([]Entry, error) {
	picked, _, err := c.Examine(ctx, f)
	return picked, err
}

// Examine is List with the files of the catalogue that cannot be read, as
// [Store.Damaged] returns them.
func (c *catalogue) Examine(ctx context.Context, f Filter) ([]Entry, []Damage, error) {
	var picked []Entry
	var damaged []Damage
	err := c.each(ctx, func(path string, e Entry, err error) {
		switch {
		case err != nil:
			damaged = append(damaged, Damage{Path: path, Err: err})
		case f.picks(e):
			picked = append(picked, e)
		}
	})
	slices.SortFunc(picked, func(a, b Entry) int {
		if order := a.CreatedAt.Compare(b.CreatedAt); order != 0 {
			return order
		}
		return strings.Compare(a.ID, b.ID)
	})
	return picked, damaged, err
}

// Damaged returns the files of the catalogue that [Store.List] had to leave
// out: torn or altered ones, and ones that a newer sessctl wrote. The archives
// they named are still there; archiving the same bytes again writes the entry
// anew.
func (c *catalogue) Damaged(ctx context.Context) ([]Damage, error) {
	_, damaged, err := c.Examine(ctx, Filter{})
	if err != nil {
		return damaged, err
	}
	_, more, err := c.beginningsPlaces()
	return append(damaged, more...), err
}

// Get returns the entry with an id, or with the only id that starts so:
// [ErrNotFound] is returned when there is none, [ErrAmbiguous] when there are
// several. A superseded archive is found too.
func (c *catalogue) Get(ctx context.Context, idOrPrefix string) (Entry, error) {
	if len(idOrPrefix) == idDigits && isID(idOrPrefix) {
		if err := ctx.Err(); err != nil {
			return Entry{}, err
		}
		if e, err := c.load(idOrPrefix); !errors.Is(err, ErrNotFound) {
			return e, err
		}
	}
	ids, err := c.ids(ctx)
	if err != nil {
		return Entry{}, err
	}
	if !isID(idOrPrefix) {
		return Entry{}, fmt.Errorf("archive %q: %w", idOrPrefix, ErrNotFound)
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, idOrPrefix) })
	superseded, err := c.supersededIDs(ctx, idOrPrefix)
	if err != nil {
		return Entry{}, err
	}
	ids = append(ids, slices.Sorted(maps.Keys(superseded))...)
	switch len(ids) {
	case 0:
		return Entry{}, fmt.Errorf("archive %q: %w", idOrPrefix, ErrNotFound)
	case 1:
		if e, ok := superseded[ids[0]]; ok {
			return e, nil
		}
		return c.load(ids[0])
	}
	return Entry{}, fmt.Errorf("archive %q: %w: %s", idOrPrefix, ErrAmbiguous, strings.Join(ids, ", "))
}

// each reads every file of the catalogue, in order of id.
func (c *catalogue) each(ctx context.Context, visit func(path string, e Entry, err error)) error {
	ids, err := c.ids(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := c.load(id)
		if errors.Is(err, ErrNotFound) {
			continue // removed since the directory was read
		}
		visit(c.entryPath(id), e, err)
	}
	return nil
}

// ids lists the ids of the catalogue in order.
func (c *catalogue) ids(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	files, err := c.pins.ReadDir(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list archives: %w", err)
	}
	var ids []string
	for _, file := range files {
		if id, ok := idOfFile(file.Name()); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (c *catalogue) entryPath(id string) string {
	return filepath.Join(c.dir, entryName(id))
}

// load reads one entry and checks what can be checked without its archive.
func (c *catalogue) load(id string) (Entry, error) {
	file, err := c.pins.OpenRegular(c.entryPath(id))
	if errors.Is(err, fs.ErrNotExist) {
		return Entry{}, fmt.Errorf("archive %q: %w", id, ErrNotFound)
	}
	if err != nil {
		return Entry{}, fmt.Errorf("read entry: %w", err)
	}
	defer file.Close()
	const maxEntry = 1 << 20 // far above what names and paths can fill
	data, err := io.ReadAll(io.LimitReader(file, maxEntry))
	if err != nil {
		return Entry{}, fmt.Errorf("read entry: %w", err)
	}
	e, err := parseEntry(id, c.moves.JSON(data))
	if err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrUnusableEntry, err)
	}
	if c.find != nil {
		e.Path = c.find(e)
	}
	return e, nil
}

func parseEntry(id string, data []byte) (Entry, error) {
	var e Entry
	if err := json.Unmarshal(data, &e); err != nil {
		return Entry{}, fmt.Errorf("read entry %s: %w", id, err)
	}
	switch {
	case e.Schema > schema:
		return Entry{}, fmt.Errorf("read entry %s: it has schema %d, this sessctl knows %d", id, e.Schema, schema)
	case e.ID != id || ID(e.Meta, e.SHA256) != id:
		return Entry{}, fmt.Errorf("read entry %s: it is not the entry of that archive", id)
	case e.Path == "" || e.Bytes < 0 || e.StoredBytes < 0:
		return Entry{}, fmt.Errorf("read entry %s: path or size is missing", id)
	case e.Compression != CompressionNone && e.Compression != CompressionZstd:
		return Entry{}, fmt.Errorf("read entry %s: unknown compression %q", id, e.Compression)
	}
	return e, nil
}

// encodeEntry is an entry's file.
func encodeEntry(e Entry) func(io.Writer) error {
	return func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(e)
	}
}

// Drop takes an entry out of the catalogue. Its caller has moved the file away
// before, or removes it.
func (c *catalogue) Drop(ctx context.Context, e Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !isID(e.ID) || len(e.ID) != idDigits {
		return fmt.Errorf("archive %q: %w", e.ID, ErrNotFound)
	}
	return c.pins.RemoveFile(c.entryPath(e.ID))
}

// Readmit enters an archive into the catalogue again, once its file is back in
// its place and verifies. An entry that is there already stays as it is.
func (s *Store) Readmit(ctx context.Context, e Entry) error {
	e.SupersededBy = "" // it has a file of its own again
	if _, err := parseEntry(e.ID, mustEncode(e)); err != nil {
		return err
	}
	if err := s.VerifyFile(ctx, e); err != nil {
		return err
	}
	if err := s.pins.MakeDir(s.catalogue.dir, 0o700); err != nil {
		return err
	}
	_, err := s.enter(ctx, e)
	return err
}

// NoteSource notes in the catalogue that the same bytes of the same session came
// from another place too. It returns the entry as it is then.
func (c *catalogue) NoteSource(ctx context.Context, e Entry, source string) (Entry, error) {
	if err := ctx.Err(); err != nil || slices.Contains(e.Sources(), source) {
		return e, err
	}
	recorded, err := c.load(e.ID)
	if err != nil || slices.Contains(recorded.Sources(), source) {
		return recorded, err
	}
	recorded.Others = append(recorded.Others, source)
	return recorded, c.pins.ReplaceFile(c.entryPath(e.ID), 0o600, encodeEntry(recorded))
}

// NoteRemote notes in the catalogue that an archive has a copy on object storage.
// Its caller has read the checksum of that copy back.
func (c *catalogue) NoteRemote(ctx context.Context, e Entry, r Remote) (Entry, error) {
	if err := ctx.Err(); err != nil {
		return e, err
	}
	recorded, err := c.load(e.ID)
	if err != nil {
		return e, err
	}
	recorded.Remote = &r
	return recorded, c.pins.ReplaceFile(c.entryPath(e.ID), 0o600, encodeEntry(recorded))
}

// Adopt enters an archive whose file is only on object storage: another host has
// made it, or this one has lost its data directory. The path of the entry is where
// the file would be here. An entry that is there already stays as it is, and
// Adopt reports whether there was none.
func (s *Store) Adopt(ctx context.Context, e Entry) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	e, err := Foreign(s, e)
	if err != nil {
		return false, err
	}
	if superseded, err := s.Get(ctx, e.ID); err == nil && superseded.SupersededBy != "" {
		return false, nil // its bytes are in a later archive
	}
	if err := s.pins.MakeDir(s.catalogue.dir, 0o700); err != nil {
		return false, err
	}
	err = s.pins.CreateFile(s.entryPath(e.ID), 0o600, encodeEntry(e))
	if errors.Is(err, durable.ErrExists) {
		return false, nil
	}
	if err == nil {
		s.options.tellEntered(e)
	}
	return err == nil, err
}

// Foreign is the entry of an archive of another host as [Store.Adopt] would enter it:
// with it the archive can be read, and it is not entered. An entry that says something
// impossible is refused.
func Foreign(s *Store, e Entry) (Entry, error) {
	if e.Remote == nil {
		return e, fmt.Errorf("archive %s: it has no copy on object storage", e.ID)
	}
	dir, err := s.dirOf(e.Meta)
	if err != nil {
		return e, err
	}
	e.Superseded, e.SupersededBy = nil, ""
	said := *e.Remote
	said.Seen = false
	e.Remote = &said
	e.Path = filepath.Join(dir, fileNames(e)[0])
	_, err = parseEntry(e.ID, mustEncode(e))
	return e, err
}

// mustEncode is an entry's text, empty if it has none.
func mustEncode(e Entry) []byte {
	var text encoded
	if err := encodeEntry(e)(&text); err != nil {
		return nil
	}
	return text
}

// encoded collects what is written.
type encoded []byte

// Write implements io.Writer.
func (b *encoded) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

// Sweep removes what killed runs left unfinished in the catalogue and in the
// directory of m's agent, if nobody has written it for olderThan; age 0 is
// right for a caller that holds the lock under which archives are made.
//
// A temporary file that holds the archive of an entry whose own file is
// missing is not removed but put in its place: on a file system that lost the
// renaming in a power cut it is the only copy (docs/dev/decisions.md D12).
func (s *Store) Sweep(ctx context.Context, m Meta, olderThan time.Duration) error {
	if err := s.SweepArchives(ctx, m, olderThan); err != nil {
		return err
	}
	if err := s.pins.Sweep(s.catalogue.dir, olderThan); err != nil {
		return fmt.Errorf("sweep archives: %w", err)
	}
	return nil
}

// SweepArchives is [Store.Sweep] of the directory of m's agent alone, for a caller that
// has swept the catalogue.
func (s *Store) SweepArchives(ctx context.Context, m Meta, olderThan time.Duration) error {
	if err := s.sweepArchives(ctx, m, olderThan); err != nil {
		return fmt.Errorf("sweep archives: %w", err)
	}
	return nil
}

func (s *Store) sweepArchives(ctx context.Context, m Meta, olderThan time.Duration) error {
	dir, err := s.dirOf(m)
	if err != nil {
		return err
	}
	s.files.forget(dir)
	leftovers, err := unfinishedIn(s.pins, dir, olderThan)
	if err != nil {
		return err
	}
	for _, name := range leftovers {
		if err := s.rescueOrRemove(ctx, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// unfinishedIn ends the moves in a directory of archives that were killed and lists the
// temporary files that are left there. A directory that is not there has none.
func unfinishedIn(pins *durable.Pins, dir string, olderThan time.Duration) ([]string, error) {
	root, err := pins.OpenDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return durable.EndMovesIn(root, olderThan)
}

// rescueOrRemove deals with one temporary file of the archives, unless somebody
// writes it: another data directory may have its archives in the same place, and a
// lock of its own. Where there are no leases nobody can tell.
func (s *Store) rescueOrRemove(ctx context.Context, path string) error {
	written, err := s.isWritten(path)
	if err != nil || written {
		return err // not known to be worthless: it stays
	}
	s.step("left over")
	whole, err := s.measureFile(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it has got its name by now
	}
	if err != nil {
		return err // not known to be worthless: it stays
	}
	var lost []Entry
	if err := s.each(ctx, func(_ string, e Entry, err error) {
		if err == nil && e.StoredBytes == whole.bytes && e.StoredSHA256 == whole.sha256() && filepath.Dir(e.Path) == filepath.Dir(path) {
			lost = append(lost, e)
		}
	}); err != nil {
		return err
	}
	for _, e := range lost {
		if s.VerifyFile(ctx, e) != nil {
			return s.rescue(path, e)
		}
	}
	return s.pins.RemoveFile(path)
}

// isWritten reports whether anybody has a temporary file open, or it has got its
// name by now.
func (s *Store) isWritten(path string) (bool, error) {
	file, err := s.pins.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, durable.ErrHeld) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	return durable.OpenElsewhere(file)
}

// rescue gives a temporary file the name its entry has for it. Where a damaged
// file has that name, it stays as it is, and so does the good one.
func (s *Store) rescue(path string, e Entry) error {
	err := s.pins.MoveFile(path, e.Path)
	if errors.Is(err, durable.ErrExists) {
		return nil
	}
	return err
}

// measureFile reads a file whole.
func (s *Store) measureFile(ctx context.Context, path string) (*tally, error) {
	file, err := s.pins.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	fi, err := file.Stat()
	if err != nil {
		return nil, err
	}
	whole := newTally()
	return whole, copyInto(ctx, whole, file, fi.Size())
}
