package tui

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
	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
)

// How much text is read at a time, and how much of it from before the line that
// is asked for.
const (
	pageBytes   = 256 << 10
	beforeBytes = 32 << 10
)

// OpenReadable opens the log that a place is about. changed says, afterwards,
// whether somebody has written it meanwhile.
func OpenReadable(ctx context.Context, a *workspace.Run, place browse.Place) (log steps.ReadableLog, changed func() bool, end func(), err error) {
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
		return steps.ReadableLog{}, failure.Usage("sessctl archives show "+id+" --raw prints it", "archive %s is not a log of messages that can be read", id)
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

// CountedLog tells how much of a log was read.
type CountedLog struct {
	Open        func(context.Context) (io.ReadCloser, error)
	done, Total int64
	Progress    func(done, total int64)
}

// Reopen reads the log once more.
func (c *CountedLog) Reopen(ctx context.Context) (io.ReadCloser, error) {
	r, err := c.Open(ctx)
	if err != nil {
		return nil, err
	}
	return &countedReader{ctx: ctx, ReadCloser: r, log: c}, nil
}

type countedReader struct {
	io.ReadCloser
	ctx context.Context
	log *CountedLog
}

// Read implements io.Reader. It ends when the person has broken it off.
func (c *countedReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.ReadCloser.Read(p)
	c.log.done += int64(n)
	c.log.Progress(c.log.done, c.log.Total)
	return n, err
}

// PageReader collects the messages around a line of a log.
type PageReader struct {
	Place         browse.Place
	Redact        *secrets.Session       // nil for not
	Terms         *recall.PassagePrinter // the words of the question
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

// Bound says what the place asks for.
func (p *PageReader) Bound() {
	switch {
	case p.Place.End:
		p.focus, p.before = math.MaxInt, pageBytes
	case p.Place.Until > 0:
		p.focus, p.before = p.Place.Until+1, pageBytes
	case p.Place.First > 0:
		p.focus, p.before, p.after = p.Place.First, beforeBytes, pageBytes
	default:
		p.focus, p.after = max(p.Place.From, 1), pageBytes
	}
}

// Add takes the next message of the log.
func (p *PageReader) Add(m *session.Message) error {
	if m.Line >= p.focus && p.taken >= p.after {
		p.ahead = true
		return recall.ErrReadEnough
	}
	heading, lines := steps.ReadableMessage(m, p.Redact)
	block := messageBlock{line: m.Line, lastLine: max(m.Line, m.LastLine)}
	style := p.style(m)
	if style == browse.Marked {
		heading = "▶ " + heading
	}
	block.lines = append(block.lines, browse.Text{Text: heading, Style: style, Asks: m.Role == session.RoleUser})
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
func (p *PageReader) fits(lines []string) int {
	found := map[string]bool{}
	for _, line := range lines {
		for _, w := range p.Terms.Find(line) {
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
func (p *PageReader) best() int {
	best, first, before := -1, -1, 0
	for i, b := range p.blocks {
		if b.line > max(p.Place.Last, p.Place.First) || b.lastLine < p.Place.First {
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
func (p *PageReader) style(m *session.Message) browse.Style {
	if p.Place.First > 0 && max(m.Line, m.LastLine) >= p.Place.First && m.Line <= max(p.Place.Last, p.Place.First) {
		return browse.Marked
	}
	return browse.Strong
}

// Page is what was collected.
func (p *PageReader) Page() browse.Page {
	page := browse.Page{Place: p.Place, Before: p.left, After: p.ahead}
	at, best := -1, -1
	if p.Place.First > 0 && !p.Place.End && p.Place.Until == 0 {
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
		if p.Place.End || p.Place.Until > 0 {
			page.At = len(page.Lines)
		}
	}
	if len(page.Lines) == 0 && p.Place.From <= 1 {
		page.Lines = []browse.Text{{Text: "nothing was said in this session yet", Style: browse.Dim}}
	}
	return page
}
