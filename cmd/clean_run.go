package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
)

// trashedSession is what a record of the trash says of its session.
type trashedSession struct {
	Runtime string `json:"runtime"`
	Agent   string `json:"agent"`
	Session string `json:"session"`
	Archive string `json:"archive"` // id of the archive with its bytes
}

// settle finishes what a killed run began: a file that is still, or again, at
// its place was not deleted.
func (c *cleaner) settle() error {
	if !exists(c.trash.Dir) {
		return nil
	}
	if err := durable.Sweep(c.trash.Dir, 0); err != nil {
		return err
	}
	items, err := c.trash.List()
	if err != nil {
		return err
	}
	for _, item := range items {
		moved, err := c.trash.Settle(item)
		if err == nil && !moved {
			err = c.trash.Drop(item.ID)
		}
		if err != nil {
			return fmt.Errorf("finish an earlier clean: %w", err)
		}
	}
	return nil
}

// carryOut does what the plan says, one session after the other. What changed
// since the plan was made stays.
func (c *cleaner) carryOut(ctx context.Context) error {
	for _, p := range c.going() {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := c.discard(ctx, p)
		switch {
		case err == nil:
			continue
		case errors.Is(err, session.ErrBusy):
			c.busy++
			p.verdict.Reason = busyText(err)
		default:
			c.failed++
			p.verdict.Reason = err.Error()
		}
		p.verdict.Goes = false
	}
	for _, item := range c.purge {
		if err := c.remove(ctx, item); err != nil {
			return fmt.Errorf("empty the trash: %w", err)
		}
	}
	c.makeRows()
	if c.prune != nil {
		return c.prune.carryOut(ctx)
	}
	return nil
}

// discard archives a session and what belongs to it, reads the copies back,
// and only then moves the files into the trash, the log last: what is left of
// a family after a kill goes with it in the next run.
func (c *cleaner) discard(ctx context.Context, p *cleanPlan) error {
	entries := make([]archive.Entry, len(p.files))
	for i, f := range p.files {
		e, err := c.secured(ctx, p, f)
		if err != nil {
			return err
		}
		entries[i] = e
	}
	for i := len(p.files) - 1; i >= 0; i-- {
		if err := c.put(p, p.files[i], entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// secured archives a file, unless its bytes are there already, and reads the
// copy back.
func (c *cleaner) secured(ctx context.Context, p *cleanPlan, f cleanFile) (archive.Entry, error) {
	member := p.found
	if f.log != nil {
		member = *f.log
	} else {
		member.Path, member.Kind, member.Bytes = f.path, session.KindOutput, f.seen.Size
	}
	if f.seen.Size == 0 {
		return archive.Entry{}, nil // nothing could be lost
	}
	e, err := putLog(ctx, c.app, c.archives, member, "clean")
	if err == nil {
		err = c.archives.Verify(ctx, e)
	}
	return e, err
}

// put moves a file into the trash: first the line that says so, then the
// record, then the file. A lease proves that nobody has it open, and it must
// still be what the plan saw.
func (c *cleaner) put(p *cleanPlan, f cleanFile, e archive.Entry) error {
	log, err := durable.OpenRegular(f.path)
	if err != nil {
		return err
	}
	defer log.Close()
	lease, err := durable.WriteLease(log)
	if errors.Is(err, durable.ErrHeld) {
		return &session.BusyError{Path: f.path, Reason: "another process has it open"}
	}
	if err != nil && !errors.Is(err, durable.ErrUnsupported) {
		return err
	}
	if lease != nil {
		defer func() { _ = lease.Release() }() // closing does it too
	}
	named, err := os.Lstat(f.path)
	if err != nil {
		return err
	}
	if err := f.seen.Matches(named); err != nil {
		return err
	}
	detail, err := json.Marshal(trashedSession{p.Runtime, p.Agent, p.ID, e.ID})
	if err != nil {
		return err
	}
	now := c.app.now().UTC()
	rule := "clean --max-age " + c.options.MaxAge
	id := fmt.Sprintf("%s-%s", fileID(f.path), now.Format("20060102T150405Z"))
	line := retention.Line{Time: now, Action: retention.ActionTrash, Kind: "session", Path: f.path, SHA256: e.SHA256, Bytes: f.seen.Size, Archive: e.ID, Rule: rule}
	if err := c.audit.Append(line); err != nil {
		return err
	}
	return c.trash.Put(retention.Item{
		ID: id, Kind: "session", From: f.path, To: retention.Place(f.path, id), SHA256: e.SHA256, Bytes: f.seen.Size,
		At: now, Until: now.Add(c.options.grace), Rule: rule, Detail: detail,
	})
}

// remove removes a file from the trash for good, if its archive still
// verifies.
func (c *cleaner) remove(ctx context.Context, item retention.Item) error {
	var s trashedSession
	if err := json.Unmarshal(item.Detail, &s); err != nil {
		return fmt.Errorf("the record %s of the trash is not of a session", item.ID)
	}
	if item.Bytes > 0 {
		e, err := c.archives.Get(ctx, s.Archive)
		if err == nil {
			err = c.archives.Verify(ctx, e)
		}
		if err != nil {
			c.app.notice(note{Path: item.To, Message: "stays in the trash, because its archive does not verify: " + err.Error()})
			c.failed++
			return ctx.Err()
		}
	}
	line := retention.Line{
		Time: c.app.now().UTC(), Action: retention.ActionPurge, Kind: item.Kind, Path: item.From,
		SHA256: item.SHA256, Bytes: item.Bytes, Archive: s.Archive, Rule: item.Rule,
	}
	return errors.Join(c.audit.Append(line), c.trash.Remove(item))
}
