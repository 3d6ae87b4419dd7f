package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/durable"
)

// Filter picks entries. An empty field picks all.
type Filter struct {
	Runtime, Agent, Session string
}

func (f Filter) picks(e Entry) bool {
	return (f.Runtime == "" || f.Runtime == e.Runtime) &&
		(f.Agent == "" || f.Agent == e.Agent) &&
		(f.Session == "" || f.Session == e.Session)
}

// Damage is a file of the catalogue that cannot be used, and why.
type Damage struct {
	Path string
	Err  error
}

// List returns the entries that the filter picks, oldest first. Files of the
// catalogue that cannot be read are left out; [Store.Damaged] names them. A
// catalogue that does not exist yet is empty.
func (s *Store) List(ctx context.Context, f Filter) ([]Entry, error) {
	var picked []Entry
	err := s.each(ctx, func(_ string, e Entry, err error) {
		if err == nil && f.picks(e) {
			picked = append(picked, e)
		}
	})
	slices.SortFunc(picked, func(a, b Entry) int {
		if order := a.CreatedAt.Compare(b.CreatedAt); order != 0 {
			return order
		}
		return strings.Compare(a.ID, b.ID)
	})
	return picked, err
}

// Damaged returns the files of the catalogue that [Store.List] had to leave
// out: torn or altered ones, and ones that a newer sessctl wrote. The archives
// they named are still there; archiving the same bytes again writes the entry
// anew.
func (s *Store) Damaged(ctx context.Context) ([]Damage, error) {
	var damaged []Damage
	err := s.each(ctx, func(path string, _ Entry, err error) {
		if err != nil {
			damaged = append(damaged, Damage{Path: path, Err: err})
		}
	})
	return damaged, err
}

// Get returns the entry with an id, or with the only id that starts so:
// [ErrNotFound] is returned when there is none, [ErrAmbiguous] when there are
// several.
func (s *Store) Get(ctx context.Context, idOrPrefix string) (Entry, error) {
	ids, err := s.ids(ctx)
	if err != nil {
		return Entry{}, err
	}
	if !isID(idOrPrefix) {
		return Entry{}, fmt.Errorf("archive %q: %w", idOrPrefix, ErrNotFound)
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, idOrPrefix) })
	switch len(ids) {
	case 0:
		return Entry{}, fmt.Errorf("archive %q: %w", idOrPrefix, ErrNotFound)
	case 1:
		return s.load(ids[0])
	}
	return Entry{}, fmt.Errorf("archive %q: %w: %s", idOrPrefix, ErrAmbiguous, strings.Join(ids, ", "))
}

// each reads every file of the catalogue, in order of id.
func (s *Store) each(ctx context.Context, visit func(path string, e Entry, err error)) error {
	ids, err := s.ids(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := s.load(id)
		if errors.Is(err, ErrNotFound) {
			continue // removed since the directory was read
		}
		visit(s.entryPath(id), e, err)
	}
	return nil
}

// ids lists the ids of the catalogue in order.
func (s *Store) ids(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	files, err := os.ReadDir(s.catalogue)
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

func (s *Store) entryPath(id string) string {
	return filepath.Join(s.catalogue, entryName(id))
}

// load reads one entry and checks what can be checked without its archive.
func (s *Store) load(id string) (Entry, error) {
	file, err := durable.OpenRegular(s.entryPath(id))
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
	return parseEntry(id, data)
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
