package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newMemoryCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "memory",
		Short: "Manage the memory: count, check, rebuild, forget, redact, list, export",
		Long: `The memory is what recall searches: the texts of compacted sessions, their
words and their vectors, and what agents stored. All of it can be made again from
the archives, and from what is kept of agents' own words.`,
		Example: `  sessctl memory stats
  sessctl memory verify
  sessctl memory reindex --pending
  sessctl memory reindex --from-archives
  sessctl memory forget --session 4f0c1d2e
  sessctl memory redact --dry-run
  sessctl memory stored
  sessctl memory export --output memories.jsonl`,
	}
	c.AddCommand(newMemoryStatsCommand(a), newMemoryVerifyCommand(a), newMemoryReindexCommand(a), newMemoryForgetCommand(a), newMemoryRedactCommand(a), newMemoryStoredCommand(a), newMemoryExportCommand(a))
	return c
}

func newMemoryStatsCommand(a *app) *cobra.Command {
	var agent agentset.Set
	c := &cobra.Command{
		Use:   "stats",
		Short: "Count what the memory holds",
		Long: `Count the records of every agent by category, what was done by kind (commands,
files that were read and changed, searches), the vectors of every embedding
model, the records that have no vector yet, and those that were forgotten.`,
		Example: `  sessctl memory stats
  sessctl memory stats --agent coordinator --json`,
		RunE: func(c *cobra.Command, _ []string) error { return runMemoryStats(c.Context(), a, agent) },
	}
	c.Flags().StringVar((*string)(&agent), "agent", "", "only this `agent` or runtime/agent")
	return c
}

func runMemoryStats(ctx context.Context, a *app, agent agentset.Set) error {
	store, err := recall.ReadMemoryOf(ctx, a.Run, agent)
	if err != nil {
		return err
	}
	defer store.Close()
	stats, err := store.Stats(ctx)
	if err != nil {
		return err
	}
	stats.Agents = slices.DeleteFunc(stats.Agents, func(s memory.AgentStats) bool {
		return !agent.Holds(s.Runtime, s.Agent) || a.Global.Runtime != "" && s.Runtime != a.Global.Runtime
	})
	doc := recall.MemoryStatsDocument{Schema: 1, Path: a.MemoryDir(), Stats: stats}
	if a.JSON {
		return a.printJSON(doc)
	}
	return renderMemoryStats(a, doc)
}

func renderMemoryStats(a *app, doc recall.MemoryStatsDocument) error {
	var b strings.Builder
	for _, s := range doc.Agents {
		fmt.Fprintf(&b, "%s (%s): %s of %s\n", wording.Visible(s.Agent), wording.Visible(s.Runtime), wording.Plural(s.Records, "record"), wording.Plural(s.Sessions, "session"))
		for _, category := range slices.Sorted(maps.Keys(s.Category)) {
			fmt.Fprintf(&b, "  %-17s %s\n", wording.Visible(category), wording.Count(int64(s.Category[category])))
		}
		if s.Stored > 0 {
			fmt.Fprintf(&b, "  %-17s %s in the agent's own words (sessctl memory stored lists them)\n", "stored", wording.Count(int64(s.Stored)))
		}
		for _, kind := range slices.Sorted(maps.Keys(s.Actions)) {
			fmt.Fprintf(&b, "  %-17s %s\n", "work: "+wording.Visible(kind), wording.Count(int64(s.Actions[kind])))
		}
		if s.Unembedded > 0 && len(s.Pending) == 0 { // no embedder has ever answered
			fmt.Fprintf(&b, "  %-17s %s without a vector; found by their words until then\n", "pending", wording.Count(int64(s.Unembedded)))
		}
		for _, model := range slices.Sorted(maps.Keys(s.Pending)) {
			fmt.Fprintf(&b, "  %-17s %s without a vector of\n    %s\n", "pending", wording.Count(int64(s.Pending[model])), wording.Visible(model))
		}
	}
	for _, m := range doc.Models {
		fmt.Fprintf(&b, "model %s\n  %-17s %s, %s", wording.Visible(m.Name), "vectors", wording.Count(int64(m.Vectors)), wording.Bytes(m.Bytes))
		b.WriteByte('\n')
	}
	if doc.Forgotten > 0 {
		fmt.Fprintf(&b, "forgotten: %s\n", wording.Plural(doc.Forgotten, "record"))
	}
	_, err := fmt.Fprintf(a.Out, "%s%s in %s\n", b.String(), wording.Bytes(doc.Bytes), wording.Visible(doc.Path))
	return err
}

func newMemoryVerifyCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Check the memory's database and every record and vector in it",
		Long: `Check the pages and indexes of the database, that every record has its text, its
words and a vector or a place in the queue for one, the checksum of every record
and of every vector, the words against the texts, and that what every receipt
says was stored is there. If another run is under way, the receipts are left
out. Exit code 4 means that something is damaged or missing.`,
		Example: "  sessctl memory verify",
		RunE:    func(c *cobra.Command, _ []string) error { return runMemoryVerify(c.Context(), a) },
	}
}

func runMemoryVerify(ctx context.Context, a *app) error {
	doc := recall.MemoryVerifyDocument{Schema: 1, Path: a.MemoryDir(), Problems: []audit.Problem{}}
	err := recall.VerifyMemory(ctx, a.Run, &doc)
	if errors.Is(err, memory.ErrCorrupt) {
		doc.Problems = append(doc.Problems, audit.Problem{Path: a.MemoryDir(), Message: err.Error()})
	} else if err != nil {
		return err
	}
	if err := renderMemoryVerify(a, doc); err != nil {
		return err
	}
	if len(doc.Problems) > 0 {
		return &failure.Outcome{Exit: failure.ExitIntegrity}
	}
	return nil
}

func renderMemoryVerify(a *app, doc recall.MemoryVerifyDocument) error {
	if a.JSON {
		return a.printJSON(doc)
	}
	for _, p := range doc.Problems {
		_, _ = fmt.Fprintf(a.Out, "damaged\t%s\t%s\n", wording.Visible(p.Path), wording.Visible(p.Message))
	}
	if len(doc.Problems) > 0 {
		var hints []string
		for _, p := range doc.Problems {
			hint := audit.AdviseMemory(p.Path, a.MemoryDir())
			if p.ID != "" { // of a receipt
				hint = workspace.AdviseRebuild
			}
			hint = cmp.Or(p.Advice, hint)
			hints = append(hints, hint)
		}
		slices.Sort(hints)
		for _, hint := range slices.Compact(hints) {
			a.Hint(hint)
		}
		_, err := fmt.Fprintf(a.Out, "%s\n", wording.Plural(len(doc.Problems), "problem"))
		return err
	}
	checked := wording.Plural(doc.Records, "record") + " and " + wording.Plural(doc.Vectors, "vector")
	if doc.Actions > 0 {
		checked = wording.Plural(doc.Records, "record") + ", " + wording.Plural(doc.Vectors, "vector") + " and " + wording.Plural(doc.Actions, "action")
	}
	_, err := fmt.Fprintf(a.Out, "%s checked, 0 problems\n", checked)
	return err
}

func addForgetFlags(o *recall.ForgetOptions, fs *pflag.FlagSet) {
	fs.StringVar(&o.Session, "session", "", "forget what was remembered of this session (`id` or its start)")
	fs.StringVar((*string)(&o.Agent), "agent", "", "forget what was remembered of this `agent` or runtime/agent")
	fs.StringVar(&o.ID, "id", "", "forget the record with this `id`, or the start of it (recall --json shows it)")
	fs.StringVar(&o.Text, "text", "", "forget the records that contain this `text`, in any case")
	fs.BoolVar(&o.DryRun, "dry-run", false, "show what would be forgotten and change nothing")
	fs.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
}

func newMemoryForgetCommand(a *app) *cobra.Command {
	var o recall.ForgetOptions
	c := &cobra.Command{
		Use:   "forget",
		Short: "Remove a session, an agent or a record from the memory",
		Long: `Remove records with their text, words and vectors. All options that are given
must match. What was forgotten does not come back by a later compaction of the
same log, or when the memory is rebuilt. Pages of these sessions that archives show
--html keeps are removed, with --text all pages. Archives are not touched: whoever
can read those can still read what was said.`,
		Example: `  sessctl memory forget --session 4f0c1d2e
  sessctl memory forget --agent scout --dry-run
  sessctl memory forget --text "the old staging password" --dry-run
  sessctl memory forget --id 9b1f0c --yes`,
		RunE: func(c *cobra.Command, _ []string) error {
			o.Text = strings.TrimSpace(o.Text)
			if o.Session == "" && o.Agent == "" && o.ID == "" && o.Text == "" {
				return failure.Usage("see sessctl memory forget --help", "what should be forgotten? --session, --agent, --id or --text is needed")
			}
			return runMemoryForget(c.Context(), a, o)
		},
	}
	addForgetFlags(&o, c.Flags())
	return c
}

func runMemoryForget(ctx context.Context, a *app, o recall.ForgetOptions) error {
	open := func(ctx context.Context) (*memory.Store, error) { return recall.ReadMemory(ctx, a.Run) }
	if o.DryRun {
		open = func(ctx context.Context) (*memory.Store, error) {
			store, err := workspace.GlimpseMemory(ctx, a.Run)
			return recall.NeedMemory(ctx, a.Run, store, err)
		}
	}
	doc, selections, err := recall.PreviewForget(ctx, a.Run, open, o)
	if err != nil {
		return err
	}
	doc.DryRun = o.DryRun
	selected := doc.Records+doc.Actions > 0
	if !selected {
		a.Notice(workspace.Note{Message: "memory has no such record: nothing to forget"})
	}
	if !selected && !doc.Unwiped || o.DryRun {
		return renderForget(a, doc)
	}
	if selected {
		if err := agreeToForget(a, doc, o); err != nil {
			return err
		}
	}
	w, err := recall.OpenRecovered(ctx, a.Run, false)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := recall.StillSelected(ctx, a.Run, w.Memory, doc, o); err != nil {
		return err
	}
	if err := recall.ForgetPages(ctx, a.Run, doc, o); err != nil {
		return err
	}
	unwiped := false
	for _, selection := range selections {
		gone, err := w.Memory.Forget(ctx, selection)
		workspace.EnterForgotten(a.Run, selection, gone)
		doc.Forgotten += gone.Marked
		doc.RecordsForgotten += gone.Records
		doc.ActionsForgotten += gone.Actions
		unwiped = unwiped || errors.Is(err, memory.ErrUnwiped)
		if err := workspace.TellUnwiped(a.Run, err); err != nil {
			return err
		}
	}
	recall.BuryShared(ctx, a.Run, w.Memory)
	recall.NoteSetAside(a.Run)
	if err := renderForget(a, doc); err != nil || !unwiped {
		return err
	}
	return &failure.Outcome{Exit: failure.ExitPartly}
}

// agreeToForget asks whether what is selected may go. An error forgets nothing.
func agreeToForget(a *app, doc recall.ForgetDocument, o recall.ForgetOptions) error {
	if o.Agree != nil {
		return o.Agree(doc)
	}
	if o.Yes {
		return nil
	}
	if !a.JSON {
		if err := listForget(a, doc); err != nil {
			return err
		}
	}
	return a.confirm(fmt.Sprintf("forget %s? The archives stay.", recall.ForgottenOf(doc.Records, doc.Actions)))
}

func renderForget(a *app, doc recall.ForgetDocument) error {
	doc.Notes = a.Notes
	if a.JSON {
		return a.printJSON(doc)
	}
	if doc.DryRun {
		return listForget(a, doc)
	}
	if doc.Records+doc.Actions == 0 {
		return nil
	}
	_, err := fmt.Fprintf(a.Out, "%s forgotten; archives are not touched\n", recall.ForgottenOf(doc.RecordsForgotten, doc.ActionsForgotten))
	return err
}

// listForget shows what is selected.
func listForget(a *app, doc recall.ForgetDocument) error {
	_, err := fmt.Fprint(a.Out, recall.DescribeForget(doc))
	return err
}
