package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/tui"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/browse"
	"github.com/spf13/pflag"
)

// read reads a part of a session or of an archive. progress takes how far it is.
func (b *browser) read(ctx context.Context, place browse.Place, progress func(done, total int64)) (browse.Page, error) {
	own := b.piece(func(any) {})
	defer workspace.End(own.Run)
	log, changed, closeLog, err := tui.OpenReadable(ctx, own.Run, place)
	if errors.Is(err, fs.ErrNotExist) {
		return browse.Page{}, &failure.Error{Code: "gone", Exit: failure.ExitFailed, Path: place.Session.Path, Hint: "press r to look again; what was archived of it is in the tree then", Err: fmt.Errorf("the session is not there any more: %w", err)}
	}
	if err != nil {
		return browse.Page{}, err
	}
	defer closeLog()
	counted := &tui.CountedLog{Open: log.Open, Total: 2 * log.Bytes, Progress: progress}
	log.Open = counted.Reopen
	text := newArchivedText(own, io.Discard, steps.LineRange{}, b.options.Redact)
	p := &tui.PageReader{Place: place, Redact: text.redact, Terms: &recall.PassagePrinter{Terms: recall.QueryTerms(place.Question)}}
	p.Bound()
	if err := text.eachOf(ctx, log, p.Add); err != nil && !errors.Is(err, recall.ErrReadEnough) {
		return browse.Page{}, err
	}
	page := p.Page()
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

// ask asks the memory. note is what there is to say about the answer.
func (b *browser) ask(ctx context.Context, question string) (hits []browse.Hit, note string, err error) {
	own := b.piece(func(any) {})
	defer workspace.End(own.Run)
	var o recall.Options
	if _, err := optionsOf(own, func(fs *pflag.FlagSet) { addRecallFlags(&o, fs) }, steps.StepFlags{}.Text("--agent", string(b.options.Agent)).Text("--runtime", own.Global.Runtime).Number("--limit", 10)); err != nil {
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
		hits = append(hits, browse.Hit{
			Excerpt: passages.Hit(h.Text),
			Heading: h.Heading(), Text: h.Text,
			Place: browse.Place{
				Archive: h.Source.Archive, First: h.Source.FirstLine, Last: h.Source.LastLine,
				Session: browse.Session{Runtime: h.Runtime, Agent: h.Agent, ID: h.Session}, Title: h.Agent + "  " + cmp.Or(h.Session, h.Source.Archive),
				Question: question,
			},
		})
	}
	if len(hits) == 0 {
		return nil, recall.NothingFound(doc).Message, nil
	}
	return hits, doc.Notice, nil
}
