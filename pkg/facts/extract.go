package facts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/statements"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// Options set how facts are extracted.
type Options struct {
	Client     *summarize.Client // of the model, nil for none
	Once       bool              // the model is not asked again if its answer is of no use (Hermes)
	Confidence float64           // the least that a fact has
}

// Maker names who makes facts under these options: the rules, or provider and
// model.
func (o Options) Maker() string {
	if o.Client == nil {
		return MadeByRules
	}
	return o.Client.Name()
}

// Extraction is what was found in a conversation.
type Extraction struct {
	Facts   []Fact // in the order of the log, those that are known already among them
	Refused []Refusal
	MadeBy  string // [MadeByRules], or provider and model
	// Degraded is true if a model was to extract and did not; Reason says why,
	// for people.
	Degraded bool
	Reason   string
	Calls    int   // to the model
	Tokens   int64 // of these calls, in and out
}

// Extract finds facts in messages: what is stated [Outright], and if there is a
// client what its model finds. The first is found also if the model does not
// answer. An error is returned only if ctx is done.
func Extract(ctx context.Context, messages []Message, known []Known, o Options) (Extraction, error) {
	x := Extraction{MadeBy: MadeByRules}
	x.Facts, x.Refused = Outright(messages, o.Confidence)
	if o.Client == nil || len(messages) == 0 {
		return x, ctx.Err()
	}
	calls, tokens := o.Client.Meter().Spent()
	err := x.askModel(ctx, messages, known, o)
	if ctx.Err() != nil {
		return Extraction{}, ctx.Err()
	}
	if err != nil {
		x.Degraded, x.Reason = true, err.Error()
	}
	after, used := o.Client.Meter().Spent()
	x.Calls, x.Tokens = after-calls, used-tokens
	slices.SortStableFunc(x.Facts, func(a, b Fact) int { return cmp.Compare(a.Line, b.Line) })
	return x, nil
}

// askModel asks the model every question, until one has no answer, and adds the
// facts that hold. The error says what of an answer could not be used.
func (x *Extraction) askModel(ctx context.Context, messages []Message, known []Known, o Options) error {
	questions := ask(messages, known, o.Client.Window())
	if len(questions) == 0 {
		return unusable("no message fits into the window")
	}
	var partly error
	for n, q := range questions {
		found, useless, err := q.answered(ctx, o)
		switch {
		case err != nil && n > 0:
			return fmt.Errorf("%d of %d parts of the conversation were read: %w", n, len(questions), err)
		case err != nil:
			return err
		case useless == nil || len(found) > 0:
			x.MadeBy = o.Client.Name()
		}
		partly = cmp.Or(partly, useless)
		x.accept(q, found, o.Confidence)
	}
	return partly
}

// accept adds the facts of an answer that hold, and says why the others do not.
// What was stated outright, or quoted by an answer before, is there already.
func (x *Extraction) accept(q question, found []item, confidence float64) {
	for _, it := range found {
		f, why := q.check(it)
		if why == "" && f.Confidence < confidence {
			why = unsure(f)
		}
		switch {
		case why != "":
			x.Refused = append(x.Refused, Refusal{Line: f.Line, Reason: why})
		case !slices.ContainsFunc(x.Facts, f.sameSource):
			f.MadeBy = x.MadeBy
			x.Facts = append(x.Facts, f)
		}
	}
}

// sameSource tells whether two facts are of one kind and quote the same words.
func (f Fact) sameSource(other Fact) bool {
	a, b := statements.Spaced(f.Quote), statements.Spaced(other.Quote)
	return f.Kind == other.Kind && f.Line == other.Line && (strings.Contains(a, b) || strings.Contains(b, a))
}

// answered asks the model, and once more if its answer is of no use. It returns what
// could be read and what of the answer could not be used; the error is one for which
// another question would not be answered either.
func (q question) answered(ctx context.Context, o Options) (found []item, useless, err error) {
	for {
		reply, err := o.Client.Complete(ctx, q.request(useless))
		if err != nil {
			return nil, nil, err
		}
		found, bad, wrong := items(reply.Text)
		switch {
		case wrong == nil && reply.Cut != "":
			return found, unusable(reply.Cut), nil
		case wrong == nil && bad > 0:
			return found, unusable(unreadable(bad)), nil
		case wrong == nil:
			return found, nil, nil
		}
		if reply.Cut != "" {
			wrong = fmt.Errorf("%s", reply.Cut)
		}
		if useless != nil || o.Once || o.Client.Meter().Left() == 0 {
			return nil, fmt.Errorf("%s: %w", o.Client.Name(), unusable(wrong.Error())), nil
		}
		useless = wrong
	}
}

// unreadable says how many facts of an answer cannot be read.
func unreadable(bad int) string {
	if bad == 1 {
		return "1 fact of it cannot be read"
	}
	return fmt.Sprintf("%d facts of it cannot be read", bad)
}
