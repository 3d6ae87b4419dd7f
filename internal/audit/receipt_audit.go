package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/secrets"
)

// ReceiptAudit holds receipts against the catalogue and memory. It is the one
// judge of archives verify and of doctor: it knows what was withdrawn, forgotten
// or deleted on purpose.
type ReceiptAudit struct {
	*workspace.Run
	Receipts []compact.Receipt
	archives map[string]archive.Entry
	sessions map[memory.Source][]string // ids of the archives of each session, deleted ones too
	deleted  map[string]time.Time       // when archives were deleted on purpose, by their ids
	undone   map[string]compact.Receipt
	undoing  map[memory.Source]bool // sessions of which an undo is not finished
	// chains are, of the sessions of which that had to be read, the archives that begin
	// with each other's bytes, see chainsOf.
	chains map[memory.Source][][]string
	// Reading says whether archives may be read: archives verify and memory verify take
	// the time for that, doctor does not.
	Reading bool
	copies  *archive.Store
	damaged []archive.Damage // files of the catalogue that cannot be read
	Found   []ReceiptProblem
}

// ReceiptProblem is what is wrong with a receipt.
type ReceiptProblem struct {
	Problem
	ofMemory bool // the archives can mend it
}

// About is the problem with the receipt that it is of.
func (p ReceiptProblem) About() string {
	if p.ID == "" {
		return p.Message
	}
	return "receipt " + p.ID + ": " + p.Message
}

// NewReceiptAudit reads the receipts and then what they are held against, and
// notes the receipts that cannot be read. The order matters: a run that is at
// work meanwhile writes the archive and the memory of a session before their
// receipt, so a catalogue that was read earlier may lack what a receipt names.
func NewReceiptAudit(ctx context.Context, run *workspace.Run) (*ReceiptAudit, error) {
	receipts, unreadable, err := run.Receipts().Examine()
	if err != nil {
		return nil, err
	}
	v := &ReceiptAudit{
		Run: run, chains: map[memory.Source][][]string{}, Receipts: receipts, archives: map[string]archive.Entry{}, sessions: map[memory.Source][]string{},
		undone: compact.UndoneBy(receipts), undoing: map[memory.Source]bool{},
	}
	for _, u := range unreadable {
		v.Found = append(v.Found, ReceiptProblem{Problem: Problem{Path: u.Path, Message: u.Err.Error()}})
	}
	if v.copies, err = run.OpenArchive(); err != nil {
		return nil, err
	}
	entries, damaged, err := v.copies.Examine(ctx, archive.Filter{})
	if err != nil {
		return nil, err
	}
	v.damaged = damaged
	superseded, err := v.copies.Superseded(ctx)
	if err != nil {
		return nil, err
	}
	if v.deleted, err = run.Audit().DeletedArchives(); err != nil {
		return nil, err
	}
	for _, e := range append(entries, superseded...) {
		v.archives[e.ID] = e
		source := memory.Source{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session}
		v.sessions[source] = append(v.sessions[source], e.ID)
	}
	lines, err := run.Audit().Lines()
	if err != nil {
		return nil, err
	}
	v.addDeleted(lines)
	return v, v.lookForUndos()
}

// lookForUndos reads of which sessions an undo is not finished.
func (v *ReceiptAudit) lookForUndos() error {
	begun, err := v.Journal().List()
	for _, in := range begun {
		if in.Kind == compact.KindUndo {
			v.undoing[memory.Source{Runtime: in.Rotation.Runtime, Agent: in.Rotation.Agent, Session: in.Rotation.Session}] = true
		}
	}
	return err
}

// addDeleted adds the archives that were deleted on purpose to those of their
// sessions, and the empty id, for sessions that were remembered without one
// (--skip-archive): what was forgotten of them stays forgotten. Whose session a
// text without an archive was of is not known once it was forgotten.
func (v *ReceiptAudit) addDeleted(lines []retention.Line) {
	sources := map[memory.Source]bool{}
	for _, r := range v.Receipts {
		if s := selection.SourceOf(r); !sources[s] {
			sources[s] = true
			v.sessions[s] = append(v.sessions[s], "")
		}
	}
	for _, l := range lines {
		if l.Kind != "archive" || l.Action != retention.ActionTrash || v.archives[l.Archive].ID != "" {
			continue
		}
		for s := range sources {
			if archive.ID(archive.Meta{Runtime: s.Runtime, Agent: s.Agent, Session: s.Session}, l.SHA256) == l.Archive {
				v.sessions[s] = append(v.sessions[s], l.Archive)
			}
		}
	}
}

// run holds every receipt against the catalogue, and then against the memory in
// a directory. A damaged memory ends it with memory.ErrCorrupt.
func (v *ReceiptAudit) run(ctx context.Context, pins *durable.Pins, dir string) error {
	v.AgainstCatalogue(ctx)
	store, err := memory.Open(ctx, dir, memory.Options{ReadOnly: true, Pins: pins})
	if errors.Is(err, fs.ErrNotExist) && !leadsNowhere(dir) { // such a link says nothing of the memory
		return v.AgainstMemory(ctx, nil)
	}
	if err != nil {
		return fmt.Errorf("open memory: %w", err)
	}
	defer store.Close()
	return v.AgainstMemory(ctx, store)
}

// leadsNowhere reports whether a link is at a path, to what is not there.
func leadsNowhere(path string) bool {
	_, linkErr := os.Readlink(path)
	_, err := os.Stat(path)
	return linkErr == nil && errors.Is(err, fs.ErrNotExist)
}

func (v *ReceiptAudit) problem(r compact.Receipt, format string, args ...any) {
	path := r.Path
	if r.Archive != nil {
		path = r.Archive.Path
	}
	v.Found = append(v.Found, ReceiptProblem{Problem: Problem{ID: r.ID, Path: path, Message: fmt.Sprintf(format, args...)}})
}

// memoryProblem is a problem that the archives can mend.
func (v *ReceiptAudit) memoryProblem(r compact.Receipt, format string, args ...any) {
	v.problem(r, format, args...)
	v.Found[len(v.Found)-1].ofMemory = true
}

// OfMemory are the problems found that the archives can mend.
func (v *ReceiptAudit) OfMemory() (found []ReceiptProblem) {
	for _, p := range v.Found {
		if p.ofMemory {
			found = append(found, p)
		}
	}
	return found
}

// AgainstCatalogue compares what receipts say of their archives with the
// catalogue, which the copies themselves are compared with.
func (v *ReceiptAudit) AgainstCatalogue(ctx context.Context) {
	for _, r := range v.Receipts {
		v.againstArchive(ctx, r)
		for what, a := range workspace.OthersOf(r) {
			v.againstOther(r, what, a)
		}
	}
}

// againstOther compares what a receipt says of such an archive with the catalogue.
func (v *ReceiptAudit) againstOther(r compact.Receipt, what string, a compact.Archived) {
	e, known := v.archives[a.ID]
	switch {
	case !known && !v.deletedAfter(r.At, a.ID):
		v.problem(r, "the receipt names an archive of %s that is not in the catalogue", what)
	case known && (e.SHA256 != a.SHA256 || e.Bytes != a.Bytes):
		v.problem(r, "the receipt's archive of %s has %d bytes and sha256 %s, the catalogue says %d and %s", what, a.Bytes, a.SHA256, e.Bytes, e.SHA256)
	default:
		return
	}
	v.Found[len(v.Found)-1].Path = a.Path
}

func (v *ReceiptAudit) againstArchive(ctx context.Context, r compact.Receipt) {
	if r.Archive == nil {
		return
	}
	e, known := v.archives[r.Archive.ID]
	switch {
	case !known && v.excused(r):
	case !known:
		v.problem(r, "the receipt names an archive that is not in the catalogue")
	case e.SHA256 != r.Archive.SHA256 || e.Bytes != r.Archive.Bytes:
		v.problem(r, "the receipt's archive has %d bytes and sha256 %s, the catalogue says %d and %s", r.Archive.Bytes, r.Archive.SHA256, e.Bytes, e.SHA256)
	case r.Source.SHA256 != r.Archive.SHA256:
		v.problem(r, "the receipt's log has sha256 %s, its archive %s", r.Source.SHA256, r.Archive.SHA256)
	case workspace.TraitsOf(r.Runtime).CountsLines && r.Undo == nil && int64(r.Content.Lines) != e.Lines && r.Content.Lines != CountLines(ctx, v.copies, e):
		v.problem(r, "the receipt says %d lines, the archive has %d", r.Content.Lines, e.Lines)
	}
}

// excused reports whether the archive of a receipt's log was deleted on purpose since.
// An undo needs none where the old log was still there: its compaction's receipt names
// the same one.
func (v *ReceiptAudit) excused(r compact.Receipt) bool {
	made := r.At
	if r.Undo != nil {
		made = time.Time{}
	}
	return v.deletedAfter(made, r.Archive.ID)
}

// deletedAfter reports whether an archive that was there at a time was deleted on
// purpose since: one that was made again and is gone is missed. A time that is known
// to be wrong says nothing of the order.
func (v *ReceiptAudit) deletedAfter(there time.Time, id string) bool {
	at, deleted := v.deleted[id]
	if !deleted || !at.Before(there) {
		return deleted
	}
	wrong, err := Clock(v.Run).Wrong(there)
	return wrong || err != nil // doctor tells of a declaration that cannot be read
}

// AgainstMemory compares what receipts say was stored with what is there. store
// is nil if there is no memory.
func (v *ReceiptAudit) AgainstMemory(ctx context.Context, store *memory.Store) error {
	for _, r := range v.Receipts {
		if r.Chunks == 0 || r.Undo != nil || v.withdrawn(r) {
			continue
		}
		if store == nil {
			v.memoryProblem(r, "memory has no record of session %s, the receipt says %s", r.Session, wording.Plural(r.Chunks, "chunk"))
			continue
		}
		if err := v.againstRecords(ctx, store, r); err != nil {
			return err
		}
	}
	return v.dropWithdrawn()
}

// dropWithdrawn drops what memory was found to lack because of an undo that has taken it
// out since the receipts were read. The journal is read before them now: an undo that has
// ended by then has its receipt.
func (v *ReceiptAudit) dropWithdrawn() error {
	if len(v.OfMemory()) == 0 {
		return nil
	}
	err := v.lookForUndos()
	receipts, _, examineErr := v.Run.Receipts().Examine()
	if err := errors.Join(err, examineErr); err != nil {
		return err
	}
	v.undone = compact.UndoneBy(receipts)
	v.Found = slices.DeleteFunc(v.Found, func(p ReceiptProblem) bool {
		of := slices.IndexFunc(v.Receipts, func(r compact.Receipt) bool { return r.ID == p.ID })
		return p.ofMemory && of >= 0 && v.withdrawn(v.Receipts[of])
	})
	return nil
}

func (v *ReceiptAudit) againstRecords(ctx context.Context, store *memory.Store, r compact.Receipt) error {
	source := selection.SourceOf(r)
	made, err := store.Remade(ctx, source)
	if err != nil {
		return fmt.Errorf("look what memory has of %s: %w", r.Session, err)
	}
	c, err := store.Coverage(ctx, source, compact.CategoryHistory, v.sessions[source])
	if err != nil {
		return fmt.Errorf("look what memory has of %s: %w", r.Session, err)
	}
	expected := v.expected(r, made)
	lack := expected.lack(c)
	if lack == "" {
		if lack, err = v.lackOfItsBytes(ctx, store, expected); err != nil {
			return fmt.Errorf("look what memory has of %s: %w", r.Session, err)
		}
	}
	if lack != "" {
		v.memoryProblem(r, "%s", lack)
	}
	return nil
}

// expected is what memory should have of a receipt's session.
type expected struct {
	compact.Receipt
	limit   int64 // that its pieces were made under
	figures bool  // those of the receipt are of such pieces
	pieces  bool  // the archive says under this limit which they are
}

// expected tells under which limit for outputs the pieces of a session are in memory:
// that of the receipt, or of the rebuild since. A memory that was made again under
// another one has other chunks, and so has one that was redacted by other rules.
func (v *ReceiptAudit) expected(r compact.Receipt, made memory.Remade) expected {
	limit, recorded := r.Content.Limit()
	if made.At > r.At.UnixMilli() {
		figures := limit == made.OutputLimit && r.Content.Redaction == made.Redaction
		return expected{r, made.OutputLimit, figures, made.Redaction == secrets.Version}
	}
	present := max(v.OutputLimit(), 0)
	same := (!recorded || limit == present) && r.Content.Redaction == secrets.Version
	return expected{r, present, same, same}
}

// lack says what is not in memory of what a receipt says was stored; "" for nothing.
func (r expected) lack(c memory.Coverage) string {
	missing := 0
	if r.figures && r.Content.Chunker == chunk.Version {
		missing = c.Missing(r.Chunks)
	}
	switch {
	case missing > 0:
		return lackingChunks(r.Receipt, missing)
	case r.limit > 0 && c.Bytes < r.Content.CoveredBytes: // with none, outputs alone have no piece
		return fmt.Sprintf("memory covers %d bytes of the log of session %s, the receipt says %d", c.Bytes, r.Session, r.Content.CoveredBytes)
	case c.Forgotten == 0 && r.figures && c.Characters < r.Content.Characters:
		return fmt.Sprintf("memory has %d characters of session %s, the receipt says %d", c.Characters, r.Session, r.Content.Characters)
	}
	return ""
}

func lackingChunks(r compact.Receipt, missing int) string {
	return fmt.Sprintf("memory lacks %d of the %s of session %s", missing, wording.Plural(r.Chunks, "chunk"), r.Session)
}

// withdrawn reports whether an undo has taken what the receipt's run stored out
// of memory, or is about to: its own, or a later one of the same session. That
// one leaves what other runs stored, but not if they were undone before; those of
// earlier versions left only what other compactions stored.
func (v *ReceiptAudit) withdrawn(r compact.Receipt) bool {
	if v.undoing[selection.SourceOf(r)] {
		return true
	}
	own, undone := v.undone[r.ID]
	if undone && !own.Undo.MemoryKept {
		return true
	}
	for _, undo := range v.undone {
		if selection.SourceOf(undo) != selection.SourceOf(r) || undo.ID < r.ID || undo.Undo.MemoryKept {
			continue
		}
		kept := r.Outcome == compact.Compacted || r.Archive != nil && slices.Contains(undo.Undo.Kept, r.Archive.ID)
		if !kept || undone && own.ID < undo.ID {
			return true
		}
	}
	return false
}
