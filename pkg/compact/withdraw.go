package compact

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// ErrNotWithdrawn is returned by [Compactor.PlanUndo] when what a compaction has
// stored cannot be taken out of memory: an archive of another run of the session,
// from which memory would have to be made again, cannot be read. With KeepMemory
// none is needed.
var ErrNotWithdrawn = errors.New("what the compaction has stored cannot be taken out of memory")

// withdrawal is what an undo does with what memory has of its session.
type withdrawal struct {
	from    []string  // archives of the undone run, and of those undone before: what came from them goes
	keep    []string  // archives that other runs have remembered: what came from them stays
	again   []vouched // those from which it is to be made again, oldest first
	summary *vouched  // the one to sum up again; nil if the summary stays, or goes
	bare    bool      // the summary goes: no other run had made one
	alone   *vouched  // the undone run, where pieces may be left that it alone has made; else nil
	others  []vouched // the other runs then
}

// vouched is an archive of a session that another run than the undone one has
// remembered. What the undone one has stored of it again names the wrong archive.
type vouched struct {
	Archived
	by      Receipt  // of that run; without an id for what was said after a compaction
	in      Archived // an archive that begins with its bytes, often itself; the zero value if none is needed
	modTime time.Time
	covered bool // what it says is remembered as it was, or of a longer one that vouches too
	// older is true of one that another rule has cut than the undone one: its pieces are
	// others, and stayed. What was done in it has the same identity for both.
	older bool
}

// withdrawing takes out of memory what compactions have stored that are undone.
type withdrawing struct {
	memories   memories
	receipts   Receipts
	withdrawer Withdrawer
}

// withdraw takes what the compaction stored out of memory, and returns how many
// records that were and the archives whose records stay: what other runs have
// remembered of the session may be nowhere else by now. That is first made as it
// was, from their own archives, so that at no time it is missing.
func (u withdrawing) withdraw(ctx context.Context, store session.Store, undo Receipt, policy Policy) (taken int, kept []string, err error) {
	w, err := u.plan(ctx, undo)
	if err != nil {
		return 0, nil, err
	}
	ref := session.Ref{Runtime: undo.Runtime, Agent: undo.Agent, ID: undo.Session, Key: undo.Key, Path: undo.Path}
	for _, v := range w.again {
		if err := u.memories.rememberVouched(ctx, store, ref, v, policy); err != nil {
			return 0, nil, err
		}
	}
	if w.summary != nil {
		if err := u.memories.sumUpVouched(ctx, store, ref, *w.summary, policy); err != nil {
			return 0, nil, err
		}
	}
	if taken, err = u.withdrawer.Withdraw(ctx, ref, w.from, w.bare); err != nil || w.alone == nil {
		return taken, w.keep, err
	}
	alone, err := u.withdrawer.WithdrawAlone(ctx, ref, u.memories.archives.made(ctx, store, ref, w, policy))
	if err != nil {
		return 0, nil, fmt.Errorf("take out what it alone has made: %w", err)
	}
	return taken + alone, w.keep, nil
}

// canWithdraw reads the archives that [withdrawing.withdraw] will need, before
// anything is begun.
func (u withdrawing) canWithdraw(ctx context.Context, p *UndoPlan) error {
	_, err := u.plan(ctx, Receipt{Compaction: p.Receipt.Compaction, Undo: &UndoProof{Receipt: p.Receipt.ID}})
	return err
}

// plan reads the archives of the session's other runs, and changes
// nothing. An error that wraps [ErrNotWithdrawn] names one that is needed and
// cannot be read.
func (u withdrawing) plan(ctx context.Context, undo Receipt) (w withdrawal, err error) {
	receipts, err := u.receipts.forUndo(undo)
	if err != nil {
		return w, err
	}
	at := slices.IndexFunc(receipts, func(r Receipt) bool { return r.ID == undo.Undo.Receipt })
	if at < 0 || receipts[at].Archive == nil {
		return w, fmt.Errorf("the receipt %s is not there", undo.Undo.Receipt)
	}
	undone, all := receipts[at], vouchedFor(receipts, undo)
	for _, v := range all {
		if !slices.Contains(w.keep, v.ID) {
			w.keep = append(w.keep, v.ID)
		}
	}
	w.from = u.memories.archives.withdrawnFrom(ctx, receipts, undone, w.keep)
	if all, err = u.memories.archives.findBytes(ctx, all, undone); err != nil {
		return w, err
	}
	for _, v := range all {
		if !v.covered {
			v.older = v.by.ID != "" && v.by.Content.Chunker != undone.Content.Chunker
			w.again = append(w.again, v)
		}
	}
	w.planAlone(receipts, all, undone)
	w.planSummary(receipts, all, undone)
	return w, nil
}

// vouchedFor are the archives of the session's other runs, oldest first and each
// once for every way in which it was remembered, and of what was said after
// compactions that were undone.
func vouchedFor(receipts []Receipt, undo Receipt) (all []vouched) {
	add := func(a Archived, by Receipt) {
		same := func(v vouched) bool { return v.ID == a.ID && (by.ID == "" || v.by.ID == "" || alike(v.by, by)) }
		if at := slices.IndexFunc(all, same); at >= 0 {
			if by.ID == "" { // what a run has made of it stays made
				by = all[at].by
			}
			all = slices.Delete(all, at, at+1)
		}
		all = append(all, vouched{Archived: a, by: by})
	}
	undone := UndoneBy(receipts)
	undone[undo.Undo.Receipt] = undo
	for _, r := range receipts {
		_, gone := undone[r.ID]
		switch {
		case r.Runtime != undo.Runtime || r.Agent != undo.Agent || r.Session != undo.Session:
		case r.Undo != nil && r.Undo.Newer != nil:
			add(*r.Undo.Newer, Receipt{Content: r.Content})
		case !gone && r.Archive != nil && (r.Outcome == Compacted || r.Outcome == Partial):
			add(*r.Archive, r)
			if r.Late != nil {
				add(*r.Late, r)
			}
		}
	}
	if undo.Undo.Newer != nil {
		add(*undo.Undo.Newer, Receipt{Content: undo.Content})
	}
	return all
}

// withdrawnFrom lists the archives of the run that is undone, and of those of its
// session that were undone before: memory may have been left as it was then. Of those
// only what can be read and what the log that comes back says: it may have been cut
// since, or have gone on before somebody else remembered and deleted it. Records
// of any other archive, or of none, were stored by somebody else: their text may be
// nowhere else by now, or in an archive that memory was made again from.
func (a archives) withdrawnFrom(ctx context.Context, receipts []Receipt, undone Receipt, keep []string) (from []string) {
	gone := UndoneBy(receipts)
	var before []*vouched
	add := func(r Receipt, of *Archived) {
		switch {
		case of == nil, slices.Contains(keep, of.ID):
		case r.ID == undone.ID:
			from = append(from, of.ID)
		default:
			before = append(before, &vouched{Archived: *of})
		}
	}
	for _, r := range receipts {
		_, is := gone[r.ID]
		same := r.Runtime == undone.Runtime && r.Agent == undone.Agent && r.Session == undone.Session
		if same && (is || r.ID == undone.ID) {
			add(r, r.Archive)
			add(r, r.Late)
		}
	}
	for _, v := range a.saidAgain(ctx, undone, before) {
		if !slices.Contains(from, v.ID) && a.Lasts(ctx, v.Archived) == nil {
			from = append(from, v.ID)
		}
	}
	return from
}

// saidAgain are those archives of which nothing is said that is not in the log that an
// undo brings back: it begins with them, or the undone run had made them of it. There
// are none where the archive of that log cannot be read.
func (a archives) saidAgain(ctx context.Context, undone Receipt, archives []*vouched) []*vouched {
	if len(archives) == 0 {
		return nil
	}
	again, err := a.readThrough(ctx, undone.whole(), archives)
	if err != nil {
		return nil
	}
	for _, v := range archives {
		if !slices.Contains(again, v) && a.wasLeft(ctx, v.Archived, undone) {
			again = append(again, v)
		}
	}
	return again
}

// wasLeft reports whether an archive is of the log exactly as a run had left it. If
// that was only appended to, the run has not hashed the whole, see [isLog].
func (a archives) wasLeft(ctx context.Context, log Archived, by Receipt) bool {
	left := by.left()
	if left.SHA256 != "" || log.Bytes != left.Size {
		return log.SHA256 == left.SHA256
	}
	copied, err := a.Open(ctx, log)
	if err != nil {
		return false
	}
	start := &beginnings{lengths: []int64{by.Source.Bytes}}
	copied = start.watch(copied)
	defer copied.Close()
	if _, err := io.CopyN(io.Discard, copied, by.Source.Bytes); err != nil || start.sums[by.Source.Bytes] != by.Source.SHA256 {
		return false
	}
	added := sha256.New()
	_, err = io.Copy(added, copied)
	return err == nil && (left.Added == "" || hex.EncodeToString(added.Sum(nil)) == left.Added)
}

// findBytes finds for each archive one that has its bytes. A longer one that
// begins with them says it all, if it was remembered alike; of one that is gone the undone compaction's may
// have them.
func (a archives) findBytes(ctx context.Context, all []vouched, undone Receipt) ([]vouched, error) {
	var longest []*vouched
	for i := range all {
		longest = append(longest, &all[i])
	}
	slices.SortStableFunc(longest, func(x, y *vouched) int { return cmp.Compare(y.Bytes, x.Bytes) })
	for i, v := range longest {
		if v.in.ID != "" {
			continue
		}
		begun, err := a.readThrough(ctx, v.Archived, longest[i+1:])
		if err == nil {
			v.in = v.Archived
			for _, shorter := range begun {
				shorter.in, shorter.covered = v.Archived, alike(shorter.by, v.by)
			}
			continue
		}
		own := *undone.Archive
		if own.ID == v.ID && undone.Late == nil {
			v.covered = true // what the undone compaction has stored names it
			continue
		}
		if begun, _ := a.readThrough(ctx, own, []*vouched{v}); len(begun) == 0 {
			return nil, errors.Join(ctx.Err(), fmt.Errorf("%w: %w", ErrNotWithdrawn, err))
		}
		v.in = own
	}
	for i := range all {
		if all[i].in.ID == "" {
			continue
		}
		var err error
		if all[i].modTime, err = a.ModTime(ctx, all[i].in); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// alike reports whether two runs make the same records of the same bytes.
func alike(x, y Receipt) bool {
	taken, _ := x.Content.Limit()
	limit, _ := y.Content.Limit()
	return x.Content.Chunker == y.Content.Chunker && taken == limit
}

// planAlone finds out whether the undone run may have left pieces of an archive that
// stays: another run has remembered the same bytes with another limit. Nothing is
// taken unless it is known what every other run has made of the session.
func (w *withdrawal) planAlone(receipts []Receipt, all []vouched, undone Receipt) {
	own := vouched{Archived: *undone.Archive, by: undone}
	other := func(v vouched) bool { return v.ID == own.ID && !alike(v.by, undone) }
	at := slices.IndexFunc(all, other)
	_, recorded := undone.Content.Limit()
	if at < 0 || !recorded || undone.Late != nil || !undone.Content.SameRules() {
		return
	}
	gone := UndoneBy(receipts)
	for _, r := range receipts {
		_, is := gone[r.ID]
		same := r.Runtime == undone.Runtime && r.Agent == undone.Agent && r.Session == undone.Session
		if same && !is && r.Archive == nil && r.Undo == nil && r.Chunks > 0 {
			return // nobody can read what it has remembered
		}
	}
	if slices.ContainsFunc(all, func(v vouched) bool { return v.in.ID == "" }) {
		return
	}
	own.in, own.modTime = all[at].in, all[at].modTime
	w.alone, w.others = &own, all
}

// made are the pieces that the runs of a session make.
func (a archives) made(ctx context.Context, store session.Store, ref session.Ref, w withdrawal, policy Policy) Made {
	pieces := func(of func(v vouched) bool) iter.Seq2[Record, error] {
		return func(yield func(Record, error) bool) {
			for _, v := range w.others {
				if !of(v) {
					continue
				}
				for r, err := range a.piecesOf(ctx, store, ref, v, policy) {
					if !yield(r, err) {
						return
					}
				}
			}
		}
	}
	return Made{
		Own:    a.piecesOf(ctx, store, ref, *w.alone, policy),
		Beside: pieces(func(v vouched) bool { return v.ID == w.alone.ID && v.by.Content.SameRules() }),
		Others: pieces(func(vouched) bool { return true }),
	}
}

// piecesOf are the pieces of one archive as a run makes them.
func (a archives) piecesOf(ctx context.Context, store session.Store, ref session.Ref, v vouched, policy Policy) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		m, err := a.recorderOf(ctx, store, ref, v, policy)
		if err != nil {
			yield(Record{}, err)
			return
		}
		for r, err := range m.records(ctx) {
			if (err != nil || r.Action == nil) && !yield(r, err) {
				return
			}
		}
	}
}

// readThrough reads an archive to its end, where its hash is checked, and returns
// those that it begins with.
func (a archives) readThrough(ctx context.Context, longer Archived, shorter []*vouched) (begun []*vouched, err error) {
	starts := &beginnings{}
	for _, s := range shorter {
		starts.lengths = append(starts.lengths, s.Bytes)
	}
	slices.Sort(starts.lengths)
	r, err := a.Open(ctx, longer)
	if err != nil {
		return nil, err
	}
	r = starts.watch(r)
	defer r.Close()
	if _, err := io.Copy(io.Discard, r); err != nil {
		return nil, err
	}
	for _, s := range shorter {
		if starts.sums[s.Bytes] == s.SHA256 {
			begun = append(begun, s)
		}
	}
	return begun, nil
}

// planSummary says what becomes of the session's summary: each run that makes one
// takes the place of the one before. One of the same bytes is left, whatever model
// wrote it.
func (w *withdrawal) planSummary(receipts []Receipt, all []vouched, undone Receipt) {
	if undone.Summary == nil {
		return
	}
	var last *vouched
	gone := UndoneBy(receipts)
	for _, r := range receipts {
		at := slices.IndexFunc(all, func(v vouched) bool { return r.Archive != nil && v.ID == r.Archive.ID && v.by.ID != "" })
		if at < 0 || r.ID == undone.ID || r.Summary == nil || r.Runtime != undone.Runtime || r.Agent != undone.Agent || r.Session != undone.Session {
			continue
		}
		if _, is := gone[r.ID]; is {
			continue // what it had made was taken out
		}
		if r.ID > undone.ID {
			return // it is another one already
		}
		v := all[at]
		v.by, last = r, &v
	}
	switch {
	case last == nil:
		w.bare = true
	case last.in.ID == "", last.ID == undone.Archive.ID && last.by.Cut == nil && undone.Cut == nil:
	default:
		w.summary = last
	}
}

// origin is where its records come from.
func (v vouched) origin() Origin { return Origin{Archived: v.Archived, In: v.in} }

// rememberVouched makes the records of one as they were.
func (m memories) rememberVouched(ctx context.Context, store session.Store, ref session.Ref, v vouched, policy Policy) error {
	heard, err := m.archives.recorderOf(ctx, store, ref, v, policy)
	if err != nil {
		return err
	}
	records := heard.records(ctx)
	if v.older {
		records = actionsOnly(records)
	}
	if _, err := m.rememberer.Remember(ctx, heard.ref, v.origin(), records); err != nil {
		return fmt.Errorf("remember the archive %s again: %w", v.ID, err)
	}
	_, err = m.embedder.EmbedPending(ctx, ref, func(int64, int64) {})
	return err
}

// actionsOnly leaves the pieces out.
func actionsOnly(records iter.Seq2[Record, error]) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for r, err := range records {
			if (err != nil || r.Action != nil) && !yield(r, err) {
				return
			}
		}
	}
}

// sumUpVouched makes the summary of one again, without asking a model.
func (m memories) sumUpVouched(ctx context.Context, store session.Store, ref session.Ref, v vouched, policy Policy) error {
	if m.summarizer == nil {
		return nil
	}
	heard, err := m.archives.recorderOf(ctx, store, ref, v, policy)
	if err != nil {
		return err
	}
	order := SummaryOrder{Ref: ref, Style: store.Capabilities().SummaryStyle, Offline: true}
	if heard.cut = v.by.Cut; heard.cut != nil {
		order.MaxRunes, order.SplitTurn = summaryRunes(heard.cut), heard.cut.SplitTurn
	}
	heard.summary = m.summarizer(order)
	for _, err := range heard.history(ctx) {
		if err != nil {
			return fmt.Errorf("read the archive %s: %w", v.ID, err)
		}
	}
	records, err := heard.conclude(ctx)
	if err != nil {
		return err
	}
	if _, err = m.rememberer.Remember(ctx, heard.ref, v.origin(), each(records)); err != nil {
		return fmt.Errorf("remember the summary of the archive %s again: %w", v.ID, err)
	}
	_, err = m.embedder.EmbedPending(ctx, ref, func(int64, int64) {})
	return err
}

// recorderOf reads one as the run read it that has remembered it.
func (a archives) recorderOf(ctx context.Context, store session.Store, ref session.Ref, v vouched, policy Policy) (*recorder, error) {
	ref.ModTime = v.modTime
	policy.OutputLimit = v.by.Content.policyLimit()
	open := func() (io.ReadCloser, error) { return v.origin().Open(ctx, a) }
	survey, err := takeSurvey(ctx, store, policy.survey(), open)
	if err != nil {
		return nil, fmt.Errorf("read the archive %s: %w", v.ID, err)
	}
	return &recorder{store: store, ref: ref, policy: policy, tree: forked(survey.Scan.Tree), secrets: survey.secrets, open: open}, nil
}

func (c *Compactor) withdrawing() withdrawing {
	return withdrawing{c.memories(), c.Receipts, c.Withdrawer}
}
