package cmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

// rebuildReport is what `memory reindex --from-archives` did with the records.
type rebuildReport struct {
	Sessions int              `json:"sessions"`
	Archives int              `json:"archives"` // that verified
	Stored   int              `json:"stored"`
	Existing int              `json:"existing"`
	Removed  int              `json:"removed"` // cut by an earlier rule
	Buried   int              `json:"buried"`  // stay forgotten
	Problems []rebuildProblem `json:"problems"`
}

// rebuildProblem is an archive whose text is not in the records that were made.
type rebuildProblem struct {
	problem
	Damaged bool `json:"damaged"` // it does not verify; else it is of a kind that is not read
}

func (r *rebuildReport) damaged() bool {
	return slices.ContainsFunc(r.Problems, func(p rebuildProblem) bool { return p.Damaged })
}

func (r *rebuildReport) fail(id, path string, err error) {
	damaged := errors.Is(err, archive.ErrCorrupt) || errors.Is(err, archive.ErrMissing)
	r.Problems = append(r.Problems, rebuildProblem{problem{ID: id, Path: path, Message: err.Error()}, damaged})
}

// archivedSession is all archives of one session.
type archivedSession struct {
	source  memory.Source
	entries []archive.Entry
}

// stageRebuild is what the progress bar says.
const stageRebuild compact.Stage = "rebuild"

// rebuild makes the records of every archived session again. A session that an
// earlier, killed run has finished is not read again.
func (h *house) rebuild(ctx context.Context, a *app, agent string) (*rebuildReport, error) {
	report := &rebuildReport{Problems: []rebuildProblem{}}
	if _, err := h.memory.BeginRebuild(ctx); err != nil {
		return nil, err
	}
	sessions, err := h.archivedSessions(ctx, a, agent)
	if err != nil {
		return nil, err
	}
	for i, s := range sessions {
		h.progress.show(session.Ref{Agent: s.source.Agent}, stageRebuild, int64(i), int64(len(sessions)))
		if err := h.rebuildSession(ctx, a, s, report); err != nil {
			return nil, fmt.Errorf("session %s of %s: %w", s.source.Session, s.source.Agent, err)
		}
	}
	damaged, err := h.archives.Damaged(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range damaged {
		report.Problems = append(report.Problems, rebuildProblem{problem{Path: d.Path, Message: d.Err.Error()}, true})
	}
	return report, h.memory.EndRebuild(ctx)
}

func (h *house) archivedSessions(ctx context.Context, a *app, agent string) ([]archivedSession, error) {
	entries, err := h.archives.List(ctx, archive.Filter{Agent: agent, Runtime: a.global.Runtime})
	if err != nil {
		return nil, err
	}
	var sessions []archivedSession
	at := map[memory.Source]int{}
	for _, e := range entries {
		if session.Kind(e.Kind) == session.KindOutput {
			continue // kept as it is, never read
		}
		source := memory.Source{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session}
		i, known := at[source]
		if !known {
			i = len(sessions)
			at[source] = i
			sessions = append(sessions, archivedSession{source: source})
		}
		sessions[i].entries = append(sessions[i].entries, e)
	}
	return sessions, nil
}

func (h *house) rebuildSession(ctx context.Context, a *app, s archivedSession, report *rebuildReport) error {
	report.Sessions++
	ids := make([]string, 0, len(s.entries))
	logs := make([]compact.ArchivedLog, 0, len(s.entries))
	for _, e := range s.entries {
		ids = append(ids, e.ID)
		logs = append(logs, archivedLog(e))
	}
	done, err := h.memory.Rebuilt(ctx, s.source)
	if err != nil || done == rebuildMark(ids) {
		report.Archives += len(s.entries)
		return err
	}
	store := a.readerOf(s.entries[0].Runtime)
	if store == nil {
		for _, e := range s.entries {
			report.fail(e.ID, e.Path, fmt.Errorf("no runtime %q is known", e.Runtime))
		}
		return nil
	}
	keeper := &rebuilder{store: h.memory}
	result, err := h.compactor.Rebuild(ctx, store, logs, compact.Policy{}, keeper)
	for _, d := range result.Damaged {
		report.fail(d.Archived.ID, d.Archived.Path, d.Err)
	}
	report.Archives += result.Archives
	report.Stored += keeper.result.Stored
	report.Existing += keeper.result.Existing
	report.Removed += keeper.result.Removed
	report.Buried += keeper.result.Buried
	return err
}

func archivedLog(e archive.Entry) compact.ArchivedLog {
	return compact.ArchivedLog{
		Ref:       session.Ref{Runtime: e.Runtime, Agent: e.Agent, ID: e.Session, Key: e.Key, Path: e.Path, Kind: session.Kind(e.Kind)},
		Archived:  compact.Archived{ID: e.ID, Path: e.Path, SHA256: e.SHA256, Bytes: e.Bytes},
		CreatedAt: e.CreatedAt,
	}
}

// readerOf returns a store that can read a runtime's archived logs; nil if
// there is none. The store itself need not exist any more.
func (a *app) readerOf(runtime string) session.Store {
	for _, kind := range runtimes() {
		if kind.name == runtime {
			return kind.open(a.dataDir(), a.config)
		}
	}
	return nil
}

// rebuildMark names the archives that a session was rebuilt from, and the rule.
func rebuildMark(ids []string) string {
	slices.Sort(ids)
	sum := sha256.Sum256([]byte(strings.Join(ids, " ")))
	return chunk.Version + " " + hex.EncodeToString(sum[:8])
}

// rebuilder is a compact.Rebuilder over a memory.Store.
type rebuilder struct {
	store  *memory.Store
	result memory.RebuildResult
}

// asKept is a summary in the words of the model that wrote one of the same
// archive, if that was kept.
func (b *rebuilder) asKept(r memory.Record) memory.Record {
	if r.Category == compact.CategorySummary {
		if kept, found := b.store.KeptSummary(r.ID); found && kept.Archive == r.Archive {
			r.Text = kept.Text
		}
	}
	return r
}

// Rebuild implements compact.Rebuilder.
func (b *rebuilder) Rebuild(ctx context.Context, ref session.Ref, archives []compact.Archived, records iter.Seq2[compact.ArchivedRecord, error]) (compact.Remembered, error) {
	source := memory.Source{Runtime: ref.Runtime, Agent: ref.Agent, Session: ref.ID, Key: ref.Key}
	var ids []string
	for _, x := range archives {
		ids = append(ids, x.ID)
	}
	what := memory.Rebuild{Source: source, Archives: ids, Category: compact.CategoryHistory, Mark: rebuildMark(slices.Clone(ids))}
	var err error
	b.result, err = b.store.Rebuild(ctx, what, func(yield func(memory.Record, error) bool) {
		for r, err := range records {
			from := source
			from.Archive, from.ArchivePath = r.From.ID, r.From.Path
			if !yield(b.asKept(memoryRecord(from, r.Record)), err) {
				return
			}
		}
	})
	return compact.Remembered{Stored: b.result.Stored, Existing: b.result.Existing}, err
}
