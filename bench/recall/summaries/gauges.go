package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
	"github.com/sessctl/sessctl/pkg/summarize/state"
)

// gauges are how much a text has of what comes next, each from 0 to 1, and -1 where a
// cut has too little of it.
type gauges struct {
	items float64 // needed items: 1 with two of the words that stood near, 1/4 without
	args  float64 // whole arguments of the next calls
	words float64 // rare words of the next messages
}

// bare is how much an item counts that stands in a text without its words.
const bare = 0.25

// of measures a text.
func (c *cut) of(text string) gauges {
	text = normal(text)
	g := gauges{args: -1, words: -1}
	for item, n := range c.need {
		g.items += n.weight * n.told(item, text) / c.weight
	}
	if flat := strings.Join(strings.Fields(text), " "); len(c.args) > 1 {
		g.args = shareOf(c.args, func(value string) bool { return strings.Contains(flat, strings.Join(strings.Fields(value), " ")) })
	}
	if has := plainWords(text); len(c.words) > 4 {
		n := 0
		for w := range c.words {
			if has[w] {
				n++
			}
		}
		g.words = share(n, len(c.words))
	}
	return g
}

func (n *needed) told(item, text string) (score float64) {
	places(item, text, func(at int) bool {
		score = bare
		shared := 0
		for w := range plainWords(around(text, at, len(item))) {
			if n.near[w] {
				shared++
			}
		}
		if shared >= min(2, len(n.near)) {
			score = 1
		}
		return score < 1
	})
	return score
}

func shareOf(all []string, has func(string) bool) float64 {
	n := 0
	for _, s := range all {
		if has(s) {
			n++
		}
	}
	return share(n, len(all))
}

// ends are the last so many bytes of what is before a cut.
func (c *cut) ends(most int) string {
	var texts []string
	for _, t := range slices.Backward(c.past) {
		texts = append(texts, t.text)
		if most -= len(t.text) + 1; most < 0 {
			texts[len(texts)-1] = t.text[min(len(t.text), -most):]
			break
		}
	}
	slices.Reverse(texts)
	return strings.Join(texts, "\n")
}

// built is the built-in summary of what is before a cut, of at most so many code points.
func (c *cut) built(ctx context.Context, most int, end, after int) (string, error) {
	e := summarize.NewExtractive(summarize.Options{MaxRunes: max(most, 800)})
	var at int64 = -1
	if end < len(c.log.turns) {
		at = c.log.turns[end].offset
	}
	log := c.log.bytes
	if after < len(c.log.turns) {
		log = log[:c.log.turns[after].offset]
	}
	_, err := c.log.store.Scan(ctx, bytes.NewReader(log), session.ScanOptions{}, func(m *session.Message) error {
		if at >= 0 && m.Offset >= at {
			return e.Beside(m)
		}
		return e.Add(m)
	})
	return e.Summary().Text, err
}

// compacted is what a compaction leaves of the log, of at most so many bytes: where the
// work stands, the summary, and the last messages.
func (c *cut) compacted(ctx context.Context, most int) (string, error) {
	kept := c.ends(most * 4 / 10)
	end := c.end
	for size := 0; end > 1 && size < len(kept); {
		end--
		size += len(c.log.turns[end].text)
	}
	for end > 1 && end < len(c.log.turns) && c.log.turns[end].offset == c.log.turns[end-1].offset {
		end--
	}
	summary, err := c.built(ctx, most*6/10, end, c.end)
	return summary + "\n" + kept, err
}

// mean is the mean over logs of the mean of their cuts.
type mean struct{ sums map[string][2]float64 }

func (m *mean) add(log string, v float64) {
	if v < 0 {
		return
	}
	if m.sums == nil {
		m.sums = map[string][2]float64{}
	}
	s := m.sums[log]
	m.sums[log] = [2]float64{s[0] + v, s[1] + 1}
}

func (m *mean) value() (sum float64) {
	for _, s := range m.sums {
		sum += s[0] / s[1]
	}
	return sum / max(1, float64(len(m.sums)))
}

// row are the means of one kind of text at one size.
type row struct {
	name               string
	size               int
	items, args, words mean
	bytes, cuts        int
}

func (r *row) add(c *cut, text string) {
	g := c.of(text)
	r.items.add(c.log.name, g.items)
	r.args.add(c.log.name, g.args)
	r.words.add(c.log.name, g.words)
	r.bytes += len(text)
	r.cuts++
}

// comparison is the table of texts.
type comparison struct {
	rows     []*row
	recaller recaller // without a program, recall is left out
}

func (t *comparison) add(name string, size int, c *cut, text string) {
	i := slices.IndexFunc(t.rows, func(r *row) bool { return r.name == name && r.size == size })
	if i < 0 {
		i = len(t.rows)
		t.rows = append(t.rows, &row{name: name, size: size})
	}
	t.rows[i].add(c, text)
}

func (t *comparison) row(name string, size int) *row {
	i := slices.IndexFunc(t.rows, func(r *row) bool { return r.name == name && r.size == size })
	if i < 0 {
		return &row{}
	}
	return t.rows[i]
}

// Names of the texts that are compared.
const (
	builtIn    = "built-in summary"
	endOfLog   = "end of the log"
	ofRuntime  = "the runtime's own"
	againstOwn = "built-in, where the runtime has one"
	besideKept = "built-in, beside 20,000 tokens"
	endBeside  = "end of the log before these"
	wholeLog   = "the whole log"
	tenth      = "compacted to a tenth"
	tenthAsked = "a tenth, with a recall of the next message"
	endTenth   = "a tenth: the end of the log"
)

// sizes are those of the summaries, in code points.
func sizes() []int { return []int{2000, 4000, 10000} }

// keptBytes are about 20,000 tokens.
const keptBytes = 60_000

// compare measures all texts at all cuts of some logs.
func compare(ctx context.Context, logs []*realLog, r recaller) (*comparison, error) {
	t := &comparison{recaller: r}
	for _, l := range logs {
		for _, c := range l.cuts(0) {
			if err := t.measure(ctx, c); err != nil {
				return nil, err
			}
		}
		for _, c := range l.cuts(keptBytes) {
			for _, n := range sizes() {
				text, err := c.built(ctx, n, c.end, c.after)
				if err != nil {
					return nil, err
				}
				t.add(besideKept, n, c, text)
				t.add(endBeside, n, c, c.ends(n))
			}
		}
	}
	slices.SortStableFunc(t.rows, func(a, b *row) int { return cmp.Compare(a.size, b.size) })
	return t, nil
}

func (t *comparison) measure(ctx context.Context, c *cut) error {
	for _, n := range sizes() {
		text, err := c.built(ctx, n, c.end, c.after)
		if err != nil {
			return err
		}
		t.add(builtIn, n, c, text)
		t.add(endOfLog, n, c, c.ends(n))
		if c.native != "" {
			t.add(ofRuntime, n, c, state.Both(c.native, n))
			t.add(againstOwn, n, c, text)
		}
	}
	if c.end < c.after {
		return nil
	}
	whole := c.ends(1 << 40)
	t.add(wholeLog, 0, c, whole)
	text, err := c.compacted(ctx, len(whole)/10)
	t.add(tenth, 0, c, text)
	if err != nil {
		return err
	}
	t.add(endTenth, 0, c, c.ends(len(whole)/10))
	return t.asked(ctx, c, text, len(whole)/10)
}

// asked measures a compaction and what recall finds with the next message: a fifth of
// the room is for that. Where no person says anything more, all is the compaction's.
func (t *comparison) asked(ctx context.Context, c *cut, unasked string, most int) error {
	found, err := t.recaller.recalled(ctx, c)
	if err != nil || t.recaller.program == "" {
		return err
	}
	if found == "" {
		t.add(tenthAsked, 0, c, unasked)
		return nil
	}
	found = strings.ToValidUTF8(found[:min(len(found), most/5)], "")
	text, err := c.compacted(ctx, most-len(found))
	t.add(tenthAsked, 0, c, text+"\n"+found)
	return err
}

// print writes the table.
func (t *comparison) print(out *bytes.Buffer) {
	fmt.Fprintln(out, "| characters | text | cuts | needed next | whole arguments | rare words | about tokens |\n|---|---|---|---|---|---|---|")
	for _, r := range t.rows {
		size := "any"
		if r.size > 0 {
			size = fmt.Sprint(r.size)
		}
		fmt.Fprintf(out, "| %s | %s | %d | %.2f | %.2f | %.2f | %d |\n", size, r.name, r.cuts, r.items.value(), r.args.value(), r.words.value(), r.bytes/max(1, r.cuts)/4)
	}
}
