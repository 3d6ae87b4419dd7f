package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

type restoreOptions struct {
	To     string
	Force  bool
	DryRun bool
	Quiet  time.Duration
}

func newArchiveRestoreCommand(a *app) *cobra.Command {
	var o restoreOptions
	c := &cobra.Command{
		Use:   "restore ID",
		Short: "Put an archived log back where it came from",
		Long: `Put an archived log back, byte for byte, where it came from, or into a file of
your choice. ID is an archive's id, the start of one, or a session id that has
one archive. The bytes are checked against their hash while they are copied and
read back afterwards.

A log with other bytes is not overwritten. With --force it is archived first,
and the two change places in one step; if somebody may be writing it, the exit
code is 75 and nothing is changed. Memory is not changed. The restored file has
the time of the restore, so that no runtime takes it for an old one.
` + exitHelp,
		Example: `  sessctl archive restore 3f9a2c --dry-run
  sessctl archive restore 3f9a2c
  sessctl archive restore 3f9a2c --to /tmp/session.jsonl`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return runRestore(c.Context(), a, args[0], o) },
	}
	c.Flags().StringVar(&o.To, "to", "", "put it into this `file` instead")
	c.Flags().BoolVar(&o.Force, "force", false, "archive other bytes that are there, and put these in their place")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "print what would be done and change nothing")
	c.Flags().DurationVar(&o.Quiet, "quiet-period", 0, "replace no log that changed within this `duration` (default 1m)")
	fromConfig(c.Flags(), "quiet-period", "compaction.quiet_period")
	return c
}

// restoreDocument is `archive restore --json`.
type restoreDocument struct {
	Schema   int          `json:"schema"`
	DryRun   bool         `json:"dry_run"`
	Outcome  string       `json:"outcome"` // restored, planned, nothing-to-do
	Reason   string       `json:"reason"`
	Archive  archiveRow   `json:"archive"`
	Path     string       `json:"path"`
	SHA256   string       `json:"sha256"`
	Bytes    int64        `json:"bytes"`
	Orphan   bool         `json:"orphan"` // the runtime's index does not name the log
	Replaced *replacedLog `json:"replaced"`
	Notes    []note       `json:"notes"`
}

// replacedLog is the log that was at the place before.
type replacedLog struct {
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
	Archive string `json:"archive"` // id of its copy; "" in a dry run
	Kept    string `json:"kept"`    // where it lies now; "" in a dry run
}

func runRestore(ctx context.Context, a *app, id string, o restoreOptions) error {
	archives, err := a.openArchive()
	if err != nil {
		return err
	}
	entry, err := findArchive(ctx, archives, id)
	if err != nil {
		return err
	}
	h, err := a.restoreHouse(ctx, entry, o)
	if err != nil {
		return err
	}
	defer h.close()
	request, err := a.restoreRequest(ctx, entry, o)
	if err != nil {
		return err
	}
	plan, err := h.compactor.PlanRestore(ctx, request)
	if err != nil {
		return restoreFailure(err)
	}
	doc := newRestoreDocument(entry, plan)
	doc.DryRun = o.DryRun
	if !o.DryRun {
		result, err := h.compactor.Restore(ctx, plan)
		if err != nil {
			return err
		}
		doc.done(result)
	}
	return a.renderRestore(ctx, doc, plan, entry)
}

// restoreHouse takes the lock and settles; a dry run does neither.
func (a *app) restoreHouse(ctx context.Context, entry archive.Entry, o restoreOptions) (*house, error) {
	if o.DryRun {
		h := &house{progress: newProgress(a)}
		var err error
		h.compactor, err = a.newCompactor(h, "")
		return h, err
	}
	h, err := a.openVault(ctx, "restore")
	if err != nil {
		return nil, err
	}
	around := []found{{Ref: session.Ref{Runtime: entry.Runtime, Agent: entry.Agent, ID: entry.Session, Path: entry.Source}}}
	if _, err := h.settleVault(ctx, a, around, compact.Policy{Quiet: o.Quiet}); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// restoreRequest finds the place: in a store that is found or named, or with
// --to anywhere.
func (a *app) restoreRequest(ctx context.Context, entry archive.Entry, o restoreOptions) (compact.RestoreRequest, error) {
	r := compact.RestoreRequest{
		Archive: compact.Archived{ID: entry.ID, Path: entry.Path, SHA256: entry.SHA256, Bytes: entry.Bytes},
		ModTime: entry.SourceModTime, Force: o.Force, Quiet: o.Quiet,
	}
	stores, err := a.openStores()
	if err != nil {
		return r, err
	}
	path := entry.Source
	if o.To != "" {
		path = absolute(o.To)
	} else {
		stores = slices.DeleteFunc(stores, func(s session.Store) bool { return s.Runtime() != entry.Runtime })
	}
	for _, s := range stores {
		restorer, ok := s.(session.Restorer)
		if !ok {
			continue // of a runtime whose logs are put back by hand, with --to
		}
		r.Place, err = restorer.Place(ctx, path, a.now())
		if errors.Is(err, session.ErrElsewhere) {
			continue
		}
		r.Store = restorer
		return r, placeFailure(err, path, entry)
	}
	if o.To == "" {
		return r, elsewhere(entry)
	}
	r.Place, err = a.placeAnywhere(entry, path)
	return r, err
}

// placeFailure adds what a person can do where no log can be put.
func placeFailure(err error, path string, entry archive.Entry) error {
	if !errors.Is(err, session.ErrUnsupported) {
		return err
	}
	return &failure{
		code: "unsupported", exit: exitFailed, path: path, err: err,
		hint: "sessctl archive restore " + entry.ID + " --to FILE puts the log into a file elsewhere",
	}
}

func elsewhere(entry archive.Entry) error {
	return &failure{
		code: "no_store", exit: exitFailed, path: entry.Source,
		hint: "name the store with --store " + entry.Runtime + "=path, or a file with --to",
		err:  fmt.Errorf("the session came from %s, which is in no store that was found and into which a log can be put", entry.Source),
	}
}

// placeAnywhere is a file outside of every store.
func (a *app) placeAnywhere(entry archive.Entry, path string) (session.Place, error) {
	stamp := a.now().UTC()
	name := func(t time.Time) string { return path + ".replaced." + t.Format("2006-01-02T15-04-05.000Z") }
	p := session.Place{Path: path, Aside: name(stamp), Spare: name(stamp.Add(time.Second)), Ref: session.Ref{
		Runtime: entry.Runtime, Agent: entry.Agent, ID: entry.Session, Path: path, Kind: session.KindOrphan,
	}}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return p, nil
	case err != nil:
		return p, fmt.Errorf("look at %s: %w", path, err)
	case info.IsDir():
		return p, usageError("name a file: "+filepath.Join(path, filepath.Base(entry.Source)), "--to: %s is a directory", path)
	}
	p.There, p.Like = true, info
	return p, nil
}

// restoreFailure adds what a person can do about other bytes.
func restoreFailure(err error) error {
	var different *compact.DifferentError
	if !errors.As(err, &different) {
		return err
	}
	if different.Owned {
		return &failure{
			code: "different", exit: exitFailed, path: different.Path, err: err,
			hint: "only the runtime itself changes its logs: --to FILE puts the archived one elsewhere",
		}
	}
	return &failure{
		code: "different", exit: exitFailed, path: different.Path, err: err,
		hint: "--force archives what is there and puts the archived log in its place; --to FILE puts it elsewhere",
	}
}
