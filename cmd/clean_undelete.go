package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
)

// runCleanUndelete brings sessions back.
func runCleanUndelete(ctx context.Context, a *app, id string) error {
	c, err := a.newCleaner(cleanOptions{})
	if err != nil {
		return err
	}
	h, err := a.openVault(ctx, "clean")
	if err != nil {
		return err
	}
	defer h.close()
	if err := c.settle(); err != nil {
		return err
	}
	items, err := c.chosen(id)
	if err != nil {
		return err
	}
	stores, err := a.openStores()
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.mayReturn(stores, item); err != nil {
			c.leaveInTrash(item, err)
			continue
		}
		err := c.takeBack(item)
		if f := (*failure)(nil); errors.As(err, &f) {
			c.leaveInTrash(item, f)
			continue
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(c.render(), c.outcome())
}

// mayReturn returns an error for a place to which nothing may be brought back
// any more.
func (c *cleaner) mayReturn(stores []session.Store, item retention.Item) error {
	for _, s := range stores {
		if err := untouchable(s, item.From); err != nil {
			return err
		}
	}
	return nil
}

func (c *cleaner) leaveInTrash(item retention.Item, cause error) {
	var s trashedSession
	_ = json.Unmarshal(item.Detail, &s) // chosen has read it
	c.failed++
	n := note{Path: item.To, Message: "stays in the trash: " + cause.Error()}
	if f := (*failure)(nil); errors.As(cause, &f) {
		n.Hint = f.hint
	} else if s.Archive != "" {
		n.Hint = "sessctl archive restore " + s.Archive + " --to FILE puts its bytes into a file elsewhere"
	}
	c.app.notice(n)
}

// chosen are the records of all files of the session that an id names.
func (c *cleaner) chosen(id string) ([]retention.Item, error) {
	items, err := c.trash.List()
	if err != nil {
		return nil, err
	}
	var mine []retention.Item
	for _, item := range items {
		var s trashedSession
		if json.Unmarshal(item.Detail, &s) == nil && (id == "all" || s.Session == id || len(id) >= 4 && hasPrefix(s.Session, id) || hasPrefix(item.ID, id)) {
			mine = append(mine, item)
		}
	}
	if len(mine) == 0 {
		return nil, &failure{code: "unknown_session", exit: exitUsage, hint: "audit.jsonl under the data directory says what was deleted", err: fmt.Errorf("%q is not in the trash", id)}
	}
	return mine, nil
}

func hasPrefix(s, prefix string) bool {
	return len(prefix) > 0 && len(s) >= len(prefix) && s[:len(prefix)] == prefix
}

func (c *cleaner) takeBack(item retention.Item) error {
	var s trashedSession
	if err := json.Unmarshal(item.Detail, &s); err != nil {
		return fmt.Errorf("the record %s of the trash is not of a session", item.ID)
	}
	err := c.trash.TakeBack(item)
	if errors.Is(err, fs.ErrExist) {
		return &failure{code: "exists", exit: exitFailed, path: item.From, hint: "move it away first", err: fmt.Errorf("another file is at %s", item.From)}
	}
	if err != nil {
		return fmt.Errorf("bring %s back: %w", item.From, err)
	}
	line := retention.Line{
		Time: c.app.now().UTC(), Action: retention.ActionUndelete, Kind: item.Kind, Path: item.From,
		SHA256: item.SHA256, Bytes: item.Bytes, Archive: s.Archive, Rule: "clean --undelete",
	}
	if err := errors.Join(c.audit.Append(line), c.trash.Drop(item.ID)); err != nil {
		return err
	}
	c.rows = append(c.rows, cleanRow{
		Runtime: s.Runtime, Agent: s.Agent, Session: s.Session, Path: item.From, Bytes: item.Bytes,
		LastUse: item.At.UTC().Format(time.RFC3339), Outcome: retention.ActionUndelete, Reason: "back from the trash",
	})
	return nil
}

// guard is a store with places from which nothing may be taken and to which
// nothing may be brought back.
type guard interface {
	// Untouchable returns an error for such a place.
	Untouchable(path string) error
}

// untouchable asks a store about a place, if it has any such.
func untouchable(s session.Store, path string) error {
	if g, ok := s.(guard); ok {
		return g.Untouchable(path)
	}
	return nil
}
