package compact

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/session"
)

// memoir turns the bytes of a log into records for memory: its chunks in
// order, and then its summary.
type memoir struct {
	store   session.Store
	ref     session.Ref
	policy  Policy
	tree    *session.Tree
	open    func() (io.ReadCloser, error)
	summary Summarizer   // nil for no summary
	cut     *session.Cut // to sum up only what is cut away; nil for everything

	survey Survey
	made   *SummaryResult
	text   Summary
	files  *fileOperations // of what was summed up
}

// records yields every record once. An error ends the sequence and must undo
// what was stored.
func (m *memoir) records(ctx context.Context) iter.Seq2[Record, error] {
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

// history yields the chunks, while the summarizer listens.
func (m *memoir) history(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		r := &reader{store: m.store, options: m.policy.Chunk}
		m.files = newFileOperations()
		stopped := false // whatever the reader makes of it, nobody listens then
		err := r.read(ctx, m.open, m.tree, m.observe, func(c *chunk.Chunk) error {
			if stopped = !yield(m.historyRecord(c), nil); stopped {
				return errStopped
			}
			return nil
		})
		m.survey = r.survey
		if err != nil && !stopped {
			yield(Record{}, err)
		}
	}
}

// observe hands the summarizer what it is to sum up.
func (m *memoir) observe(x *session.Message) error {
	if m.summary == nil || m.cut != nil && !m.cut.Summarizes(x) {
		return nil
	}
	if m.cut != nil {
		m.files.add(x)
	}
	return m.summary.Add(x)
}

// errStopped ends a scan whose records are no longer wanted.
var errStopped = fmt.Errorf("memory stopped taking records")

// historyRecord is a chunk as it goes to memory. A log without times has that
// of its file.
func (m *memoir) historyRecord(c *chunk.Chunk) Record {
	return Record{
		Category: CategoryHistory, Importance: HistoryImportance, Text: string(c.Text), Position: c.Position,
		CreatedAt: m.timeOf(c.Time), FirstLine: c.FirstLine, LastLine: c.LastLine,
		FirstByte: c.FirstByte, EndByte: c.EndByte, Abandoned: c.Abandoned,
	}
}

func (m *memoir) timeOf(ms int64) int64 {
	if ms == 0 && !m.ref.ModTime.IsZero() {
		return m.ref.ModTime.UnixMilli()
	}
	return ms
}

// conclude makes the summary of what was listened to, and the records of it.
// It may ask a model.
func (m *memoir) conclude(ctx context.Context) ([]Record, error) {
	s, err := m.summary.Summary(ctx)
	if err != nil {
		return nil, fmt.Errorf("summarize: %w", err)
	}
	if s.Text == "" {
		return nil, nil
	}
	m.text, m.made = s, newSummaryResult(s)
	whole := Record{
		Category: CategorySummary, Importance: SummaryImportance, Text: s.Text, Position: -1,
		CreatedAt: m.timeOf(m.survey.Scan.Last), FirstLine: 1, LastLine: lastLine(m.survey), EndByte: m.survey.Scan.Counts.Bytes,
		Model: s.Wrote.Model,
	}
	records := []Record{whole}
	if _, learns := m.store.(session.Learner); !learns {
		return records, nil
	}
	whole.Category, whole.Importance, whole.Position, whole.Model = CategoryLesson, LessonImportance, -2, ""
	for _, whole.Text = range s.Lessons {
		records = append(records, whole)
	}
	return records, nil
}

func lastLine(s Survey) int {
	return min(max(s.Scan.Counts.Lines, 1), math.MaxInt32)
}
