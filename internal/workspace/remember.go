package workspace

import (
	"context"
	"errors"
	"iter"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

// linkFacts gives facts of a log the archive that the log is in now. A log that
// is not append-only may have been written again since.
func (m MemoryAdapter) linkFacts(ctx context.Context, ref session.Ref, source memory.Source, size int64) error {
	_, err := m.Store.LinkFacts(ctx, source, ref.Path, size, TraitsOf(ref.Runtime).AppendOnly)
	return err
}

// ErrNoMemory is returned where a session is to be remembered and memory could not
// be opened, which was told.
var ErrNoMemory = errors.New("the memory cannot be opened: the session is archived, not remembered, and left as it is")

// MemoryAdapter is a compact.Rememberer over a memory.Store.
type MemoryAdapter struct {
	Store     *memory.Store
	Archives  *archive.Store
	Lengths   func() (map[string]int64, error) // see archivedLengths; nil knows none
	builtin   *embed.Builtin                   // the embedder that is configured; nil if it is another
	wordsAnew func()                           // is called when the index of words was rebuilt
}

// Remember implements compact.Rememberer.
func (m MemoryAdapter) Remember(ctx context.Context, ref session.Ref, from compact.Origin, records iter.Seq2[compact.Record, error]) (compact.Remembered, error) {
	if m.Store == nil {
		return compact.Remembered{}, ErrNoMemory
	}
	path := from.Path
	if path == "" {
		path = ref.Path
	}
	source := memory.Source{Runtime: ref.Runtime, Agent: ref.Agent, Session: ref.ID, Key: ref.Key, Archive: from.ID, ArchivePath: path}
	var summary *compact.Record
	begun, err := m.begun(ctx, ref, from)
	if err != nil {
		return compact.Remembered{}, err
	}
	result, err := m.put(ctx, source, memoryRecords(source, noticed(records, &summary)), begun)
	if err == nil && result.WordsAnew {
		m.wordsAnew()
	}
	if err == nil {
		err = m.linkFacts(ctx, ref, source, from.Bytes)
	}
	if err == nil && summary != nil {
		err = m.keep(ctx, source, *summary)
	}
	return compact.Remembered{Stored: result.Stored, Existing: result.Existing, Forgotten: result.Buried}, err
}

// put stores records, with their vectors if the built-in embedder makes those of
// their agent: no server is waited for.
func (m MemoryAdapter) put(ctx context.Context, source memory.Source, records iter.Seq2[memory.Record, error], begun []string) (memory.PutResult, error) {
	if m.builtin == nil {
		return m.Store.Put(ctx, source, records, begun...)
	}
	model := Chunked(m.builtin.Model())
	others, err := m.Store.OtherModels(ctx, source.Agent, model)
	if err != nil {
		return memory.PutResult{}, err
	}
	if len(others) > 0 {
		return m.Store.Put(ctx, source, records, begun...)
	}
	return m.Store.PutEmbedded(ctx, source, memory.Embedding{Embedder: m.builtin, Model: model}, records, begun...)
}

func memoryRecords(s memory.Source, records iter.Seq2[compact.Record, error]) iter.Seq2[memory.Record, error] {
	return func(yield func(memory.Record, error) bool) {
		work := memory.NewActionIDs(s.Agent, s.Session)
		for r, err := range records {
			if !yield(WithAction(work, MemoryRecord(s, r), r.Action), err) {
				return
			}
		}
	}
}

// MemoryRecord gives a record its identity: that of a chunk is what the log says,
// without the label of who goes on speaking. A session has one summary: a new one
// takes the place of the old.
func MemoryRecord(s memory.Source, r compact.Record) memory.Record {
	id := memory.RecordID(s.Agent, s.Session, r.Position, chunk.Version, r.Text[r.Labelled:])
	if r.Category == compact.CategorySummary {
		id = memory.RecordID(s.Agent, s.Session, r.Position, "summary", "")
	}
	branch := session.Active.String()
	switch {
	case r.Carried:
		branch = memory.BranchCarried
	case r.Abandoned:
		branch = session.Abandoned.String()
	}
	return memory.Record{
		ID: id, Text: r.Text, Category: r.Category, Importance: r.Importance, CreatedAt: r.CreatedAt,
		Runtime: s.Runtime, Agent: s.Agent, Session: s.Session, Key: s.Key, Archive: s.Archive, ArchivePath: s.ArchivePath,
		FirstLine: r.FirstLine, LastLine: r.LastLine, FirstByte: r.FirstByte, EndByte: r.EndByte,
		Branch: branch, Position: r.Position,
	}
}

// noticed passes records on and notes the summary among them.
func noticed(records iter.Seq2[compact.Record, error], summary **compact.Record) iter.Seq2[compact.Record, error] {
	return func(yield func(compact.Record, error) bool) {
		for r, err := range records {
			if err == nil && r.Category == compact.CategorySummary {
				*summary = &r
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// keep keeps the summary that a model wrote beside the memory: from the archive
// only the extractive one can be made again. That one takes the place of what
// was kept of the session.
func (m MemoryAdapter) keep(ctx context.Context, s memory.Source, r compact.Record) error {
	id := MemoryRecord(s, r).ID
	if r.Model == "" {
		return m.Store.DropSummary(id)
	}
	return m.Store.KeepSummary(ctx, memory.KeptSummary{ID: id, Runtime: s.Runtime, Agent: s.Agent, Session: s.Session, Archive: s.Archive, Model: r.Model, Text: r.Text})
}
