package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/ledger"
)

// AdoptDocument is `archives adopt --json`.
type AdoptDocument struct {
	Schema  int              `json:"schema"`
	DryRun  bool             `json:"dry_run"`
	Adopted []AdoptedRow     `json:"adopted"`
	Missing []AdoptedRow     `json:"missing"` // no file that has their bytes was found
	Notes   []workspace.Note `json:"notes"`
}

// AdoptedRow is an archive whose entry was lost.
type AdoptedRow struct {
	ID      string `json:"id"`
	Runtime string `json:"runtime"`
	Agent   string `json:"agent"`
	Session string `json:"session"`
	Path    string `json:"path"`
	SHA256  string `json:"sha256"`
	Bytes   int64  `json:"bytes"`
}

// Adopt enters the archives again that the ledger or a receipt names, whose entry is
// lost and whose file is still there. The caller holds the lock, unless it is a dry run.
func Adopt(ctx context.Context, run *workspace.Run, store *archive.Store, dryRun bool) (AdoptDocument, error) {
	doc := AdoptDocument{Schema: 1, DryRun: dryRun, Adopted: []AdoptedRow{}, Missing: []AdoptedRow{}}
	lost, err := lostArchives(ctx, run, store)
	if err != nil {
		return doc, err
	}
	for _, l := range lost {
		row := AdoptedRow{ID: archive.ID(l.Meta, l.SHA256), Runtime: l.Runtime, Agent: l.Agent, Session: l.Session, SHA256: l.SHA256, Bytes: l.Bytes}
		if dryRun {
			doc.Missing = append(doc.Missing, row)
			continue
		}
		e, err := archive.Reenter(ctx, store, l)
		switch {
		case errors.Is(err, archive.ErrMissing):
			doc.Missing = append(doc.Missing, row)
		case err != nil:
			return doc, fmt.Errorf("enter archive %s again: %w", row.ID, err)
		default:
			row.Path = e.Path
			doc.Adopted = append(doc.Adopted, row)
		}
	}
	return doc, nil
}

// lostArchives are those that the ledger says are there, and that the catalogue does not
// have.
func lostArchives(ctx context.Context, run *workspace.Run, store *archive.Store) (lost []archive.Lost, err error) {
	known, err := workspace.LedgerOf(run).State(ctx)
	if err != nil {
		return nil, err
	}
	entries, _, err := store.Examine(ctx, archive.Filter{})
	if err != nil {
		return nil, err
	}
	superseded, err := store.Superseded(ctx)
	if err != nil {
		return nil, err
	}
	receipts, _, err := run.Receipts().Examine()
	if err != nil {
		return nil, err
	}
	for _, e := range append(slices.Clone(entries), superseded...) {
		delete(known.Archives, e.ID)
	}
	if len(known.Archives) == 0 {
		return nil, nil
	}
	beside := besideLogs(ctx, run)
	for _, id := range slices.Sorted(maps.Keys(known.Archives)) {
		f := known.Archives[id]
		l := archive.Lost{Meta: archive.Meta{Runtime: f.Runtime, Agent: f.Agent, Session: f.Session, Reason: "adopt"}, SHA256: f.SHA256, Bytes: f.Bytes}
		if f.Kind == ledger.Returned { // its leaf knows the file only
			continue
		}
		l.Dirs = placesOf(&l.Meta, id, entries, receipts)
		for _, dir := range beside[l.Runtime] {
			l.Dirs = append(l.Dirs, filepath.Join(dir, l.Agent))
		}
		lost = append(lost, l)
	}
	return lost, nil
}

// besideLogs are the directories in which archives of what the stores have now would be,
// by runtime: where neither entries nor receipts are left, nothing else says it.
func besideLogs(ctx context.Context, run *workspace.Run) map[string][]string {
	dirs := map[string][]string{}
	all, _, _ := run.ListStores(ctx) // a store that cannot be read says nothing, and who lists sessions tells of it
	for _, s := range all.Sessions {
		if dir := run.ArchiveDir(workspace.ArchiveMeta(s.Ref)); !slices.Contains(dirs[s.Runtime], dir) {
			dirs[s.Runtime] = append(dirs[s.Runtime], dir)
		}
	}
	return dirs
}

// placesOf are the directories in which the file of an archive may be: where a receipt
// says, and where others of its agent are. What the receipt knows of its session is
// noted.
func placesOf(m *archive.Meta, id string, entries []archive.Entry, receipts []compact.Receipt) (dirs []string) {
	add := func(path string) {
		if dir := filepath.Dir(path); path != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, r := range receipts {
		if r.Archive == nil || r.Archive.ID != id && (r.Runtime != m.Runtime || r.Agent != m.Agent) {
			continue
		}
		add(r.Archive.Path)
		if r.Archive.ID == id {
			m.Source, m.Key, m.Reason = r.Path, r.Key, "compact"
		}
	}
	for _, e := range entries {
		if e.Runtime == m.Runtime && e.Agent == m.Agent {
			add(e.Path)
		}
	}
	return dirs
}

// DescribeAdopted says what was entered again.
func DescribeAdopted(doc AdoptDocument) string {
	var b strings.Builder
	for _, r := range doc.Adopted {
		fmt.Fprintf(&b, "adopted\t%s\t%s\n", r.ID, wording.Visible(r.Path))
	}
	for _, r := range doc.Missing {
		what := map[bool]string{true: "lost", false: "missing"}[doc.DryRun]
		fmt.Fprintf(&b, "%s\t%s\t%s of %s\n", what, r.ID, wording.Visible(r.Session), wording.Visible(r.Agent))
	}
	if doc.DryRun {
		fmt.Fprintf(&b, "%s without an entry; their files would be looked for\n", wording.Plural(len(doc.Missing), "archive"))
		return b.String()
	}
	fmt.Fprintf(&b, "%s adopted, %d missing\n", wording.Plural(len(doc.Adopted), "archive"), len(doc.Missing))
	return b.String()
}
