package pi

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// PlanBegin implements [session.Beginner].
func (s *Store) PlanBegin(_ context.Context, c session.Carried) (session.Begun, error) {
	id := session.OrderedID(c.Now)
	log, err := piformat.Begin(id, c)
	if err != nil {
		return session.Begun{}, fmt.Errorf("begin a session of pi: %w", err)
	}
	name := strings.NewReplacer(":", "-", ".", "-").Replace(session.Stamp(c.Now.UnixMilli())) + "_" + id + logEnd
	return session.Begun{
		ID: id, Path: filepath.Join(s.Base, directoryOf(c.Directory), name), Log: log,
		Command: []string{"pi", "--session", id},
	}, nil
}

// tools are pi's names of the tools that others have too.
func tools() session.ToolNames {
	return session.ToolNames{
		Run: "bash", Read: "read", Write: "write", Edit: "edit",
		Command: "command", Path: "path", Old: "oldText", New: "newText", List: "edits", Images: true, ResultImages: true,
	}
}
