package cmd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/archive/objects"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type uploadOptions struct {
	Agent  string
	IDs    []string
	DryRun bool
}

func (o *uploadOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Agent, "agent", "", "only archives of this `agent`")
	fs.BoolVar(&o.DryRun, "dry-run", false, "show what would be uploaded and change nothing")
}

func newArchiveUploadCommand(a *app) *cobra.Command {
	var o uploadOptions
	c := &cobra.Command{
		Use:   "upload [ID]...",
		Short: "Copy archives to object storage and read their checksums back",
		Long: `Copy archives that have no copy there yet to the object storage of
archive.remote, s3://bucket/prefix. An archive is called off-site when the
storage has given the checksum of the copy back. Nothing there is ever replaced
or deleted, and nothing here.

The keys are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or those of
~/.aws/credentials. An upload that was interrupted is taken up by the next one.
Of an archive that is named by its ID the copy is looked at again, and made again
if it is gone.
` + exitHelp,
		Example: `  sessctl archive upload --dry-run
  sessctl archive upload
  sessctl archive upload 3f9a2c`,
		RunE: func(c *cobra.Command, args []string) error {
			o.IDs = args
			return runArchiveUpload(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

// uploadDocument is `archive upload --json`, and with Pulled rows `archive pull`.
type uploadDocument struct {
	Schema   int         `json:"schema"`
	DryRun   bool        `json:"dry_run"`
	Remote   string      `json:"remote"`   // s3://bucket/prefix
	OffSite  int         `json:"off_site"` // archives that were there before
	Bytes    int64       `json:"bytes"`    // of the copies that were made
	Archives []uploadRow `json:"archives"`
	Notes    []note      `json:"notes"`
}

// uploadRow is one archive.
type uploadRow struct {
	ID          string `json:"id"`
	Runtime     string `json:"runtime"`
	Agent       string `json:"agent"`
	Session     string `json:"session"`
	URL         string `json:"url"` // of the copy, "" without one
	Bytes       int64  `json:"bytes"`
	Encrypted   bool   `json:"encrypted"`
	RetainUntil string `json:"retain_until"` // RFC 3339, "" for not at all
	Outcome     string `json:"outcome"`      // off-site, found, planned, failed
	Reason      string `json:"reason"`
}

// Outcomes of an upload.
const (
	outcomeOffSite = "off-site"
	outcomeFound   = "found" // by archive pull
	outcomePlanned = "planned"
	outcomeFailed  = "failed"
)

func newUploadRow(e archive.Entry, outcome string) uploadRow {
	row := uploadRow{ID: e.ID, Runtime: e.Runtime, Agent: e.Agent, Session: e.Session, Bytes: e.StoredBytes, Outcome: outcome}
	if r := e.Remote; r != nil {
		row.URL, row.Bytes, row.Encrypted = r.URL, r.Bytes, r.Encrypted
		row.RetainUntil = retained(*r)
	}
	return row
}

// retained is until when the storage keeps a copy, "" for not at all.
func retained(r archive.Remote) string {
	if r.RetainUntil.IsZero() {
		return ""
	}
	return r.RetainUntil.UTC().Format(time.RFC3339)
}

func runArchiveUpload(ctx context.Context, a *app, o uploadOptions) error {
	bucket, err := a.bucket()
	if err != nil {
		return err
	}
	w, err := a.openOffsite(ctx, o.DryRun)
	if err != nil {
		return err
	}
	defer w.close()
	entries, err := chooseArchives(ctx, w.archives, o.Agent, o.IDs)
	if err == nil && len(entries) == 0 {
		err = a.checkAgent(ctx, nil, o.Agent)
	}
	if err != nil {
		return err
	}
	doc := uploadDocument{Schema: 1, DryRun: o.DryRun, Remote: bucket.URL(), Archives: []uploadRow{}}
	if len(o.IDs) == 0 { // of one that is named the copy is looked at again
		doc.OffSite, entries = splitOffSite(bucket, entries)
	}
	u := uploader{invocation: a.invocation, bucket: bucket, archives: w.archives, doc: &doc}
	err = u.all(ctx, w.progress, entries)
	w.progress.clear()
	if err != nil {
		return errors.Join(printUpload(a, doc), doc.partly(err)) // what is done is told
	}
	if len(doc.Archives) == 0 {
		a.notice(note{Message: fmt.Sprintf("nothing to upload: %s off-site in %s", plural(doc.OffSite, "archive"), doc.Remote)})
	}
	return renderUpload(a, doc)
}

// openOffsite opens the workspace of a command that changes what the catalogue says
// of copies on object storage, and removes what a killed upload has encrypted.
func (a *invocation) openOffsite(ctx context.Context, dryRun bool) (*workspace, error) {
	w, err := a.openWorkspace(ctx, mode{dryRun: dryRun, reason: "upload", recover: &recovery{policy: a.recoveryPolicy(), optional: true}})
	if err != nil || dryRun {
		return w, err
	}
	names, _ := a.pins.ReadDir(a.outgoingDir()) // usually there is none
	for _, name := range names {
		if id, noted := objects.Noted(name.Name()); noted {
			if e, err := w.archives.Get(ctx, id); err == nil && e.Remote == nil {
				continue // it says what was sent before the run was killed
			}
		}
		if err := a.pins.RemoveFile(filepath.Join(a.outgoingDir(), name.Name())); err != nil {
			w.close()
			return nil, err
		}
	}
	return w, nil
}

// outgoingDir is where copies are encrypted before they are uploaded.
func (a *settings) outgoingDir() string { return filepath.Join(a.dataDir(), "outgoing") }

// partly is an error that ended an upload, with the exit code of one that has done
// something.
func (d uploadDocument) partly(err error) error {
	var f *failure
	if len(d.Archives) == 0 || !errors.As(err, &f) {
		return err
	}
	ended := *f
	ended.exit = exitPartly
	return &ended
}

// splitOffSite counts the archives that have a copy in the bucket, and returns the
// others.
func splitOffSite(bucket *objects.Bucket, entries []archive.Entry) (there int, rest []archive.Entry) {
	for _, e := range entries {
		if e.Remote != nil && strings.HasPrefix(e.Remote.URL, bucket.URL()+"/") {
			there++
		} else {
			rest = append(rest, e)
		}
	}
	return there, rest
}

// uploader makes copies, one after the other.
type uploader struct {
	*invocation
	bucket   *objects.Bucket
	archives *archive.Store
	doc      *uploadDocument
}

// all uploads archives until one fails for a reason that the others share.
func (u *uploader) all(ctx context.Context, bar *progress, entries []archive.Entry) error {
	var done, total int64
	for _, e := range entries {
		total += e.StoredBytes
	}
	for i, e := range entries {
		if u.doc.DryRun {
			u.doc.Archives = append(u.doc.Archives, newUploadRow(e, outcomePlanned))
			continue
		}
		bar.draw("upload "+plural(len(entries), "archive"), done, total)
		done += e.StoredBytes
		e, err := u.one(ctx, e)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		row := newUploadRow(e, outcomeOffSite)
		if err != nil {
			row.Outcome, row.Reason = outcomeFailed, err.Error()
		} else {
			u.doc.Bytes += row.Bytes
		}
		u.doc.Archives = append(u.doc.Archives, row)
		if err != nil && u.endsAll(ctx, err) {
			u.doc.Archives = u.doc.Archives[:i] // what is left is told by the error
			return explainBucket(fmt.Errorf("upload archive %s: %w; %s left", e.ID, err, plural(len(entries)-i, "archive")))
		}
	}
	return nil
}

// endsAll reports whether the other archives need not be tried. A connection that
// breaks off may be about this one, such as behind a proxy that lets nothing large
// pass: the storage is asked whether it answers at all.
func (u *uploader) endsAll(ctx context.Context, err error) bool {
	return ofAll(err) && (!isAway(err) || u.bucket.Answers(ctx) != nil)
}

// ofAll reports whether an error is of the storage, not of one archive.
func ofAll(err error) bool {
	return isAway(err) || isOneOf(err, objects.ErrNoBucket, objects.ErrRefused, objects.ErrClock, objects.ErrLocked)
}

// isAway reports that the storage cannot be reached, or cannot serve.
func isAway(err error) bool { return isOneOf(err, objects.ErrAway, objects.ErrBusy) }

func isOneOf(err error, kinds ...error) bool {
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}

// one makes one copy, and notes it when it was seen.
func (u *uploader) one(ctx context.Context, e archive.Entry) (archive.Entry, error) {
	file, err := u.pins.OpenRegular(e.Path)
	if err != nil {
		return e, err
	}
	defer file.Close()
	r, err := u.bucket.Upload(ctx, e, file)
	if err != nil {
		return e, err
	}
	if e, err = u.archives.NoteRemote(ctx, e, r); err != nil || !r.Encrypted {
		return e, err
	}
	return e, u.bucket.Recorded(e.ID)
}

func uploadOutcome(rows []uploadRow) error {
	failed := 0
	for _, r := range rows {
		if r.Outcome == outcomeFailed {
			failed++
		}
	}
	switch failed {
	case 0:
		return nil
	case len(rows):
		return &outcomeError{exit: exitFailed}
	}
	return &outcomeError{exit: exitPartly}
}

// renderUpload prints what came of an upload or a pull, and is its outcome.
func renderUpload(a *app, doc uploadDocument) error {
	return cmp.Or(printUpload(a, doc), uploadOutcome(doc.Archives))
}

func printUpload(a *app, doc uploadDocument) error {
	doc.Notes = a.notes
	if a.JSON {
		return a.printJSON(doc)
	}
	t := table{columns: []column{
		{name: "ID"}, {name: "RUNTIME", drop: 2}, {name: "AGENT", least: 8}, {name: "SESSION", least: 12}, {name: "SIZE", right: true, drop: 1}, {name: "WHAT"}, {name: "WHERE", least: 20},
	}}
	var rows [][]string
	for _, r := range doc.Archives {
		where := cmp.Or(r.Reason, r.URL)
		rows = append(rows, []string{r.ID, visible(r.Agent), visible(r.Session), r.Outcome, visible(where)})
		t.rows = append(t.rows, []string{r.ID, r.Runtime, r.Agent, r.Session, formatBytes(r.Bytes), r.Outcome, where})
	}
	if len(rows) == 0 {
		return nil
	}
	return a.printList(t, rows)
}

// errNoRemote is the answer where object storage is asked for and none is named.
func errNoRemote() error {
	return &failure{code: "object_storage", exit: exitFailed, hint: "set archive.remote to s3://bucket/prefix (docs/offsite.md)", err: errors.New("no object storage is configured")}
}

// archiveDefaults are the defaults of what is said of archives.
func archiveDefaults() map[string]any {
	return map[string]any{
		"archive.dir":         "",
		"archive.compression": compressionAuto,
		"archive.remote":      "",
		"archive.endpoint":    "",
		"archive.region":      "",
		"archive.local_keep":  "",
		"archive.retain":      "",
		"archive.recipients":  []string{},
		"archive.identity":    "",
	}
}

// adviseBucket is what to do where the configuration of off-site copies cannot be
// used.
func adviseBucket(err error) string {
	if errors.Is(err, objects.ErrRecipients) {
		return "archive.recipients has public keys of age, as age-keygen -y KEYFILE prints them"
	}
	return "see docs/offsite.md"
}

// bucket is the place of copies that the configuration names.
func (a *invocation) bucket() (*objects.Bucket, error) {
	c := a.config.Archive
	if c.Remote == "" {
		return nil, errNoRemote()
	}
	o := objects.Options{
		URL: c.Remote, Endpoint: c.Endpoint, Region: c.Region, Recipients: c.Recipients,
		Scratch: a.outgoingDir(), Getenv: a.getenv, Now: a.now,
	}
	if c.Retain != "" {
		retain, err := parseAgo(c.Retain)
		if err != nil || retain <= 0 {
			return nil, usageError("write 30d or 26w", "archive.retain: %q is not a duration", c.Retain)
		}
		o.Retain = retain
	}
	if c.Identity != "" {
		text, err := durable.ReadSmall(c.Identity, 1<<20)
		if err != nil {
			return nil, usageError("it holds the secret key of age-keygen", "archive.identity: %w", err)
		}
		o.Identities = string(text)
	}
	bucket, err := objects.Open(o)
	if err != nil {
		return nil, usageError(adviseBucket(err), "archive.remote: %w", err)
	}
	return bucket, nil
}

// explainBucket adds a hint to what the storage says.
func explainBucket(err error) error {
	for _, known := range []struct {
		kind error
		hint string
	}{
		{objects.ErrNoBucket, "make the bucket, or correct archive.remote"},
		{objects.ErrRefused, "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or ~/.aws/credentials, and the rights of that key"},
		{objects.ErrClock, "set the clock of this host, such as with timedatectl set-ntp true"},
		{objects.ErrLocked, "object lock is set when a bucket is made; make one that has it, or leave archive.retain out"},
		{objects.ErrAway, "check archive.endpoint and the network; the next run takes up what is left"},
		{objects.ErrBusy, "try again later; the next run takes up what is left"},
		{objects.ErrUnknown, "set archive.identity to the file of a key that can read it, so that it is compared; or remove the object with the tools of the storage"},
		{objects.ErrNoIdentity, "set archive.identity to the file of a key that can read it"},
	} {
		if errors.Is(err, known.kind) {
			return &failure{code: "object_storage", exit: exitFailed, hint: known.hint, err: err}
		}
	}
	return err
}

func newArchivePullCommand(a *app) *cobra.Command {
	var dryRun bool
	c := &cobra.Command{
		Use:   "pull",
		Short: "Enter the archives of object storage that the catalogue does not have",
		Long: `Read the entries of all copies below archive.remote and enter those that the
catalogue does not have: archives of other hosts, or one's own after a loss. The
archives themselves stay where they are; show, restore and memory reindex
--from-archives fetch each when it is read.
` + exitHelp,
		Example: `  sessctl archive pull
  sessctl archive list
  sessctl memory reindex --from-archives`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return runArchivePull(c.Context(), a, dryRun) },
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be entered and change nothing")
	return c
}

func runArchivePull(ctx context.Context, a *app, dryRun bool) error {
	bucket, err := a.bucket()
	if err != nil {
		return err
	}
	w, err := a.openOffsite(ctx, dryRun)
	if err != nil {
		return err
	}
	defer w.close()
	known, err := w.archives.List(ctx, archive.Filter{})
	if err != nil {
		return err
	}
	doc := uploadDocument{Schema: 1, DryRun: dryRun, Remote: bucket.URL(), Archives: []uploadRow{}}
	for e, err := range bucket.Entries(ctx) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && ofAll(err):
			return explainBucket(err)
		case err != nil:
			doc.Archives = append(doc.Archives, uploadRow{Outcome: outcomeFailed, Reason: err.Error()})
			continue
		case slices.ContainsFunc(known, func(k archive.Entry) bool { return k.ID == e.ID }):
			doc.OffSite++
			continue
		}
		row := newUploadRow(e, outcomePlanned)
		if !dryRun {
			row.Outcome = outcomeFound
			if _, err := w.archives.Adopt(ctx, e); err != nil {
				row.Outcome, row.Reason = outcomeFailed, err.Error()
			}
		}
		doc.Archives = append(doc.Archives, row)
	}
	w.progress.clear()
	if len(doc.Archives) == 0 {
		a.notice(note{Message: fmt.Sprintf("nothing to enter: the catalogue has all %d archives of %s", doc.OffSite, doc.Remote)})
	}
	return renderUpload(a, doc)
}

// mostFetched bounds, in bytes, the copies that were fetched and are kept for the
// next question.
const mostFetched = 1 << 30

// abandoned is how long nobody has written a copy that is being fetched by nobody
// any more: commands that only read fetch at the same time.
const abandoned = time.Hour

// fetchArchive opens an archive's file that is only on object storage. It is
// fetched once and kept in the cache, the oldest of which go.
func (a *invocation) fetchArchive(ctx context.Context, e archive.Entry) (*os.File, error) {
	dir := filepath.Join(a.xdg("XDG_CACHE_HOME", ".cache"), "sessctl", "archives")
	at := filepath.Join(dir, e.StoredSHA256)
	if file, err := openFetched(at, e); err == nil {
		return file, nil
	}
	if !filepath.IsAbs(at) {
		return nil, &failure{code: "usage", exit: exitUsage, hint: "set XDG_CACHE_HOME or HOME", err: errors.New("there is no home directory, so there is no place for a copy of the archive")}
	}
	if !a.ours(at) {
		return nil, fmt.Errorf("keep a copy in %s: it is another user's directory", dir)
	}
	bucket, err := a.bucket()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(durable.MakeDir(dir, 0o700), durable.Sweep(dir, abandoned)); err != nil {
		return nil, err
	}
	if err := durable.ReplaceFile(at, 0o600, func(to io.Writer) error { return bucket.Fetch(ctx, e, to) }); err != nil {
		return nil, explainBucket(err)
	}
	boundFetched(dir, at)
	return openFetched(at, e)
}

// openFetched opens a copy of the cache that has the bytes of the archive's file.
// It is read whole for that: a few lines of a copy that has rotted would be shown
// as good ones, for a reader knows only at the end.
func openFetched(at string, e archive.Entry) (*os.File, error) {
	file, err := durable.OpenRegular(at)
	if err != nil {
		return nil, err
	}
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	if err == nil && hex.EncodeToString(hash.Sum(nil)) != e.StoredSHA256 {
		err = fmt.Errorf("archive %s: %w: %s has other bytes than the archive", e.ID, archive.ErrCorrupt, at)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// boundFetched removes the oldest fetched copies, but not the newest. One that
// cannot be removed costs room and nothing else.
func boundFetched(dir, newest string) {
	type copied struct {
		path string
		info os.FileInfo
	}
	var all []copied
	var total int64
	names, _ := os.ReadDir(dir)
	for _, n := range names {
		if info, err := n.Info(); err == nil && info.Mode().IsRegular() {
			all, total = append(all, copied{filepath.Join(dir, n.Name()), info}), total+info.Size()
		}
	}
	slices.SortFunc(all, func(x, y copied) int { return x.info.ModTime().Compare(y.info.ModTime()) })
	for _, c := range all {
		if total > mostFetched && c.path != newest {
			_ = durable.RemoveFile(c.path)
			total -= c.info.Size()
		}
	}
}

// place says in a list where an archive's file is.
func place(e archive.Entry) string {
	switch {
	case e.Remote == nil:
		return ""
	case exists(e.Path):
		return "copy"
	}
	return "only"
}

// checkRemote asks the storage for the checksum of a copy.
func checkRemote(ctx context.Context, bucket *objects.Bucket, e archive.Entry) error {
	if _, err := bucket.Check(ctx, e); err != nil {
		return fmt.Errorf("archive %s on object storage: %w", e.ID, err)
	}
	return nil
}
