package livelog

import (
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// Dispose removes the kept inode of an old log for good. It is called when
// every byte of it is in a verified archive and nobody has it open. A file
// that is not that inode any more, or that was changed without growing, stays.
func (c *Change) Dispose() error {
	info, err := c.stat(filepath.Base(c.Plan.Kept))
	if err != nil || info == nil {
		return err
	}
	now, was := session.Observe(c.Plan.Kept, info), c.Plan.Snapshot
	changed := now.Size < was.Size || now.Size == was.Size && !now.ModTime.Equal(was.ModTime)
	if !was.SameFile(now) || changed || !info.Mode().IsRegular() || durable.Identify(info).Links > 1 {
		return nil
	}
	return durable.RemoveFile(c.Plan.Kept)
}
