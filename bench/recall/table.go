package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// table is what was measured.
type table struct {
	homes []home
	rows  []row
}

// row is a ranking: what it scored in each conversation, and in all.
type row struct {
	name  string
	each  []score
	total score
}

func (t *table) measure(ctx context.Context, o options, rank string) error {
	return t.examine(ctx, rank, rank, func(h *home) (asker, func(), error) {
		if !o.library {
			return program{h}, func() {}, nil
		}
		l, err := openLibrary(ctx, h)
		if err != nil {
			return nil, nil, err
		}
		return l, func() { _ = l.store.Close() }, nil
	})
}

// examine adds a row.
func (t *table) examine(ctx context.Context, name, rank string, open func(*home) (asker, func(), error)) error {
	r := row{name: name}
	for i := range t.homes {
		a, done, err := open(&t.homes[i])
		if err != nil {
			return err
		}
		defer done()
		for n, c := range t.homes[i].conversations {
			fmt.Fprintf(os.Stderr, "%s: %s\n", name, c.name)
			s, err := examine(ctx, a, n, c, rank)
			if err != nil {
				return err
			}
			r.each = append(r.each, s)
			r.total.add(s)
		}
	}
	t.rows = append(t.rows, r)
	return nil
}

// randomName is the row of hybrid with importance that says nothing.
const randomName = "hybrid, random importance"

// measureRandom gives every record any importance and measures hybrid again.
func (t *table) measureRandom(ctx context.Context) error {
	return t.examine(ctx, randomName, "hybrid", func(h *home) (asker, func(), error) {
		from, err := openLibrary(ctx, h)
		if err != nil {
			return nil, nil, err
		}
		defer from.store.Close()
		to, err := scramble(ctx, from, filepath.Join(h.dir, "random"))
		if err != nil {
			return nil, nil, err
		}
		return to, func() { _ = to.store.Close() }, nil
	})
}

func (t *table) row(name string) *row {
	for i := range t.rows {
		if t.rows[i].name == name {
			return &t.rows[i]
		}
	}
	return nil
}

func (t *table) names() (names []string) {
	for _, h := range t.homes {
		for _, c := range h.conversations {
			names = append(names, c.name)
		}
	}
	return names
}

// text is the table in Markdown.
func (t *table) text() string {
	var b strings.Builder
	b.WriteString("| | recall@5 | recall@10 | MRR | B8k | hard |")
	names := t.names()
	if len(names) > 1 {
		for _, name := range names {
			b.WriteString(" " + name + " |")
		}
	} else {
		names = nil
	}
	b.WriteString("\n|---|---|---|---|---|---|" + strings.Repeat("---|", len(names)) + "\n")
	for _, r := range t.rows {
		m := r.total.mean()
		fmt.Fprintf(&b, "| %s | %.3f | %.3f | %.3f | %.3f | %.3f |", r.name, m.at5, m.at10, m.reciprocal, m.budget, m.hard)
		for i := range names {
			m := r.each[i].mean()
			fmt.Fprintf(&b, " %.3f / %.3f |", m.at5, m.at10)
		}
		b.WriteByte('\n')
	}
	if len(t.rows) > 0 {
		fmt.Fprintf(&b, "\n%d questions, %d of them hard.", t.rows[0].total.questions, t.rows[0].total.hards)
		if len(names) > 0 {
			b.WriteString(" The columns after hard are recall@5 / recall@10 of each conversation.")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// broken says what does not hold: hybrid is never below text, in any
// conversation, and importance that says nothing costs at most two points of
// recall@10.
func (t *table) broken() error {
	var problems []error
	hybrid, text, random := t.row("hybrid"), t.row("text"), t.row(randomName)
	if hybrid == nil {
		return nil
	}
	for i, name := range t.names() {
		if text == nil {
			break
		}
		h, w := hybrid.each[i].mean(), text.each[i].mean()
		if h.at10 < w.at10 || h.at5 < w.at5 {
			problems = append(problems, fmt.Errorf("%s: hybrid %.3f / %.3f is below text %.3f / %.3f", name, h.at5, h.at10, w.at5, w.at10))
		}
	}
	if random != nil && random.total.mean().at10 < hybrid.total.mean().at10-0.02 {
		problems = append(problems, fmt.Errorf("random importance costs %.3f of recall@10", hybrid.total.mean().at10-random.total.mean().at10))
	}
	return errors.Join(problems...)
}
