package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
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

A session of OpenCode, Kilo or Hermes goes back into its database row by row,
with its journal and the sessions of its sub-agents; the program must not run.
Rows that were archived from several databases or homes go back into each of
them that lacks them; --store chooses one.

A session that was archived in another home, for example on another host, goes
into the store that --store names, to the place that it had in the earlier one.
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
	Files    int          `json:"files,omitempty"`    // that the log names and that were put back with it; in a dry run all that it names
	FilesIn  string       `json:"files_in,omitempty"` // the directory that they are put into, with --to
	Notes    []note       `json:"notes"`

	// Also are the further databases that the same rows came from.
	Also []alsoRestored `json:"also,omitempty"`
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
	if o.To == "" {
		if err := refusePrompts(entry); err != nil {
			return err
		}
		into, err := a.depositsOf(entry)
		if err != nil {
			return err
		}
		if len(into) > 0 {
			return a.runDeposit(ctx, archives, entry, o, into)
		}
	}
	into, err := a.restorePath(ctx, entry)
	if err != nil {
		return err
	}
	log := session.Ref{Runtime: entry.Runtime, Agent: entry.Agent, ID: entry.Session, Path: into}
	w, err := a.openWorkspace(ctx, mode{
		dryRun: o.DryRun, reason: "restore", recover: a.recoveryOf(log, o.Quiet),
	})
	if err != nil {
		return err
	}
	defer w.close()
	request, err := a.restoreRequest(ctx, entry, compact.Destination{Log: log, To: o.To}, o)
	if err != nil {
		return err
	}
	plan, err := w.compactor.PlanRestore(ctx, request)
	if err != nil {
		return restoreFailure(err)
	}
	doc := newRestoreDocument(entry, plan)
	doc.DryRun = o.DryRun
	if doc.Files, err = a.attachedOf(ctx, w, entry, request, o); err != nil {
		return err
	}
	if _, dir := attachments(request); doc.Files > 0 && o.To != "" {
		doc.FilesIn = dir
	}
	if !o.DryRun {
		if err := a.restore(ctx, w, plan, &doc); err != nil {
			return err
		}
	}
	return a.renderRestore(ctx, doc, plan, entry)
}

// restore does what was planned, and notes in doc what was seen afterwards.
func (a *invocation) restore(ctx context.Context, w *workspace, plan *compact.RestorePlan, doc *restoreDocument) error {
	result, err := w.compactor.Restore(ctx, plan)
	if err != nil {
		return err
	}
	doc.done(result)
	if result.Outcome != compact.Restored {
		return nil
	}
	return a.noteRestored(plan)
}

// attachedOf puts the files that the log names where they belong, and returns how
// many; in a dry run, to a place of the user's choice, how many it would be.
func (a *invocation) attachedOf(ctx context.Context, w *workspace, entry archive.Entry, request compact.RestoreRequest, o restoreOptions) (int, error) {
	if !o.DryRun {
		return a.restoreAttached(ctx, w, entry, request)
	}
	hashes, err := attachedTo(ctx, w.archives, entry)
	return len(hashes), err
}

// noteRestored adds to the audit log that an archived log was put somewhere.
func (a *invocation) noteRestored(p *compact.RestorePlan) error {
	return a.audit().Append(retention.Line{
		Time: a.now().UTC(), Action: retention.ActionRestore, Kind: "session", Path: p.Place.Path,
		SHA256: p.Archive.SHA256, Bytes: p.Archive.Bytes, Archive: p.Archive.ID, Rule: "archive restore",
	})
}

// restoreRequest finds the place: in a store that is found or named, or with
// --to anywhere.
func (a *invocation) restoreRequest(ctx context.Context, entry archive.Entry, d compact.Destination, o restoreOptions) (compact.RestoreRequest, error) {
	r := compact.RestoreRequest{
		Archive: archivedOf(entry),
		ModTime: entry.SourceModTime, Force: o.Force, Quiet: o.Quiet,
	}
	stores, err := a.openStores()
	if err != nil {
		return r, err
	}
	if d.To != "" {
		d.To = absolute(d.To)
		if err := a.refuseOwn(ctx, d.To, "--to"); err != nil {
			return r, err
		}
	}
	r.Place, r.Store, err = compact.FindPlace(ctx, stores, d, a.now())
	return r, a.placeFailure(err, d, entry)
}

// placeFailure adds what a person can do where no log can be put.
func (a *invocation) placeFailure(err error, d compact.Destination, entry archive.Entry) error {
	switch {
	case errors.Is(err, session.ErrUnsupported):
		return &failure{
			code: "unsupported", exit: exitFailed, path: cmp.Or(d.To, entry.Source), err: err,
			hint: "sessctl archive restore " + entry.ID + " --to FILE puts the log into a file elsewhere",
		}
	case errors.Is(err, session.ErrElsewhere):
		return &failure{
			code: "no_store", exit: exitFailed, path: entry.Source,
			hint: a.elsewhereHint(entry),
			err:  fmt.Errorf("the session came from %s, which is in no store that was found and into which a log can be put", entry.Source),
		}
	case errors.Is(err, compact.ErrDirectory):
		return usageError("name a file: "+filepath.Join(d.To, filepath.Base(entry.Source)), "--to: %w", err)
	}
	return err
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

func newRestoreDocument(entry archive.Entry, p *compact.RestorePlan) restoreDocument {
	doc := restoreDocument{
		Schema: 1, Outcome: string(p.Outcome), Reason: p.Reason, Archive: newArchiveRow(entry), Path: p.Place.Path,
		SHA256: entry.SHA256, Bytes: entry.Bytes, Orphan: p.Place.Orphan,
	}
	if p.There != nil {
		doc.Replaced = &replacedLog{Bytes: p.There.Size, SHA256: p.There.SHA256}
	}
	return doc
}

// done notes what came of the plan.
func (d *restoreDocument) done(r compact.RestoreResult) {
	d.Outcome = string(r.Outcome)
	if r.Replaced != nil && d.Replaced != nil {
		d.Replaced.Archive, d.Replaced.Kept = r.Replaced.ID, r.Kept
	}
}

// renderRestore prints what was done, and what the runtime will make of it.
func (a *app) renderRestore(ctx context.Context, doc restoreDocument, p *compact.RestorePlan, entry archive.Entry) error {
	if p.Place.Note != "" {
		hint := ""
		if session.CapabilitiesOf(p.Store).Undoer != nil {
			var err error
			if hint, err = a.undoHint(ctx, entry); err != nil {
				return err
			}
		}
		a.notice(note{Path: p.Place.Path, Message: p.Place.Note, Hint: hint})
	}
	doc.Notes = a.notes
	if a.JSON {
		return a.printJSON(doc)
	}
	_, err := fmt.Fprint(a.Out, describeRestore(doc))
	return err
}

// undoHint names the receipt that would let the runtime continue the session
// again, if it was a compaction that took it away.
func (a *invocation) undoHint(ctx context.Context, entry archive.Entry) (string, error) {
	receipts, _, err := a.receipts().Examine() // doctor and verify tell of those that cannot be read
	if err != nil || ctx.Err() != nil {
		return "", err
	}
	for i := len(receipts) - 1; i >= 0; i-- {
		r := receipts[i]
		if r.Outcome == compact.Compacted && r.Archive != nil && r.Archive.ID == entry.ID {
			return "sessctl compact --undo " + r.ID + " also makes the runtime continue it", nil
		}
	}
	return "", nil
}

// outcomeLine says what became of one place.
func outcomeLine(outcome, path, reason string) string {
	what := map[string]string{"restored": "restored", "planned": "would restore", "nothing-to-do": "nothing to do", "failed": "not restored"}[outcome]
	if reason != "" {
		reason = " (" + visible(reason) + ")"
	}
	return what + ": " + visible(path) + reason
}

// describeRestore is the document for people.
func describeRestore(d restoreDocument) string {
	text := outcomeLine(d.Outcome, d.Path, d.Reason)
	text += fmt.Sprintf("\n  from      archive %s, %s, sha256 %s\n", d.Archive.ID, formatBytes(d.Bytes), d.SHA256)
	if d.Files > 0 {
		text += fmt.Sprintf("  with      %s that it names", plural(d.Files, "file"))
		if d.FilesIn != "" {
			text += ", in " + visible(d.FilesIn)
		}
		text += "\n"
	}
	if d.Replaced == nil {
		return text
	}
	switch {
	case d.Replaced.Archive == "" && d.Replaced.Bytes == 0:
		return text + map[bool]string{true: "  replaces  an empty log\n", false: "  replaced  an empty log\n"}[d.DryRun]
	case d.Replaced.Archive == "":
		return text + fmt.Sprintf("  replaces  %s, which would be archived first\n", formatBytes(d.Replaced.Bytes))
	}
	return text + fmt.Sprintf("  replaced  %s, archived as %s, now at %s\n", formatBytes(d.Replaced.Bytes), d.Replaced.Archive, visible(d.Replaced.Kept))
}
