package archive

import (
	"bytes"
	"context"
	"fmt"
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
		stored, err := s.measureFile(ctx, found.Path)
		if err != nil {
			continue
		}
		found.StoredSHA256, found.StoredBytes = stored.sha256(), stored.bytes
		if found.Lines, err = countLines(ctx, s, found); err != nil {
			continue
		}
		if ok, err := s.adoptable(ctx, &found); err == nil && ok {
			return found, nil
		}
	}
	return e, ErrMissing
}

// countLines counts the lines of the bytes of an archive of which nobody knows how many
// it has, a last one without a line end too. Whether they are the right ones is not its
// business.
func countLines(ctx context.Context, s *Store, e Entry) (lines int64, err error) {
	r, err := s.openEntry(ctx, e)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	part, read, last := make([]byte, bufferSize), int64(0), byte('\n')
	for err == nil {
		var n int
		n, err = r.Read(part)
		read += int64(n)
		lines += int64(bytes.Count(part[:n], []byte("\n")))
		if n > 0 {
			last = part[n-1]
		}
	}
	if read != e.Bytes {
		return 0, err
	}
	if last != '\n' {
		lines++
	}
	return lines, nil
}
