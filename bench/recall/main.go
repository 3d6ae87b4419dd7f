// Command recall measures how well the product finds again what it took away.
//
// It writes conversations as sessions of an agent, one turn a message, compacts
// them with the program itself, and asks it questions whose answers are known
// to stand in certain turns. A turn counts as found by a hit if at least half
// of its text stands in the hit's text and both are of one session.
//
//	recall@k  mean share of a question's turns that stand in the first k hits
//	MRR       mean of 1 / place of the first hit that holds any of them
//	B8k       mean share that stands in the first 8,000 characters of hits: the
//	          only figure that does not change with the size of chunks
//
// With -sessions it also prints which whole sessions are found (any@k, all@k,
// NDCG@10), in the form of LongMemEval.
//
// "hard" is recall@10 over the third of the questions whose words overlap least
// with the turns that answer them.
//
// The conversations of LoCoMo (Maharana et al. 2024, CC BY-NC 4.0) are not part
// of the project: -locomo names the directory of their JSON files. The technical
// domain needs no data: the Markdown files of the modules in the Go module cache
// give sections, and the heading of a section, taken out of it, is the question.
//
//	go run ./recall -locomo DIR
//	go run ./recall -docs 1500
//	go run ./recall -locomo DIR -ollama http://127.0.0.1:11434
//
// Questions about sessions of coding agents, as people ask them weeks later, are a
// JSON file of question, kind, session_file and answers, ranges of lines of that
// file: -coding names it, -coding-root the directory that the files of sessions
// are relative to. A question is answered by a hit whose lines hold one of the
// answers, of recall, of recall by words only and of recall --kind work.
//
//	go run ./recall -coding questions.json -coding-root DIR
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/bench/product"
	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
)

type options struct {
	locomo     string
	docs       int
	coding     string
	codingRoot string
	ranks      string
	join       int
	pooled     bool
	library    bool
	program    string
	random     bool
	brought    bool
	sessions   bool
	ollama     string
	model      string
}

func main() {
	var o options
	flag.StringVar(&o.locomo, "locomo", "", "directory of LoCoMo conversations (*.json)")
	flag.IntVar(&o.docs, "docs", 0, "how many sections of Markdown files of the module cache")
	flag.StringVar(&o.coding, "coding", "", "JSON file of questions about sessions of coding agents")
	flag.StringVar(&o.codingRoot, "coding-root", ".", "directory that its session files are relative to")
	flag.StringVar(&o.ranks, "ranks", "text,vector,hybrid,seed", "rankings to measure")
	flag.IntVar(&o.join, "join", 1, "so many turns a message: 1000 makes a session one text that is cut into chunks of 3,500 characters")
	flag.BoolVar(&o.pooled, "pooled", false, "all conversations in one memory")
	flag.BoolVar(&o.library, "library", false, "ask package memory instead of starting the program for every question")
	flag.BoolVar(&o.random, "random-importance", true, "also measure hybrid with importance that says nothing")
	flag.BoolVar(&o.brought, "brought", true, "also measure hybrid with the neighbours that short hits bring")
	flag.BoolVar(&o.sessions, "sessions", false, "also measure which sessions are found, as LongMemEval defines it")
	flag.StringVar(&o.ollama, "ollama", "", "URL of an Ollama server that makes the vectors, instead of the built-in embedder")
	flag.StringVar(&o.model, "model", embed.DefaultOllamaModel, "its model")
	flag.StringVar(&o.program, "program", "", "the program to measure (built if empty)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "recall:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	conversations, err := load(o)
	if err != nil {
		return err
	}
	if len(conversations) == 0 && o.coding == "" {
		return errors.New("nothing to measure: give -locomo DIR, -docs N or -coding FILE")
	}
	markHard(conversations)
	dir, err := os.MkdirTemp("", "sessctl-recall-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.program == "" {
		if o.program, err = product.Build(ctx, dir); err != nil {
			return err
		}
	}
	if o.coding != "" {
		if err := measureCoding(ctx, o, dir); err != nil || len(conversations) == 0 {
			return err
		}
	}
	homes, err := writeHomes(ctx, o, dir, conversations)
	if err != nil {
		return err
	}
	return measure(ctx, o, homes)
}

// load reads what is asked for.
func load(o options) ([]conversation, error) {
	var all []conversation
	if o.locomo != "" {
		found, err := loadLoCoMo(o.locomo)
		if err != nil {
			return nil, err
		}
		all = found
	}
	if o.docs > 0 {
		found, err := loadDocs(o.docs)
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	return all, nil
}

// measure prints one table a ranking and what must hold.
func measure(ctx context.Context, o options, homes []home) error {
	t := &table{homes: homes}
	for rank := range strings.SplitSeq(o.ranks, ",") {
		if err := t.measure(ctx, o, rank); err != nil {
			return err
		}
	}
	if o.random {
		if err := t.measureRandom(ctx); err != nil {
			return err
		}
	}
	if o.brought {
		if err := t.measureBrought(ctx); err != nil {
			return err
		}
	}
	if _, err := os.Stdout.WriteString(t.text()); err != nil {
		return err
	}
	if o.sessions {
		if err := measureSessions(ctx, homes, o.ranks); err != nil {
			return err
		}
	}
	for rank := range strings.SplitSeq(o.ranks, ",") {
		a, err := countAnswered(ctx, homes, rank)
		if err != nil {
			return err
		}
		fmt.Printf("\n%s answers %.3f of the questions and %.3f of the nonsense.\n", rank, a.ownShare(), a.nonsenseShare())
	}
	return t.broken()
}

// wanted is how many hits a question asks for: enough for 8,000 characters.
const wanted = 20

// hit is what an answer holds, as far as it is judged.
type hit struct {
	Session string `json:"session"`
	Text    string `json:"text"`
}

// asker answers questions, best hit first.
type asker interface {
	ask(ctx context.Context, text, rank string) ([]hit, error)
}

// program asks the program, a new process for every question.
type program struct{ home *home }

func (p program) ask(ctx context.Context, text, rank string) ([]hit, error) {
	out, err := p.home.run(ctx, "recall", "--json", "--limit", fmt.Sprint(wanted), "--rank", rank, "--", text)
	if exit := (*exec.ExitError)(nil); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1 && len(out) > 0) { // 1 is that nothing fits
		return nil, err
	}
	var document struct {
		Rank string `json:"rank"`
		Hits []hit  `json:"hits"`
	}
	if err := json.Unmarshal(out, &document); err != nil {
		return nil, err
	}
	return document.Hits, nil
}

// library asks package memory. It is faster, and gives the same answers.
type library struct {
	store    *memory.Store
	embedder embedder
	model    embed.Model
}

// embedder is what both embedders are.
type embedder interface {
	embed.Embedder
	embed.QueryEmbedder
}

func openLibrary(ctx context.Context, h *home) (*library, error) {
	l := &library{}
	var err error
	if l.embedder, l.model, err = openEmbedder(ctx, h.server); err != nil {
		return nil, err
	}
	l.model.Chunker = chunk.Version
	l.store, err = memory.Open(ctx, filepath.Join(h.dir, ".local", "share", "sessctl", "memory"), memory.Options{ReadOnly: true})
	return l, err
}

// openEmbedder opens the built-in embedder, or that of a server.
func openEmbedder(ctx context.Context, s server) (embedder, embed.Model, error) {
	if s.url == "" {
		e, err := embed.NewBuiltin()
		if err != nil {
			return nil, embed.Model{}, err
		}
		return e, e.Model(), nil
	}
	e, err := embed.NewOllama(embed.RemoteOptions{BaseURL: s.url, Model: s.model})
	if err != nil {
		return nil, embed.Model{}, err
	}
	m, err := e.Identify(ctx)
	return e, m, err
}

func (l *library) ask(ctx context.Context, text, rank string) ([]hit, error) {
	result, err := l.store.Recall(ctx, memory.Query{Text: text, Limit: wanted, Rank: rank, LeastFit: memory.LeastFit}, l.embedder, l.model)
	if err != nil {
		return nil, err
	}
	hits := make([]hit, len(result.Hits))
	for i, h := range result.Hits {
		hits[i] = hit{Session: h.Session, Text: h.Text}
	}
	return hits, nil
}

// budget is how many characters B8k looks at.
const budget = 8000

// score is the sum, and later the mean, over questions.
type score struct {
	at5, at10, reciprocal, budget float64
	hard                          float64 // recall@10 of the hard ones
	questions, hards              int
}

func (s *score) add(x score) {
	s.at5, s.at10, s.reciprocal, s.budget = s.at5+x.at5, s.at10+x.at10, s.reciprocal+x.reciprocal, s.budget+x.budget
	s.hard, s.questions, s.hards = s.hard+x.hard, s.questions+x.questions, s.hards+x.hards
}

func (s score) mean() score {
	n, h := float64(max(s.questions, 1)), float64(max(s.hards, 1))
	return score{at5: s.at5 / n, at10: s.at10 / n, reciprocal: s.reciprocal / n, budget: s.budget / n, hard: s.hard / h, questions: s.questions, hards: s.hards}
}

// examine asks all questions of a conversation.
func examine(ctx context.Context, a asker, number int, c conversation, rank string) (score, error) {
	var sum score
	for _, q := range c.questions {
		hits, err := a.ask(ctx, q.text, rank)
		if err != nil {
			return sum, err
		}
		s := judge(c, number, q, hits)
		s.questions = 1
		if q.hard {
			s.hard, s.hards = s.at10, 1
		}
		sum.add(s)
	}
	return sum, nil
}

// judge scores the answer to one question.
func judge(c conversation, number int, q question, hits []hit) (s score) {
	got, characters := map[place]bool{}, 0
	share := func() float64 { return float64(len(got)) / float64(len(q.evidence)) }
	open := true // the budget
	for i, h := range hits {
		n := utf8.RuneCountInString(h.Text)
		if open && i > 0 && characters+n > budget {
			s.budget, open = share(), false
		}
		characters += n
		for _, p := range q.evidence {
			if h.Session == sessionID(number, p.session) && holdsHalf(h.Text, c.sessions[p.session][p.turn].text) {
				got[p] = true
			}
		}
		if len(got) > 0 && s.reciprocal == 0 {
			s.reciprocal = 1 / float64(i+1)
		}
		if i < 5 {
			s.at5 = share()
		}
		if i < 10 {
			s.at10 = share()
		}
	}
	if open {
		s.budget = share()
	}
	return s
}

// holdsHalf says whether half of a turn, in one piece, stands in a text.
func holdsHalf(text, turn string) bool {
	text, turn = strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(turn), " ")
	half := (len(turn) + 1) / 2
	return strings.Contains(text, turn[:half]) || strings.Contains(text, turn[len(turn)-half:])
}

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

// measureBrought measures hybrid with what short hits bring.
func (t *table) measureBrought(ctx context.Context) error {
	return t.examine(ctx, "hybrid, with what short hits bring", "hybrid", func(h *home) (asker, func(), error) {
		l, err := openLibrary(ctx, h)
		if err != nil {
			return nil, nil, err
		}
		return bringing{l}, func() { _ = l.store.Close() }, nil
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
	const twoQuestions = 0.022 // of a conversation's hundred and more
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
		if h.at10 < w.at10-twoQuestions || h.at5 < w.at5-twoQuestions {
			problems = append(problems, fmt.Errorf("%s: hybrid %.3f / %.3f is below text %.3f / %.3f", name, h.at5, h.at10, w.at5, w.at10))
		}
	}
	if random != nil && random.total.mean().at10 < hybrid.total.mean().at10-0.02 {
		problems = append(problems, fmt.Errorf("random importance costs %.3f of recall@10", hybrid.total.mean().at10-random.total.mean().at10))
	}
	return errors.Join(problems...)
}
