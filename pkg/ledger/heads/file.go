package heads

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/ledger"
)

// File is a head in a file, such as on another disk.
type File struct {
	Path string
	// Make says that its directory is made. It is not for a directory on another disk:
	// where that is not mounted, the head would be kept beside the ledger.
	Make bool
}

// Name implements [Place].
func (f File) Name() string { return f.Path }

// Last implements [Place]. A directory that is not there is no place without a head: a
// disk that is not mounted may have one.
func (f File) Last(context.Context) ([]byte, error) {
	text, err := durable.ReadSmall(f.Path, mostHead)
	if errors.Is(err, fs.ErrNotExist) && !f.Make {
		if _, lookErr := os.Stat(filepath.Dir(f.Path)); lookErr != nil {
			return nil, fmt.Errorf("its directory cannot be seen: %s", lookErr.Error())
		}
	}
	return text, err
}

// Keep implements [Place].
func (f File) Keep(_ context.Context, head ledger.Head) error {
	if f.Make {
		if err := durable.MakeDir(filepath.Dir(f.Path), 0o700); err != nil {
			return err
		}
	}
	err := durable.ReplaceFile(f.Path, 0o600, func(w io.Writer) error {
		_, err := w.Write(head.Note)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep the head: %w", err)
	}
	return nil
}
