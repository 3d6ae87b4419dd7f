package agent

import (
	"context"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
)

// Companions implements [session.Family]: a session is its log and its
// metadata.
func (s *Store) Companions(_ context.Context, ref session.Ref) ([]string, error) {
	d, name, err := directory.Of(s.base, ref.Path, 1)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if name != logName {
		return nil, nil
	}
	info, err := d.Stat(metadataName)
	if err != nil || info == nil {
		return nil, err
	}
	return []string{d.At(metadataName)}, nil
}
