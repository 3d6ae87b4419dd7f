package removal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
)

// EndShrink writes the lines of what is gone into the audit log, and forgets the
// intent. What is gone is what the database lacks now; of one that cannot be read
// nobody knows, and the next run looks again.
func EndShrink(ctx context.Context, run *workspace.Run, path string, intent ShrinkIntent, store session.Store) error {
	shrinker := store.Capabilities().Shrinker
	weights, err := shrinker.Weigh(ctx)
	if err != nil {
		return err
	}
	readable := func(d session.DatabaseWeight) bool { return d.Path == intent.Database && d.Err == nil }
	if !slices.ContainsFunc(weights, readable) {
		return nil
	}
	there := map[string]session.Weight{}
	for _, d := range weights {
		for _, s := range d.Sessions {
			there[s.Ref.Path] = s
		}
	}
	lines, err := run.Audit().Lines()
	if err != nil {
		return err
	}
	for _, item := range intent.Items {
		of := intent.Database + "#" + item.Session
		s, stays := there[of]
		gone := !stays && item.Whole || stays && !item.Whole && s.Superseded == 0
		switch item.Kind {
		case "file":
			_, err := os.Lstat(item.Path)
			gone = errors.Is(err, fs.ErrNotExist)
		case ShrunkRows: // the session may be there again, and its rows still
			if gone, err = RowsGone(ctx, store, item); err != nil {
				return err
			}
		}
		told := slices.ContainsFunc(lines, func(l retention.Line) bool {
			return l.Action == retention.ActionShrink && l.Archive == item.Archive && l.Path == item.Path && !l.Time.Before(intent.At)
		})
		if !gone || told {
			continue
		}
		err := run.Audit().Append(retention.Line{
			Time: run.Now().UTC(), Action: retention.ActionShrink, Kind: item.Kind, Path: item.Path, SHA256: item.SHA256, Bytes: item.Bytes,
			Archive: item.Archive, Rule: "shrink",
		})
		if err != nil {
			return err
		}
	}
	return run.Pins.RemoveFile(path)
}

// SettleShrinks ends what killed runs began: the database has done it or not, as
// a whole.
func SettleShrinks(ctx context.Context, run *workspace.Run, stores []session.Store) error {
	entries, err := run.Pins.ReadDir(run.ShrinkDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for unfinished runs: %w", err)
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(run.ShrinkDir(), e.Name())
		text, err := run.Pins.ReadSmall(path, 64<<20)
		var intent ShrinkIntent
		if err == nil {
			err = json.Unmarshal(text, &intent)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		for _, store := range stores {
			if store.Runtime() == intent.Runtime && store.Root() == intent.Store {
				if err := EndShrink(ctx, run, path, intent, store); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
