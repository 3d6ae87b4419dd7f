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
	"github.com/spf13/cobra"
)

func newArchiveVerifyCommand(a *app) *cobra.Command {
	var o verifyOptions
	c := &cobra.Command{
		Use:   "verify [ID]...",
		Short: "Read archives back and check them against their hashes and receipts",
		Long: `Read archives in full and compare length, lines and SHA-256 with what was
recorded when they were made. Hold every receipt against its archive (hash,
length, lines) and against memory (every piece, the bytes of the log that they
cover, and their characters). Exit code 4 means that something is damaged or
missing; each of it is listed.

All of every copy is read: that is what finds one that has rotted. --quick only
looks whether the files are there, and as long as they should be.`,
		Example: `  sessctl archive verify
  sessctl archive verify --quick
  sessctl archive verify 3f9a2c`,
		RunE: func(c *cobra.Command, args []string) error {
			if o.Quick && o.ReadData && c.Flags().Changed("read-data") {
				return usageError("one of them", "--read-data does not go with --quick")
			}
			o.IDs = args
			return runArchiveVerify(c.Context(), a, o)
		},
	}
	c.Flags().StringVar(&o.Agent, "agent", "", "only archives of this `agent`")
	c.Flags().BoolVar(&o.ReadData, "read-data", true, "read every copy in full and hash it")
	c.Flags().BoolVar(&o.Quick, "quick", false, "read no copy, the same as --read-data=false")
	return c
}

type verifyOptions struct {
	Agent    string
	IDs      []string
	ReadData bool
	Quick    bool
}

func (o verifyOptions) reads() bool { return o.ReadData && !o.Quick }

// verifyDocument is `archive verify --json`.
type verifyDocument struct {
	Schema   int         `json:"schema"`
	ReadData bool        `json:"read_data"` // false: the copies were only looked at
	Checked  int         `json:"checked"`   // archives
	Bytes    int64       `json:"bytes"`     // of sessions
	Receipts int         `json:"receipts"`
	Problems []problem   `json:"problems"`
	Verified []verifyRow `json:"verified"`

	ofMemory int // how many problems memory has, which archives can mend
}

type verifyRow struct {
	ID     string `json:"id"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	OK     bool   `json:"ok"`
}

type problem struct {
	ID      string `json:"id"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

func runArchiveVerify(ctx context.Context, a *app, o verifyOptions) error {
	store, err := a.openArchive()
	if err != nil {
		return err
	}
	entries, err := chooseArchives(ctx, store, o.Agent, o.IDs)
	if err == nil && len(entries) == 0 {
		err = a.checkAgent(ctx, nil, o.Agent)
	}
	if err != nil {
		return err
	}
	doc := verifyDocument{Schema: 1, ReadData: o.reads(), Problems: []problem{}, Verified: []verifyRow{}}
	if err := verifyEntries(ctx, store, entries, &doc); err != nil {
		return err
	}
	if len(o.IDs) == 0 && o.Agent == "" {
		if err := addDamaged(ctx, store, &doc); err != nil {
			return err
		}
		if err := verifyReceipts(ctx, a, entries, &doc); err != nil {
			return err
		}
	}
	if err := renderVerify(a, doc); err != nil {
		return err
	}
	if len(doc.Problems) > 0 {
		return &outcomeError{exit: exitIntegrity}
	}
	return nil
}

func chooseArchives(ctx context.Context, store *archive.Store, agent string, ids []string) ([]archive.Entry, error) {
	if len(ids) == 0 {
		return store.List(ctx, archive.Filter{Agent: agent})
	}
	var entries []archive.Entry
	for _, id := range ids {
		e, err := findArchive(ctx, store, id)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func verifyEntries(ctx context.Context, store *archive.Store, entries []archive.Entry, doc *verifyDocument) error {
	for _, e := range entries {
		err := store.Look(e)
		if err == nil && doc.ReadData {
			err = store.Verify(ctx, e)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		doc.Checked++
		doc.Bytes += e.Bytes
		doc.Verified = append(doc.Verified, verifyRow{ID: e.ID, Path: e.Path, SHA256: e.SHA256, OK: err == nil})
		if err != nil {
			doc.Problems = append(doc.Problems, problem{ID: e.ID, Path: e.Path, Message: err.Error()})
		}
	}
	return nil
}

// addDamaged adds the files of the catalogue that cannot be used.
func addDamaged(ctx context.Context, store *archive.Store, doc *verifyDocument) error {
	damaged, err := store.Damaged(ctx)
	if err != nil {
		return err
	}
	for _, d := range damaged {
		doc.Problems = append(doc.Problems, problem{Path: d.Path, Message: d.Err.Error()})
	}
	return nil
}

func renderVerify(a *app, doc verifyDocument) error {
	if a.global.JSON {
		return a.printJSON(doc)
	}
	for _, p := range doc.Problems {
		_, _ = fmt.Fprintf(a.Out, "damaged\t%s\t%s\t%s\n", visible(p.ID), visible(p.Path), visible(p.Message))
	}
	if doc.ofMemory > 0 {
		a.hint("sessctl memory reindex --from-archives makes memory again from the archives that verify")
	}
	if len(doc.Problems) > doc.ofMemory {
		a.hint("restore damaged archives and receipts from a backup")
	}
	how := map[bool]string{true: "checked", false: "looked at, not read"}[doc.ReadData]
	_, err := fmt.Fprintf(a.Out, "%s (%s) and %s %s, %s\n", plural(doc.Checked, "archive"), formatBytes(doc.Bytes), plural(doc.Receipts, "receipt"), how, plural(len(doc.Problems), "problem"))
	return err
}

// auditor compares receipts with the catalogue and memory.
type auditor struct {
	archives map[string]archive.Entry
	sessions map[memory.Source][]string // ids of the archives of each session
	pruned   map[string]bool            // ids of archives that were deleted on purpose
	undone   map[string]compact.Receipt
	receipts []compact.Receipt
	memory   *memory.Store // nil if there is none
	copies   *archive.Store
	doc      *verifyDocument
	// outputLimit is the present limit of the policy: a memory that was made again
	// under another one than a receipt has other chunks.
	outputLimit int64
}

// verifyReceipts compares every receipt with the catalogue and memory.
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
		undone: compact.UndoneBy(receipts), receipts: receipts, doc: doc, outputLimit: a.outputLimit(),
	}
	if v.pruned, err = a.audit().DeletedArchives(); err != nil {
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

// allAgainstMemory compares every receipt with memory. A damaged memory ends it
// with memory.ErrCorrupt.
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
	case traitsOf(r.Runtime).CountsLines && r.Undo == nil && int64(r.Content.Lines) != e.Lines && r.Content.Lines != countLines(ctx, v.copies, e):
		v.problem(r, "the receipt says %d lines, the archive has %d", r.Content.Lines, e.Lines)
	}
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
	comparable := r.Content.OutputLimit == 0 || r.Content.OutputLimit == max(v.outputLimit, 0)
	if r.Content.Chunker == chunk.Version && comparable {
		missing = c.Missing(r.Chunks)
	}
	switch {
	case missing > 0:
		v.memoryProblem(r, "memory lacks %d of the %d chunks of session %s", missing, r.Chunks, r.Session)
	case c.Bytes < r.Content.CoveredBytes:
		v.memoryProblem(r, "memory covers %d bytes of the log of session %s, the receipt says %d", c.Bytes, r.Session, r.Content.CoveredBytes)
	case c.Forgotten == 0 && comparable && c.Characters < r.Content.Characters:
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
