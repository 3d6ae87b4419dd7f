package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/ledger"
	"github.com/sessctl/sessctl/pkg/retention"
)

// adviseTrash is what to do about a log in the trash that is not what was put there.
const adviseTrash = "the archive has what was deleted: sessctl restore brings it back from there"

// stillTime is how much later than it was moved a file may say that it was changed,
// and nobody has changed it: moving it counts as a change.
const stillTime = 2 * time.Second

// trash compares the logs that wait in the trash with their records. One that was not
// touched since it was moved is not read.
func (w *witness) trash(ctx context.Context) error {
	items, err := w.run.SessionTrash().List()
	if err != nil {
		return nil // told by who empties it
	}
	for _, item := range items {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p := Problem{ID: item.ID, Path: item.To}
		switch err := unaltered(item); {
		case errors.Is(err, fs.ErrNotExist) && (workspace.Exists(item.From) || w.purged(item)): // on its way
		case errors.Is(err, fs.ErrNotExist):
			w.problem(p, adviseTrash, "a log in the trash is missing: %s", item.From)
		case errors.Is(err, errOtherLog):
			w.problem(p, adviseTrash, "a log in the trash has other bytes than it had when it was deleted: %s", item.From)
		case err != nil:
			w.problem(p, adviseTrash, "a log in the trash cannot be read: %v", err)
		}
	}
	return nil
}

// purged reports whether a file was about to leave the trash for good.
func (w *witness) purged(item retention.Item) bool {
	return slices.ContainsFunc(w.known.Lines, func(f ledger.Leaf) bool {
		return f.Kind == ledger.Purged && f.SHA256 == item.SHA256 && f.At >= item.At.UnixMilli()
	})
}

var errOtherLog = errors.New("other bytes")

// unaltered reads a file of the trash, unless it is as it was moved there. What was
// written behind it since is another matter: a writer may have had it open.
func unaltered(item retention.Item) error {
	file, err := durable.OpenRegular(item.To)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() == item.Bytes && durable.ChangeTimeTells(item.To) && durable.Identify(info).Changed.Before(item.At.Add(stillTime)) {
		return nil
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(file, item.Bytes))
	if err == nil && (n < item.Bytes || hex.EncodeToString(sum.Sum(nil)) != item.SHA256) {
		err = errOtherLog
	}
	return err
}
