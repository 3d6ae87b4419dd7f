package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// Lost is an archive whose entry is gone, as somebody else knows it.
type Lost struct {
	Meta
	SHA256 string
	Bytes  int64
	// Dirs are where its file may be, beside the place that its session has by now.
	Dirs []string
}

// Reenter enters an archive again whose entry is lost: it looks for a file that has its
// bytes, reads it to its end, and writes the entry. [ErrMissing] is returned when there
// is no such file.
func Reenter(ctx context.Context, s *Store, lost Lost) (Entry, error) {
	m, err := lost.normalise()
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Schema: schema, ID: ID(m, lost.SHA256), Meta: m, SHA256: lost.SHA256, Bytes: lost.Bytes, ToolVersion: s.options.ToolVersion}
	dirs := lost.Dirs
	if dir, err := s.dirOf(m); err == nil {
		dirs = append([]string{dir}, dirs...)
	}
	for _, dir := range dirs {
		found, err := fileOf(ctx, s, dir, e)
		if err == nil {
			return found, reenter(ctx, s, found)
		}
		if ctx.Err() != nil {
			return Entry{}, ctx.Err()
		}
	}
	return e, fmt.Errorf("archive %s of session %s: %w", e.ID, e.Session, ErrMissing)
}

func reenter(ctx context.Context, s *Store, e Entry) error {
	if err := s.syncFound(e.Path); err != nil {
		return err
	}
	if err := s.pins.MakeDir(s.catalogue.dir, 0o700); err != nil {
		return err
	}
	_, err := s.enter(ctx, e)
	return err
}

// fileOf finds the file of an archive in a directory.
func fileOf(ctx context.Context, s *Store, dir string, e Entry) (Entry, error) {
	files, err := s.namesIn(dir, safeName(e.Session)+".")
	if err != nil {
		return e, err
	}
	for _, file := range files {
		name, ok := parseName(file, e)
		if !ok {
			continue
		}
		found := e
		found.settleAt(filepath.Join(dir, file))
		found.CreatedAt, found.Compression = name.createdAt, name.compression
		if ok, err := s.adoptable(ctx, &found); err != nil || !ok {
			continue
		}
		found.Lines, err = countLines(ctx, s, found)
		return found, err
	}
	return e, ErrMissing
}

// countLines counts the lines of an archive, a last one without a line end too.
func countLines(ctx context.Context, s *Store, e Entry) (lines int64, err error) {
	r, err := s.openEntry(ctx, e)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	part, last := make([]byte, bufferSize), byte('\n')
	for {
		n, err := r.Read(part)
		lines += int64(bytes.Count(part[:n], []byte("\n")))
		if n > 0 {
			last = part[n-1]
		}
		switch {
		case errors.Is(err, io.EOF) && last != '\n':
			return lines + 1, nil
		case errors.Is(err, io.EOF):
			return lines, nil
		case err != nil:
			return 0, err
		}
	}
}
