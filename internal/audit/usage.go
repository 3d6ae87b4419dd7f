package audit

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
)

// UsageDocument is `usage --json` (docs/json.md). Sizes are in bytes.
type UsageDocument struct {
	Schema   int              `json:"schema"`
	Live     DiskUse          `json:"live"`      // logs that their runtime may go on with
	Closed   DiskUse          `json:"closed"`    // logs that it has closed or copied, and that were put aside
	Archives DiskUse          `json:"archives"`  // wherever they are
	Memory   DiskUse          `json:"memory"`    // with what was forgotten and the summaries
	Trash    DiskUse          `json:"trash"`     // what clean and archives prune deleted and can be brought back
	SetAside DiskUse          `json:"set_aside"` // damaged memories that were replaced
	Records  DiskUse          `json:"records"`   // catalogue, receipts, journal, audit log
	Runtimes []RuntimeUse     `json:"runtimes"`  // by name
	Ours     int64            `json:"bytes"`     // all but the logs
	Saved    SavedDocument    `json:"saved"`
	Notes    []workspace.Note `json:"notes"`
}

// DiskUse is how many files there are, and their size.
type DiskUse struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

func (u *DiskUse) add(size int64) {
	u.Files++
	u.Bytes += size
}

// RuntimeUse is the part of one runtime.
type RuntimeUse struct {
	Runtime  string  `json:"runtime"`
	Live     DiskUse `json:"live"`
	Closed   DiskUse `json:"closed"`
	Archives DiskUse `json:"archives"`
}

// SavedDocument says what compaction has saved; what was undone does not count.
type SavedDocument struct {
	Compactions int   `json:"compactions"`
	Tokens      int64 `json:"tokens"`        // out of contexts
	LogBytes    int64 `json:"log_bytes"`     // out of logs
	Compressed  int64 `json:"archive_bytes"` // by which archives are smaller than what they are copies of
}

// Usage adds up what is on the disk.
type Usage struct {
	App *workspace.Run
	Doc UsageDocument
}

// of is the part of a runtime.
func (u *Usage) of(runtime string) *RuntimeUse {
	at := slices.IndexFunc(u.Doc.Runtimes, func(r RuntimeUse) bool { return r.Runtime == runtime })
	if at < 0 {
		at = len(u.Doc.Runtimes)
		u.Doc.Runtimes = append(u.Doc.Runtimes, RuntimeUse{Runtime: runtime})
	}
	return &u.Doc.Runtimes[at]
}

// Sessions counts the logs of all stores, a database once.
func (u *Usage) Sessions(ctx context.Context) error {
	all, err := u.App.FindSessions(ctx)
	if err != nil && !workspace.NothingFound(u.App, err) {
		return err
	}
	u.CountSessions(all.Sessions)
	return nil
}

// CountSessions adds logs that were listed.
func (u *Usage) CountSessions(sessions []workspace.Found) {
	counted := map[string]bool{}
	for _, s := range sessions {
		path, size := s.Path, s.Bytes
		if file := s.Adapter.Capabilities().DatabaseFile; s.Kind == session.KindStored && file != nil {
			path = file(s.Ref)
			size = sizeOf(path)
		}
		if counted[path] {
			continue
		}
		counted[path] = true
		of := u.of(s.Runtime)
		if workspace.Shown(s.Kind) || s.Kind == session.KindOutput {
			u.Doc.Live.add(size)
			of.Live.add(size)
		} else {
			u.Doc.Closed.add(size)
			of.Closed.add(size)
		}
	}
}

// Data counts what is in the data directory.
func (u *Usage) Data(ctx context.Context) error {
	root := u.App.DataDir()
	return filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // there is none yet, or it is gone since
		}
		if err != nil {
			u.App.PassOver(workspace.Note{Path: path, Message: err.Error()})
			return nil
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
		inside, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if part := u.partOf(filepath.ToSlash(inside)); part != nil {
			part.add(info.Size())
		}
		return nil
	})
}

// partOf says what a file of the data directory counts for, by its path in it;
// nil for what is counted elsewhere.
func (u *Usage) partOf(inside string) *DiskUse {
	top, _, _ := strings.Cut(inside, "/")
	switch {
	case strings.Contains(inside, "/"+retention.DirName+"/"):
		return nil
	case top == "archive":
		return &u.Doc.Archives
	case top == "memory", top == "memory-forgotten", top == "memory-summaries", top == "memory-stored":
		return &u.Doc.Memory
	case strings.HasPrefix(top, "memory.damaged-"):
		return &u.Doc.SetAside
	}
	return &u.Doc.Records
}

// Archives counts the archives that are elsewhere, and those of each runtime.
func (u *Usage) Archives(ctx context.Context) error {
	entries, err := selection.Archived(ctx, u.App, archive.Filter{Runtime: u.App.Global.Runtime})
	if err != nil {
		return err
	}
	u.CountArchives(entries)
	return nil
}

// CountArchives adds archives of the catalogue.
func (u *Usage) CountArchives(entries []archive.Entry) {
	for _, e := range entries {
		for _, path := range append([]string{e.Path}, e.Superseded...) {
			info, err := os.Lstat(path)
			if err != nil {
				if path == e.Path && workspace.Place(e) != "only" {
					u.App.Notice(workspace.Note{Path: path, Message: "an archive that cannot be looked at: " + err.Error(), Hint: "sessctl archives verify says more"})
				}
				continue
			}
			if !workspace.Below(u.App.DataDir(), path) {
				u.Doc.Archives.add(info.Size())
			}
			u.of(e.Runtime).Archives.add(info.Size())
		}
		u.Doc.Saved.Compressed += e.Bytes - e.StoredBytes
	}
}

// Trash counts what can be brought back.
func (u *Usage) Trash(context.Context) error {
	for _, t := range []retention.Trash{u.App.SessionTrash(), u.App.ArchiveTrash()} {
		items, err := t.List()
		if err != nil {
			return err
		}
		for _, item := range items {
			if info, err := os.Lstat(item.To); err == nil {
				u.Doc.Trash.add(info.Size())
			}
		}
	}
	return nil
}

// Saved adds up what receipts say that compaction has made smaller.
func (u *Usage) Saved(context.Context) error {
	receipts, unreadable, err := u.App.Receipts().Examine()
	if err != nil {
		return err
	}
	for _, bad := range unreadable {
		u.App.Notice(workspace.Note{Path: bad.Path, Message: bad.Err.Error(), Hint: "sessctl doctor says more"})
	}
	u.CountSaved(receipts)
	return nil
}

// CountSaved adds what the compactions of these receipts have saved.
func (u *Usage) CountSaved(receipts []compact.Receipt) {
	undone := compact.UndoneBy(receipts)
	for _, r := range receipts {
		if _, back := undone[r.ID]; back || r.Outcome != compact.Compacted || r.Rotation == nil || !(selection.Scope{Runtime: u.App.Global.Runtime}).Holds(r.Runtime, r.Agent) {
			continue
		}
		s := &u.Doc.Saved
		s.Compactions++
		s.Tokens += max(r.TokensBefore-r.TokensAfter, 0)
		s.LogBytes += ReceiptRow(r, "").Freed
	}
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// Files is a number of files for the table.
func (d *UsageDocument) Files() int {
	return d.Live.Files + d.Closed.Files + d.Archives.Files + d.Memory.Files + d.Trash.Files + d.SetAside.Files + d.Records.Files
}

// ByRuntime says how much of something each runtime has.
func (u *Usage) ByRuntime(size func(RuntimeUse) int64) string {
	var parts []string
	for _, r := range u.Doc.Runtimes {
		if n := size(r); n > 0 {
			parts = append(parts, r.Runtime+" "+wording.Bytes(n))
		}
	}
	return strings.Join(parts, ", ")
}
