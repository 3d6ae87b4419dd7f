package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/memory"
)

func newArchiveVerifyCommand(a *app) *cobra.Command {
	var agent string
	c := &cobra.Command{
		Use:   "verify [ID]...",
		Short: "Read archives back and check them against their hashes and receipts",
		Long: `Read archives in full and compare length and SHA-256 with what was recorded
when they were made; check that every receipt still has its archive and its
chunks in memory. Exit code 4 means that something is damaged or missing.`,
		Example: `  sessctl archive verify
  sessctl archive verify 3f9a2c`,
		RunE: func(c *cobra.Command, args []string) error { return runArchiveVerify(c.Context(), a, agent, args) },
	}
	c.Flags().StringVar(&agent, "agent", "", "only archives of this `agent`")
	return c
}

// verifyDocument is `archive verify --json`.
type verifyDocument struct {
	Schema   int         `json:"schema"`
	Checked  int         `json:"checked"` // archives read back
	Bytes    int64       `json:"bytes"`   // of sessions
	Receipts int         `json:"receipts"`
	Problems []problem   `json:"problems"`
	Verified []verifyRow `json:"verified"`
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

func runArchiveVerify(ctx context.Context, a *app, agent string, ids []string) error {
	store, err := a.openArchive()
	if err != nil {
		return err
	}
	entries, err := chooseArchives(ctx, store, agent, ids)
	if err != nil {
		return err
	}
	doc := verifyDocument{Schema: 1, Problems: []problem{}, Verified: []verifyRow{}}
	if err := verifyEntries(ctx, store, entries, &doc); err != nil {
		return err
	}
	if len(ids) == 0 && agent == "" {
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
		err := store.Verify(ctx, e)
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

// verifyReceipts holds every receipt against the catalogue and memory.
func verifyReceipts(ctx context.Context, a *app, entries []archive.Entry, doc *verifyDocument) error {
	receipts, err := a.receipts().List()
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, e := range entries {
		known[e.ID] = true
	}
	count, closeMemory, err := a.memoryCounter(ctx)
	if err != nil {
		return err
	}
	defer closeMemory()
	for _, r := range receipts {
		doc.Receipts++
		if r.Archive != nil && !known[r.Archive.ID] {
			doc.Problems = append(doc.Problems, problem{ID: r.ID, Path: r.Archive.Path, Message: "the receipt's archive is not in the catalogue"})
		}
		if err := checkMemory(ctx, r, count, doc); err != nil {
			return err
		}
	}
	return nil
}

// sessionCounter says how many records of a session memory has.
type sessionCounter func(ctx context.Context, runtime, agent, session string) (records, pending int, err error)

func (a *app) memoryCounter(ctx context.Context) (sessionCounter, func(), error) {
	store, err := memory.Open(ctx, a.memoryDir(), memory.Options{ReadOnly: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, func() {}, nil
	}
	if err != nil {
		return nil, func() {}, fmt.Errorf("open memory: %w", err)
	}
	return store.CountSession, func() { _ = store.Close() }, nil
}

func checkMemory(ctx context.Context, r compact.Receipt, count sessionCounter, doc *verifyDocument) error {
	held := 0
	if count != nil {
		n, _, err := count(ctx, r.Runtime, r.Agent, r.Session)
		if err != nil {
			return fmt.Errorf("count the records of %s: %w", r.Session, err)
		}
		held = n
	}
	if held < r.Chunks {
		doc.Problems = append(doc.Problems, problem{ID: r.ID, Path: subject(r), Message: fmt.Sprintf("memory has %d records of session %s, the receipt says %d chunks", held, r.Session, r.Chunks)})
	}
	return nil
}

func subject(r compact.Receipt) string {
	if r.Archive != nil {
		return r.Archive.Path
	}
	return r.Path
}

func renderVerify(a *app, doc verifyDocument) error {
	if a.global.JSON {
		return a.printJSON(doc)
	}
	for _, p := range doc.Problems {
		_, _ = fmt.Fprintf(a.Out, "damaged\t%s\t%s\t%s\n", p.ID, visible(p.Path), visible(p.Message))
	}
	if len(doc.Problems) > 0 {
		a.hint("restore damaged archives from a backup; memory can be rebuilt from the archives that verify")
	}
	_, err := fmt.Fprintf(a.Out, "%s (%s) and %s checked, %s\n", plural(doc.Checked, "archive"), formatBytes(doc.Bytes), plural(doc.Receipts, "receipt"), plural(len(doc.Problems), "problem"))
	return err
}
