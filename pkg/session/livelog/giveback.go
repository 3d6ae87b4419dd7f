package livelog

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/sessctl/sessctl/pkg/durable"
)

// giveBack sees to a file at the new log's temporary name that is not the old
// log. It is the new log itself, which has not taken its place: nothing is to
// be done. Or the new log is in its place, and this is a log that a program
// put there in the last instant, by renaming: the two are exchanged again, and
// the new log goes.
func (c *Change) giveBack(ctx context.Context) error {
	waiting, err := c.isNew(ctx, c.nextName())
	if err != nil || waiting {
		return err
	}
	switched, err := c.isNew(ctx, c.name())
	if err != nil {
		return err
	}
	if !switched {
		return c.busy("a log that is neither the old one nor the new one is at " + c.nextPath())
	}
	if err := c.System.ExchangeFiles(c.nextPath(), c.Plan.Live); err != nil {
		return fmt.Errorf("give a log its place back: %w", err)
	}
	return c.dropNext(ctx)
}

// isNew reports whether the file of that name has the bytes of the new log.
func (c *Change) isNew(ctx context.Context, name string) (bool, error) {
	info, err := c.stat(name)
	if err != nil || info == nil || !info.Mode().IsRegular() || info.Size() != c.Plan.After.Size {
		return false, err
	}
	file, err := durable.OpenRegularIn(c.Root, name)
	if err != nil {
		return false, fmt.Errorf("look at the new log: %w", err)
	}
	defer file.Close()
	t := &tally{w: io.Discard, sum: sha256.New()}
	if _, err := io.Copy(t, file); err != nil {
		return false, fmt.Errorf("look at the new log: %w", err)
	}
	return t.proof() == c.Plan.After, ctx.Err()
}
