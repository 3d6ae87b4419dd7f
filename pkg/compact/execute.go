package compact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// Stage is a step of Execute, as progress reports it.
type Stage string

// The stages of a compaction, in order.
const (
	StageArchive   Stage = "archive"
	StageRemember  Stage = "remember"
	StageSummarize Stage = "summarize"
	StageEmbed     Stage = "embed"
	StageRotate    Stage = "rotate"
)

// Progress is told how far a stage is. total is 0 where it is not known.
type Progress func(ref session.Ref, stage Stage, done, total int64)

// Compactor carries plans out. Every field but Summarizer, Withdrawer, Undoing,
// Progress and System is required.
type Compactor struct {
	Archiver   Archiver
	Rememberer Rememberer
	Embedder   Embedder
	// Summarizer makes one for a session; nil for no summaries.
	Summarizer func(SummaryOrder) Summarizer
	Journal    Journal
	Receipts   Receipts
	Version    string        // of this program, for receipts
	NewID      func() string // ULIDs
	Now        func() time.Time
	Progress   Progress
	Withdrawer Withdrawer // for undos
	Undoing    string     // id of the receipt that this run undoes
	// Late, if not nil, is told when something has become of lines that came
	// too late.
	Late func(old session.Rotation, late LateProof)
	// System says what of the system is not used; the zero value uses all.
	System durable.System
}

// Execute carries out a plan whose outcome is Planned. The result is complete
// also when an error is returned, and describes the bytes that were worked on
// last: a log that only grows meanwhile is followed up to three times. A
// session that changes otherwise, or once more, is left as it is and its
// outcome is Busy; what was archived and remembered by then stays and is found
// again by the next run.
func (c *Compactor) Execute(ctx context.Context, store session.Store, plan *Plan, policy Policy) (Result, error) {
	r := &run{Compactor: c, store: store, plan: plan, policy: policy, result: plan.Result()}
	r.result.TokensAfter = plan.Tokens
	err := r.execute(ctx)
	switch {
	case errors.Is(err, session.ErrBusy):
		r.result.Outcome, r.result.Reason = Busy, busyReason(err)
		return r.result, nil
	case errors.Is(err, durable.ErrHeld):
		r.result.Outcome, r.result.Reason = Busy, "another program has it open"
		return r.result, nil
	case errors.Is(err, errOtherPlan):
		return r.result, nil
	case errors.Is(err, errNothingToCut):
		r.result.Outcome, r.result.Reason = NothingToDo, err.Error()
		return r.result, nil
	case errors.Is(err, errGone):
		r.result.Outcome, r.result.Reason = Busy, "it was moved away since it was read"
		return r.result, nil
	case err != nil:
		r.result.Outcome, r.result.Reason = Failed, err.Error()
	}
	return r.result, err
}

// run is one session on its way through the steps of Execute.
type run struct {
	*Compactor
	store  session.Store
	plan   *Plan
	policy Policy
	result Result

	snapshot   session.Snapshot
	archived   Archived
	survey     Survey
	remembered Remembered
	summary    session.Summed // with overlay and rewrite
	prose      string         // with annotate
	spent      spent
	rotation   session.Rotation
	followed   int // how often the log has grown and was read again
}

// once goes through all steps with the log as it is.
func (r *run) once(ctx context.Context) error {
	if r.policy.SkipArchive {
		return r.rememberOnly(ctx)
	}
	if err := r.secure(ctx); err != nil {
		return err
	}
	if err := r.remember(ctx, func() (io.ReadCloser, error) { return r.Archiver.Open(ctx, r.archived) }); err != nil {
		return err
	}
	if err := r.embed(ctx); err != nil {
		return err
	}
	switch {
	case r.plan.Strategy == StrategyNone:
		return r.leave()
	case r.plan.Strategy == StrategyAnnotate:
		return r.annotate(ctx)
	case r.plan.Strategy.shortens():
		return r.shorten(ctx)
	case r.plan.Via == session.ViaGateway:
		return r.reset(ctx)
	}
	return r.rotate(ctx)
}

// secure pins the log and archives it. The log is closed again: a lease on it
// is granted only when nobody, not even this process, has it open.
func (r *run) secure(ctx context.Context) error {
	if source, ok := session.SourceOf(r.store, r.plan.Ref); ok {
		return r.secureSource(ctx, source)
	}
	log, err := openLog(r.plan.Ref.Store, r.plan.Ref.Path)
	if err != nil {
		return err
	}
	defer log.Close()
	if err := r.pin(ctx, log); err != nil {
		return err
	}
	return r.archive(ctx, io.NewSectionReader(log, 0, r.snapshot.Size))
}

// errGone says that there is no log any more where the plan has read one.
var errGone = errors.New("the log is gone")

func openLog(base, path string) (*os.File, error) {
	log, err := durable.OpenSingle(base, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errGone
	}
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return log, nil
}

// pin hashes the log and checks that it is still what the plan has read.
func (r *run) pin(ctx context.Context, log *os.File) error {
	snap, err := session.TakeSnapshot(ctx, log, r.plan.Ref.Path)
	if err != nil {
		return fmt.Errorf("take snapshot: %w", err)
	}
	if info, err := log.Stat(); err != nil {
		return fmt.Errorf("look at the log: %w", err)
	} else if err := r.plan.seen.Matches(info); err != nil {
		return err
	}
	r.snapshot, r.result.Bytes = snap, snap.Size
	return nil
}

func (r *run) archive(ctx context.Context, log io.Reader) error {
	src := &counted{r: io.LimitReader(log, r.snapshot.Size), tell: func(done int64) {
		r.tell(StageArchive, done, r.snapshot.Size)
	}}
	archived, err := r.Archiver.Put(ctx, r.plan.Ref, r.snapshot, src)
	if errors.Is(err, io.ErrUnexpectedEOF) && src.done < r.snapshot.Size {
		return &session.BusyError{Path: r.plan.Ref.Path, Reason: "it became shorter while it was archived", Change: session.ChangeShorter}
	}
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	if archived.SHA256 != r.snapshot.SHA256 {
		return &session.BusyError{Path: r.plan.Ref.Path, Reason: "it changed while it was archived", Change: session.ChangeTouched}
	}
	r.archived = archived
	r.result.Archive = &ArchiveResult{ID: archived.ID, Path: archived.Path, SHA256: archived.SHA256, Bytes: archived.Bytes}
	return nil
}

// remember stores what the archived bytes say: memory never holds a text that
// the archive does not. The summary follows in a transaction of its own: a
// model may take minutes for it.
func (r *run) remember(ctx context.Context, open func() (io.ReadCloser, error)) error {
	m := &memoir{store: r.store, ref: r.plan.Ref, policy: r.policy, tree: forked(r.plan.Survey.Scan.Tree), open: open}
	if r.shortens() {
		m.cut = &r.plan.Cut
	}
	if r.Summarizer != nil && !r.policy.SkipSummary {
		m.summary = r.Summarizer(SummaryOrder{Ref: r.plan.Ref, MaxRunes: r.summaryRunes(), SplitTurn: m.cut != nil && m.cut.SplitTurn})
	}
	before := r.remembered
	var err error
	r.remembered, err = r.Rememberer.Remember(ctx, r.plan.Ref, r.archived, told(m.history(ctx), func(done int64) {
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
	r.result.Chunks, r.result.Messages, r.result.LinesSkipped = m.survey.Chunks, m.survey.Scan.Records, m.survey.Skipped()
	return nil
}

// summarize stores the summary beside the history.
func (r *run) summarize(ctx context.Context, m *memoir) error {
	r.tell(StageSummarize, 0, 0)
	records, err := m.conclude(ctx)
	r.spent.add(m.text.Wrote)
	if err != nil {
		return err
	}
	stored, err := r.Rememberer.Remember(ctx, r.plan.Ref, r.archived, each(records))
	r.remembered.Stored += stored.Stored
	r.remembered.Existing += stored.Existing
	r.result.Summary = m.made
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

func (r *run) tell(stage Stage, done, total int64) {
	if r.Progress != nil {
		r.Progress(r.plan.Ref, stage, done, total)
	}
}

// forked returns the tree if the log has forks, else nil: a log without forks
// is read in one pass.
func forked(t *session.Tree) *session.Tree {
	if t != nil && t.Forked() {
		return t
	}
	return nil
}
