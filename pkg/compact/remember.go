package compact

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"slices"

	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/work"
)

// recorder turns the bytes of a log into records for memory: its chunks in
// order, and then its summary.
type recorder struct {
	store   session.Store
	ref     session.Ref
	policy  Policy
	tree    *session.Tree
	open    func() (io.ReadCloser, error)
	summary Summarizer       // nil for no summary
	cut     *session.Cut     // to sum up only what is cut away; nil for everything
	secrets *secrets.Session // with the values that a survey found

	survey Survey
	made   *SummaryResult
	text   Summary
	empty  bool            // there was nothing to sum up: text is of no use to memory
	files  *fileOperations // of what was summed up
}

// records yields every record once. An error ends the sequence and must undo
// what was stored.
func (m *recorder) records(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for r, err := range m.history(ctx) {
			if !yield(r, err) || err != nil {
				return
			}
		}
		if m.summary == nil {
			return
		}
		said, err := m.conclude(ctx)
		if err != nil {
			yield(Record{}, err)
			return
		}
		each(said)(yield)
	}
}

// history yields the chunks and what was done, while the summarizer listens.
func (m *recorder) history(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if m.secrets == nil {
			m.secrets = secrets.NewSession()
		}
		r := &reader{store: m.store, options: m.policy.Chunk, limit: m.policy.outputLimit(), secrets: m.secrets}
		m.files = newFileOperations()
		stopped := false // whatever the reader makes of it, nobody listens then
		take := func(x Record) error {
			if stopped = stopped || !yield(x, nil); stopped {
				return errStopped
			}
			return nil
		}
		deeds := work.NewReader(func(a *work.Action) error { return take(m.workRecord(a)) })
		observe := func(x *session.Message) error { return errors.Join(m.observe(x), deeds.Add(x)) }
		err := r.read(ctx, m.open, m.tree, observe, func(c *chunk.Chunk) error { return take(m.historyRecord(c)) })
		if err == nil {
			_, err = deeds.Close()
		}
		m.survey = r.survey
		if err != nil && !stopped {
			yield(Record{}, err)
		}
	}
}

// observe hands the summarizer what it is to sum up.
func (m *recorder) observe(x *session.Message) error {
	if m.summary == nil {
		return nil
	}
	if m.cut != nil && !m.cut.Summarizes(x) {
		return m.beside(x)
	}
	if m.cut != nil {
		m.files.add(x)
	}
	return m.summary.Add(x)
}

// beside hands a summarizer that asks for it what stays beside its summary, so that it
// need not tell that again.
func (m *recorder) beside(x *session.Message) error {
	if s, asks := m.summary.(besides); asks && x.Ordinal >= m.cut.FirstKept {
		return s.Beside(x)
	}
	return nil
}

// besides is a [Summarizer] that wants to know what stays beside its summary.
type besides interface {
	// Beside takes in the next message that stays, after all of those that are summed up.
	Beside(m *session.Message) error
}

// errStopped ends a scan whose records are no longer wanted.
var errStopped = fmt.Errorf("memory stopped taking records")

// historyRecord is a chunk as it goes to memory. A log without times has that
// of its file.
func (m *recorder) historyRecord(c *chunk.Chunk) Record {
	return Record{
		Category: CategoryHistory, Importance: historyImportance, Text: string(c.Label) + string(c.Text), Labelled: len(c.Label), Position: c.Position,
		CreatedAt: m.timeOf(c.Time), FirstLine: c.FirstLine, LastLine: c.LastLine,
		FirstByte: c.FirstByte, EndByte: c.EndByte, Abandoned: c.Abandoned, Carried: c.Carried,
	}
}

// workRecord is what was done as it goes to memory.
func (m *recorder) workRecord(a *work.Action) Record {
	for _, text := range []*string{&a.Command, &a.Path, &a.Query, &a.URL, &a.Directory} {
		*text = m.withoutKnown(*text)
	}
	for i, line := range a.Errors {
		a.Errors[i] = m.withoutKnown(line)
	}
	return Record{
		Category: CategoryWork, Position: a.Call.Ordinal, CreatedAt: m.timeOf(a.Time), Abandoned: a.Branch == session.Abandoned, Carried: a.Carried, Action: a,
		FirstLine: a.Call.FirstLine, LastLine: a.Call.LastLine, FirstByte: a.Call.FirstByte, EndByte: a.Call.EndByte,
	}
}

// withoutKnown is a text without the values that were found to be secrets elsewhere in
// the session.
func (m *recorder) withoutKnown(text string) string {
	clean, _ := m.secrets.RedactKnown([]byte(text))
	return string(clean)
}

func (m *recorder) timeOf(ms int64) int64 {
	if ms == 0 && !m.ref.ModTime.IsZero() {
		return m.ref.ModTime.UnixMilli()
	}
	return ms
}

// conclude makes the summary of what was listened to, and the records of it.
// It may ask a model.
func (m *recorder) conclude(ctx context.Context) ([]Record, error) {
	s, err := m.summary.Summary(ctx)
	if err != nil {
		return nil, fmt.Errorf("summarize: %w", err)
	}
	s.Text = m.withoutKnown(s.Text)
	for i, lesson := range s.Lessons {
		s.Lessons[i] = m.withoutKnown(lesson)
	}
	m.text = s
	if m.empty = s.Text == "" || s.Empty; m.empty {
		return nil, nil
	}
	m.made = newSummaryResult(s)
	whole := Record{
		Category: CategorySummary, Importance: summaryImportance, Text: s.Text, Position: -1,
		CreatedAt: m.timeOf(m.survey.Scan.Last), FirstLine: 1, LastLine: lastLine(m.survey), EndByte: m.survey.Scan.Counts.Bytes,
		Model: s.Wrote.Model,
	}
	records := []Record{whole}
	if m.store.Capabilities().Learner == nil {
		return records, nil
	}
	whole.Category, whole.Importance, whole.Position, whole.Model = CategoryLesson, lessonImportance, -2, ""
	for _, whole.Text = range s.Lessons {
		records = append(records, whole)
	}
	return records, nil
}

func lastLine(s Survey) int {
	return min(max(s.Scan.Counts.Lines, 1), math.MaxInt32)
}

// look remembers which bytes a log has now, without a hash for a file, and
// returns how they are read.
func look(ctx context.Context, pins *durable.Pins, store session.Store, ref session.Ref) (session.Snapshot, func() (io.ReadCloser, error), error) {
	if source := session.CapabilitiesOf(store).SourceOf(ref); source != nil {
		snap, err := SnapshotSource(ctx, source, ref)
		return snap, func() (io.ReadCloser, error) { return source.OpenLog(ctx, ref) }, err
	}
	info, err := pins.Lstat(ref.Path)
	if err != nil {
		return session.Snapshot{}, nil, fmt.Errorf("look at the log: %w", err)
	}
	snap := session.Observe(ref.Path, info)
	return snap, func() (io.ReadCloser, error) {
		f, err := pins.OpenSingle(ref.Store, ref.Path)
		if err != nil {
			return nil, err
		}
		return section(f, snap.Size), nil
	}, nil
}

// SnapshotSource pins the bytes of a session that is not a file, by length and
// hash.
func SnapshotSource(ctx context.Context, source session.LogSource, ref session.Ref) (session.Snapshot, error) {
	log, err := source.OpenLog(ctx, ref)
	if err != nil {
		return session.Snapshot{}, fmt.Errorf("read the session: %w", err)
	}
	sum := sha256.New()
	n, err := io.Copy(sum, log)
	if err := errors.Join(err, log.Close()); err != nil {
		return session.Snapshot{}, fmt.Errorf("read the session: %w", err)
	}
	return session.Snapshot{Path: ref.Path, Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))}, nil
}

// secureSource archives a session that is not a file. Its bytes are pinned by
// their hash: what the archive got is compared with it.
func (r *run) secureSource(ctx context.Context, source session.LogSource) error {
	if err := r.read(r.plan.pinSource(ctx, source)); err != nil {
		return err
	}
	log, err := source.OpenLog(ctx, r.plan.Ref)
	if err != nil {
		return fmt.Errorf("read the session: %w", err)
	}
	err = r.archive(ctx, log)
	return errors.Join(err, log.Close())
}

func (p *Plan) pinSource(ctx context.Context, source session.LogSource) (session.Snapshot, error) {
	snap, err := SnapshotSource(ctx, source, p.Ref)
	if errors.Is(err, fs.ErrNotExist) {
		return snap, errGone
	}
	if err != nil {
		return snap, err
	}
	if !snap.SameBytes(p.seen) {
		return snap, &session.BusyError{Path: p.Ref.Path, Reason: session.ReasonChangedRead.Text()}
	}
	return snap, nil
}

// rememberLive remembers a session without a copy of it.
func (r *run) rememberLive(ctx context.Context) error {
	if source := r.store.Capabilities().SourceOf(r.plan.Ref); source != nil {
		if err := r.read(r.plan.pinSource(ctx, source)); err != nil {
			return err
		}
		return r.remember(ctx, func() (io.ReadCloser, error) { return source.OpenLog(ctx, r.plan.Ref) })
	}
	log, err := openLog(r.pins(), r.plan.Ref.Store, r.plan.Ref.Path)
	if err != nil {
		return err
	}
	defer log.Close()
	if err := r.read(r.plan.pin(ctx, log)); err != nil {
		return err
	}
	return r.remember(ctx, func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(log, 0, r.snapshot.Size)), nil
	})
}

// Resummarized is the outcome of a summary that was made again.
const Resummarized Outcome = "resummarized"

// Upgradable returns the newest receipt of each session whose summary was to
// be written by a model and was not, oldest first; with every also those whose
// summary no model was asked for. A compaction that was undone has none.
func Upgradable(receipts []Receipt, every bool) []Receipt {
	undone := UndoneBy(receipts)
	newest := map[[3]string]Receipt{}
	for _, r := range receipts {
		if _, gone := undone[r.ID]; gone || r.Summary == nil || r.Archive == nil {
			continue
		}
		of := [3]string{r.Runtime, r.Agent, r.Session}
		if newest[of].ID <= r.ID {
			newest[of] = r
		}
	}
	var all []Receipt
	for _, r := range newest {
		if r.Summary.Degraded || every && r.Summary.Model == "" {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(x, y Receipt) int { return cmp.Compare(x.ID, y.ID) })
	return all
}

// nothingSaid is why there is no summary.
const nothingSaid = "nothing was said that a summary could tell"

// Resummarize makes the summary of an archived log again and puts it in the
// place of the old one in memory; the session itself is not touched. store
// need only be able to read the log's format. Where the model fails again the
// old summary stays, and the outcome is NothingToDo with the reason.
func (c *Compactor) Resummarize(ctx context.Context, store session.Store, old Receipt, policy Policy) (Result, error) {
	r := &run{Compactor: c, store: store, policy: policy, plan: &Plan{Ref: old.ref()}, result: Result{Compaction: old.Compaction}}
	r.archived = *old.Archive
	r.result.Receipt, r.result.Reason, r.result.Chunks, r.result.TokensAfter = "", "", 0, old.TokensBefore
	r.result.Forgotten = 0
	err := r.resummarize(ctx, old)
	if err != nil {
		r.result.Outcome, r.result.Reason, r.result.Summary = Failed, reasonOf(err), old.Summary
	}
	return r.result, err
}

func (r *run) resummarize(ctx context.Context, old Receipt) error {
	m, err := r.memories().listen(ctx, r.store, old, r.policy)
	if err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	records, err := m.conclude(ctx)
	if err != nil {
		return err
	}
	if m.made == nil || m.made.Model == "" {
		r.result.Outcome, r.result.Reason = NothingToDo, session.ReasonSummaryStays.Text(cmp.Or(m.text.Wrote.Reason, nothingSaid))
		return nil
	}
	stored, err := r.Rememberer.Remember(ctx, r.plan.Ref, Origin{Archived: r.archived}, each(records))
	if err != nil {
		return fmt.Errorf("remember: %w", err)
	}
	m.made.Forgotten = stored.Forgotten == len(records)
	if err := r.embed(ctx); err != nil {
		return err
	}
	r.spent.add(m.text.Wrote)
	r.result.Outcome, r.result.Summary = Resummarized, m.made
	id := r.NewID()
	receipt := r.newReceipt(id)
	receipt.Source, receipt.Content = old.Source, old.Content
	r.result.Receipt = r.Receipts.Path(id)
	receipt.Receipt = r.result.Receipt
	if _, err := r.Receipts.Write(receipt); err != nil {
		return fmt.Errorf("write the receipt: %w", err)
	}
	return nil
}

// listen reads the archived log for its summarizer. What was summed up then is
// summed up now.
func (m memories) listen(ctx context.Context, store session.Store, old Receipt, policy Policy) (*recorder, error) {
	open := func() (io.ReadCloser, error) { return m.archives.Open(ctx, *old.Archive) }
	survey, err := takeSurvey(ctx, store, policy.survey(), open)
	if err != nil {
		return nil, err
	}
	heard := &recorder{store: store, ref: old.ref(), policy: policy, tree: forked(survey.Scan.Tree), secrets: survey.secrets, open: open, cut: old.Cut}
	order := SummaryOrder{Ref: old.ref(), Style: store.Capabilities().SummaryStyle}
	if old.Cut != nil {
		order.SplitTurn = old.Cut.SplitTurn
	}
	heard.summary = m.summarizer(order)
	for _, err := range heard.history(ctx) {
		if err != nil {
			return nil, err
		}
	}
	return heard, nil
}

// ref is the session that a receipt is about, as far as the receipt tells.
func (r Receipt) ref() session.Ref {
	return session.Ref{Runtime: r.Runtime, Agent: r.Agent, ID: r.Session, Key: r.Key, Path: r.Path}
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
	heard := &recorder{store: store, ref: ref, policy: policy, tree: forked(survey.Scan.Tree), secrets: survey.secrets, open: open}
	if s.remembered, err = m.rememberer.Remember(ctx, ref, Origin{Archived: a}, heard.records(ctx)); err != nil {
		return s, fmt.Errorf("remember the archived log: %w", err)
	}
	s.survey = heard.survey
	s.pending, err = m.embedder.EmbedPending(ctx, ref, func(int64, int64) {})
	return s, err
}
