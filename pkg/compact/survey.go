package compact

import (
	"context"
	"fmt"
	"io"

	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
)

// Survey is what reading a whole log once has shown.
type Survey struct {
	Scan   session.Scan
	Chunks int
	Runes  int64 // code points of all message texts, as they go to memory
	// Covered counts the bytes of the log that some chunk was made from.
	Covered    int64
	coveredEnd int64
	// LeftOut counts the bytes of base64, control characters, memories that were
	// recalled and summaries of ours, which memory does not get (or, the last,
	// has as summaries). The archive has them.
	LeftOut  int64
	Redacted int      // what looked like a secret: in the archive only
	outline  *outline // only if it was asked for
}

// surveyOptions say what a survey counts and looks for.
type surveyOptions struct {
	chunk chunk.Options
	keep  *session.Keep // to outline the context; nil for not
}

// Skipped returns the number of lines that could not be read.
func (s Survey) Skipped() int { return s.Scan.Counts.Bad }

// reader hands a log's messages to the chunker as pieces.
type reader struct {
	store   session.Store
	options chunk.Options
	text    []byte
	survey  Survey
}

// read scans the log, twice if it has forks: the first pass finds out which
// entries are active. observe sees every message and may be nil.
func (r *reader) read(ctx context.Context, open func() (io.ReadCloser, error), tree *session.Tree, observe func(*session.Message) error, emit func(*chunk.Chunk) error) error {
	src, err := open()
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer src.Close()
	r.survey = Survey{}
	cut := chunk.New(r.options, func(c *chunk.Chunk) error {
		r.survey.Chunks++
		r.survey.cover(c)
		return emit(c)
	})
	scan, err := r.store.Scan(ctx, src, session.ScanOptions{Tree: tree}, func(m *session.Message) error {
		if observe != nil {
			if err := observe(m); err != nil {
				return err
			}
		}
		return r.add(cut, m)
	})
	if err != nil {
		return err
	}
	r.survey.Scan = scan
	return cut.Flush()
}

// cover counts the bytes that a chunk is the first to be made from. Chunks come
// in the order of the log, and overlap.
func (s *Survey) cover(c *chunk.Chunk) {
	s.Covered += max(0, c.EndByte-max(c.FirstByte, s.coveredEnd))
	s.coveredEnd = max(s.coveredEnd, c.EndByte)
}

func (r *reader) add(cut *chunk.Chunker, m *session.Message) error {
	if !m.Embeddable() {
		return nil
	}
	r.text = m.AppendText(r.text[:0])
	if m.Own {
		r.survey.LeftOut += int64(len(r.text))
		return nil
	}
	said, recalled := session.CutRecalled(r.text)
	clean, leftOut := session.Clean(said)
	r.survey.LeftOut += recalled + leftOut
	clean, redacted := secrets.RedactBytes(clean)
	r.survey.Redacted += redacted
	r.survey.Runes += chunk.CountRunes(clean)
	return cut.Add(chunk.Piece{
		Label: m.Label(), Text: clean, Message: m.Ordinal, Line: m.Line,
		Offset: m.Offset, End: m.Offset + m.Length, Time: m.Time, Abandoned: m.Branch == session.Abandoned,
	})
}

// survey is a survey of what memory would hold under this policy.
func (p Policy) survey() surveyOptions {
	return surveyOptions{chunk: p.Chunk}
}

// takeSurvey reads a log and counts what a compaction would store.
func takeSurvey(ctx context.Context, store session.Store, o surveyOptions, open func() (io.ReadCloser, error)) (Survey, error) {
	r := &reader{store: store, options: o.chunk}
	if err := r.pass(ctx, o, nil, open); err != nil {
		return Survey{}, err
	}
	if tree := r.survey.Scan.Tree; tree != nil && tree.Forked() {
		if err := r.pass(ctx, o, tree, open); err != nil {
			return Survey{}, err
		}
		r.survey.Scan.Tree = tree
	}
	return r.survey, nil
}

// pass is one pass of a survey.
func (r *reader) pass(ctx context.Context, o surveyOptions, tree *session.Tree, open func() (io.ReadCloser, error)) error {
	var out *outline
	var observe func(*session.Message) error
	if o.keep != nil {
		out = newOutline(*o.keep)
		observe = out.add
	}
	if err := r.read(ctx, open, tree, observe, func(*chunk.Chunk) error { return nil }); err != nil {
		return err
	}
	r.survey.outline = out
	return nil
}

// Survey reads an archived log and counts what a compaction would store of it.
func (c *Compactor) Survey(ctx context.Context, store session.Store, a Archived) (Survey, error) {
	return takeSurvey(ctx, store, surveyOptions{}, func() (io.ReadCloser, error) { return c.Archiver.Open(ctx, a) })
}
