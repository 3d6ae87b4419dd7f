package livelog

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// Append appends the plan's record to the log with one write. It returns a
// [*session.BusyError] and changes nothing when somebody has the log open or
// when it is not the plan's snapshot any more. A log that already has the
// record is left as it is; one that has only its beginning, because the
// machine stopped in the middle of the write, gets the rest.
func (c *Change) Append() error {
	if c.Plan.Record == "" {
		return fmt.Errorf("append to %s: the plan has no record", c.Plan.Live)
	}
	p, err := c.pin(durable.OpenAppendIn)
	if err != nil {
		return c.begun(err)
	}
	defer p.release()
	rest, err := c.missing(p)
	if err != nil {
		return err
	}
	if len(rest) == len(c.Plan.Record) {
		if err := c.check(p); err != nil {
			return err
		}
	}
	// With no rest it is still synced: the run that wrote the record may have
	// died before it was durable.
	if err := durable.AppendRecord(p.file, rest); err != nil {
		return err
	}
	return c.step("append")
}

// begun marks a log that is busy and is longer than the snapshot: the record,
// or its beginning, may be in it already.
func (c *Change) begun(err error) error {
	var busy *session.BusyError
	if info, statErr := c.stat(c.name()); errors.As(err, &busy) && statErr == nil && info != nil {
		now := session.Observe(c.Plan.Live, info)
		busy.Begun = now.SameFile(c.Plan.Snapshot) && now.Size > c.Plan.Snapshot.Size
	}
	return err
}

// missing returns what of the record is still to be written.
func (c *Change) missing(p *pinned) ([]byte, error) {
	info, err := p.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("look at log: %w", err)
	}
	record, snap := []byte(c.Plan.Record), c.Plan.Snapshot
	now := session.Observe(c.Plan.Live, info)
	if !now.SameFile(snap) || now.Size <= snap.Size {
		return record, nil // check says what is wrong, if anything is
	}
	tail, err := bytesAt(p.file, snap.Size, len(record))
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(record, tail) {
		return nil, snap.Matches(info)
	}
	return record[len(tail):], nil
}
