package memory

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
)

// examine checks the database of a memory as SetAsideDamaged needs it: what is
// wrong with the database itself. One that does not exist is sound.
func examine(ctx context.Context, dir string) ([]Problem, error) {
	s, err := Open(ctx, dir, Options{ReadOnly: true})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, ErrCorrupt):
		return []Problem{{filepath.Join(dir, "memory.db"), err.Error()}}, nil
	case err != nil:
		return nil, err
	}
	problems, err := s.verifyDatabase(ctx)
	return problems, errors.Join(err, s.Close())
}
