package compact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"strings"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// Execute carries out a plan whose outcome is Planned. The result is complete
// even when an error is returned, and describes the bytes that were worked on
// last: a log that only grows meanwhile is followed up to three times. A
// session that changes otherwise, or once more, is left as it is and its
// outcome is Busy; what was archived and remembered by then stays and is found
// again by the next run. A session whose earlier change is not finished fails
// with a [*StuckError] and is left as it is.
func (c *Compactor) Execute(ctx context.Context, store session.Store, plan *Plan, policy Policy) (Result, error) {
	r := &run{Compactor: c, store: store, plan: plan, policy: policy, result: plan.Result()}
	r.result.TokensAfter = plan.Tokens
	err := r.execute(ctx)
	switch {
	case errors.Is(err, session.ErrBusy):
		r.result.Outcome, r.result.Reason = Busy, busyReason(err)
		return r.result, nil
	case errors.Is(err, durable.ErrHeld):
		r.result.Outcome, r.result.Reason = Busy, session.ReasonOpenElsewhere.Text()
		return r.result, nil
	case errors.Is(err, errOtherPlan):
		return r.result, nil
	case errors.Is(err, errNothingToCut), errors.Is(err, session.ErrNothingToTrim):
		r.result.Outcome, r.result.Reason, r.result.Irreducible = NothingToDo, err.Error(), true
		return r.result, nil
	case errors.Is(err, errGone):
		r.result.Outcome, r.result.Reason = Busy, session.ReasonMovedSinceRead.Text()
		return r.result, nil
	case err != nil:
		r.result.Outcome, r.result.Reason = Failed, reasonOf(err)
	}
	return r.result, err
}

// reasonOf is why something failed, on one line.
func reasonOf(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// once goes through all steps with the log as it is.
func (r *run) once(ctx context.Context) error {
	if r.policy.SkipArchive {
		return r.rememberOnly(ctx)
	}
	if err := r.secure(ctx); err != nil {
		return r.rememberAnyway(ctx, err)
	}
	if err := r.remember(ctx, func() (io.ReadCloser, error) { return r.Archiver.Open(ctx, r.archived) }); err != nil {
		return err
	}
	if err := r.embed(ctx); err != nil {
		return err
	}
	switch {
	case r.plan.Strategy == session.StrategyNone:
		return r.leave()
	case r.plan.Strategy == session.StrategyAnnotate:
		return r.annotate(ctx)
	case r.plan.Strategy.Shortens():
		return r.shorten(ctx)
	case r.plan.Strategy == session.StrategyTrim:
		return r.trim(ctx)
	case r.plan.Via == session.ViaGateway:
		return r.reset(ctx)
	}
	return r.rotate(ctx)
}

// secure pins the log and archives it. The log is closed again: a lease on it
// is granted only when nobody, not even this process, has it open.
func (r *run) secure(ctx context.Context) error {
	if source := r.store.Capabilities().SourceOf(r.plan.Ref); source != nil {
		return r.secureSource(ctx, source)
	}
	log, err := openLog(r.pins(), r.plan.Ref.Store, r.plan.Ref.Path)
	if err != nil {
		return err
	}
	defer log.Close()
	if err := r.read(r.plan.pin(ctx, log)); err != nil {
		return err
	}
	if r.result.Missing, err = KeepAttached(ctx, r.Archiver, r.pins(), io.NewSectionReader(log, 0, r.snapshot.Size), r.store); err != nil {
		return err
	}
	return r.archive(ctx, io.NewSectionReader(log, 0, r.snapshot.Size))
}

// read notes which bytes of the session the run works on.
func (r *run) read(pinned session.Snapshot, err error) error {
	if err == nil {
		r.snapshot, r.result.Bytes = pinned, pinned.Size
	}
	return err
}

// pin checks that the log is still what the plan has read. Its hash is that of
// the plan's read: the archive must have the same, so that two reads of the log
// agree on every byte. A plan that has not read all of the log cannot vouch for
// it (a compressed one is not read to its last byte): it is hashed now.
func (p *Plan) pin(ctx context.Context, log *os.File) (session.Snapshot, error) {
	sum := p.print.sum
	if sum == "" || p.print.summed != p.seen.Size {
		snap, err := session.TakeSnapshot(ctx, log, p.Ref.Path)
		if err != nil {
			return session.Snapshot{}, fmt.Errorf("take snapshot: %w", err)
		}
		sum = snap.SHA256
	}
	info, err := log.Stat()
	if err != nil {
		return session.Snapshot{}, fmt.Errorf("look at the log: %w", err)
	}
	if err := p.seen.Matches(info); err != nil {
		return session.Snapshot{}, err
	}
	snap := session.Observe(p.Ref.Path, info)
	snap.SHA256 = sum
	return snap, nil
}

func (r *run) archive(ctx context.Context, log io.Reader) error {
	src := &counted{r: io.LimitReader(log, r.snapshot.Size), tell: func(done int64) {
		r.tell(StageArchive, done, r.snapshot.Size)
	}}
	archived, err := r.Archiver.Put(ctx, r.plan.Ref, r.snapshot, src)
	if errors.Is(err, io.ErrUnexpectedEOF) && src.done < r.snapshot.Size {
		return &session.BusyError{Path: r.plan.Ref.Path, Reason: session.ReasonShorterArchived.Text(), Change: session.ChangeShorter}
	}
	if err != nil {
		return unarchived{err}
	}
	if archived.SHA256 != r.snapshot.SHA256 {
		return &session.BusyError{Path: r.plan.Ref.Path, Reason: session.ReasonChangedArchived.Text(), Change: session.ChangeTouched}
	}
	r.archived = archived
	r.result.Archive = &archived
	return nil
}

// remember stores what the archived bytes say: memory never holds a text that
// the archive does not. The summary follows in a transaction of its own: a
// model may take minutes for it.
func (r *run) remember(ctx context.Context, open func() (io.ReadCloser, error)) error {
	m := &recorder{store: r.store, ref: r.plan.Ref, policy: r.policy, tree: forked(r.plan.Survey.Scan.Tree), secrets: r.plan.Survey.secrets, open: open}
	order := SummaryOrder{Ref: r.plan.Ref, Style: r.store.Capabilities().SummaryStyle, Secrets: m.secrets}
	if r.plan.Strategy.Shortens() && !r.policy.SkipArchive { // a tail of the session stays
		m.cut = &r.plan.Cut
		order.MaxRunes, order.SplitTurn = summaryRunes(m.cut), m.cut.SplitTurn
	}
	if r.Summarizer != nil && !r.policy.SkipSummary {
		m.summary = r.Summarizer(order)
	}
	before := r.remembered
	var err error
	r.remembered, err = r.Rememberer.Remember(ctx, r.plan.Ref, Origin{Archived: r.archived, Live: open}, told(m.history(ctx), func(done int64) {
		r.tell(StageRemember, done, int64(r.plan.Survey.Chunks))
	}))
	if err == nil && m.summary != nil {
		err = r.summarize(ctx, m)
	}
	if err != nil {
		return fmt.Errorf("remember: %w", err)
	}
	if r.followed > 0 {
		r.remembered = r.remembered.after(before)
	}
	r.survey, r.summary, r.prose = m.survey, m.files.summed(m.text), m.text.Prose
	r.result.Chunks, r.result.Messages, r.result.LinesSkipped = m.survey.Chunks, m.survey.Scan.Records, m.survey.skipped()
	r.result.Forgotten = r.remembered.Forgotten
	return nil
}

// summarize stores the summary beside the history.
func (r *run) summarize(ctx context.Context, m *recorder) error {
	r.tell(StageSummarize, 0, 0)
	records, err := m.conclude(ctx)
	r.spent.add(m.text.Wrote)
	if err != nil {
		return err
	}
	stored, err := r.Rememberer.Remember(ctx, r.plan.Ref, Origin{Archived: r.archived}, each(records))
	r.remembered.Stored += stored.Stored
	r.remembered.Existing += stored.Existing
	r.result.Summary, r.result.SummaryEmpty = m.made, m.empty
	if m.made != nil {
		m.made.Forgotten = stored.Forgotten == len(records)
	}
	return err
}

func (r *run) embed(ctx context.Context) error {
	pending, err := r.Embedder.EmbedPending(ctx, r.plan.Ref, func(done, total int64) { r.tell(StageEmbed, done, total) })
	if err != nil {
		return fmt.Errorf("embed: %w", err)
	}
	r.result.ChunksPending = pending
	return nil
}

// rememberOnly is --skip-archive: without an archive nothing is changed.
func (r *run) rememberOnly(ctx context.Context) error {
	if err := r.rememberLive(ctx); err != nil {
		return err
	}
	if err := r.embed(ctx); err != nil {
		return err
	}
	r.result.Outcome, r.result.Strategy = Partial, ""
	r.result.Reason = "remembered only: without an archive the session is not changed"
	return r.receipt()
}

// counted tells how many bytes were read through it.
type counted struct {
	r    io.Reader
	done int64
	tell func(done int64)
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.done += int64(n)
	c.tell(c.done)
	return n, err
}

// told counts the pieces of a sequence for the progress.
func told(records iter.Seq2[Record, error], tell func(done int64)) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var done int64
		for r, err := range records {
			if !yield(r, err) {
				return
			}
			if r.Action == nil {
				done++
				tell(done)
			}
		}
	}
}

// each is a list as a sequence without errors.
func each(records []Record) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// maxFollows is how often in one run a log that only grew is read, archived and
// remembered again (docs/dev/decisions.md D14).
const maxFollows = 3

// execute works until the session is changed. A log that only grew meanwhile
// is followed: an embedding can take minutes, in which the agent said one more
// thing and then fell quiet. Content ids make that cheap.
func (r *run) execute(ctx context.Context) error {
	err := r.Journal.ready(r.plan)
	if err == nil {
		r.because, err = r.Receipts.noteBypassed(r.plan, r.Now())
	}
	if err != nil && !r.policy.SkipArchive {
		err = errors.Join(err, r.secure(ctx)) // nothing else can be done
	}
	if err != nil {
		return err
	}
	for r.followed = 0; ; r.followed++ {
		err := r.once(ctx)
		busy := followable(err)
		switch {
		case busy == nil:
			return err
		case r.followed == maxFollows:
			return &session.BusyError{Path: busy.Path, Reason: session.ReasonChangedTimes.Text(maxFollows+1, busy.Reason)}
		}
		if err := r.follow(ctx); err != nil {
			return err
		}
	}
}

// unarchived is the error of a session that could be read, and not archived.
type unarchived struct{ error }

// Unwrap returns the cause.
func (u unarchived) Unwrap() error { return u.error }

// rememberAnyway remembers a session that could not be archived: what was said is
// found, and the session stays as it is. No model is asked for a summary, for it would
// be asked again in every run until there is an archive.
func (r *run) rememberAnyway(ctx context.Context, cause error) error {
	if !errors.As(cause, new(unarchived)) || errors.Is(cause, session.ErrBusy) || ctx.Err() != nil {
		return cause
	}
	r.policy.SkipSummary = true
	err := r.rememberLive(ctx)
	if err == nil {
		err = r.embed(ctx)
	}
	return errors.Join(cause, err)
}

// followable returns the error if it says that the log, still the same file,
// has changed since it was read, and that nothing has been done about it yet.
func followable(err error) *session.BusyError {
	var busy *session.BusyError
	if !errors.As(err, &busy) || busy.Begun {
		return nil
	}
	switch busy.Change {
	case session.ChangeGrew, session.ChangeShorter, session.ChangeTouched:
		return busy
	}
	return nil
}

// follow makes a new plan for a log whose bytes are those that were read
// before, and perhaps more. A log that was rewritten is busy, however long it
// is now: only the hash tells the two apart.
func (r *run) follow(ctx context.Context) error {
	if err := r.plan.awaitWhole(ctx, r.snapshot, r.pins(), r.policy); err != nil {
		return err
	}
	same, err := r.plan.begins(ctx, r.snapshot, r.pins())
	if err != nil {
		return err
	}
	if !same {
		return &session.BusyError{Path: r.plan.Ref.Path, Reason: session.ReasonRewrittenMeanwhile.Text()}
	}
	info, err := r.pins().Lstat(r.plan.Ref.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return errGone
	}
	if err != nil {
		return fmt.Errorf("look at the log: %w", err)
	}
	return r.planAgain(ctx, info)
}

// awaitWhole waits while the log is shorter than what was read of it.
func (p *Plan) awaitWhole(ctx context.Context, read session.Snapshot, pins *durable.Pins, policy Policy) error {
	ref := p.Ref
	ref.Bytes = max(p.seen.Size, read.Size)
	return WaitOut(ctx, policy, func() error {
		info, err := pins.Lstat(ref.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return errGone
		case err != nil:
			return fmt.Errorf("look at the log: %w", err)
		}
		return session.CheckWhole(ref, info)
	})
}

// begins reports whether the log begins with the bytes that this run has read:
// those of the snapshot, or before there is one those of the survey.
func (p *Plan) begins(ctx context.Context, read session.Snapshot, pins *durable.Pins) (bool, error) {
	log, err := openLog(pins, p.Ref.Store, p.Ref.Path)
	if err != nil {
		return false, err
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return false, fmt.Errorf("look at the log: %w", err)
	}
	if !p.seen.SameFile(session.Observe(p.Ref.Path, info)) {
		return false, nil
	}
	if read.SHA256 != "" {
		return read.Begins(ctx, log)
	}
	return p.print.begins(ctx, log)
}

// planAgain starts over with the log as it is now. The result may be that there
// is nothing to do any more: errOtherPlan, with the new plan.
func (r *run) planAgain(ctx context.Context, info os.FileInfo) error {
	ref := r.plan.Ref
	ref.Bytes, ref.ModTime = info.Size(), info.ModTime()
	p := &Plan{Ref: ref, followed: true, Via: r.plan.Via}
	if err := p.make(ctx, r.store, r.policy, r.Now()); err != nil {
		return err
	}
	r.plan, r.result, r.snapshot = p, p.Result(), session.Snapshot{}
	r.result.TokensAfter = p.Tokens
	if p.Outcome != Planned {
		return errOtherPlan
	}
	return nil
}

// errOtherPlan says that by the new plan there is nothing to do: the plan has
// the outcome.
var errOtherPlan = errors.New("the plan has changed")
