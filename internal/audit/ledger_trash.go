package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/ledger"
	"github.com/sessctl/sessctl/pkg/retention"
)

// What to do about a log in the trash that is not what was put there, and about what is
// in the trash and has no record.
const (
	adviseTrash   = "the archive has what was deleted: sessctl restore brings it back from there"
	adviseChanged = "sessctl doctor --fix puts the record aside and makes it again, or brings the archive back"
	adviseRecord  = "sessctl doctor --fix makes the record again; if the log does not wait in .sessctl-trash beside its place, sessctl restore brings it back from its archive"
	adviseArchive = "sessctl doctor --fix brings the archive back if it waits in .sessctl-trash beside its place; when it was deleted its bytes were elsewhere too: sessctl log --limit 0 says where"
)

// trash compares what waits in the trash with its records, and these with what the
// audit log says is there.
func (w *witness) trash(ctx context.Context) error {
	waiting, err := w.waiting()
	if err != nil {
		return err
	}
	for _, t := range []retention.Trash{w.run.SessionTrash(), w.run.ArchiveTrash()} {
		items, err := t.List()
		if err != nil {
			w.run.PassOver(workspace.Note{Path: t.Dir, Message: "what is in the trash is not compared with its records: " + err.Error()})
			continue
		}
		if err := w.trashed(ctx, items); err != nil {
			return err
		}
		w.unrecorded(t, items, waiting)
	}
	return nil
}

// waiting are the lines of the audit log, as far as the ledger knows them, about what
// must be in the trash, by the path where it was.
func (w *witness) waiting() (map[string][]retention.Line, error) {
	lines, _, err := witnessedLines(w.run, w.known)
	return w.run.SessionTrash().Waiting(lines), err
}

// trashed compares the logs that wait in the trash with their records. An archive says
// itself whether it is whole, and is read before it comes back.
func (w *witness) trashed(ctx context.Context, items []retention.Item) error {
	for _, item := range items {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p, what := Problem{ID: item.ID, Path: item.To}, "a log"
		_, err := os.Lstat(item.To)
		if item.Kind == retention.KindSession {
			err = unaltered(item)
		} else {
			what = "an archive"
		}
		switch {
		case err == nil:
		case errors.Is(err, fs.ErrNotExist) && !workspace.Exists(filepath.Dir(item.From)):
			w.run.Notice(workspace.Note{Path: item.To, Message: "what is in the trash cannot be looked at: the directory is not there, as when a disk is not mounted"})
		case errors.Is(err, fs.ErrNotExist) && (workspace.Exists(item.From) || w.purged(item)): // on its way
		case errors.Is(err, fs.ErrNotExist):
			w.problem(p, adviseTrash, "%s in the trash is missing: %s", what, item.From)
		case errors.Is(err, errOtherLog):
			w.problem(p, adviseTrash, "a log in the trash has other bytes than it had when it was deleted: %s", item.From)
		default:
			w.problem(p, adviseTrash, "%s in the trash cannot be read: %v", what, err)
		}
	}
	return nil
}

// unrecorded tells of what was put into a trash and has no record there, or one that
// says something else than the ledger.
func (w *witness) unrecorded(t retention.Trash, items []retention.Item, waiting map[string][]retention.Line) {
	type place struct {
		path string
		at   int64
	}
	records := map[place]retention.Item{}
	for _, item := range items {
		records[place{item.From, item.At.UnixMilli()}] = item
	}
	ofSessions := t.Dir == w.run.SessionTrash().Dir
	for _, path := range slices.Sorted(maps.Keys(waiting)) {
		for _, l := range waiting[path] {
			if ofSessions != (l.Kind == retention.KindSession) {
				continue
			}
			item, ok := records[place{path, l.Time.UnixMilli()}]
			p := Problem{ID: item.ID, Path: t.Dir}
			switch {
			case !ok && w.settled(l, path): // it came back, or nobody can tell
			case !ok && ofSessions:
				w.problem(p, adviseRecord, "the record of a log in the trash is lost: %s, deleted on %s", path, l.Time.Format(time.DateOnly))
			case !ok:
				w.problem(p, adviseArchive, "the record of archive %s in the trash is lost: %s, deleted on %s", l.Archive, path, l.Time.Format(time.DateOnly))
			case w.changed(item):
				w.problem(p, adviseChanged, "the record of what is in the trash was changed: %s", path)
			}
		}
	}
}

// settled reports whether nothing is lost with a record: what it was about is at its
// place and not in the trash, or the disk of both is not there.
func (w *witness) settled(l retention.Line, path string) bool {
	to, _ := retention.PlaceOf(l, path)
	return !workspace.Exists(filepath.Dir(path)) || workspace.Exists(path) && !workspace.Exists(to)
}

// changed reports whether a record is none of those that the ledger has of what went
// into the trash then. What it does not know of was there before it, or did not go.
func (w *witness) changed(item retention.Item) bool { return changedRecord(w.known, item) }

func changedRecord(known ledger.State, item retention.Item) bool {
	return !known.Records[item.Hash] && slices.ContainsFunc(known.Lines, func(f ledger.Leaf) bool {
		return f.Kind == ledger.Removed && f.At == item.At.UnixMilli()
	})
}

// purged reports whether a file was about to leave the trash for good.
func (w *witness) purged(item retention.Item) bool {
	return slices.ContainsFunc(w.known.Lines, func(f ledger.Leaf) bool {
		return f.Kind == ledger.Purged && f.What == item.Kind && f.SHA256 == item.SHA256 && f.At >= item.At.UnixMilli()
	})
}

var errOtherLog = errors.New("other bytes")

// unaltered reads a file of the trash. What was written behind it since is another matter: a writer may have had it open.
func unaltered(item retention.Item) error {
	if item.Bytes == 0 { // it was empty, and has no archive
		_, err := os.Lstat(item.To)
		return err
	}
	file, err := durable.OpenRegular(item.To)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(file, item.Bytes))
	if err == nil && (n < item.Bytes || hex.EncodeToString(sum.Sum(nil)) != item.SHA256) {
		err = errOtherLog
	}
	return err
}
