package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/archive/objects"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newArchiveVerifyCommand(a *app) *cobra.Command {
	var o verifyOptions
	c := &cobra.Command{
		Use:   "verify [ID]...",
		Short: "Read archives back and check them against their hashes and receipts",
		Long: `Read archives in full and compare length, lines and SHA-256 with what was
recorded when they were made. Compare every receipt with its archive (hash,
length, lines) and with memory: every chunk must exist and cover the same bytes
and characters as when it was stored. Exit code 4 means that something is
damaged or missing; every problem is listed.

Every copy is read in full, because only that finds bytes that have rotted.
--quick only checks that the files exist and have the right length.

--remote asks the object storage of archive.remote for length and checksum of
every copy there. An archive whose file is only there is always checked that way.
Of an encrypted copy the head is opened with the key of archive.identity; without
the key a note says that sessctl cannot tell whether it can be decrypted.`,
		Example: `  sessctl archive verify
  sessctl archive verify --remote
  sessctl archive verify --quick
  sessctl archive verify 3f9a2c`,
		RunE: func(c *cobra.Command, args []string) error {
			if o.Quick && o.ReadData && c.Flags().Changed("read-data") {
				return usageError("one of them", "--read-data does not go with --quick")
			}
			o.IDs = args
			return runArchiveVerify(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

func (o *verifyOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Agent, "agent", "", "only archives of this `agent`")
	fs.BoolVar(&o.ReadData, "read-data", true, "read every copy in full and hash it")
	fs.BoolVar(&o.Quick, "quick", false, "read no copy, the same as --read-data=false")
	fs.BoolVar(&o.Remote, "remote", false, "also ask the object storage for the checksums of the copies there")
}

type verifyOptions struct {
	Agent    string
	IDs      []string
	ReadData bool
	Quick    bool
	Remote   bool

	plan bool // say what would be read
}

func (o verifyOptions) reads() bool { return o.ReadData && !o.Quick }

// verifyDocument is `archive verify --json`.
type verifyDocument struct {
	Schema   int         `json:"schema"`
	DryRun   bool        `json:"dry_run,omitempty"` // nothing was looked at
	ReadData bool        `json:"read_data"`         // false: the copies were only looked at
	Checked  int         `json:"checked"`           // archives
	Bytes    int64       `json:"bytes"`             // of sessions
	Receipts int         `json:"receipts"`
	Problems []problem   `json:"problems"`
	Verified []verifyRow `json:"verified"`
	Notes    []note      `json:"notes"`
}

// ofMemory counts the problems that memory has, which archives can mend.
func (d verifyDocument) ofMemory() (n int) {
	for _, p := range d.Problems {
		if p.ofMemory {
			n++
		}
	}
	return n
}

type verifyRow struct {
	ID     string `json:"id"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	OK     bool   `json:"ok"`
	Remote bool   `json:"remote"` // the copy on object storage was checked by its checksum
}

type problem struct {
	ID      string `json:"id"`
	Path    string `json:"path"`
	Message string `json:"message"`

	ofMemory bool // the archives can mend it
}

func runArchiveVerify(ctx context.Context, a *app, o verifyOptions) error {
	store, err := a.openArchive()
	if err != nil {
		return err
	}
	entries, err := chooseArchives(ctx, store, o.Agent, o.IDs)
	if err == nil && len(entries) == 0 {
		err = a.checkAgent(ctx, nil, o.Agent)
	}
	if err != nil {
		return err
	}
	doc := verifyDocument{Schema: 1, ReadData: o.reads(), Problems: []problem{}, Verified: []verifyRow{}}
	if o.plan {
		return planVerify(a, entries, doc)
	}
	bar := newProgress(a.invocation)
	defer bar.clear()
	v := verifier{archives: store, doc: &doc, remote: o.Remote}
	if v.bucket, err = a.bucket(); err != nil && (o.Remote || a.config.Archive.Remote != "") {
		return err
	}
	if err := v.entries(ctx, entries, bar); err != nil {
		return err
	}
	if len(o.IDs) == 0 && o.Agent == "" {
		if err := addDamaged(ctx, store, &doc); err != nil {
			return err
		}
		bar.draw("verify receipts and memory", 0, 1)
		if err := verifyReceipts(ctx, a.invocation, &doc); err != nil {
			return err
		}
	}
	bar.clear()
	v.noteRemote(a.invocation, entries)
	a.recordCheck(doc, o)
	if err := renderVerify(a, doc); err != nil {
		return err
	}
	return v.outcome(a.invocation)
}

// noteRemote tells which copies on object storage were not looked at, although that
// was asked for. An archive that was not uploaded yet is not damaged.
func (v *verifier) noteRemote(a *invocation, entries []archive.Entry) {
	if v.sealed > 0 {
		a.notice(note{Message: plural(v.sealed, "encrypted archive") + " on object storage: the bytes are those that were uploaded; without the key sessctl cannot say whether they can be decrypted", Hint: "set archive.identity to the file of a key that can read them"})
	}
	if v.remote {
		v.noteNotUploaded(a, entries)
	}
}

func (v *verifier) noteNotUploaded(a *invocation, entries []archive.Entry) {
	without := 0
	for _, e := range entries {
		if e.Remote == nil {
			without++
		}
	}
	const hint = "sessctl archive upload"
	switch {
	case len(entries) == 0:
		a.notice(note{Message: "there is nothing on object storage to verify: there is no archive"})
	case without == len(entries):
		a.notice(note{Message: "there is nothing on object storage to verify: no copy there of " + plural(without, "archive"), Hint: hint})
	case without > 0:
		a.notice(note{Message: fmt.Sprintf("no copy on object storage of %d of %s: nothing was verified there of them", without, plural(len(entries), "archive")), Hint: hint})
	}
}

// outcome is that of the command. What is wrong weighs more than what could not be
// asked.
func (v *verifier) outcome(a *invocation) error {
	var away error
	if v.away != nil {
		away = explainBucket(fmt.Errorf("%s could not be checked on object storage: %w", plural(v.unasked, "archive"), v.away))
	}
	if len(v.doc.Problems) == 0 {
		return away
	}
	if away != nil {
		a.tell(note{Message: away.Error()})
	}
	return &outcomeError{exit: exitIntegrity}
}

// planVerify says what would be checked, of all archives and receipts.
func planVerify(a *app, entries []archive.Entry, doc verifyDocument) error {
	ids, err := a.receipts().IDs()
	if err != nil {
		return err
	}
	doc.DryRun, doc.Checked, doc.Receipts = true, len(entries), len(ids)
	for _, e := range entries {
		doc.Bytes += e.Bytes
	}
	return renderVerify(a, doc)
}

// adviseBackup is what to do about what has no other copy here.
const adviseBackup = "restore damaged archives and receipts from a backup"

func chooseArchives(ctx context.Context, store *archive.Store, agent string, ids []string) ([]archive.Entry, error) {
	if len(ids) == 0 {
		return store.List(ctx, archive.Filter{Agent: agent})
	}
	var entries []archive.Entry
	for _, id := range ids {
		e, err := findArchive(ctx, store, id)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// verifier reads archives back.
type verifier struct {
	archives *archive.Store
	bucket   *objects.Bucket // nil without object storage
	remote   bool            // copies there are checked too
	doc      *verifyDocument
	away     error // why the storage is not asked any more
	unasked  int   // copies there that could not be checked
	sealed   int   // copies there that nobody here has the key of
}

func (v *verifier) entries(ctx context.Context, entries []archive.Entry, bar *progress) error {
	var done, all int64
	for _, e := range entries {
		all += e.StoredBytes
	}
	for _, e := range entries {
		bar.draw("verify "+plural(len(entries), "archive"), done, all)
		done += e.StoredBytes
		row := verifyRow{ID: e.ID, Path: e.Path, SHA256: e.SHA256}
		err := v.entry(ctx, e, &row)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		v.doc.Checked++
		v.doc.Bytes += e.Bytes
		if errors.Is(err, errUnasked) {
			err = nil
		} else {
			row.OK = err == nil
		}
		v.doc.Verified = append(v.doc.Verified, row)
		if err != nil {
			v.doc.Problems = append(v.doc.Problems, problem{ID: e.ID, Path: e.Path, Message: err.Error()})
		}
	}
	return nil
}

// entry checks the file of an archive, and the copy on object storage where that
// is asked for or is all that there is.
func (v *verifier) entry(ctx context.Context, e archive.Entry, row *verifyRow) error {
	only := place(e) == "only" && v.bucket != nil
	var remote error
	if only || v.remote && e.Remote != nil {
		remote = v.copy(ctx, e)
		row.Remote = !errors.Is(remote, errUnasked)
	}
	if only {
		return remote
	}
	err := v.archives.Look(e)
	if err == nil && v.doc.ReadData {
		err = v.archives.Verify(ctx, e)
	}
	if err == nil && v.doc.ReadData {
		err = v.attached(ctx, e)
	}
	if errors.Is(remote, errUnasked) {
		remote = nil // the file here was checked
	}
	return cmp.Or(err, remote)
}

// errUnasked is returned for a copy of which the storage tells nothing.
var errUnasked = errors.New("not checked")

// copy checks a copy on object storage. A storage that does not answer, or
// refuses, is not asked for the others: archives here are verified all the same.
func (v *verifier) copy(ctx context.Context, e archive.Entry) error {
	if v.away == nil {
		err := checkRemote(ctx, v.bucket, e)
		if err == nil {
			err = v.bucket.Opens(ctx, e)
		}
		if errors.Is(err, objects.ErrNoIdentity) {
			v.sealed++
			return nil
		}
		if !ofAll(err) {
			return err
		}
		v.away = err
	}
	v.unasked++
	return errUnasked
}

// addDamaged adds the files of the catalogue that cannot be used.
func addDamaged(ctx context.Context, store *archive.Store, doc *verifyDocument) error {
	damaged, err := store.Damaged(ctx)
	if err != nil {
		return err
	}
	for _, d := range damaged {
		doc.Problems = append(doc.Problems, problem{Path: d.Path, Message: d.Err.Error()})
	}
	return nil
}

func renderVerify(a *app, doc verifyDocument) error {
	doc.Notes = a.notes
	if a.JSON {
		return a.printJSON(doc)
	}
	for _, p := range doc.Problems {
		_, _ = fmt.Fprintf(a.Out, "damaged\t%s\t%s\t%s\n", visible(p.ID), visible(p.Path), visible(p.Message))
	}
	if doc.ofMemory() > 0 {
		a.hint(adviseRebuild)
	}
	if len(doc.Problems) > doc.ofMemory() {
		a.hint(adviseBackup)
	}
	how := map[bool]string{true: "checked", false: "checked without reading the copies"}[doc.ReadData]
	if doc.DryRun {
		how = map[bool]string{true: "would be read and checked", false: "would be checked without reading the copies"}[doc.ReadData]
		_, err := fmt.Fprintf(a.Out, "%s (%s) and %s %s\n", plural(doc.Checked, "archive"), formatBytes(doc.Bytes), plural(doc.Receipts, "receipt"), how)
		return err
	}
	_, err := fmt.Fprintf(a.Out, "%s (%s) and %s %s, %s\n", plural(doc.Checked, "archive"), formatBytes(doc.Bytes), plural(doc.Receipts, "receipt"), how, plural(len(doc.Problems), "problem"))
	return err
}

// verifyReceipts holds every receipt against the catalogue and memory.
func verifyReceipts(ctx context.Context, a *invocation, doc *verifyDocument) error {
	audit, err := a.newReceiptAudit(ctx)
	if err != nil {
		return err
	}
	doc.Receipts, audit.reading = len(audit.receipts), doc.ReadData
	err = audit.run(ctx, a.pins, a.memoryDir())
	for _, f := range audit.found {
		found := f.problem
		found.ofMemory = f.ofMemory
		doc.Problems = append(doc.Problems, found)
	}
	if errors.Is(err, memory.ErrCorrupt) {
		doc.Problems = append(doc.Problems, problem{Path: a.memoryDir(), Message: err.Error(), ofMemory: true})
		return nil
	}
	return err
}
