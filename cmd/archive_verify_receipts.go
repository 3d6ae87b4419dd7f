package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

// auditor holds receipts against the catalogue and memory.
type auditor struct {
	archives map[string]archive.Entry
	sessions map[memory.Source][]string // ids of the archives of each session
	pruned   map[string]bool            // ids of archives that were deleted on purpose
	undone   map[string]compact.Receipt
	receipts []compact.Receipt
	memory   *memory.Store // nil if there is none
	copies   *archive.Store
	doc      *verifyDocument
}

// verifyReceipts holds every receipt against the catalogue and memory.
func verifyReceipts(ctx context.Context, a *app, entries []archive.Entry, doc *verifyDocument) error {
	receipts, unreadable, err := a.receipts().Examine()
	if err != nil {
		return err
	}
	for _, u := range unreadable {
		doc.Problems = append(doc.Problems, problem{Path: u.Path, Message: u.Err.Error()})
	}
	copies, err := a.openArchive()
	if err != nil {
		return err
	}
	v := &auditor{
		copies: copies, archives: map[string]archive.Entry{}, sessions: map[memory.Source][]string{},
		undone: compact.UndoneBy(receipts), receipts: receipts, doc: doc,
	}
	if v.pruned, err = a.prunedArchives(); err != nil {
		return err
	}
	for _, e := range entries {
		v.archives[e.ID] = e
		source := memory.Source{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session}
		v.sessions[source] = append(v.sessions[source], e.ID)
	}
	for _, r := range receipts {
		doc.Receipts++
		v.againstArchive(ctx, r)
	}
	err = v.allAgainstMemory(ctx, a.memoryDir())
	if errors.Is(err, memory.ErrCorrupt) {
		doc.ofMemory++
		doc.Problems = append(doc.Problems, problem{Path: a.memoryDir(), Message: err.Error()})
		return nil
	}
	return err
}

// allAgainstMemory holds every receipt against memory. One that is damaged ends
// it: memory.ErrCorrupt.
func (v *auditor) allAgainstMemory(ctx context.Context, dir string) (err error) {
	switch v.memory, err = memory.Open(ctx, dir, memory.Options{ReadOnly: true}); {
	case errors.Is(err, fs.ErrNotExist):
		v.memory = nil
	case err != nil:
		return fmt.Errorf("open memory: %w", err)
	default:
		defer v.memory.Close()
	}
	for _, r := range v.receipts {
		if err := v.againstMemory(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (v *auditor) problem(r compact.Receipt, format string, args ...any) {
	path := r.Path
	if r.Archive != nil {
		path = r.Archive.Path
	}
	v.doc.Problems = append(v.doc.Problems, problem{ID: r.ID, Path: path, Message: fmt.Sprintf(format, args...)})
}

// memoryProblem is a problem that the archives can mend.
func (v *auditor) memoryProblem(r compact.Receipt, format string, args ...any) {
	v.doc.ofMemory++
	v.problem(r, format, args...)
}

// againstArchive compares what a receipt says of its archive with the
// catalogue, which the copy itself was compared with.
func (v *auditor) againstArchive(ctx context.Context, r compact.Receipt) {
	if r.Archive == nil {
		return
	}
	e, known := v.archives[r.Archive.ID]
	switch {
	case !known && v.pruned[r.Archive.ID]:
	case !known:
		v.problem(r, "the receipt's archive is not in the catalogue")
	case e.SHA256 != r.Archive.SHA256 || e.Bytes != r.Archive.Bytes:
		v.problem(r, "the receipt's archive has %d bytes and sha256 %s, the catalogue says %d and %s", r.Archive.Bytes, r.Archive.SHA256, e.Bytes, e.SHA256)
	case r.Source.SHA256 != r.Archive.SHA256:
		v.problem(r, "the receipt's log has sha256 %s, its archive %s", r.Source.SHA256, r.Archive.SHA256)
	case countsLines(r.Runtime) && r.Undo == nil && int64(r.Content.Lines) != e.Lines && r.Content.Lines != v.textLines(ctx, e):
		v.problem(r, "the receipt says %d lines, the archive has %d", r.Content.Lines, e.Lines)
	}
}

// countsLines reports whether the lines of a runtime's log are those of its
// file.
func countsLines(runtime string) bool {
	return runtime == session.RuntimeOpenClaw || runtime == session.RuntimePi
}

// textLines counts the lines of what an archived log holds, for one that is
// compressed itself: those are what a receipt counts. What cannot be read of it
// has none.
func (v *auditor) textLines(ctx context.Context, e archive.Entry) (lines int) {
	_ = v.copies.Lines(ctx, e, 1, 0, func(n int, _ []byte) error { // the copy itself was compared already
		lines = n
		return nil
	})
	return lines
}

// againstMemory compares what a receipt says was stored with what is there.
func (v *auditor) againstMemory(ctx context.Context, r compact.Receipt) error {
	if r.Chunks == 0 || r.Undo != nil || v.withdrawn(r) {
		return nil
	}
	if v.memory == nil {
		v.memoryProblem(r, "memory has no record of session %s, the receipt says %d chunks", r.Session, r.Chunks)
		return nil
	}
	source := memory.Source{Runtime: r.Runtime, Agent: r.Agent, Session: r.Session}
	c, err := v.memory.Coverage(ctx, source, compact.CategoryHistory, v.sessions[source])
	if err != nil {
		return fmt.Errorf("look what memory has of %s: %w", r.Session, err)
	}
	missing := 0
	if r.Content.Chunker == chunk.Version {
		missing = c.Missing(r.Chunks)
	}
	switch {
	case missing > 0:
		v.memoryProblem(r, "memory lacks %d of the %d chunks of session %s", missing, r.Chunks, r.Session)
	case c.Bytes < r.Content.CoveredBytes:
		v.memoryProblem(r, "memory covers %d bytes of the log of session %s, the receipt says %d", c.Bytes, r.Session, r.Content.CoveredBytes)
	case c.Forgotten == 0 && c.Characters < r.Content.Characters:
		v.memoryProblem(r, "memory has %d characters of session %s, the receipt says %d", c.Characters, r.Session, r.Content.Characters)
	}
	return nil
}

// withdrawn reports whether an undo has taken what the receipt's run stored out
// of memory: its own, or a later one of the same session.
func (v *auditor) withdrawn(r compact.Receipt) bool {
	if undo, ok := v.undone[r.ID]; ok {
		return !undo.Undo.MemoryKept
	}
	if r.Outcome == compact.Compacted {
		return false // an undo of another run leaves it
	}
	for _, undo := range v.undone {
		if undo.Runtime == r.Runtime && undo.Agent == r.Agent && undo.Session == r.Session && undo.ID > r.ID && !undo.Undo.MemoryKept {
			return true
		}
	}
	return false
}
