package cmd

import (
	"context"
	"strings"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
)

// otherCopy is where the bytes of an archive are beside it, or why it stays.
type otherCopy struct {
	found  bool
	reason string
}

// copyFinder looks for other copies of what archives hold.
type copyFinder struct {
	*pruner
	logs   []session.Ref
	memory *memory.Store // nil if there is none
}

func (f *copyFinder) open(ctx context.Context) error {
	stores, err := f.app.openStores()
	if err != nil {
		return err
	}
	for _, s := range stores {
		listing, err := s.List(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue // what cannot be listed has no copy that could be counted on
		}
		f.logs = append(f.logs, listing.Refs...)
	}
	if !f.options.LastCopies {
		return nil
	}
	if f.memory, err = f.app.glimpseMemory(ctx); err != nil {
		f.memory = nil // then nothing is covered
	}
	return nil
}

func (f *copyFinder) close() {
	if f.memory != nil {
		_ = f.memory.Close() // it was only read
	}
}

// find verifies an archive and looks for its bytes elsewhere.
func (f *copyFinder) find(ctx context.Context, i int) (otherCopy, error) {
	e := f.entries[i]
	if err := f.archives.Verify(ctx, e); err != nil {
		return otherCopy{reason: "does not verify: " + err.Error()}, ctx.Err()
	}
	for j := len(f.entries) - 1; j > i; j-- {
		other := f.entries[j]
		if other.Runtime != e.Runtime || other.Agent != e.Agent || other.Session != e.Session || f.verdicts[j].Goes {
			continue
		}
		if same, err := f.archives.Begins(ctx, other, e); err == nil && same {
			return otherCopy{true, "archive " + other.ID + " begins with its bytes"}, nil
		}
		if ctx.Err() != nil {
			return otherCopy{}, ctx.Err()
		}
	}
	if path := f.inLog(ctx, e); path != "" {
		return otherCopy{true, "its bytes are in " + path}, nil
	}
	return f.lastCopy(ctx, e)
}

// inLog is the path of a log that begins with an archive's bytes, or "". Logs
// that the runtime has closed do not count: it removes them in its own time.
func (f *copyFinder) inLog(ctx context.Context, e archive.Entry) string {
	for _, ref := range f.logs {
		if f.leaving[ref.Path] || !shown(ref.Kind) || ref.Runtime != e.Runtime || ref.Agent != e.Agent || ref.ID != e.Session || ref.Bytes < e.Bytes {
			continue
		}
		log, err := durable.OpenRegular(ref.Path)
		if err != nil {
			continue
		}
		same, err := session.Snapshot{Size: e.Bytes, SHA256: e.SHA256}.Begins(ctx, log)
		_ = log.Close() // it was only read
		if err == nil && same {
			return ref.Path
		}
	}
	return ""
}

// lastCopy decides about bytes that are nowhere else: they stay, unless that was
// asked for and memory has what they say.
func (f *copyFinder) lastCopy(ctx context.Context, e archive.Entry) (otherCopy, error) {
	if !f.options.LastCopies {
		return otherCopy{reason: "the only copy; --last-copies takes it if memory has what it says"}, nil
	}
	store := f.app.readerOf(e.Runtime)
	if f.memory == nil || store == nil {
		return otherCopy{reason: "the only copy, and memory does not have what it says"}, nil
	}
	covered, err := f.app.covered(ctx, coverageQuestion{f.archives, f.memory, store, e})
	if err != nil || !covered {
		return otherCopy{reason: "the only copy, and memory does not have all that it says"}, ctx.Err()
	}
	return otherCopy{true, lastCopyReason}, nil
}

// lastCopyReason is why an archive goes whose bytes are nowhere else.
const lastCopyReason = "the last copy; memory has what it says"

// still reports whether the bytes of an archive in the trash are somewhere else
// as they were when it went there, so that it may be removed for good.
func (f *copyFinder) still(ctx context.Context, item retention.Item, e archive.Entry) (bool, error) {
	if strings.HasSuffix(item.Rule, lastCopyReason) || f.inLog(ctx, e) != "" {
		return true, ctx.Err()
	}
	others, err := f.archives.List(ctx, archive.Filter{Runtime: e.Runtime, Agent: e.Agent})
	if err != nil {
		return false, err
	}
	going := map[string]bool{}
	for _, v := range f.verdicts {
		going[v.ID] = v.Goes
	}
	for _, other := range others {
		if other.Session != e.Session || going[other.ID] {
			continue
		}
		if same, err := f.archives.Begins(ctx, other, e); err == nil && same {
			return true, nil
		}
	}
	return false, ctx.Err()
}

// coverageQuestion asks whether memory has what an archive says.
type coverageQuestion struct {
	archives *archive.Store
	memory   *memory.Store
	store    session.Store
	entry    archive.Entry
}

// covered reads an archive again, as a compaction would, and compares what that
// would store with what is there.
func (a *app) covered(ctx context.Context, q coverageQuestion) (bool, error) {
	compactor := &compact.Compactor{Archiver: archiver{store: q.archives, now: a.now}}
	e := q.entry
	survey, err := compactor.Survey(ctx, q.store, compact.Archived{ID: e.ID, Path: e.Path, SHA256: e.SHA256, Bytes: e.Bytes})
	if err != nil {
		return false, err
	}
	source := memory.Source{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session}
	c, err := q.memory.Coverage(ctx, source, compact.CategoryHistory, []string{e.ID})
	if err != nil {
		return false, err
	}
	return c.Missing(survey.Chunks) == 0 && c.Bytes >= survey.Covered && (c.Forgotten > 0 || c.Characters >= survey.Runes), nil
}
