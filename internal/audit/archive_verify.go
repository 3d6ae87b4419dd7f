package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/archive/objects"
	"github.com/sessctl/sessctl/pkg/memory"
)

// VerifyOptions are the options of archives verify.
type VerifyOptions struct {
	Agent    agentset.Set
	IDs      []string
	ReadData string // true, false, or a part such as 10%; "" is true
	Quick    bool
	Remote   bool
	// ReadCopies says that ReadData was asked for, and so is about object storage too.
	ReadCopies bool

	parts int // of how many parts of the copies on object storage one is read; 0 reads none

	Plan bool // say what would be read
}

// Validate refuses options that contradict each other, and what is no part.
func (o *VerifyOptions) Validate() error {
	if o.Quick && o.ReadCopies && o.ReadData == "true" {
		return failure.Usage("one of them; a part such as --read-data=10% goes with --quick --remote", "--read-data does not go with --quick")
	}
	switch o.ReadData {
	case "", "true":
		o.parts = 1
	case "false":
		o.parts = 0
	default:
		percent, err := strconv.ParseFloat(strings.TrimSuffix(o.ReadData, "%"), 64)
		if err != nil || !strings.HasSuffix(o.ReadData, "%") || percent <= 0 || percent > 100 {
			return failure.Usage("write true, false, or a part such as 10%", "--read-data: %q is no part", o.ReadData)
		}
		if !o.Remote {
			return failure.Usage("add --remote", "--read-data=%s: a part is of the copies on object storage; those here are all read", o.ReadData)
		}
		o.parts = int(math.Round(100 / percent))
	}
	return nil
}

// Reads reports whether archives are read.
func (o VerifyOptions) Reads() bool { return o.ReadData != "false" && !o.Quick }

// Parts is of how many parts of the copies on object storage one is read, 0 for none.
func (o VerifyOptions) Parts() int {
	if !o.Remote || !o.ReadCopies {
		return 0
	}
	return o.parts
}

// DayOf is the number of a day: each day another part of the copies is read.
func DayOf(t time.Time) int { return int(t.Unix() / (24 * 60 * 60)) }

// VerifyDocument is `archives verify --json`.
type VerifyDocument struct {
	Schema   int              `json:"schema"`
	DryRun   bool             `json:"dry_run,omitempty"` // nothing was looked at
	ReadData bool             `json:"read_data"`         // false: the copies were only looked at
	Checked  int              `json:"checked"`           // archives
	Bytes    int64            `json:"bytes"`             // of sessions
	Copies   int              `json:"copies_read"`       // on object storage, read to their end
	Unasked  int              `json:"-"`                 // copies there that could not be checked
	Receipts int              `json:"receipts"`
	Problems []Problem        `json:"problems"`
	Verified []VerifyRow      `json:"verified"`
	Notes    []workspace.Note `json:"notes"`
}

// OfMemory counts the problems that memory has, which archives can mend.
func (d VerifyDocument) OfMemory() (n int) {
	for _, p := range d.Problems {
		if p.OfMemory {
			n++
		}
	}
	return n
}

// VerifyRow is one archive and what was found, as JSON.
type VerifyRow struct {
	ID     string `json:"id"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	OK     bool   `json:"ok"`
	Remote bool   `json:"remote"` // the copy on object storage was checked by its checksum
}

// Problem is one thing that is not as it was written.
type Problem struct {
	ID      string `json:"id"`
	Path    string `json:"path"`
	Message string `json:"message"`

	Advice   string `json:"-"` // what to do about it; "" for what is to be done about all
	OfMemory bool   `json:"-"` // the archives can mend it
	OfCopy   bool   `json:"-"` // it is the copy on object storage; the file here is sound
}

// NoteRemote tells which copies on object storage were not looked at, although that
// was asked for. An archive that was not uploaded yet is not damaged.
func (v *Verifier) NoteRemote(run *workspace.Run, entries []archive.Entry) {
	if v.sealed > 0 {
		run.Notice(workspace.Note{Message: wording.Plural(v.sealed, "encrypted archive") + " on object storage: the bytes are those that were uploaded; without the key sessctl cannot say whether they can be decrypted", Hint: "set archive.identity to the file of a key that can read them"})
	}
	if v.Remote {
		v.noteNotUploaded(run, entries)
	}
}

func (v *Verifier) noteNotUploaded(run *workspace.Run, entries []archive.Entry) {
	without := 0
	for _, e := range entries {
		if e.Remote == nil {
			without++
		}
	}
	const hint = "sessctl archives upload"
	switch {
	case len(entries) == 0:
		run.Notice(workspace.Note{Message: "there is nothing on object storage to verify: there is no archive"})
	case without == len(entries):
		run.Notice(workspace.Note{Message: "there is nothing on object storage to verify: no copy there of " + wording.Plural(without, "archive"), Hint: hint})
	case without > 0:
		run.Notice(workspace.Note{Message: fmt.Sprintf("no copy on object storage of %d of %s: nothing was verified there of them", without, wording.Plural(len(entries), "archive")), Hint: hint})
	}
}

// Outcome is that of the command. What is wrong weighs more than what could not be
// asked.
func (v *Verifier) Outcome(run *workspace.Run) error {
	var away error
	if v.away != nil {
		away = workspace.ExplainBucket(fmt.Errorf("%s could not be checked on object storage: %w", wording.Plural(v.Doc.Unasked, "archive"), v.away))
	}
	if away != nil && v.Parts > 1 { // another part is read tomorrow
		run.Notice(workspace.Note{Message: away.Error()})
		away = nil
	}
	if len(v.Doc.Problems) == 0 {
		return away
	}
	if away != nil {
		run.Tell(workspace.Note{Message: away.Error()})
	}
	return &failure.Outcome{Exit: failure.ExitIntegrity}
}

// AdviseBackup is what to do about what has no other copy here.
const AdviseBackup = "restore damaged archives and receipts from a backup"

// AdviseDamaged is what to do about what a verification has found: where the file here
// is sound and only the copy on object storage is not, another copy is made of it.
func AdviseDamaged(problems ...Problem) string {
	var ids []string
	for _, p := range problems {
		if p.OfMemory || p.Advice != "" {
			continue
		}
		if !p.OfCopy {
			return AdviseBackup
		}
		ids = append(ids, p.ID)
	}
	if len(ids) == 0 {
		return ""
	}
	return "sessctl archives upload " + strings.Join(ids, " ")
}

// Advices are what to do about problems of which each says so, each once.
func Advices(problems []Problem) (all []string) {
	for _, p := range problems {
		if p.Advice != "" && !slices.Contains(all, p.Advice) {
			all = append(all, p.Advice)
		}
	}
	return all
}

// ChooseArchives picks the archives that the options mean: those with some ids, else
// those of an agent, of one runtime if that is named too, else all.
func ChooseArchives(ctx context.Context, store *archive.Store, of selection.Scope, ids []string) ([]archive.Entry, error) {
	switch {
	case len(ids) == 0 && of.Agent == "":
		return store.List(ctx, archive.Filter{})
	case len(ids) == 0:
		return store.List(ctx, archive.Filter{Runtime: of.Runtime, Agent: of.Agent})
	}
	var entries []archive.Entry
	for _, id := range ids {
		e, err := selection.FindArchive(ctx, store, id)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Verifier reads archives back.
type Verifier struct {
	Archives *archive.Store
	Bucket   *objects.Bucket // nil without object storage
	Remote   bool            // copies there are checked too
	Parts    int             // of how many parts of the copies one is read to its end; 0 reads none
	Day      int             // which part it is, see [DayOf]
	Doc      *VerifyDocument
	away     error // why the storage is not asked any more
	sealed   int   // copies there that nobody here has the key of
}

// Entries checks archives one after the other.
func (v *Verifier) Entries(ctx context.Context, entries []archive.Entry, bar *workspace.Progress) error {
	var done, all int64
	for _, e := range entries {
		all += e.StoredBytes
	}
	for _, e := range entries {
		bar.Draw("verify "+wording.Plural(len(entries), "archive"), done, all)
		done += e.StoredBytes
		row := VerifyRow{ID: e.ID, Path: e.Path, SHA256: e.SHA256}
		ofCopy, err := v.entry(ctx, e, &row)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		v.Doc.Checked++
		v.Doc.Bytes += e.Bytes
		if errors.Is(err, errUnasked) {
			err = nil
		} else {
			row.OK = err == nil
		}
		v.Doc.Verified = append(v.Doc.Verified, row)
		if err != nil {
			v.Doc.Problems = append(v.Doc.Problems, Problem{ID: e.ID, Path: e.Path, Message: err.Error(), OfCopy: ofCopy})
		}
	}
	return nil
}

// entry checks the file of an archive, and the copy on object storage where that
// is asked for or is all that there is. ofCopy says that an error is of a copy whose
// file here is sound.
func (v *Verifier) entry(ctx context.Context, e archive.Entry, row *VerifyRow) (ofCopy bool, err error) {
	only := workspace.Place(e) == "only" && v.Bucket != nil
	var remote error
	if only || v.Remote && e.Remote != nil {
		remote = v.copy(ctx, e)
		row.Remote = !errors.Is(remote, errUnasked)
	}
	if only {
		return false, remote
	}
	err = v.Archives.Look(e)
	if err == nil && v.Doc.ReadData {
		err = v.Archives.Verify(ctx, e)
	}
	if err == nil && v.Doc.ReadData {
		err = v.attached(ctx, e)
	}
	if errors.Is(remote, errUnasked) {
		remote = nil // the file here was checked
	}
	return err == nil, cmp.Or(err, remote)
}

// errUnasked is returned for a copy of which the storage tells nothing.
var errUnasked = errors.New("not checked")

// copy checks a copy on object storage. A storage that does not answer, or
// refuses, is not asked for the others: archives here are verified all the same.
func (v *Verifier) copy(ctx context.Context, e archive.Entry) error {
	if v.away == nil {
		err := workspace.CheckRemote(ctx, v.Bucket, e)
		if err == nil {
			err = v.Bucket.Opens(ctx, e)
		}
		if err == nil && v.reads(e) {
			err = v.read(ctx, e)
		}
		if errors.Is(err, objects.ErrNoIdentity) {
			v.sealed++
			return nil
		}
		if !workspace.OfAll(err) {
			return err
		}
		v.away = err
	}
	v.Doc.Unasked++
	return errUnasked
}

// reads reports whether a copy belongs to the part that is read today.
func (v *Verifier) reads(e archive.Entry) bool {
	if v.Parts == 0 {
		return false
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(e.ID)) // never fails, by its documentation
	return (int(hash.Sum32()%uint32(v.Parts))+v.Day)%v.Parts == 0
}

// read reads a copy from the storage to its end.
func (v *Verifier) read(ctx context.Context, e archive.Entry) error {
	err := workspace.ReadRemote(ctx, v.Bucket, e)
	if err != nil {
		err = fmt.Errorf("archive %s on object storage: %w", e.ID, err)
	}
	if !workspace.OfAll(err) && !errors.Is(err, objects.ErrNoIdentity) {
		v.Doc.Copies++
	}
	return err
}

// AddDamaged adds the files of the catalogue that cannot be used.
func AddDamaged(ctx context.Context, store *archive.Store, doc *VerifyDocument) error {
	damaged, err := store.Damaged(ctx)
	if err != nil {
		return err
	}
	for _, d := range damaged {
		doc.Problems = append(doc.Problems, Problem{Path: d.Path, Message: d.Err.Error()})
	}
	return nil
}

// addWitnessed adds what the ledger knows and is not so.
func addWitnessed(ctx context.Context, a *workspace.Run, doc *VerifyDocument) error {
	found, _, err := VerifyLedger(ctx, a)
	if err != nil && ctx.Err() == nil {
		a.PassOver(workspace.Note{Message: "what is there is not compared with the ledger: " + err.Error(), Hint: failure.Explain(err).Hint})
		return nil
	}
	for _, p := range found {
		doc.Problems = append(doc.Problems, p.Problem)
	}
	return err
}

// VerifyReceipts holds every receipt against the catalogue and memory.
func VerifyReceipts(ctx context.Context, a *workspace.Run, doc *VerifyDocument) error {
	if err := addWitnessed(ctx, a, doc); err != nil {
		return err
	}
	audit, err := NewReceiptAudit(ctx, a)
	if err != nil && ctx.Err() == nil {
		a.PassOver(workspace.Note{Message: "receipts are not checked: " + err.Error(), Hint: failure.Explain(err).Hint})
		return nil
	}
	if err != nil {
		return err
	}
	doc.Receipts, audit.Reading = len(audit.Receipts), doc.ReadData
	err = audit.run(ctx, a.Pins, a.MemoryDir())
	for _, f := range audit.Found {
		found := f.Problem
		found.OfMemory = f.ofMemory
		doc.Problems = append(doc.Problems, found)
	}
	if errors.Is(err, memory.ErrCorrupt) {
		doc.Problems = append(doc.Problems, Problem{Path: a.MemoryDir(), Message: err.Error(), OfMemory: true})
		return nil
	}
	if err != nil && ctx.Err() == nil {
		a.TellNoMemory("receipts are not compared with the memory", err)
		return nil
	}
	return err
}
