package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Redactor replaces what looks like a secret in texts, and what it found in others
// before.
type Redactor interface {
	Redact(text string) (clean string, places int)
}

// Redaction counts what rules find in a memory that was made before they were.
type Redaction struct {
	Records  int            `json:"records"` // whose text changes
	Category map[string]int `json:"by_category"`
	Facts    int            `json:"facts"`   // whose quote or value changes
	Actions  int            `json:"actions"` // of the work
	Files    int            `json:"files"`   // beside the memory: summaries, and words of agents
}

// Empty reports whether there is nothing to redact.
func (r Redaction) Empty() bool { return r.Records+r.Facts+r.Actions+r.Files == 0 }

// redactionPlan has what changes, with its new texts.
type redactionPlan struct {
	Redaction
	records   map[int64]string // by row
	facts     []Fact
	actions   []Record
	summaries []KeptSummary
	words     []Record
}

// PlanRedaction counts what by would change. It changes nothing.
func (s redacting) PlanRedaction(ctx context.Context, by Redactor) (Redaction, error) {
	plan, err := s.plan(ctx, by)
	return plan.Redaction, err
}

// RedactAll applies rules to everything that a memory holds: texts with their words and
// vectors, facts, what was done, and the files beside it. What changes gets its vector
// anew and goes to a shared memory with the next push. Rows that are damaged stay as
// they are. The caller holds the lock of the data directory. [ErrUnwiped] comes with
// what was done.
func (s redacting) RedactAll(ctx context.Context, by Redactor) (Redaction, error) {
	plan, err := s.plan(ctx, by)
	if err != nil {
		return Redaction{}, err
	}
	if plan.Empty() {
		return plan.Redaction, s.Wipe(ctx)
	}
	// The files come first: a run that is killed finds in the memory what tells of their
	// secrets.
	if err := s.redactFiles(plan); err != nil {
		return Redaction{}, fmt.Errorf("redact: %w", err)
	}
	err = s.deleteSecurely(ctx, func(tx *sql.Tx) (bool, error) { return true, plan.write(ctx, tx) })
	if err != nil {
		return Redaction{}, fmt.Errorf("redact: %w", err)
	}
	return plan.Redaction, s.Wipe(ctx)
}

// plan reads everything twice: a value may stand before the text that tells it to be a
// secret.
func (s redacting) plan(ctx context.Context, by Redactor) (plan redactionPlan, err error) {
	for range 2 {
		plan = redactionPlan{Redaction: Redaction{Category: map[string]int{}}, records: map[int64]string{}}
		for _, part := range []func(context.Context, Redactor, *redactionPlan) error{s.planRecords, s.planFacts, s.planActions, s.planFiles} {
			if err := part(ctx, by, &plan); err != nil {
				return plan, err
			}
		}
	}
	return plan, nil
}

func (s redacting) planRecords(ctx context.Context, by Redactor, plan *redactionPlan) error {
	for after := int64(0); ; {
		list, rows, err := verification(s).readAfter(ctx, s.db, after)
		if err != nil || len(list) == 0 {
			return err
		}
		for i, r := range list {
			if clean, n := by.Redact(r.Text); n > 0 && clean != r.Text && r.sound() {
				plan.records[rows[i]] = clean
				plan.Category[r.Category]++
				plan.Records++
			}
		}
		after = rows[len(rows)-1]
	}
}

func (s redacting) planFacts(ctx context.Context, by Redactor, plan *redactionPlan) error {
	has, err := s.hasFacts(ctx)
	if err != nil || !has {
		return err
	}
	facts, sums, err := readFacts(ctx, s.db)
	for i, f := range facts {
		if sums[i] == sumOfFact(f) && redactAll(by, &f.Quote, &f.Topic, &f.Value, &f.Instead) {
			plan.facts = append(plan.facts, f)
		}
	}
	plan.Facts = len(plan.facts)
	return err
}

func (s redacting) planActions(ctx context.Context, by Redactor, plan *redactionPlan) error {
	has, err := hasActions(ctx, s.db)
	if err != nil || !has {
		return err
	}
	err = eachAction(ctx, s.db, "1=1", nil, func(x *storedAction) error {
		a := *x.Action
		if x.sound() && redactAll(by, &a.Subject, &a.Place, &a.Errors) {
			r := x.Record
			r.Action = &a
			plan.actions = append(plan.actions, r)
		}
		return nil
	})
	plan.Actions = len(plan.actions)
	return err
}

func (s redacting) planFiles(_ context.Context, by Redactor, plan *redactionPlan) error {
	words, err := ownWordsFiles(s.pins, s.dir)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(words)) {
		if f := words[id]; f.err == nil && redactAll(by, &f.record.Text) {
			plan.words = append(plan.words, f.record)
		}
	}
	entries, err := s.pins.ReadDir(KeptDir(s.dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list kept summaries: %w", err)
	}
	for _, e := range entries {
		id, _ := strings.CutSuffix(e.Name(), ".json")
		if k, found := (keptSummaries(s)).KeptSummary(id); found && redactAll(by, &k.Text) {
			plan.summaries = append(plan.summaries, k)
		}
	}
	plan.Files = len(plan.words) + len(plan.summaries)
	return nil
}

// redactAll redacts texts in their places, and reports whether one has changed.
func redactAll(by Redactor, texts ...*string) (changed bool) {
	for _, text := range texts {
		clean, n := by.Redact(*text)
		changed = changed || n > 0 && clean != *text
		*text = clean
	}
	return changed
}

func (s redacting) redactFiles(plan redactionPlan) error {
	for _, r := range plan.words {
		if err := storedWords(s).keepOwnWords(r); err != nil {
			return err
		}
	}
	for _, k := range plan.summaries {
		if err := s.writeBeside(recordFile(KeptDir(s.dir), k.ID), k); err != nil {
			return fmt.Errorf("keep the summary: %w", err)
		}
	}
	return nil
}

func (p *redactionPlan) write(ctx context.Context, tx *sql.Tx) error {
	w, err := newWriter(ctx, tx, &PutResult{})
	if err != nil {
		return err
	}
	defer w.close()
	for _, row := range slices.Sorted(maps.Keys(p.records)) {
		if err := redactRecord(w, row, p.records[row]); err != nil {
			return err
		}
	}
	for _, f := range p.facts {
		_, err := w.exec("UPDATE facts SET quote=?, topic=?, value=?, instead=?, sum=? WHERE record=(SELECT record FROM record_rows WHERE id=?)", f.Quote, f.Topic, f.Value, f.Instead, sumOfFact(f), f.ID)
		if err != nil {
			return err
		}
	}
	for _, r := range p.actions {
		if err := (actionWriter{w}).redact(r); err != nil {
			return err
		}
	}
	return w.finish()
}

// redactRecord gives a record another text. Its id stays: others name it.
func redactRecord(w *writer, row int64, text string) error {
	known, err := w.read(row)
	if err != nil {
		return err
	}
	r := known.Record
	r.Text = text
	return w.refresh(row, r, known.Record)
}

// redact stores an action with other texts under its id.
func (w actionWriter) redact(r Record) error {
	if err := w.prepareWork(); err != nil {
		return err
	}
	if err := w.removeActions("a.id=unhex(?)", r.ID); err != nil {
		return err
	}
	_, err := w.insertAction(r)
	return err
}
