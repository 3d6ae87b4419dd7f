package recall

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/jsonl"
)

// OpenFound opens a session's log, whatever it lies in.
func OpenFound(ctx context.Context, s workspace.Found) (io.ReadCloser, error) {
	if source := s.Adapter.Capabilities().SourceOf(s.Ref); source != nil {
		return source.OpenLog(ctx, s.Ref)
	}
	f, err := durable.OpenRegular(s.Path)
	if err != nil {
		return nil, err
	}
	plain, _, err := jsonl.Decompress(f, s.Bytes)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the log: %w", err), f.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{plain, closers{plain, f}}, nil
}

// closers closes several things.
type closers []io.Closer

// Close implements io.Closer.
func (c closers) Close() error {
	var errs []error
	for _, one := range c {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}
