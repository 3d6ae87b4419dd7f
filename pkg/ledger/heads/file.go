package heads

import (
	"context"
	"fmt"
	"io"
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

// Last implements [Place].
func (f File) Last(context.Context) ([]byte, error) { return durable.ReadSmall(f.Path, mostHead) }

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
