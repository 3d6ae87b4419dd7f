package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/browse"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/pflag"
)

// How much text is read at a time, and how much of it from before the line that
// is asked for.
const (
	pageBytes   = 256 << 10
	beforeBytes = 32 << 10
)

// read reads a part of a session or of an archive. progress takes how far it is.
func (b *browser) read(ctx context.Context, place browse.Place, progress func(done, total int64)) (browse.Page, error) {
	own := b.piece(func(any) {})
	defer workspace.End(own.Run)
	log, changed, closeLog, err := openReadable(ctx, own.Run, place)
	if errors.Is(err, fs.ErrNotExist) {
		return browse.Page{}, &failure.Error{Code: "gone", Exit: failure.ExitFailed, Path: place.Session.Path, Hint: "press r to look again; what was archived of it is in the tree then", Err: fmt.Errorf("the session is not there any more: %w", err)}
	}
	if err != nil {
		return browse.Page{}, err
	}
	defer closeLog()
	counted := &countedLog{open: log.Open, total: 2 * log.Bytes, progress: progress}
	log.Open = counted.reopen
	p := &pageReader{place: place, redact: b.options.Redact, terms: &recall.PassagePrinter{Terms: recall.QueryTerms(place.Question)}}
	p.bound()
	text := own.newArchivedText(io.Discard, steps.LineRange{})
	if err := text.eachOf(ctx, log, p.add); err != nil && !errors.Is(err, errReadEnough) {
		return browse.Page{}, err
	}
	page := p.page()
	if len(page.Lines) == 0 && place.From > 1 { // the log was made shorter since
		place.From, place.End = 0, true
		again, err := b.read(ctx, place, progress)
		again.Note = "the session has become shorter since: this is its end"
		return again, err
	}
	if changed() {
		page.Note = "the session has changed while it was read"
	}
	return page, nil
}

// openReadable opens the log that a place is about. changed says, afterwards,
// whether somebody has written it meanwhile.
func openReadable(ctx context.Context, a *workspace.Run, place browse.Place) (log steps.ReadableLog, changed func() bool, end func(), err error) {
	unchanged, nothing := func() bool { return false }, func() {}
	if place.Archive != "" {
		log, err := openReadableArchive(ctx, a, place.Archive)
		return log, unchanged, nothing, err
	}
	s, err := sessionAt(ctx, a, place.Session)
	if err != nil {
		return log, unchanged, nothing, err
	}
	reader := s.Adapter
	if s.Kind == session.KindOutput {
		reader = session.ReadOutput(reader)
	}
	log = steps.ReadableLog{Name: s.Path, Reader: reader, Bytes: s.Bytes}
	if source := s.Adapter.Capabilities().SourceOf(s.Ref); source != nil {
		log.Open = func(ctx context.Context) (io.ReadCloser, error) { return source.OpenLog(ctx, s.Ref) }
		return log, unchanged, nothing, nil
	}
	file, err := a.Pins.OpenSingle(s.Store, s.Path)
	if err != nil {
		return log, unchanged, nothing, err
	}
	before, err := file.Stat()
	if err != nil {
		return log, unchanged, nothing, errors.Join(err, file.Close())
	}
	log.Bytes = before.Size()
	log.Open = func(context.Context) (io.ReadCloser, error) { // both reads are of the same bytes
		return io.NopCloser(io.NewSectionReader(file, 0, before.Size())), nil
	}
	changed = func() bool {
		after, err := os.Stat(s.Path)
		return err != nil || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime())
	}
	return log, changed, func() { _ = file.Close() }, nil // it was only read
}

func openReadableArchive(ctx context.Context, a *workspace.Run, id string) (steps.ReadableLog, error) {
	store, err := a.OpenArchive()
	if err != nil {
		return steps.ReadableLog{}, err
	}
	entry, err := store.Get(ctx, id)
	if err != nil {
		return steps.ReadableLog{}, err
	}
	reader := workspace.ArchiveReader(&a.Settings, entry)
	if reader == nil {
		return steps.ReadableLog{}, failure.Usage("sessctl archive show "+id+" --raw prints it", "archive %s is not a log of messages that can be read", id)
	}
	return steps.ReadableLog{
		Name: "archive " + id, Reader: reader, Bytes: entry.Bytes,
		Open: func(ctx context.Context) (io.ReadCloser, error) { return store.OpenEntry(ctx, entry) },
	}, nil
}

// sessionAt finds a session that was listed before.
func sessionAt(ctx context.Context, a *workspace.Run, at browse.Session) (workspace.Found, error) {
	all, _, err := a.ListStores(ctx)
	if err != nil {
		return workspace.Found{}, err
	}
	for _, s := range all.Sessions {
		if s.Path == at.Path && s.ID == at.ID && s.Runtime == at.Runtime && s.Agent == at.Agent {
			if s.Kind == session.KindDatabase {
				return workspace.Found{}, &failure.Error{Code: "unsupported", Exit: failure.ExitFailed, Path: s.Path, Err: fmt.Errorf("what is in %s cannot be read: %s", s.Path, s.Reason)}
			}
			return s, nil
		}
	}
	return workspace.Found{}, fmt.Errorf("%s: %w", at.Path, fs.ErrNotExist)
}

// countedLog tells how much of a log was read.
type countedLog struct {
	open        func(context.Context) (io.ReadCloser, error)
	done, total int64
	progress    func(done, total int64)
}

func (c *countedLog) reopen(ctx context.Context) (io.ReadCloser, error) {
	r, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	return &countedReader{ctx: ctx, ReadCloser: r, log: c}, nil
}

type countedReader struct {
	io.ReadCloser
	ctx context.Context
	log *countedLog
}

// Read implements io.Reader. It ends when the person has broken it off.
func (c *countedReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.ReadCloser.Read(p)
	c.log.done += int64(n)
	c.log.progress(c.log.done, c.log.total)
	return n, err
}

// pageReader collects the messages around a line of a log.
type pageReader struct {
	place         browse.Place
	redact        bool
	terms         *recall.PassagePrinter // the words of the question
	focus         int                    // the line that is asked for
	before, after int                    // bytes to keep from before it and from there on

	blocks      []messageBlock
	bytes       int // of blocks
	left, ahead bool
	taken       int // bytes from the focus on
}

// messageBlock is one message of a page.
type messageBlock struct {
	line, lastLine int
	lines          []browse.Text
	bytes          int
	terms          int // different words of the question, of a message that is marked
}

// bound says what the place asks for.
func (p *pageReader) bound() {
	switch {
	case p.place.End:
		p.focus, p.before = math.MaxInt, pageBytes
	case p.place.Until > 0:
		p.focus, p.before = p.place.Until+1, pageBytes
	case p.place.First > 0:
		p.focus, p.before, p.after = p.place.First, beforeBytes, pageBytes
	default:
		p.focus, p.after = max(p.place.From, 1), pageBytes
	}
}

// add takes the next message of the log.
func (p *pageReader) add(m *session.Message) error {
	if m.Line >= p.focus && p.taken >= p.after {
		p.ahead = true
		return errReadEnough
	}
	heading, lines := steps.ReadableMessage(m, p.redact)
	block := messageBlock{line: m.Line, lastLine: max(m.Line, m.LastLine)}
	style := p.style(m)
	if style == browse.Marked {
		heading = "▶ " + heading
	}
	block.lines = append(block.lines, browse.Text{Text: heading, Style: style})
	for _, line := range lines {
		block.lines = append(block.lines, browse.Text{Text: line, Indent: 2})
		block.bytes += len(line)
	}
	block.lines = append(block.lines, browse.Text{})
	block.bytes += len(heading)
	if style == browse.Marked {
		block.terms = p.fits(lines)
	}
	p.blocks = append(p.blocks, block)
	if m.Line >= p.focus {
		p.taken += block.bytes
		return nil
	}
	p.bytes += block.bytes
	for len(p.blocks) > 1 && p.bytes > p.before || p.before == 0 && len(p.blocks) > 0 {
		p.bytes -= p.blocks[0].bytes
		p.blocks, p.left = p.blocks[1:], true
	}
	return nil
}

// fits counts the different words of the question that lines have.
func (p *pageReader) fits(lines []string) int {
	found := map[string]bool{}
	for _, line := range lines {
		for _, w := range p.terms.Find(line) {
			found[w.Term] = true
		}
	}
	return len(found)
}

// nearBytes is how far below the first message of a hit its best one may be for
// both to be seen.
const nearBytes = 400

// best is the block that the page begins with: of those that are marked the one
// that fits the question best, of several such the shortest; the first if the best
// is near it. -1 if none is marked.
func (p *pageReader) best() int {
	best, first, before := -1, -1, 0
	for i, b := range p.blocks {
		if b.line > max(p.place.Last, p.place.First) || b.lastLine < p.place.First {
			continue
		}
		if first < 0 {
			first = i
		}
		if best < 0 || b.terms > p.blocks[best].terms || b.terms == p.blocks[best].terms && b.bytes < p.blocks[best].bytes {
			best = i
		}
	}
	for i := max(first, 0); i < best; i++ {
		before += p.blocks[i].bytes
	}
	if before <= nearBytes {
		return first
	}
	return best
}

// style marks the messages that a hit is about.
func (p *pageReader) style(m *session.Message) browse.Style {
	if p.place.First > 0 && max(m.Line, m.LastLine) >= p.place.First && m.Line <= max(p.place.Last, p.place.First) {
		return browse.Marked
	}
	return browse.Strong
}

// page is what was collected.
func (p *pageReader) page() browse.Page {
	page := browse.Page{Place: p.place, Before: p.left, After: p.ahead}
	at, best := -1, -1
	if p.place.First > 0 && !p.place.End && p.place.Until == 0 {
		best = p.best()
	}
	for i, b := range p.blocks {
		if at < 0 && b.lastLine >= p.focus || i == best {
			at = len(page.Lines)
		}
		page.Lines = append(page.Lines, b.lines...)
		page.First, page.Last = cmp.Or(page.First, b.line), b.lastLine
	}
	if page.At = at; at < 0 {
		page.At = 0
		if p.place.End || p.place.Until > 0 {
			page.At = len(page.Lines)
		}
	}
	if len(page.Lines) == 0 && p.place.From <= 1 {
		page.Lines = []browse.Text{{Text: "nothing was said in this session yet", Style: browse.Dim}}
	}
	return page
}

// ask asks the memory. note is what there is to say about the answer.
func (b *browser) ask(ctx context.Context, question string) (hits []browse.Hit, note string, err error) {
	own := b.piece(func(any) {})
	defer workspace.End(own.Run)
	var o recall.RecallOptions
	if _, err := own.optionsOf(func(fs *pflag.FlagSet) { addRecallFlags(&o, fs) }, steps.StepFlags{}.Text("--agent", b.options.Agent).Text("--runtime", own.Global.Runtime).Number("--limit", 10)); err != nil {
		return nil, "", err
	}
	o.Query = question
	if err := o.Validate(); err != nil {
		return nil, "", err
	}
	doc, err := recall.Recall(ctx, own.Run, o)
	if err != nil {
		return nil, "", err
	}
	passages := newPassagePrinter(own, question, false)
	for _, h := range doc.Hits {
		hit := browse.Hit{
			Excerpt: passages.Hit(h.Text),
			Heading: fmt.Sprintf("%s  %s  fit %.2f  %s", h.CreatedAt[:10], cmp.Or(h.Agent, "?"), h.Fit, h.Category), Text: h.Text,
			Place: browse.Place{
				Archive: h.Source.Archive, First: h.Source.FirstLine, Last: h.Source.LastLine,
				Session: browse.Session{Runtime: h.Runtime, Agent: h.Agent, ID: h.Session}, Title: h.Agent + "  " + cmp.Or(h.Session, h.Source.Archive),
				Question: question,
			},
		}
		if h.Source.Archive != "" {
			hit.Heading += fmt.Sprintf("  line %d", h.Source.FirstLine)
		}
		hits = append(hits, hit)
	}
	if len(hits) == 0 {
		return nil, recall.NothingFound(doc).Message, nil
	}
	return hits, doc.Notice, nil
}
