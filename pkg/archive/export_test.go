package archive

import (
	"context"

	"github.com/sessctl/sessctl/pkg/agentset"
)

// Limits that tests go around.
const (
	BufferSize = bufferSize
	MaxName    = maxName
)

// SafeName is the part of a file name that an id becomes.
func SafeName(id string) string { return safeName(id) }

// SetStep has step called after each step of Put and Sweep.
func (s *Store) SetStep(step func(name string)) { s.step = step }

// WorksOf is Works, which reads its cache for large catalogues only, for any.
func (s *Store) WorksOf(ctx context.Context, file string, all agentset.Directories) error {
	ids, err := s.ids(ctx)
	if err != nil {
		return err
	}
	return s.worksOf(ctx, ids, file, all)
}
