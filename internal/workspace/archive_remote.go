package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/archive/objects"
	"github.com/sessctl/sessctl/pkg/durable"
)

// UploadOptions are the options of archives upload.
type UploadOptions struct {
	Agent  agentset.Set
	IDs    []string
	DryRun bool
}

// UploadDocument is `archives upload --json`, and with Pulled rows `archives pull`.
type UploadDocument struct {
	Schema   int         `json:"schema"`
	DryRun   bool        `json:"dry_run"`
	Remote   string      `json:"remote"`   // s3://bucket/prefix
	OffSite  int         `json:"off_site"` // archives that were there before
	Bytes    int64       `json:"bytes"`    // of the copies that were made
	Records  int         `json:"records"`  // receipts, pins and files of what was forgotten that were uploaded or entered
	Archives []UploadRow `json:"archives"`
	Notes    []Note      `json:"notes"`
}

// UploadRow is one archive.
type UploadRow struct {
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
	OutcomeOffSite = "off-site"
	OutcomeFound   = "found" // by archives pull
	OutcomePlanned = "planned"
	OutcomeFailed  = "failed"
)

// NewUploadRow is an upload as JSON.
func NewUploadRow(e archive.Entry, outcome string) UploadRow {
	row := UploadRow{ID: e.ID, Runtime: e.Runtime, Agent: e.Agent, Session: e.Session, Bytes: e.StoredBytes, Outcome: outcome}
	if r := e.Remote; r != nil {
		row.URL, row.Bytes, row.Encrypted = r.URL, r.Bytes, r.Encrypted
		row.RetainUntil = Retained(*r)
	}
	return row
}

// Retained is until when the storage keeps a copy, "" for not at all.
func Retained(r archive.Remote) string {
	if r.RetainUntil.IsZero() {
		return ""
	}
	return r.RetainUntil.UTC().Format(time.RFC3339)
}

// OpenOffsite opens the workspace of a command that changes what the catalogue says
// of copies on object storage, and removes what a killed upload has encrypted.
func OpenOffsite(ctx context.Context, run *Run, dryRun bool) (*Workspace, error) {
	w, err := Open(ctx, run, Mode{DryRun: dryRun, Reason: "upload", Recover: &Recovery{Policy: run.RecoveryPolicy(), Optional: true}})
	if err != nil || dryRun {
		return w, err
	}
	names, _ := run.Pins.ReadDir(run.outgoingDir()) // usually there is none
	for _, name := range names {
		if id, noted := objects.Noted(name.Name()); noted {
			if e, err := w.Archives.Get(ctx, id); err == nil && e.Remote == nil {
				continue // it says what was sent before the run was killed
			}
		}
		if err := run.Pins.RemoveFile(filepath.Join(run.outgoingDir(), name.Name())); err != nil {
			w.Close()
			return nil, err
		}
	}
	return w, nil
}

// outgoingDir is where copies are encrypted before they are uploaded.
func (s *Settings) outgoingDir() string { return filepath.Join(s.DataDir(), "outgoing") }

// Partly is an error that ended an upload, with the exit code of one that has done
// something.
func (d UploadDocument) Partly(err error) error {
	var f *failure.Error
	if len(d.Archives) == 0 || !errors.As(err, &f) {
		return err
	}
	ended := *f
	ended.Exit = failure.ExitPartly
	return &ended
}

// SplitOffSite asks the storage what it has, counts the archives whose copy is there
// as it was seen last, and returns the others.
func SplitOffSite(ctx context.Context, bucket *objects.Bucket, entries []archive.Entry) (there int, rest []archive.Entry, err error) {
	listing, err := bucket.List(ctx)
	if err != nil {
		return 0, entries, err
	}
	for _, e := range entries {
		if e.Remote != nil && bucket.NumberOf(e, e.Remote.URL) > 0 && listing.Has(*e.Remote) {
			there++
		} else {
			rest = append(rest, e)
		}
	}
	return there, rest, nil
}

// Uploader makes copies, one after the other.
type Uploader struct {
	*Run
	Bucket   *objects.Bucket
	Archives *archive.Store
	Doc      *UploadDocument
}

// All uploads archives until one fails for a reason that the others share.
func (u *Uploader) All(ctx context.Context, bar *Progress, entries []archive.Entry) error {
	var done, total int64
	for _, e := range entries {
		total += e.StoredBytes
	}
	for i, e := range entries {
		if u.Doc.DryRun {
			u.Doc.Archives = append(u.Doc.Archives, NewUploadRow(e, OutcomePlanned))
			continue
		}
		bar.Draw("upload "+wording.Plural(len(entries), "archive"), done, total)
		done += e.StoredBytes
		e, err := u.one(ctx, e)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		row := NewUploadRow(e, OutcomeOffSite)
		if err != nil {
			row.Outcome, row.Reason = OutcomeFailed, err.Error()
		} else {
			u.Doc.Bytes += row.Bytes
		}
		u.Doc.Archives = append(u.Doc.Archives, row)
		if err != nil && u.endsAll(ctx, err) {
			u.Doc.Archives = u.Doc.Archives[:i] // what is left is told by the error
			return ExplainBucket(fmt.Errorf("upload archive %s: %w; %s left", e.ID, err, wording.Plural(len(entries)-i, "archive")))
		}
	}
	return nil
}

// endsAll reports whether the other archives need not be tried. A connection that
// breaks off may be about this one, such as behind a proxy that lets nothing large
// pass: the storage is asked whether it answers at all.
func (u *Uploader) endsAll(ctx context.Context, err error) bool {
	return OfAll(err) && (!isAway(err) || u.Bucket.Answers(ctx) != nil)
}

// OfAll reports whether an error is of the storage, not of one archive.
func OfAll(err error) bool {
	return isAway(err) || isOneOf(err, objects.ErrNoBucket, objects.ErrRefused, objects.ErrClock, objects.ErrLocked, objects.ErrFull, objects.ErrUnable)
}

// isAway reports that the storage cannot be reached, or cannot serve.
func isAway(err error) bool { return isOneOf(err, objects.ErrAway, objects.ErrBusy) }

func isOneOf(err error, kinds ...error) bool {
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}

// one makes one copy, and notes it when it was seen. A copy that the catalogue has is
// read to its end: one that is damaged stays, and another is made beside it.
func (u *Uploader) one(ctx context.Context, e archive.Entry) (archive.Entry, error) {
	r, number, err := u.there(ctx, e)
	if err != nil {
		return e, err
	}
	if number == 0 {
		return u.Archives.NoteRemote(ctx, e, r)
	}
	file, err := u.Pins.OpenRegular(e.Path)
	if errors.Is(err, fs.ErrNotExist) && e.Remote != nil {
		return e, fmt.Errorf("its file is only on object storage, and the copy there is gone or damaged: %s", e.Remote.URL)
	}
	if err != nil {
		return e, err
	}
	defer file.Close()
	if r, err = u.Bucket.Upload(ctx, e, file, number); err != nil {
		return e, err
	}
	if e, err = u.Archives.NoteRemote(ctx, e, r); err != nil || !r.Encrypted {
		return e, err
	}
	return e, u.Bucket.Recorded(e.ID)
}

// there reads the copy that the catalogue has. It returns what it is now and 0 if it
// is whole, and otherwise the number of the object to make: the same again where it is
// gone, the next where it is damaged. Of a copy that cannot be decrypted here the
// checksum is asked for.
func (u *Uploader) there(ctx context.Context, e archive.Entry) (r archive.Remote, number int, err error) {
	if e.Remote != nil {
		number = u.Bucket.NumberOf(e, e.Remote.URL)
	}
	if number == 0 {
		return r, 1, nil
	}
	r, err = u.Bucket.Check(ctx, e)
	if err == nil {
		err = ReadRemote(ctx, u.Bucket, e)
	}
	switch {
	case err == nil, errors.Is(err, objects.ErrNoIdentity):
		return r, 0, nil
	case errors.Is(err, objects.ErrMissing):
		return r, number, nil
	case OfAll(err), ctx.Err() != nil:
		return r, number, err
	case isOneOf(err, objects.ErrDiffers, archive.ErrCorrupt), e.Remote.Encrypted: // what cannot be decrypted any more is another object
		return r, number + 1, nil
	}
	return r, number, err // what else went wrong says nothing of the object
}

// UploadOutcome decides the exit code of archives upload.
func UploadOutcome(rows []UploadRow) error {
	failed := 0
	for _, r := range rows {
		if r.Outcome == OutcomeFailed {
			failed++
		}
	}
	switch failed {
	case 0:
		return nil
	case len(rows):
		return &failure.Outcome{Exit: failure.ExitFailed}
	}
	return &failure.Outcome{Exit: failure.ExitPartly}
}

// ErrNoRemote is the answer where object storage is asked for and none is named.
func ErrNoRemote() error {
	return &failure.Error{Code: "object_storage", Exit: failure.ExitFailed, Hint: "set archive.remote to s3://bucket/prefix (docs/offsite.md)", Err: errors.New("no object storage is configured")}
}

// adviseBucket is what to do where the configuration of off-site copies cannot be
// used.
func adviseBucket(err error) string {
	if errors.Is(err, objects.ErrRecipients) {
		return "archive.recipients has public keys of age, as age-keygen -y KEYFILE prints them"
	}
	return "see docs/offsite.md"
}

// Bucket is the place of copies that the configuration names.
func Bucket(run *Run) (*objects.Bucket, error) {
	c := run.Config.Archive
	if c.Remote == "" {
		return nil, ErrNoRemote()
	}
	o := objects.Options{
		URL: c.Remote, Endpoint: c.Endpoint, Region: c.Region, Recipients: c.Recipients,
		Scratch: run.outgoingDir(), Getenv: run.Getenv, Now: run.Now,
	}
	if c.Retain != "" {
		retain, err := ParseAgo(c.Retain)
		if err != nil || retain <= 0 {
			return nil, failure.Usage("write 30d or 26w", "archive.retain: %q is not a duration", c.Retain)
		}
		o.Retain = retain
	}
	if c.Identity != "" {
		text, err := durable.ReadSmall(c.Identity, 1<<20)
		if err != nil {
			return nil, failure.Usage("it holds the secret key of age-keygen", "archive.identity: %w", err)
		}
		o.Identities = string(text)
	}
	bucket, err := objects.Open(o)
	if err != nil {
		return nil, failure.Usage(adviseBucket(err), "archive.remote: %w", err)
	}
	return bucket, nil
}

// ExplainBucket adds a hint to what the storage says.
func ExplainBucket(err error) error {
	for _, known := range []struct {
		kind error
		hint string
	}{
		{objects.ErrNoBucket, "make the bucket, or correct archive.remote"},
		{objects.ErrRefused, "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or ~/.aws/credentials, and the rights of that key"},
		{objects.ErrClock, "set the clock of this host, such as with timedatectl set-ntp true"},
		{objects.ErrLocked, "object lock is set when a bucket is made; make one that has it, or leave archive.retain out"},
		{objects.ErrAway, "check archive.endpoint and the network; the next run takes up what is left"},
		{objects.ErrFull, "raise the quota of the bucket, or make room in it; the next run takes up what is left"},
		{objects.ErrUnable, "try again: some storages say so for a while; if it stays, docs/troubleshoot.md says what is needed"},
		{objects.ErrBusy, "try again later; the next run takes up what is left"},
		{objects.ErrUnknown, "set archive.identity to the file of a key that can read it, so that it is compared; or remove the object with the tools of the storage"},
		{objects.ErrNoIdentity, "set archive.identity to the file of a key that can read it"},
	} {
		if errors.Is(err, known.kind) {
			return &failure.Error{Code: "object_storage", Exit: failure.ExitFailed, Hint: known.hint, Err: err}
		}
	}
	return err
}

// mostFetched bounds, in bytes, the copies that were fetched and are kept for the
// next question.
const mostFetched = 1 << 30

// abandoned is how long nobody has written a copy that is being fetched by nobody
// any more: commands that only read fetch at the same time.
const abandoned = time.Hour

// fetchArchive opens an archive's file that is only on object storage. It is
// fetched once and kept in the cache, the oldest of which go.
func fetchArchive(ctx context.Context, run *Run, e archive.Entry) (*os.File, error) {
	dir := filepath.Join(run.Xdg("XDG_CACHE_HOME", ".cache"), "sessctl", "archives")
	at := filepath.Join(dir, e.StoredSHA256)
	if file, err := openFetched(at, e); err == nil {
		return file, nil
	}
	if !filepath.IsAbs(at) {
		return nil, &failure.Error{Code: "usage", Exit: failure.ExitUsage, Hint: "set XDG_CACHE_HOME or HOME", Err: errors.New("there is no home directory, so there is no place for a copy of the archive")}
	}
	if !Ours(&run.Settings, at) {
		return nil, fmt.Errorf("keep a copy in %s: it is another user's directory", dir)
	}
	bucket, err := Bucket(run)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(durable.MakeDir(dir, 0o700), durable.Sweep(dir, abandoned)); err != nil {
		return nil, err
	}
	if err := durable.ReplaceFile(at, 0o600, func(to io.Writer) error { return bucket.Fetch(ctx, e, to) }); err != nil {
		return nil, ExplainBucket(err)
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

// Place says in a list where an archive's file is.
func Place(e archive.Entry) string {
	switch {
	case e.Remote == nil:
		return ""
	case Exists(e.Path):
		return "copy"
	}
	return "only"
}

// CheckRemote asks the storage for the checksum of a copy.
func CheckRemote(ctx context.Context, bucket *objects.Bucket, e archive.Entry) error {
	if _, err := bucket.Check(ctx, e); err != nil {
		return fmt.Errorf("archive %s on object storage: %w", e.ID, err)
	}
	return nil
}

// OffSiteCopies looks at copies on object storage, for one run: a storage that does
// not answer, or refuses, is not asked for each.
type OffSiteCopies struct {
	Bucket *objects.Bucket
	away   error           // why it is not asked any more
	whole  map[string]bool // addresses of copies that were read to their end in this run
}

// CopiesOffSite is nil where no object storage is configured.
func CopiesOffSite(run *Run) (*OffSiteCopies, error) {
	if run.Config.Archive.Remote == "" {
		return nil, nil
	}
	bucket, err := Bucket(run)
	return &OffSiteCopies{Bucket: bucket}, err
}

// Lasting returns the archives as ones of which only a file that is here and a copy
// that the storage has now count. Something is deleted because of them.
func Lasting(run *Run, archives *archive.Store) *archive.Store {
	copies, err := CopiesOffSite(run)
	switch {
	case err != nil:
		return archives.CountingCopies(func(context.Context, archive.Entry) error { return err })
	case copies == nil:
		return archives
	}
	return archives.CountingCopies(copies.Read)
}

// Look asks the storage for the checksum of a copy now. One that is encrypted and
// that nobody here can read is an error: it cannot be known to be of use. One whose
// entry was found on the storage is read to its end: what the entry says of it is
// what somebody has written there.
func (c *OffSiteCopies) Look(ctx context.Context, e archive.Entry) (archive.Remote, error) {
	if e.Remote != nil && !e.Remote.Seen {
		return c.readOnce(ctx, e)
	}
	return c.lookOnly(ctx, e)
}

// Read reads a copy to its end, once in a run, and asks for its checksum otherwise.
// It is for what is deleted for good because of the copy: a storage may answer with
// the checksum that it was given, whatever has become of the bytes.
func (c *OffSiteCopies) Read(ctx context.Context, e archive.Entry) error {
	_, err := c.readOnce(ctx, e)
	return err
}

func (c *OffSiteCopies) readOnce(ctx context.Context, e archive.Entry) (archive.Remote, error) {
	r, err := c.lookOnly(ctx, e)
	if err != nil || c.whole[r.URL] {
		return r, err
	}
	if err := ReadRemote(ctx, c.Bucket, e); err != nil {
		return r, err
	}
	if c.whole == nil {
		c.whole = map[string]bool{}
	}
	c.whole[r.URL] = true
	return r, nil
}

// ReadRemote reads the copy of an archive from the storage to its end, not from the
// cache, and compares its bytes.
func ReadRemote(ctx context.Context, bucket *objects.Bucket, e archive.Entry) error {
	from, to := io.Pipe()
	fetched := make(chan error, 1)
	go func() {
		err := bucket.Fetch(ctx, e, to)
		to.CloseWithError(err)
		fetched <- err
	}()
	proved := archive.Prove(ctx, e, from)
	_ = from.Close() // ends a fetch that nobody reads any more
	if err := <-fetched; err != nil && !errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	return proved
}

func (c *OffSiteCopies) lookOnly(ctx context.Context, e archive.Entry) (archive.Remote, error) {
	if c.away != nil {
		return archive.Remote{}, c.away
	}
	r, err := c.Bucket.Check(ctx, e)
	if err == nil {
		err = c.Bucket.Opens(ctx, e)
	}
	if OfAll(err) {
		c.away = err
	}
	return r, err
}

// Known looks at a copy because of which nothing is copied once more: nothing is
// lost if it turns out to be gone, so a storage that does not answer is believed.
func (c *OffSiteCopies) Known(ctx context.Context, e archive.Entry) error {
	if _, err := c.lookOnly(ctx, e); !isAway(err) {
		return err
	}
	return nil
}
