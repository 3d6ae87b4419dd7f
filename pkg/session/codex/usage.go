package codex

import "github.com/sessctl/sessctl/pkg/jsonl"

// usage is what a model call cost, in tokens. What was cached is part of input,
// reasoning is part of output.
type usage struct {
	input, output int64
	total         int64 // as recorded, or 0
	window        int64 // of the model, or 0
}

// context returns the tokens that the context held after the call: the
// recorded total, else input and output.
func (u usage) context() int64 {
	if u.total > 0 {
		return u.total
	}
	return u.input + u.output
}

// lastUsage reads {"last_token_usage","total_token_usage","model_context_window"},
// or one usage that stands alone, and returns what the last call cost.
func lastUsage(c *jsonl.Cursor, raw []byte) usage {
	var last, sum, alone usage
	var window int64
	c.Reset(raw)
	if !c.EnterObject() {
		return last
	}
	for c.NextKey() {
		switch string(c.Key()) {
		case "last_token_usage":
			last = readUsage(c)
		case "total_token_usage":
			sum = readUsage(c)
		case "model_context_window":
			window, _ = c.Int64()
		default:
			alone.member(c)
		}
	}
	if last == (usage{}) && sum == (usage{}) {
		last = alone
	}
	last.window = max(window, 0)
	return last
}

func readUsage(c *jsonl.Cursor) (u usage) {
	for ok := c.EnterObject(); ok && c.NextKey(); {
		u.member(c)
	}
	return u
}

func (u *usage) member(c *jsonl.Cursor) {
	var to *int64
	switch string(c.Key()) {
	case "input_tokens":
		to = &u.input
	case "output_tokens":
		to = &u.output
	case "total_tokens":
		to = &u.total
	default:
		return
	}
	n, _ := c.Int64()
	*to = max(n, 0)
}
