package openclaw

import (
	"context"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
)

// Companions implements [session.Family]: the run traces that stand under a
// session's id, which a reset leaves behind (research/real-runtimes.md section
// 4). While the session has an open log or another closed one, they stay.
func (s *Store) Companions(_ context.Context, ref session.Ref) ([]string, error) {
	d, name, err := s.directoryOf(ref.Path)
	if err != nil {
		return nil, err
	}
	defer d.close()
	mine, verdict := parseName(name)
	if verdict != isLog {
		return nil, nil
	}
	names, err := d.names()
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, other := range names {
		if n, v := parseName(other); v == isLog && n.session == mine.session && other != name {
			return nil, nil
		}
		if strings.HasPrefix(other, mine.session+".trajectory") {
			paths = append(paths, d.at(other))
		}
	}
	return paths, nil
}
