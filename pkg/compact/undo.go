package compact

import (
	"context"
	"errors"

	"github.com/sessctl/sessctl/pkg/session"
)

// settleUndo finishes an undo that an earlier run began.
func (c *Compactor) settleUndo(context.Context, session.Store, Intent) error {
	return errors.New("undo is not built yet")
}
