package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// Requirement is one thing that is demanded.
type Requirement struct {
	Name string
	// Check returns what is wrong. The memory is empty; reference is an empty
	// memory of a host.
	Check func(ctx context.Context, m remote.Memory, reference *memory.Store) error
}

// Scorer says by whose BM25 an engine scores words.
type Scorer int

const (
	// AsHosts is an engine that scores words as the memory of a host does: the same
	// questions have the same hits.
	AsHosts Scorer = iota
	// ByEngine is one that has a BM25 of its own: its hits fit a question nearly as
	// well, and by the same measure, and pass the same filters.
	ByEngine
)

// Requirements lists all of them.
func Requirements(by Scorer) []Requirement {
	return []Requirement{
		{"the same first hits", by.sameHits},
		{"who says it counts alike", by.sameVoices},
		{"the same filters", by.sameFilters},
		{"a repeated push adds nothing", repeatedPush},
		{"what changed takes the place of what was", changedRecords},
		{"what is gone is dropped, of its host only", goneRecords},
		{"what is forgotten is gone everywhere and stays away", forgotten},
		{"a host is that of one memory", oneMemory},
		{"vectors of different models never meet", models},
		{"facts that are superseded are left out", facts},
		{"texts of any kind are kept", oddTexts},
		{"what stands around a hit", neighbors},
		{"the same corrections of words typed wrongly", by.typedWrongly},
	}
}

// Host is the host whose records are pushed.
const Host = "laptop"

const day = 24 * 60 * 60 * 1000

// start is when the first record was said: 3 March 2026, in epoch milliseconds.
const start = 1772533800000

// corpus is what two agents said in a few sessions: the same in every run.
func corpus(n int) []memory.Record {
	topics := []string{"the importer hangs on big files", "the port of the gateway is 8443", "we chose zstd for the archives", "the delivery slot is on Tuesday",
		"ERR_TOKEN_TOO_LONG comes from the tokenizer", "the heron stands by the lake", "retry the upload with backoff", "the dentist moved the appointment",
		"/srv/app/config/importer.yaml has the limits", "Anna prefers green tea to coffee"}
	asides := []string{"as Bob said yesterday", "which took an hour", "after the second try", "because of the new release", "and nobody objected", "so we wrote it down"}
	random := rand.New(rand.NewPCG(7, 11))
	var list []memory.Record
	for i := range n {
		agent, session := "coordinator", fmt.Sprintf("session-%d", i/20)
		if i%3 == 0 {
			agent = "scout"
		}
		text := fmt.Sprintf("user: %s, %s.\n\nassistant: noted as number %d: %s, %s.", topics[random.IntN(len(topics))], asides[random.IntN(len(asides))], i,
			topics[random.IntN(len(topics))], asides[random.IntN(len(asides))])
		r := memory.Record{Text: text, Category: "session_history", Importance: 0.25, CreatedAt: start + int64(i)*day/4, Runtime: "openclaw", Agent: agent, Session: session,
			Archive: "archive-" + session, ArchivePath: "openclaw/" + session + ".jsonl.zst", FirstLine: i + 1, LastLine: i + 3, FirstByte: int64(i) * 100, EndByte: int64(i)*100 + 90, Branch: "active", Position: i % 20}
		if i%17 == 0 {
			r.Category, r.Importance, r.Position = "session_summary", 0.7, -1
		}
		r.ID = memory.RecordID(r.Agent, r.Session, i, "test", text)
		list = append(list, r)
	}
	return list
}

func questions() []string {
	return []string{"why does the importer hang", "which port has the gateway", "ERR_TOKEN_TOO_LONG", "importer.yaml limits", "what does Anna like to drink",
		"when is the delivery slot", "heron lake", "what happened on 5 March 2026", "compression of archives", "upload retry", "number 42"}
}

// fixture is a set of records, in a shared memory and in the memory of a host.
type fixture struct {
	shared    remote.Memory
	reference *memory.Store
	embedder  *embed.Builtin
	model     embed.Model
	batch     remote.Batch
}

// fill puts records in both.
func fill(ctx context.Context, m remote.Memory, reference *memory.Store, records []memory.Record) (*fixture, error) {
	e, err := embed.NewBuiltin()
	if err != nil {
		return nil, err
	}
	f := &fixture{shared: m, reference: reference, embedder: e, model: e.Model()}
	f.batch = remote.Batch{Host: Host, Model: memory.VectorModel{Fingerprint: f.model.Fingerprint(), Name: f.model.String(), Dim: f.model.Dim}}
	sequence := func(yield func(memory.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
	if _, err := reference.Put(ctx, memory.Source{}, sequence); err != nil {
		return nil, err
	}
	byAgent := map[string][]memory.Vector{}
	for _, r := range records {
		x := memory.Shared{Exported: memory.Exported{Record: r}, Digest: int64(len(f.batch.Records)) + 1}
		vectors, err := e.EmbedDocuments(ctx, []string{r.Text})
		if err == nil {
			x.Vector = vectors[0]
			byAgent[r.Agent] = append(byAgent[r.Agent], memory.Vector{ID: r.ID, Values: vectors[0]})
		} else if !errors.Is(err, embed.ErrNoVector) {
			return nil, err
		}
		f.batch.Records = append(f.batch.Records, x)
	}
	for agent, vectors := range byAgent {
		if err := reference.PutVectors(ctx, f.model, agent, vectors, nil); err != nil {
			return nil, err
		}
	}
	return f, f.push(ctx, len(records))
}

// push pushes the batch and expects so many records to be stored.
func (f *fixture) push(ctx context.Context, stored int) error {
	receipt, err := f.shared.Push(ctx, f.batch)
	if err != nil {
		return err
	}
	if receipt.Stored != stored {
		return fmt.Errorf("%d records were stored, not %d", receipt.Stored, stored)
	}
	if len(receipt.Present)+len(receipt.Buried) != len(f.batch.Records) {
		return fmt.Errorf("%d of %d records were read back and %d are buried", len(receipt.Present), len(f.batch.Records), len(receipt.Buried))
	}
	return nil
}

func (f *fixture) ask(ctx context.Context, q memory.Query) (memory.Result, error) {
	return f.shared.Recall(ctx, q, f.embedder, f.model)
}

// same asks both and compares: the same records in the same order, save where
// their scores are the same but for rounding. Where the engine has scored the words
// itself it compares them closely.
func (by Scorer) same(ctx context.Context, f *fixture, q memory.Query) error {
	want, err := f.reference.Recall(ctx, q, f.embedder, f.model)
	if err != nil {
		return err
	}
	got, err := f.ask(ctx, q)
	if err != nil {
		return err
	}
	if by == ByEngine && (q.Rank == "" || q.Rank == memory.RankHybrid || q.Rank == memory.RankText) {
		return f.alike(ctx, q, got.Hits, want.Hits)
	}
	if len(got.Hits) != len(want.Hits) {
		return fmt.Errorf("%+v: %d hits, not %d", q, len(got.Hits), len(want.Hits))
	}
	const rounding = 0.01
	for i, w := range want.Hits {
		g := got.Hits[i]
		if math.Abs(g.Score-w.Score) > rounding || math.Abs(g.Fit-w.Fit) > 4*rounding {
			return fmt.Errorf("%+v: hit %d has score %.4f and fit %.4f, not %.4f and %.4f", q, i+1, g.Score, g.Fit, w.Score, w.Fit)
		}
		alike := slices.ContainsFunc(want.Hits, func(h memory.Hit) bool { return h.ID == g.ID && math.Abs(h.Score-w.Score) < rounding })
		if i+1 == len(want.Hits) && math.Abs(g.Score-w.Score) < rounding {
			continue // the last may be cut off among equals
		}
		if g.ID != w.ID && !alike {
			return fmt.Errorf("%+v: hit %d is %q, not %q", q, i+1, g.Text, w.Text)
		}
		if g.ID == w.ID && g.Record != w.Record {
			return fmt.Errorf("%+v: hit %d is %+v, not %+v", q, i+1, g.Record, w.Record)
		}
	}
	return nil
}

// alike expects that one of the hits fits the question nearly as well as what the
// host finds first, that there are as many unless a threshold decides, and
// that the host finds each of them with the same filters, of the same fit.
func (f *fixture) alike(ctx context.Context, q memory.Query, got, want []memory.Hit) error {
	if q.MinScore == 0 && q.LeastFit == 0 && len(got) != len(want) {
		return fmt.Errorf("%+v: %d hits, not %d", q, len(got), len(want))
	}
	const all, near, rounding = 200, 0.1, 0.04
	fits := func(g memory.Hit) bool { return g.Fit > want[0].Fit-near }
	if len(want) > 0 && q.MinScore == 0 && !slices.ContainsFunc(got, fits) {
		return fmt.Errorf("%+v: no hit fits as well as %q (%.4f)", q, want[0].Text, want[0].Fit)
	}
	q.MinScore, q.Limit = 0, all
	wide, err := f.reference.Recall(ctx, q, f.embedder, f.model)
	if err != nil {
		return err
	}
	for _, g := range got {
		at := slices.IndexFunc(wide.Hits, func(h memory.Hit) bool { return h.Record == g.Record })
		if at < 0 || math.Abs(wide.Hits[at].Fit-g.Fit) > rounding {
			return fmt.Errorf("%+v: %q of fit %.4f is place %d of the host", q, g.Text, g.Fit, at+1)
		}
	}
	return nil
}

func (by Scorer) sameHits(ctx context.Context, m remote.Memory, reference *memory.Store) error {
	f, err := fill(ctx, m, reference, corpus(160))
	if err != nil {
		return err
	}
	for _, text := range questions() {
		for _, rank := range []string{memory.RankHybrid, memory.RankText, memory.RankVector, memory.RankSeed} {
			if err := by.same(ctx, f, memory.Query{Text: text, Rank: rank, Limit: 5}); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameVoices asks where tools have printed what persons and agents say elsewhere.
func (by Scorer) sameVoices(ctx context.Context, m remote.Memory, reference *memory.Store) error {
	list := corpus(160)
	for i := range list {
		r := &list[i]
		r.Text = strings.NewReplacer("user: ", "[Human]: ", "assistant: ", []string{"[Agent]: ", "[Tool]: ", "[Agent]: [tool call] "}[i%3]).Replace(r.Text)
		r.ID = memory.RecordID(r.Agent, r.Session, i, "test", r.Text)
	}
	f, err := fill(ctx, m, reference, list)
	if err != nil {
		return err
	}
	for _, text := range questions() {
		if err := by.same(ctx, f, memory.Query{Text: text, Limit: 5}); err != nil {
			return err
		}
	}
	return nil
}

func (by Scorer) sameFilters(ctx context.Context, m remote.Memory, reference *memory.Store) error {
	records := corpus(120)
	for i := range records {
		if i%4 == 0 { // of each agent some: both runtimes have agents of these names
			records[i].Runtime = "pi"
		}
	}
	f, err := fill(ctx, m, reference, records)
	if err != nil {
		return err
	}
	for _, q := range []memory.Query{
		{Agent: "scout"}, {Agent: "nobody"}, {Runtime: "openclaw"}, {Runtime: "pi"}, {Runtime: "pi", Agent: "scout"}, {Runtime: "openclaw", Agent: "scout"}, {Runtime: "codex", Agent: "scout"}, {Session: "session-2"}, {Category: "session_summary"},
		{Since: start + 10*day}, {Until: start + 3*day}, {Since: start + 5*day, Until: start + 6*day, Agent: "coordinator"}, {Kind: "preference"}, {MinScore: 0.5}, {LeastFit: 0.99},
	} {
		for _, rank := range []string{memory.RankHybrid, memory.RankText, memory.RankVector} {
			q.Text, q.Rank = "the importer and the port of the gateway", rank
			if err := by.same(ctx, f, q); err != nil {
				return err
			}
		}
	}
	return nil
}

// count expects a host to have so many records.
func count(ctx context.Context, m remote.Memory, host string, want int) error {
	c, err := m.Count(ctx)
	if err != nil {
		return err
	}
	if got := c.Of(host); got != want {
		return fmt.Errorf("%s has %d records, not %d", host, got, want)
	}
	n := 0
	last := ""
	err = m.Verify(ctx, host, func(id string, _ int64) error {
		if id <= last {
			return fmt.Errorf("record %s comes after %s", id, last)
		}
		n, last = n+1, id
		return nil
	})
	if err == nil && n != want {
		err = fmt.Errorf("%d records of %s are listed, not %d", n, host, want)
	}
	return err
}

func repeatedPush(ctx context.Context, m remote.Memory, reference *memory.Store) error {
	f, err := fill(ctx, m, reference, corpus(50))
	if err != nil {
		return err
	}
	if err := f.push(ctx, 0); err != nil {
		return err
	}
	if err := count(ctx, m, Host, 50); err != nil {
		return err
	}
	f.batch.Host = "desktop"
	if err := f.push(ctx, 50); err != nil {
		return err
	}
	if err := errors.Join(count(ctx, m, Host, 50), count(ctx, m, "desktop", 50)); err != nil {
		return err
	}
	result, err := f.ask(ctx, memory.Query{Text: "heron lake", Limit: 50})
	seen := map[string]bool{}
	for _, h := range result.Hits {
		if seen[h.Text] {
			return fmt.Errorf("%q is found twice", h.Text)
		}
		seen[h.Text] = true
	}
	return err
}

func changedRecords(ctx context.Context, m remote.Memory, reference *memory.Store) error {
	f, err := fill(ctx, m, reference, corpus(30))
	if err != nil {
		return err
	}
	x := &f.batch.Records[4]
	x.Text, x.CreatedAt, x.Digest, x.Archive = "user: the walrus plays chess.", start+400*day, 1000, "another"
	if err := f.push(ctx, 1); err != nil {
		return err
	}
	result, err := f.ask(ctx, memory.Query{Text: "which animal plays chess, the walrus?", Limit: 1})
	if err != nil {
		return err
	}
	if len(result.Hits) != 1 || result.Hits[0].Record != x.Record || result.Hits[0].Host != Host {
		return fmt.Errorf("found %+v, not %+v", result.Hits, x.Record)
	}
	return count(ctx, m, Host, 30)
}

func goneRecords(ctx context.Context, m remote.Memory, reference *memory.Store) error {
	f, err := fill(ctx, m, reference, corpus(30))
	if err != nil {
		return err
	}
	f.batch.Host = "desktop"
	if err := f.push(ctx, 30); err != nil {
		return err
	}
	receipt, err := m.Push(ctx, remote.Batch{Host: Host, Gone: []string{f.batch.Records[0].ID, f.batch.Records[7].ID, "unknown"}})
	if err != nil || receipt.Gone != 2 {
		return fmt.Errorf("%d were dropped, not 2: %w", receipt.Gone, err)
	}
	return errors.Join(count(ctx, m, Host, 28), count(ctx, m, "desktop", 30))
}

func forgotten(ctx context.Context, m remote.Memory, reference *memory.Store) error {
	f, err := fill(ctx, m, reference, corpus(60))
	if err != nil {
		return err
	}
	f.batch.Host = "desktop"
	if err := f.push(ctx, 60); err != nil {
		return err
	}
	_, mark, err := m.Forgotten(ctx, "")
	if err != nil {
		return err
	}
	var buried []memory.Forgotten
	for _, x := range f.batch.Records[:10] {
		buried = append(buried, memory.Forgotten{ID: x.ID, At: 1234, Archive: x.Archive, FirstByte: x.FirstByte, EndByte: x.EndByte})
		if _, err := reference.Forget(ctx, memory.Selection{ID: x.ID}); err != nil {
			return err
		}
	}
	removed, err := m.Bury(ctx, Host, buried)
	if err != nil || removed != 20 {
		return fmt.Errorf("%d records were removed, not 20: %w", removed, err)
	}
	list, _, err := m.Forgotten(ctx, mark)
	if err != nil || len(list) < 10 || !slices.Contains(list, buried[0]) {
		return fmt.Errorf("%d tombstones since the mark, and not those: %w", len(list), err)
	}
	if err := f.push(ctx, 0); err != nil {
		return err
	}
	if err := errors.Join(count(ctx, m, Host, 50), count(ctx, m, "desktop", 50)); err != nil {
		return err
	}
	if again, err := m.Bury(ctx, Host, buried); err != nil || again != 0 {
		return fmt.Errorf("%d records were removed again: %w", again, err)
	}
	result, err := f.ask(ctx, memory.Query{Text: f.batch.Records[3].Text, Limit: 60})
	for _, h := range result.Hits {
		if slices.ContainsFunc(buried, func(x memory.Forgotten) bool { return x.ID == h.ID }) {
			return fmt.Errorf("%q was forgotten and is found", h.Text)
		}
	}
	return err
}

// oneMemory: what one memory has pushed under the name of a host no other adds to
// or drops, until it takes the name over.
func oneMemory(ctx context.Context, m remote.Memory, reference *memory.Store) error {
	f, err := fill(ctx, m, reference, corpus(20))
	if err != nil {
		return err
	}
	identity := func(want string) error {
		c, err := m.Count(ctx)
		if got := c.Host(Host).Memory; err == nil && got != want {
			return fmt.Errorf("the host is that of memory %q, not %q", got, want)
		}
		return err
	}
	if err := identity(""); err != nil { // as of a sessctl that had none
		return err
	}
	f.batch.Memory = "first"
	if err := errors.Join(f.push(ctx, 0), identity("first"), f.push(ctx, 0)); err != nil {
		return err
	}
	foreign := f.batch.Records[3]
	foreign.ID, foreign.Digest = foreign.ID+"0", 4711
	gone := []string{f.batch.Records[0].ID}
	for _, other := range []string{"second", ""} {
		for _, b := range []remote.Batch{{Gone: gone}, {Model: f.batch.Model, Records: []memory.Shared{foreign}}, {}} {
			b.Host, b.Memory = Host, other
			if r, err := m.Push(ctx, b); !errors.Is(err, remote.ErrOtherMemory) {
				return fmt.Errorf("a push of memory %q: %+v: %w", other, r, err)
			}
		}
	}
	if err := errors.Join(identity("first"), count(ctx, m, Host, 20)); err != nil {
		return err
	}
	if _, err := m.Push(ctx, remote.Batch{Host: Host, Memory: "second", TakeOver: true}); err != nil {
		return err
	}
	if r, err := m.Push(ctx, remote.Batch{Host: Host, Memory: "second", Gone: gone}); err != nil || r.Gone != 1 {
		return fmt.Errorf("%d were dropped, not 1: %w", r.Gone, err)
	}
	if _, err := m.Push(ctx, f.batch); !errors.Is(err, remote.ErrOtherMemory) {
		return fmt.Errorf("the memory of before pushes on: %w", err)
	}
	return errors.Join(identity("second"), count(ctx, m, Host, 19))
}

func models(ctx context.Context, m remote.Memory, reference *memory.Store) error {
	f, err := fill(ctx, m, reference, corpus(20))
	if err != nil {
		return err
	}
	other := f.model
	other.Name, other.Dim = "another", 8
	batch := remote.Batch{Host: "desktop", Model: memory.VectorModel{Fingerprint: other.Fingerprint(), Name: other.String(), Dim: other.Dim}}
	for i, r := range corpus(25)[20:] {
		r.Agent = "other"
		vector := make([]float32, other.Dim)
		vector[i] = 1
		batch.Records = append(batch.Records, memory.Shared{Exported: memory.Exported{Record: r, Vector: vector}, Digest: 5})
	}
	if _, err := m.Push(ctx, batch); err != nil {
		return err
	}
	result, err := f.ask(ctx, memory.Query{Text: "the importer hangs on big files", Rank: memory.RankVector, Limit: 30})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(result.Hits, func(h memory.Hit) bool { return h.Agent == "other" }) || !strings.Contains(result.Notice, "other") {
		return fmt.Errorf("vectors of another model were compared, or nobody says so: %q", result.Notice)
	}
	if _, err = f.ask(ctx, memory.Query{Text: "importer", Agent: "other", Rank: memory.RankVector}); !errors.Is(err, memory.ErrOtherModel) {
		return fmt.Errorf("asked for vectors of another model: %w", err)
	}
	result, err = f.ask(ctx, memory.Query{Text: "the importer hangs on big files", Agent: "other"})
	if err != nil || result.Rank != memory.RankText {
		return fmt.Errorf("ranked by %s: %w", result.Rank, err)
	}
	return nil
}

func facts(ctx context.Context, m remote.Memory, reference *memory.Store) error {
	f, err := fill(ctx, m, reference, corpus(10))
	if err != nil {
		return err
	}
	preference := func(text, successor string) memory.Shared {
		r := f.batch.Records[0].Record
		r.Text, r.Category, r.Position = text, memory.CategoryFact, -1
		r.ID = memory.RecordID(r.Agent, r.Session, -1, "fact", text)
		return memory.Shared{Exported: memory.Exported{Record: r, Fact: &memory.Fact{Record: r, Kind: "preference", Confidence: 0.9, Quote: text, Successor: successor}}, Digest: 77}
	}
	coffee := preference("The user drinks coffee in the morning.", "")
	tea := preference("The user drinks matcha in the morning.", "")
	coffee.Fact.Successor = tea.ID
	f.batch.Records = append(f.batch.Records, coffee, tea)
	if err := f.push(ctx, 2); err != nil {
		return err
	}
	for _, c := range []struct {
		superseded bool
		want       int
	}{{false, 1}, {true, 2}} {
		result, err := f.ask(ctx, memory.Query{Text: "what does the user drink in the morning", Kind: "preference", Superseded: c.superseded, Limit: 10})
		if err != nil || len(result.Hits) != c.want {
			return fmt.Errorf("%d facts are found, not %d (superseded too: %v): %w", len(result.Hits), c.want, c.superseded, err)
		}
	}
	return nil
}

func oddTexts(ctx context.Context, m remote.Memory, reference *memory.Store) error {
	var list []memory.Record
	for i, text := range []string{"quote ' and \\ backslash needle1", "NUL \x00 inside needle2", "broken \xff\xfe bytes needle3", "emoji \U0001F980 and 日本語の文章 needle4", "'':1,2 | & ! <-> needle5", "", "the of and", strings.Repeat("word needle6 ", 3000), strings.Repeat("x", 5000) + " needle7", "$1 {} [] needle8"} {
		r := corpus(1)[0]
		r.Text, r.Position, r.Session = text, i, "odd"
		r.ID = memory.RecordID(r.Agent, r.Session, i, "test", text)
		r.CreatedAt = []int64{0, -5, 1 << 60, start}[i%4]
		list = append(list, r)
	}
	f, err := fill(ctx, m, reference, list)
	if err != nil {
		return err
	}
	for i := 1; i <= 8; i++ {
		result, err := f.ask(ctx, memory.Query{Text: fmt.Sprintf("needle%d", i), Rank: memory.RankText, Limit: 3})
		if err != nil || len(result.Hits) != 1 {
			return fmt.Errorf("needle%d: %d hits: %w", i, len(result.Hits), err)
		}
	}
	for _, text := range []string{"''", "\\", "a' | 'b", "\x00", "日本語", "!&|()"} {
		if _, err := f.ask(ctx, memory.Query{Text: text}); err != nil {
			return fmt.Errorf("asked %q: %w", text, err)
		}
	}
	return count(ctx, m, Host, len(list))
}

func neighbors(ctx context.Context, m remote.Memory, reference *memory.Store) error {
	f, err := fill(ctx, m, reference, corpus(60))
	if err != nil {
		return err
	}
	hit := memory.Hit{Record: f.batch.Records[31].Record, Host: Host}
	got, err := m.Neighbors(ctx, hit, 2)
	if err != nil {
		return err
	}
	want, err := reference.Neighbors(ctx, hit.Record, 2)
	if err != nil {
		return err
	}
	if !slices.Equal(got.Before, want.Before) || !slices.Equal(got.After, want.After) || len(want.Before)+len(want.After) == 0 {
		return fmt.Errorf("%d and %d records stand around it, not %d and %d", len(got.Before), len(got.After), len(want.Before), len(want.After))
	}
	return nil
}
