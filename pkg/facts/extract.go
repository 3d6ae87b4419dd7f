package facts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// MadeByRules is who made the facts of [Offline].
const MadeByRules = "rules"

// Options set how facts are extracted.
type Options struct {
	Client     *summarize.Client // of the model, nil for rules alone
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

// Extract finds facts in messages: by rules, and if there is a client by its
// model too. What the rules find is found also if the model does not answer. An
// error is returned only if ctx is done.
func Extract(ctx context.Context, messages []Message, known []Known, o Options) (Extraction, error) {
	x := Extraction{MadeBy: MadeByRules}
	x.Facts, x.Refused = Offline(messages, o.Confidence)
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
	sure, _ := explicit(messages)
	sure = slices.DeleteFunc(sure, func(f Fact) bool { return f.Rule == RuleLikely })
	var said []Fact
	var partly error
	for n, q := range questions {
		found, unusable, err := q.answered(ctx, o)
		switch {
		case err != nil && n > 0:
			return fmt.Errorf("%d of %d parts of the conversation were read: %w", n, len(questions), err)
		case err != nil:
			return err
		case unusable == nil || len(found) > 0:
			x.MadeBy = o.Client.Name()
		}
		partly = cmp.Or(partly, unusable)
		said = append(said, x.accept(q, found, sure, o.Confidence)...)
	}
	if partly == nil {
		x.leaveOut(questions, said, known)
	}
	return partly
}

// accept adds the facts of an answer that hold, and says why the others do not.
// What the rules are sure of is left to them. It returns all that hold.
func (x *Extraction) accept(q question, found []item, sure []Fact, confidence float64) (hold []Fact) {
	sure = slices.Clone(sure)
	for _, f := range x.Facts { // the question before has a message of this one
		if f.MadeBy != MadeByRules {
			sure = append(sure, f)
		}
	}
	for _, it := range found {
		f, why := q.check(it)
		if why == "" && f.Confidence < confidence {
			why = fmt.Sprintf("it is not sure enough (%.2f)", f.Confidence)
		}
		if why != "" {
			x.Refused = append(x.Refused, Refusal{Line: f.Line, Reason: why})
			continue
		}
		hold = append(hold, f)
		if slices.ContainsFunc(sure, func(s Fact) bool { return sameSource(f, s) }) {
			continue // the rules have it, or had a reason not to
		}
		f.MadeBy = x.MadeBy
		x.Facts = append(slices.DeleteFunc(x.Facts, func(l Fact) bool { return l.Rule == RuleLikely && l.repeats(f) }), f)
	}
	return hold
}

// reasonLeftOut is why a fact of the rules is none where a model was asked.
const reasonLeftOut = "a rule found it, and the model that read it does not say so"

// leaveOut takes out what rules found by the form of a sentence and the model, which
// has read it, does not say, or says under another kind. A model that says less than
// half as much as the rules found does not decide that.
func (x *Extraction) leaveOut(questions []question, said []Fact, known []Known) {
	var doubtful []Fact
	found := 0
	for _, f := range x.Facts {
		byForm := f.MadeBy == MadeByRules && f.Speaker == session.RoleUser && f.Confidence <= workConfidence
		if !byForm || f.knownAmong(known) || !slices.ContainsFunc(questions, func(q question) bool { return q.shows(f) }) {
			continue
		}
		found++
		if !x.saidBy(said, f) {
			doubtful = append(doubtful, f)
		}
	}
	if people := slices.DeleteFunc(slices.Clone(said), func(s Fact) bool { return s.Speaker != session.RoleUser }); 2*len(people) < found {
		return
	}
	for _, f := range doubtful {
		if !slices.ContainsFunc(said, f.repeats) {
			x.Refused = append(x.Refused, Refusal{Line: f.Line, Reason: reasonLeftOut})
		}
	}
	x.Facts = slices.DeleteFunc(x.Facts, func(f Fact) bool { return slices.Contains(doubtful, f) })
}

// saidBy tells whether a model says what a rule found: under the same kind, or the
// words alone where they are more than one fact.
func (x *Extraction) saidBy(said []Fact, f Fact) bool {
	several := 0
	for _, other := range x.Facts {
		if other.MadeBy == MadeByRules && other.repeats(f) {
			several++
		}
	}
	return slices.ContainsFunc(said, func(s Fact) bool { return sameSource(s, f) || several > 1 && s.repeats(f) })
}

// shows tells whether the model reads the words of a fact: not what is cut off a long
// message.
func (q question) shows(f Fact) bool {
	return slices.ContainsFunc(q.messages, func(m Message) bool {
		return m.Line == f.Line && strings.Contains(spaced(shown(m.Text)), spaced(f.Quote))
	})
}

// knownAmong tells whether a fact is known: a model does not say it again.
func (f Fact) knownAmong(known []Known) bool {
	return slices.ContainsFunc(known, func(k Known) bool { return relate(f, k.Fact) == repeats })
}

// sameSource tells whether two facts are about the same words.
func sameSource(x, y Fact) bool { return x.Kind == y.Kind && x.repeats(y) }

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
