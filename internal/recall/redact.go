package recall

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/ledger"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/secrets"
)

// RedactDocument is `memory redact --json`.
type RedactDocument struct {
	Schema int    `json:"schema"`
	DryRun bool   `json:"dry_run"`
	Rules  string `json:"rules"` // see secrets.Version
	memory.Redaction
	Values  int              `json:"values"`  // secrets that were found; one in several places is one
	Pending int              `json:"pending"` // records that wait for a vector afterwards
	Shared  bool             `json:"shared"`  // what changed was sent to the shared memory
	Notes   []workspace.Note `json:"notes"`

	Unwiped bool `json:"-"` // traces are still in the files
}

// PreviewRedact counts what today's rules find in the memory.
func PreviewRedact(ctx context.Context, run *workspace.Run) (doc RedactDocument, err error) {
	store, err := workspace.GlimpseMemory(ctx, run)
	if store, err = NeedMemory(ctx, run, store, err); err != nil {
		return doc, err
	}
	defer store.Close()
	found := secrets.NewSession()
	doc = RedactDocument{Schema: 1, DryRun: true, Rules: secrets.Version}
	doc.Redaction, err = store.PlanRedaction(ctx, found)
	doc.Values = found.Values()
	return doc, err
}

// Redact applies today's rules to the memory, and to the shared one if there is one.
func Redact(ctx context.Context, run *workspace.Run) (doc RedactDocument, err error) {
	w, err := OpenRecovered(ctx, run, false)
	if err != nil {
		return doc, err
	}
	defer w.Close()
	found := secrets.NewSession()
	doc = RedactDocument{Schema: 1, Rules: secrets.Version}
	doc.Redaction, err = w.Memory.RedactAll(ctx, found)
	doc.Values = found.Values()
	doc.Unwiped = err != nil
	if err := workspace.TellUnwiped(run, err); err != nil || doc.Empty() {
		return doc, err
	}
	workspace.Enter(run, ledger.Leaf{Kind: ledger.Redacted, At: run.Now().UnixMilli(), What: "memory", Count: doc.Records + doc.Facts + doc.Actions, Why: secrets.Version})
	var vectors audit.ReindexDocument
	if err := audit.Reindex(ctx, w, run, audit.ReindexOptions{Pending: true}, &vectors); err != nil {
		return doc, err
	}
	doc.Pending = vectors.Pending + vectors.Waiting
	doc.Shared = shareRedacted(ctx, run, w.Memory)
	return doc, nil
}

// shareRedacted sends what was redacted to the shared memory, where there is one, and
// says when that must wait for the next push.
func shareRedacted(ctx context.Context, run *workspace.Run, store *memory.Store) (shared bool) {
	if !workspace.Shares(&run.Settings) {
		return false
	}
	if err := trySharing(ctx, run, store); err != nil {
		run.Notice(workspace.Note{Message: "the shared memory still has what was redacted: " + err.Error(), Hint: "the next sessctl push replaces it there"})
		return false
	}
	return true
}

func trySharing(ctx context.Context, run *workspace.Run, store *memory.Store) error {
	host, err := OwnHost(&run.Settings)
	if err != nil {
		return err
	}
	shared, err := workspace.OpenShared(ctx, &run.Settings, false)
	if err != nil {
		return err
	}
	defer shared.Close()
	p := remote.Pusher{Local: store, Shared: shared, Host: host, Server: shared.Server(), Compare: true, Progress: func(int, int) {}}
	if p.Only, _, err = selection.Shareable(ctx, run, store); err != nil {
		return err
	}
	_, err = p.Push(ctx)
	return workspace.TellUnwiped(run, err)
}

// DescribeRedact is the document in words.
func DescribeRedact(doc RedactDocument) string {
	if doc.Empty() {
		return "nothing to redact: the memory has no secret that today's rules (" + doc.Rules + ") find\n"
	}
	verb := "redacted"
	if doc.DryRun {
		verb = "would be redacted"
	}
	var b strings.Builder
	for _, category := range slices.Sorted(maps.Keys(doc.Category)) {
		fmt.Fprintf(&b, "  %-17s %s\n", wording.Visible(category), wording.Count(int64(doc.Category[category])))
	}
	for _, more := range []struct {
		name string
		n    int
	}{{"facts", doc.Facts}, {"work", doc.Actions}, {"files beside", doc.Files}} {
		if more.n > 0 {
			fmt.Fprintf(&b, "  %-17s %s\n", more.name, wording.Count(int64(more.n)))
		}
	}
	fmt.Fprintf(&b, "%s in %s %s; archives keep every byte\n", wording.Plural(doc.Values, "value"), wording.Plural(doc.Records+doc.Actions, "record"), verb)
	return b.String()
}
