package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
)

func newUsageCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "usage",
		Short: "Show what sessions, archives, memory and trash take on the disk",
		Long: `Add up what is on the disk: the logs that runtimes go on with, those that they
have closed, archives, memory, what waits in the trash, and the records of what
was done; and what compaction has saved. Nothing is changed, and no log is read.
` + exitHelp,
		Example: `  sessctl usage
  sessctl usage --runtime openclaw
  sessctl usage --json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return runUsage(c.Context(), a) },
	}
}

// usageDocument is `usage --json` (docs/json.md). Sizes are in bytes.
type usageDocument struct {
	Schema   int           `json:"schema"`
	Live     diskUse       `json:"live"`      // logs that their runtime may go on with
	Closed   diskUse       `json:"closed"`    // logs that it has closed or copied, and that were put aside
	Archives diskUse       `json:"archives"`  // wherever they are
	Memory   diskUse       `json:"memory"`    // with what was forgotten and the summaries
	Trash    diskUse       `json:"trash"`     // what clean and archive prune deleted and can be brought back
	SetAside diskUse       `json:"set_aside"` // damaged memories that were replaced
	Records  diskUse       `json:"records"`   // catalogue, receipts, journal, audit log
	Runtimes []runtimeUse  `json:"runtimes"`  // by name
	Ours     int64         `json:"bytes"`     // all but the logs
	Saved    savedDocument `json:"saved"`
	Notes    []note        `json:"notes"`
}

// diskUse is how many files there are, and their size.
type diskUse struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

func (u *diskUse) add(size int64) {
	u.Files++
	u.Bytes += size
}

// runtimeUse is the part of one runtime.
type runtimeUse struct {
	Runtime  string  `json:"runtime"`
	Live     diskUse `json:"live"`
	Closed   diskUse `json:"closed"`
	Archives diskUse `json:"archives"`
}

// savedDocument says what compaction has saved; what was undone does not count.
type savedDocument struct {
	Compactions int   `json:"compactions"`
	Tokens      int64 `json:"tokens"`        // out of contexts
	LogBytes    int64 `json:"log_bytes"`     // out of logs
	Compressed  int64 `json:"archive_bytes"` // by which archives are smaller than what they are copies of
}

func runUsage(ctx context.Context, a *app) error {
	u := &usage{app: a.invocation, doc: usageDocument{Schema: 1, Runtimes: []runtimeUse{}}}
	for _, count := range []func(context.Context) error{u.sessions, u.data, u.archives, u.trash, u.saved} {
		if err := count(ctx); err != nil {
			return err
		}
	}
	d := &u.doc
	d.Ours = d.Archives.Bytes + d.Memory.Bytes + d.Trash.Bytes + d.SetAside.Bytes + d.Records.Bytes
	slices.SortFunc(d.Runtimes, func(x, y runtimeUse) int { return strings.Compare(x.Runtime, y.Runtime) })
	return a.renderUsage(u)
}

// usage adds up what is on the disk.
type usage struct {
	app *invocation
	doc usageDocument
}

// of is the part of a runtime.
func (u *usage) of(runtime string) *runtimeUse {
	at := slices.IndexFunc(u.doc.Runtimes, func(r runtimeUse) bool { return r.Runtime == runtime })
	if at < 0 {
		at = len(u.doc.Runtimes)
		u.doc.Runtimes = append(u.doc.Runtimes, runtimeUse{Runtime: runtime})
	}
	return &u.doc.Runtimes[at]
}

// sessions counts the logs of all stores, a database once.
func (u *usage) sessions(ctx context.Context) error {
	all, err := u.app.findSessions(ctx)
	if f := (*failure)(nil); err != nil && !(errors.As(err, &f) && f.code == "no_store" && len(u.app.global.Stores) == 0) {
		return err
	}
	u.countSessions(all.sessions)
	return nil
}

// countSessions adds logs that were listed.
func (u *usage) countSessions(sessions []found) {
	counted := map[string]bool{}
	for _, s := range sessions {
		path, size := s.Path, s.Bytes
		if file := s.store.Capabilities().DatabaseFile; s.Kind == session.KindStored && file != nil {
			path = file(s.Ref)
			size = sizeOf(path)
		}
		if counted[path] {
			continue
		}
		counted[path] = true
		of := u.of(s.Runtime)
		if shown(s.Kind) || s.Kind == session.KindOutput {
			u.doc.Live.add(size)
			of.Live.add(size)
		} else {
			u.doc.Closed.add(size)
			of.Closed.add(size)
		}
	}
}

// data counts what is in the data directory.
func (u *usage) data(ctx context.Context) error {
	root := u.app.dataDir()
	return filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // there is none yet, or it is gone since
		}
		if err != nil {
			u.app.passOver(note{Path: path, Message: err.Error()})
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
func (u *usage) partOf(inside string) *diskUse {
	top, _, _ := strings.Cut(inside, "/")
	switch {
	case strings.Contains(inside, "/"+retention.DirName+"/"):
		return nil
	case top == "archive":
		return &u.doc.Archives
	case top == "memory", top == "memory-forgotten", top == "memory-summaries", top == "memory-stored":
		return &u.doc.Memory
	case strings.HasPrefix(top, "memory.damaged-"):
		return &u.doc.SetAside
	}
	return &u.doc.Records
}

// archives counts the archives that are elsewhere, and those of each runtime.
func (u *usage) archives(ctx context.Context) error {
	entries, err := u.app.archived(ctx, archive.Filter{Runtime: u.app.global.Runtime})
	if err != nil {
		return err
	}
	u.countArchives(entries)
	return nil
}

// countArchives adds archives of the catalogue.
func (u *usage) countArchives(entries []archive.Entry) {
	for _, e := range entries {
		for _, path := range append([]string{e.Path}, e.Superseded...) {
			info, err := os.Lstat(path)
			if err != nil {
				if path == e.Path && place(e) != "only" {
					u.app.notice(note{Path: path, Message: "an archive that cannot be looked at: " + err.Error(), Hint: "sessctl archive verify says more"})
				}
				continue
			}
			if !below(u.app.dataDir(), path) {
				u.doc.Archives.add(info.Size())
			}
			u.of(e.Runtime).Archives.add(info.Size())
		}
		u.doc.Saved.Compressed += e.Bytes - e.StoredBytes
	}
}

// trash counts what can be brought back.
func (u *usage) trash(context.Context) error {
	for _, t := range []retention.Trash{u.app.sessionTrash(), u.app.archiveTrash()} {
		items, err := t.List()
		if err != nil {
			return err
		}
		for _, item := range items {
			if info, err := os.Lstat(item.To); err == nil {
				u.doc.Trash.add(info.Size())
			}
		}
	}
	return nil
}

// saved adds up what receipts say that compaction has made smaller.
func (u *usage) saved(context.Context) error {
	receipts, unreadable, err := u.app.receipts().Examine()
	if err != nil {
		return err
	}
	for _, bad := range unreadable {
		u.app.notice(note{Path: bad.Path, Message: bad.Err.Error(), Hint: "sessctl doctor says more"})
	}
	u.countSaved(receipts)
	return nil
}

// countSaved adds what the compactions of these receipts have saved.
func (u *usage) countSaved(receipts []compact.Receipt) {
	undone := compact.UndoneBy(receipts)
	for _, r := range receipts {
		if _, back := undone[r.ID]; back || r.Outcome != compact.Compacted || r.Rotation == nil || !(scope{runtime: u.app.global.Runtime}).holds(r.Runtime, r.Agent) {
			continue
		}
		s := &u.doc.Saved
		s.Compactions++
		s.Tokens += max(r.TokensBefore-r.TokensAfter, 0)
		s.LogBytes += receiptRow(r, "").Freed
	}
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func (a *app) renderUsage(u *usage) error {
	d := &u.doc
	d.Notes = a.notes
	if a.JSON {
		return a.printJSON(d)
	}
	t := table{columns: []column{{name: "WHAT"}, {name: "FILES", right: true, drop: 2}, {name: "SIZE", right: true}, {name: "", least: 12, drop: 1}}}
	var rows [][]string
	for _, part := range []struct {
		what string
		use  diskUse
		more string
	}{
		{"live logs", d.Live, u.byRuntime(func(r runtimeUse) int64 { return r.Live.Bytes })},
		{"closed logs", d.Closed, u.byRuntime(func(r runtimeUse) int64 { return r.Closed.Bytes })},
		{"archives", d.Archives, u.byRuntime(func(r runtimeUse) int64 { return r.Archives.Bytes })},
		{"memory", d.Memory, ""},
		{"trash", d.Trash, ""},
		{"set aside", d.SetAside, ""},
		{"records", d.Records, ""},
		{"total", diskUse{d.files(), d.Ours + d.Live.Bytes + d.Closed.Bytes}, formatBytes(d.Ours) + " without the logs"},
	} {
		rows = append(rows, []string{part.what, strconv.Itoa(part.use.Files), strconv.FormatInt(part.use.Bytes, 10), part.more})
		t.rows = append(t.rows, []string{part.what, formatCount(int64(part.use.Files)), formatBytes(part.use.Bytes), part.more})
	}
	t.footer = fmt.Sprintf("saved: %s tokens and %s of logs by %s, %s by compressing archives",
		formatCount(d.Saved.Tokens), formatBytes(d.Saved.LogBytes), plural(d.Saved.Compactions, "compaction"), formatBytes(d.Saved.Compressed))
	return a.printList(t, append(rows, []string{t.footer}))
}

func (d *usageDocument) files() int {
	return d.Live.Files + d.Closed.Files + d.Archives.Files + d.Memory.Files + d.Trash.Files + d.SetAside.Files + d.Records.Files
}

// byRuntime says how much of something each runtime has.
func (u *usage) byRuntime(size func(runtimeUse) int64) string {
	var parts []string
	for _, r := range u.doc.Runtimes {
		if n := size(r); n > 0 {
			parts = append(parts, r.Runtime+" "+formatBytes(n))
		}
	}
	return strings.Join(parts, ", ")
}
