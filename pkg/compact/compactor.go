package compact

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// Compactor carries plans out. Every field but Summarizer, Withdrawer, Undoing,
// Late, Deleted, Progress and System is required.
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
	// Late, if not nil, is told what became of lines that came too late.
	Late func(old session.Rotation, late LateProof)
	// Deleted, if not nil, returns the archives of the logs that were deleted at a
	// path since a time: an undo would bring back an older one without a word.
	Deleted func(path string, since time.Time) ([]Archived, error)
	// System says what of the system is not used; the zero value uses all.
	System durable.System
}

// pins hold the directories open during a run.
func (c *Compactor) pins() *durable.Pins { return c.Journal.Pins }

// What a Compactor does is done by values that know a part of it, each with one
// subject:
//
//	recovery ── oldLogs ───── memories ──── archives
//	   │           └───────── changes, logFiles
//	undoing ── restoring ──── archives, changes, logFiles
//	   └────── withdrawing ── memories
//
// recovery finishes what earlier runs began.
func (c *Compactor) recovery() recovery { return recovery{c.oldLogs(), c.undoing()} }

func (c *Compactor) oldLogs() oldLogs {
	return oldLogs{c.memories(), c.files(), c.changes(), c.Late}
}

func (c *Compactor) undoing() undoing {
	return undoing{c.restoring(), c.withdrawing(), c.oldLogs(), c.Deleted}
}

func (c *Compactor) restoring() restoring {
	return restoring{c.archives(), c.files(), c.changes()}
}

func (c *Compactor) withdrawing() withdrawing {
	return withdrawing{c.memories(), c.Receipts, c.Withdrawer}
}

func (c *Compactor) memories() memories {
	return memories{c.archives(), c.Rememberer, c.Embedder, c.Summarizer}
}

func (c *Compactor) archives() archives { return archives{c.Archiver} }
func (c *Compactor) files() logFiles    { return logFiles{c.pins(), c.System, c.Now} }
func (c *Compactor) changes() changes   { return changes{c.Journal, c.Receipts} }

// archives makes verified copies of logs and reads them.
type archives struct{ Archiver }

// put archives an open log, as it was when it was hashed. Errors of the archive
// begin with what is being done.
func (a archives) put(ctx context.Context, ref session.Ref, log lateLog, doing string) (Archived, error) {
	archived, err := a.Put(ctx, ref, log.snap, io.NewSectionReader(log.file, 0, log.snap.Size))
	if err != nil {
		return archived, fmt.Errorf("%s: %w", doing, err)
	}
	if archived.SHA256 != log.snap.SHA256 {
		return archived, &session.BusyError{Path: ref.Path, Reason: session.ReasonChangedArchived.Text()}
	}
	return archived, nil
}

// logFiles finds, opens and moves the files of logs.
type logFiles struct {
	pins   *durable.Pins
	system durable.System
	now    func() time.Time
}

// changes is what is written down of changes: before one in the journal, and
// after it in the receipts.
type changes struct {
	journal  Journal
	receipts Receipts
}

// finish proves a change that an earlier run began and notes it as done.
func (c changes) finish(in Intent) error {
	if _, err := c.receipts.Write(in.Receipt); err != nil {
		return err
	}
	return c.conclude(in)
}

// memories stores what archived logs say.
type memories struct {
	archives   archives
	rememberer Rememberer
	embedder   Embedder
	summarizer func(SummaryOrder) Summarizer // nil for no summaries
}

// rememberedLog is what memory has of an archived log.
type rememberedLog struct {
	survey     Survey
	remembered Remembered
	pending    int // pieces without a vector
}

// rememberArchived remembers an archived log: what memory has of it already is
// not stored twice. Vectors that cannot be made now stay pending.
func (m memories) rememberArchived(ctx context.Context, store session.Store, ref session.Ref, a Archived, policy Policy) (s rememberedLog, err error) {
	open := func() (io.ReadCloser, error) { return m.archives.Open(ctx, a) }
	survey, err := takeSurvey(ctx, store, policy.survey(), open)
	if err != nil {
		return s, fmt.Errorf("read the archived log: %w", err)
	}
	heard := &recorder{store: store, ref: ref, policy: policy, tree: forked(survey.Scan.Tree), open: open}
	if s.remembered, err = m.rememberer.Remember(ctx, ref, Origin{Archived: a}, heard.records(ctx)); err != nil {
		return s, fmt.Errorf("remember the archived log: %w", err)
	}
	s.survey = heard.survey
	s.pending, err = m.embedder.EmbedPending(ctx, ref, func(int64, int64) {})
	return s, err
}
