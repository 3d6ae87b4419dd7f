package retention

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/session"
)

// ErrNotRemembered is returned by a Prune's Remembered when nothing of an
// archive can be compared with memory: there is no memory, or no reader for its
// format.
var ErrNotRemembered = errors.New("memory does not have it")

// ErrForgotten is returned by a Prune's Remembered when some of what an archive says
// was in memory and was forgotten on purpose.
var ErrForgotten = errors.New("memory has forgotten it")

// Prune deletes old archives whose bytes are somewhere else too. Every field
// but Superseded, LocalKeep, OffSite, ReadOffSite, Force, Logs, Leaving, Needed, Remembered and Holds is required.
type Prune struct {
	Archives *archive.Store
	Filter   archive.Filter // which archives are considered
	Trash    Trash          // the records of deleted archives
	Audit    Audit
	Now      func() time.Time
	MaxAge   time.Duration // only what is older; [Never] deletes nothing by age
	Keep     int           // never the newest so many of an agent
	// Superseded also takes archives of any age with which a later one begins.
	Superseded bool
	// LocalKeep is after which age the file of an archive goes whose copy on object
	// storage is whole; 0 is never. The catalogue keeps it.
	LocalKeep time.Duration
	// OffSite looks at the copy of an archive on object storage now, and returns an
	// error unless it is whole and can be read. nil counts no such copy.
	OffSite func(ctx context.Context, e archive.Entry) (archive.Remote, error)
	// ReadOffSite reads that copy to its end and returns an error unless it is whole.
	// It is asked before bytes are removed for good because of the copy. It is there
	// where OffSite is.
	ReadOffSite func(ctx context.Context, e archive.Entry) error
	Grace       time.Duration // how long what goes can be brought back
	Force       bool          // also more than half of an agent's archives in this run
	Rule        string        // why it goes, for the audit log
	// Logs are the sessions in whose logs the bytes of an archive may be. Logs that
	// the runtime has closed are not among them: it removes them in its own time.
	Logs []session.Ref
	// Leaving are the paths of logs that go in the same run: they do not count.
	Leaving map[string]bool
	// Purging are the runtimes that delete logs by themselves without saying when:
	// theirs do not count.
	Purging map[string]bool
	// Needed returns why an archive may not be deleted, or "": an earlier run is
	// not finished with it.
	Needed func(e archive.Entry) string
	// Remembered reports whether memory has all that an archive says, so that
	// its last copy may go. nil keeps last copies.
	Remembered func(ctx context.Context, e archive.Entry) (bool, error)
	// Holds reports whether memory still has all that a last copy in the trash says,
	// or was told to forget it since. nil leaves such copies in the trash.
	Holds func(ctx context.Context, e archive.Entry) (bool, error)
}

// Never is an age that nothing reaches.
const Never = time.Duration(math.MaxInt64)

// PrunePlan says what becomes of every archive and of what has been in the
// trash for long enough. It is data, and what is shown is what is executed.
type PrunePlan struct {
	Archives []ArchivePlan
	Purge    []PurgePlan
	Waiting  []Waiting // the agents, with their runtime, that would lose more than half of their archives: the rest waits for the next run
}

// ArchivePlan is what becomes of an archive. The reason of a verdict that it
// goes says where else its bytes are.
type ArchivePlan struct {
	Entry   archive.Entry
	Verdict Verdict
	// OffSite is the copy on object storage as it was seen a moment ago, if only the
	// file goes and the catalogue keeps the archive; else nil.
	OffSite *archive.Remote
	// By is the later archive that begins with its bytes, in which it is read from
	// then on; nil for another reason.
	By *archive.Entry
}

// PurgePlan is what becomes of an archive that has been in the trash for long
// enough: it is removed for good if its bytes still are somewhere else.
type PurgePlan struct {
	Item   Item
	Entry  archive.Entry
	Goes   bool
	Reason string // why it stays
}

// verdicts are those of all archives.
func (p *PrunePlan) verdicts() []Verdict {
	var all []Verdict
	for _, a := range p.Archives {
		all = append(all, a.Verdict)
	}
	return all
}

// Plan decides what becomes of every archive and of what is in the trash. It
// changes nothing. The caller has checked the clock.
func (p *Prune) Plan(ctx context.Context) (*PrunePlan, error) {
	entries, err := p.entries(ctx)
	if err != nil {
		return nil, err
	}
	var candidates []Candidate
	for _, e := range entries {
		candidates = append(candidates, Candidate{ID: e.ID, Owner: e.Runtime + " " + e.Agent, Time: e.CreatedAt})
	}
	plan := &PrunePlan{}
	for i, v := range Choose(candidates, Policy{MaxAge: p.MaxAge, Keep: p.Keep}, p.Now()) {
		plan.Archives = append(plan.Archives, ArchivePlan{Entry: entries[i], Verdict: v})
	}
	places := p.places(entries)
	for i := len(plan.Archives) - 1; i >= 0; i-- { // the newer ones first: older ones may lean on those that stay
		if err := p.decide(ctx, plan, places, i); err != nil {
			return nil, err
		}
	}
	if !p.Force {
		plan.holdBack()
	}
	return plan, p.planPurge(ctx, plan, places)
}

// entries are the archives that are considered, in the order in which their sessions
// grew: one that was found without an entry has the time of its name, to the second.
func (p *Prune) entries(ctx context.Context) ([]archive.Entry, error) {
	entries, err := p.Archives.List(ctx, p.Filter)
	slices.SortStableFunc(entries, func(a, b archive.Entry) int {
		return cmp.Or(a.CreatedAt.Truncate(time.Second).Compare(b.CreatedAt.Truncate(time.Second)), cmp.Compare(a.Bytes, b.Bytes))
	})
	return entries, err
}

// decide decides about archive i.
func (p *Prune) decide(ctx context.Context, plan *PrunePlan, known *places, i int) error {
	a := &plan.Archives[i]
	v, leaves := &a.Verdict, p.mayLeave(a.Entry)
	if !v.Goes && !leaves && !p.Superseded {
		return nil
	}
	reason := p.needed(a.Entry)
	if !p.Archives.Here(a.Entry) && a.Entry.Remote != nil {
		reason = "only on object storage, where nothing is deleted"
	}
	switch {
	case reason != "" && (v.Goes || leaves):
		v.Goes, v.Reason = false, reason
		return nil
	case reason != "":
		return nil
	}
	if v.Goes || p.Superseded {
		where, err := p.findCopy(ctx, plan, known, i)
		if err != nil {
			return err
		}
		if v.Goes || where.by != nil {
			v.Goes, v.Reason, a.OffSite, a.By = where.found, where.reason, where.offSite, where.by
		}
	}
	if v.Goes || !leaves {
		return nil
	}
	where, err := p.offSite(ctx, a.Entry)
	v.Goes, v.Reason, a.OffSite = where.found, where.reason, where.offSite
	return err
}

// mayLeave reports whether an archive is old enough for its file to leave this disk.
func (p *Prune) mayLeave(e archive.Entry) bool {
	return p.LocalKeep > 0 && p.Now().Sub(e.CreatedAt) > p.LocalKeep
}

// offSite verifies an archive's file and looks at its copy on object storage.
func (p *Prune) offSite(ctx context.Context, e archive.Entry) (otherCopy, error) {
	switch {
	case e.Remote == nil:
		return otherCopy{reason: "no copy on object storage yet"}, nil
	case p.OffSite == nil:
		return otherCopy{reason: "its copy on object storage cannot be looked at"}, nil
	}
	if err := p.Archives.VerifyFile(ctx, e); err != nil {
		return otherCopy{reason: "does not verify: " + err.Error()}, ctx.Err()
	}
	r, err := p.OffSite(ctx, e)
	if err != nil {
		return otherCopy{reason: "its copy on object storage does not count: " + err.Error()}, ctx.Err()
	}
	reason := "its copy " + r.URL + " was checked now"
	if !r.RetainUntil.IsZero() {
		reason += ", and is locked until " + r.RetainUntil.UTC().Format(time.DateOnly)
	}
	return otherCopy{found: true, reason: reason, offSite: &r}, nil
}

// holdBack leaves to the next run what is more than one may take of an agent. Archives
// that can be read as before do not count: those of which only the file goes, and those
// with which a later one begins.
func (p *PrunePlan) holdBack() {
	verdicts := make([]*Verdict, 0, len(p.Archives))
	for i := range p.Archives {
		a := &p.Archives[i]
		v := &a.Verdict
		switch {
		case a.By != nil:
			continue
		case a.OffSite != nil:
			stays := *v
			stays.Goes = false
			v = &stays
		}
		verdicts = append(verdicts, v)
	}
	p.Waiting = holdBack(verdicts)
}

// origin is the session that archives and logs are of.
type origin struct{ runtime, agent, session string }

func originOf(e archive.Entry) origin { return origin{e.Runtime, e.Agent, e.Session} }

// places are where the bytes of a session can be, found without looking at every
// archive and log for each.
type places struct {
	planned map[origin][]int // of the plan's archives, oldest first
	logs    map[origin][]session.Ref
	entered map[origin][]archive.Entry // the whole catalogue's; nil until it is asked for
	asked   map[origin][]archive.Entry // whose bytes may be asked for: those of the plan and of the trash
	begins  map[string]map[string]bool // with which of those an archive begins, by its id; each is read once
}

func (p *Prune) places(entries []archive.Entry) *places {
	known := &places{planned: map[origin][]int{}, logs: map[origin][]session.Ref{}, asked: map[origin][]archive.Entry{}, begins: map[string]map[string]bool{}}
	for i, e := range entries {
		known.planned[originOf(e)] = append(known.planned[originOf(e)], i)
		known.asked[originOf(e)] = append(known.asked[originOf(e)], e)
	}
	for _, ref := range p.Logs {
		of := origin{ref.Runtime, ref.Agent, ref.ID}
		known.logs[of] = append(known.logs[of], ref)
	}
	return known
}

// archivesOf are the archives of a session in the catalogue, which is read once.
func (p *Prune) archivesOf(ctx context.Context, known *places, of origin) ([]archive.Entry, error) {
	if known.entered == nil {
		all, err := p.Archives.List(ctx, archive.Filter{})
		if err != nil {
			return nil, err
		}
		known.entered = map[origin][]archive.Entry{}
		for _, e := range all {
			known.entered[originOf(e)] = append(known.entered[originOf(e)], e)
		}
	}
	return known.entered[of], nil
}

func (p *Prune) needed(e archive.Entry) string {
	if p.Needed == nil {
		return ""
	}
	return p.Needed(e)
}

// planPurge finds what has been in the trash for long enough, and whether its
// bytes still are somewhere else.
func (p *Prune) planPurge(ctx context.Context, plan *PrunePlan, known *places) error {
	now := p.Now()
	going := map[string]bool{}
	for _, v := range plan.verdicts() {
		going[v.ID] = v.Goes
	}
	items, err := p.Trash.List()
	if err != nil {
		return err
	}
	items = slices.DeleteFunc(items, func(i Item) bool { return now.Before(i.Until) })
	for _, item := range items {
		if e, err := ArchiveOf(item); err == nil {
			known.asked[originOf(e)] = append(known.asked[originOf(e)], e)
		}
	}
	clear(known.begins) // they did not ask for what is in the trash, and are to be read now
	for _, item := range items {
		e, err := ArchiveOf(item)
		if err != nil {
			return err
		}
		if p.needed(e) != "" || !exists(filepath.Dir(item.From)) {
			continue
		}
		purge := PurgePlan{Item: item, Entry: e}
		if purge.Reason, err = p.stays(ctx, going, known, purge); err != nil {
			return err
		}
		purge.Goes = purge.Reason == ""
		plan.Purge = append(plan.Purge, purge)
	}
	return nil
}

// otherCopy is where the bytes of an archive are beside it, or why it stays.
type otherCopy struct {
	found   bool
	reason  string
	offSite *archive.Remote // it is this one
	by      *archive.Entry  // it is this later archive
}

// findCopy verifies archive i and looks for its bytes elsewhere.
func (p *Prune) findCopy(ctx context.Context, plan *PrunePlan, known *places, i int) (otherCopy, error) {
	e, goes := plan.Archives[i].Entry, plan.Archives[i].Verdict.Goes
	planned := known.planned[originOf(e)]
	if !goes && planned[len(planned)-1] == i {
		return otherCopy{}, nil // none is later
	}
	if err := p.Archives.VerifyFile(ctx, e); err != nil {
		return otherCopy{reason: "does not verify: " + err.Error()}, ctx.Err()
	}
	for _, j := range slices.Backward(planned) {
		if j <= i {
			break
		}
		other := plan.Archives[j].Entry
		if plan.Archives[j].Verdict.Goes || !p.Archives.Here(other) {
			continue
		}
		if p.begins(ctx, known, other, e) {
			return otherCopy{found: true, reason: "archive " + other.ID + " begins with its bytes", by: &other}, nil
		}
		if ctx.Err() != nil {
			return otherCopy{}, ctx.Err()
		}
	}
	if !goes {
		return otherCopy{}, nil
	}
	return p.elsewhere(ctx, known, e)
}

// elsewhere looks for an archive's bytes where no later archive has them.
func (p *Prune) elsewhere(ctx context.Context, known *places, e archive.Entry) (otherCopy, error) {
	log, passing := p.inLog(ctx, known, e)
	switch {
	case log != "":
		return otherCopy{found: true, reason: "its bytes are in " + log}, nil
	case e.Remote != nil && p.OffSite != nil:
		return p.offSite(ctx, e)
	}
	where, err := p.lastCopy(ctx, e)
	if !where.found && passing != "" {
		where.reason += "; " + passing + " does not count, as its runtime deletes it by itself"
	}
	return where, err
}

// forGood is how far off it is when a runtime deletes a log that it was told to keep:
// such settings are thousands of days.
const forGood = 5 * 365 * 24 * time.Hour

// inLog is the path of a log that begins with an archive's bytes, or "". One that its
// runtime deletes by itself is returned as passing, as nothing can rely on it.
func (p *Prune) inLog(ctx context.Context, known *places, e archive.Entry) (path, passing string) {
	for _, ref := range known.logs[originOf(e)] {
		if p.Leaving[ref.Path] || ref.Bytes < e.Bytes {
			continue
		}
		log, err := p.Trash.Pins.OpenRegular(ref.Path)
		if err != nil {
			continue
		}
		same, err := session.Snapshot{Size: e.Bytes, SHA256: e.SHA256}.Begins(ctx, log)
		_ = log.Close() // it was only read
		switch {
		case err != nil || !same:
		case p.lasts(ref):
			return ref.Path, ""
		default:
			passing = ref.Path
		}
	}
	return "", passing
}

// lasts tells whether nobody but a person deletes a log.
func (p *Prune) lasts(ref session.Ref) bool {
	if ref.Expires.IsZero() {
		return !p.Purging[ref.Runtime]
	}
	return ref.Expires.Sub(p.Now()) > forGood
}

// lastCopyReason is why an archive goes whose bytes are nowhere else.
const lastCopyReason = "the last copy; memory has what it says"

// lastCopy decides about bytes that are nowhere else: they stay, unless that was
// asked for and memory has what they say.
func (p *Prune) lastCopy(ctx context.Context, e archive.Entry) (otherCopy, error) {
	if p.Remembered == nil {
		return otherCopy{reason: "the only copy; --last-copies takes it if memory has what it says"}, nil
	}
	all, err := p.Remembered(ctx, e)
	if errors.Is(err, ErrNotRemembered) {
		return otherCopy{reason: "the only copy, and memory does not have what it says"}, nil
	}
	if errors.Is(err, ErrForgotten) {
		return otherCopy{reason: "the only copy: memory was told to forget some of what it says"}, nil
	}
	if err != nil || !all {
		return otherCopy{reason: "the only copy, and memory does not have all that it says"}, ctx.Err()
	}
	return otherCopy{found: true, reason: lastCopyReason}, nil
}

// noOther is why an archive stays in the trash whose bytes are nowhere else.
const noOther = "no other copy counts any more"

// stays returns why an archive in the trash may not be removed for good, or "" if its
// bytes are somewhere else as they were when it went there. Of a file
// whose archive stays in the catalogue a log does not count, nor does a longer
// archive: what is asked for that archive must still be there to be read.
func (p *Prune) stays(ctx context.Context, going map[string]bool, known *places, in PurgePlan) (string, error) {
	reason := noOther
	if in.Item.Kind == kindFile {
		err := p.stillOffSite(ctx, in.Entry)
		if err == nil || ctx.Err() != nil {
			return "", ctx.Err()
		}
		reason = err.Error()
	} else if log, _ := p.inLog(ctx, known, in.Entry); log != "" || p.stillHeld(ctx, in) {
		return "", ctx.Err()
	}
	others, err := p.archivesOf(ctx, known, originOf(in.Entry))
	if err != nil {
		return "", err
	}
	for _, other := range others {
		if going[other.ID] || !p.counts(ctx, other, in) {
			continue
		}
		if p.begins(ctx, known, other, in.Entry) {
			return "", nil
		}
	}
	return reason, ctx.Err()
}

// stillHeld reports whether an archive went because memory has what it says, and memory
// has that still. A memory that was lost meanwhile is made again from the archives of
// the catalogue, and this one is not among them: it is the last copy then.
func (p *Prune) stillHeld(ctx context.Context, in PurgePlan) bool {
	if p.Holds == nil || !strings.HasSuffix(in.Item.Rule, lastCopyReason) {
		return false
	}
	waiting := in.Entry
	waiting.Path = in.Item.To
	held, err := p.Holds(ctx, waiting)
	return err == nil && held
}

// counts reports whether an archive may be what one in the trash leans on: its file
// is here, or its copy on object storage is whole now. Reading it alone would not
// tell: a copy that was fetched once is kept in a cache.
func (p *Prune) counts(ctx context.Context, other archive.Entry, in PurgePlan) bool {
	switch {
	case other.Bytes < in.Entry.Bytes:
		return false
	case in.Item.Kind == kindFile:
		return other.ID == in.Entry.ID && p.Archives.Here(other)
	case p.Archives.Here(other):
		return true
	case other.Remote == nil || p.OffSite == nil:
		return false
	}
	return p.ReadOffSite(ctx, other) == nil
}

// stillOffSite reads the copy on object storage of an archive whose file is in the
// trash, as the catalogue has it now.
func (p *Prune) stillOffSite(ctx context.Context, e archive.Entry) error {
	entered, err := p.Archives.Get(ctx, e.ID)
	if err != nil || entered.Remote == nil || p.OffSite == nil {
		return errors.New(noOther)
	}
	if err := p.ReadOffSite(ctx, entered); err != nil {
		return fmt.Errorf("its copy on object storage does not count: %w", err)
	}
	return nil
}

// Recover finishes what a killed run began: an archive whose file is in the
// trash is not in the catalogue any more, unless only its file was to go, and one
// whose file is not was never deleted.
func (p *Prune) Recover(ctx context.Context) error {
	return p.Trash.recoverEach("prune", func(item Item, ended *movesEnded) error { return p.recoverItem(ctx, item, ended) })
}

// recoverItem looks how far the run came that deleted an archive, or brought one
// back. The same bytes may have been archived anew meanwhile, under the same id
// and another name: that entry stays.
func (p *Prune) recoverItem(ctx context.Context, item Item, ended *movesEnded) error {
	e, err := ArchiveOf(item)
	if err != nil {
		return err
	}
	inTrash, err := p.Trash.recover(item, ended)
	if err != nil {
		return err
	}
	if item.Kind == kindFile {
		if inTrash || !p.Trash.isAt(item.From) { // it is lost, which --undelete tells
			return nil
		}
		return p.Trash.dropUnused(p.Audit, item, e.ID, p.Now())
	}
	entered, err := p.Archives.Get(ctx, e.ID)
	known := err == nil && entered.SupersededBy == "" // with a file of its own
	if err != nil && !errors.Is(err, archive.ErrNotFound) {
		return err
	}
	switch {
	case inTrash && known && entered.Path == item.From && !exists(item.From):
		return p.Archives.Drop(ctx, e)
	case inTrash:
		return nil
	case !known && !exists(item.From):
		return nil // it is lost, which --undelete tells
	case !known:
		if err := p.Archives.Readmit(ctx, e); errors.Is(err, archive.ErrCorrupt) {
			return nil // the record says what it should be
		} else if err != nil {
			return err
		}
	}
	return p.Trash.dropUnused(p.Audit, item, e.ID, p.Now())
}

// ArchiveOf is the catalogue's entry of an archive in the trash.
func ArchiveOf(item Item) (e archive.Entry, err error) {
	if err := json.Unmarshal(item.Detail, &e); err != nil || e.ID == "" {
		return e, fmt.Errorf("the record %s of the trash is not of an archive", item.ID)
	}
	e.SupersededBy = "" // it is read in its own file
	return e, nil
}

// Execute does what the plan says. Each archive is looked at once more.
func (p *Prune) Execute(ctx context.Context, plan *PrunePlan) error {
	for _, a := range plan.Archives {
		if err := ctx.Err(); err != nil {
			return err
		}
		if a.Verdict.Goes {
			if err := p.discard(ctx, a); err != nil {
				return fmt.Errorf("delete archive %s: %w", a.Entry.ID, err)
			}
		}
	}
	for _, purge := range plan.Purge {
		if !purge.Goes {
			continue
		}
		if err := p.lookAgain(ctx, purge); err != nil {
			return fmt.Errorf("empty the trash: %w", err)
		}
		err := p.Audit.Append(purge.Item.line(ActionPurge, p.Now().UTC(), purge.Entry.ID))
		if err == nil {
			err = p.Trash.Remove(purge.Item)
		}
		if err != nil {
			return fmt.Errorf("empty the trash: %w", err)
		}
	}
	return nil
}

// lookAgain looks once more at the copy on object storage because of which a file
// leaves the trash: whoever agreed to the plan may have taken hours, and that copy is
// the last one.
func (p *Prune) lookAgain(ctx context.Context, purge PurgePlan) error {
	if purge.Item.Kind != kindFile {
		return nil
	}
	reason, err := p.stays(ctx, nil, p.places(nil), purge)
	if err == nil && reason != "" {
		err = fmt.Errorf("archive %s: its copy on object storage was whole when the plan was made, and is not any more: %s: the file stays in the trash", purge.Entry.ID, reason)
	}
	return err
}

// The kinds of what goes, in the trash and in the audit log.
const (
	kindArchive = "archive"
	// kindFile is the file of an archive whose copy is on object storage: the
	// catalogue has the archive as before.
	kindFile = "archive file"
)

// GoesToTrash reports whether what is of a kind waits in the trash when it is deleted.
func GoesToTrash(kind string) bool {
	return kind == KindSession || kind == kindArchive || kind == kindFile
}

// discard moves one archive into the trash: first the record, then where it is read from
// then on, the line that says so, the file, and the catalogue's entry, unless only the
// file goes.
func (p *Prune) discard(ctx context.Context, a ArchivePlan) error {
	e := a.Entry
	if err := p.Archives.Look(e); err != nil {
		return err
	}
	noted := e
	if a.By != nil {
		if err := p.Archives.Look(*a.By); err != nil {
			return err
		}
		noted.SupersededBy = a.By.ID
	}
	detail, err := json.Marshal(noted)
	if err != nil {
		return err
	}
	now := p.Now().UTC()
	id := e.ID + "-" + now.Format(trashTime) // the same bytes may be archived and deleted again
	item := Item{
		ID: id, Kind: kindArchive, From: e.Path, To: Place(e.Path, id), SHA256: e.SHA256, Bytes: e.StoredBytes,
		At: now, Until: now.Add(p.Grace), Rule: p.Rule + ": " + a.Verdict.Reason, Detail: detail,
	}
	if a.OffSite != nil {
		item.Kind = kindFile
		if _, err := p.Archives.NoteRemote(ctx, e, *a.OffSite); err != nil {
			return err
		}
	}
	if err := p.Trash.Record(item); err != nil {
		return err
	}
	if a.By != nil {
		if err := p.Archives.Supersede(ctx, e, *a.By); err != nil {
			return err
		}
	}
	if err := p.Audit.Append(item.line(ActionTrash, now, e.ID)); err != nil {
		return errors.Join(err, p.Trash.dropUnused(p.Audit, item, e.ID, now))
	}
	if err := p.Trash.move(item.From, item.To); err != nil || a.OffSite != nil {
		return err
	}
	return p.Archives.Drop(ctx, e)
}

// Waits returns the archive whose record has an id, or the only one whose id starts
// so, and reads its file where it waits. [ErrNotInTrash] is returned when there is
// none, or are several.
func (p *Prune) Waits(ctx context.Context, id string) (Item, archive.Entry, error) {
	item, err := p.Trash.Get(id)
	if err != nil {
		return item, archive.Entry{}, err
	}
	e, err := ArchiveOf(item)
	if err != nil || !p.Trash.isAt(item.To) && exists(item.From) {
		return item, e, err // it was brought back half-way, or never went
	}
	waiting := e
	waiting.Path = item.To
	if err := p.Archives.VerifyFile(ctx, waiting); err != nil {
		return item, e, fmt.Errorf("archive %s stays in the trash: %w", item.ID, err)
	}
	return item, e, nil
}

// Undelete brings back the archive that [Prune.Waits] returns, if it is whole.
func (p *Prune) Undelete(ctx context.Context, id string) (archive.Entry, error) {
	item, e, err := p.Waits(ctx, id)
	if err != nil {
		return e, err
	}
	line := item.line(ActionUndelete, p.Now().UTC(), e.ID)
	line.Rule = "archives prune --undelete"
	for _, step := range []func() error{
		func() error { return p.Trash.TakeBack(item) },
		func() error { return p.Archives.Readmit(ctx, e) },
		func() error { return p.Audit.Append(line) },
		func() error { return p.Trash.drop(item.ID) },
	} {
		if err := step(); err != nil {
			return e, fmt.Errorf("bring archive %s back: %w", item.ID, err)
		}
	}
	return e, nil
}
