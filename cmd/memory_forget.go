package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sessctl/sessctl/pkg/memory"
)

type forgetOptions struct {
	Session string
	Agent   string
	ID      string
	DryRun  bool
	Yes     bool
}

func (o *forgetOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Session, "session", "", "forget what was remembered of this session `id`")
	fs.StringVar(&o.Agent, "agent", "", "forget what was remembered of this `agent`")
	fs.StringVar(&o.ID, "id", "", "forget the record with this `id` (recall --json shows it)")
	fs.BoolVar(&o.DryRun, "dry-run", false, "show what would be forgotten and change nothing")
	fs.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
}

func newMemoryForgetCommand(a *app) *cobra.Command {
	var o forgetOptions
	c := &cobra.Command{
		Use:   "forget",
		Short: "Remove a session, an agent or a record from the memory",
		Long: `Remove records with their text, words and vectors. All options that are given
must match. What was forgotten does not come back by a later compaction of the
same log, or when the memory is made anew. Archives are not touched: whoever can
read those can still read what was said.
` + exitHelp,
		Example: `  sessctl memory forget --session 4f0c1d2e-6d0a-4f57-9d2b-0c8e1f1a2b3c
  sessctl memory forget --agent scout --dry-run
  sessctl memory forget --id 9b1f0c... --yes`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if o.Session == "" && o.Agent == "" && o.ID == "" {
				return usageError("see sessctl memory forget --help", "what is to be forgotten? --session, --agent or --id is needed")
			}
			return runMemoryForget(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

// forgetDocument is `memory forget --json`.
type forgetDocument struct {
	Schema    int               `json:"schema"`
	DryRun    bool              `json:"dry_run"`
	Sessions  []memory.Selected `json:"sessions"` // what is selected, by session
	Records   int               `json:"records"`  // selected
	Forgotten int               `json:"forgotten"`
	Notes     []note            `json:"notes"`
}

func runMemoryForget(ctx context.Context, a *app, o forgetOptions) error {
	selection := memory.Selection{ID: o.ID, Runtime: a.global.Runtime, Agent: o.Agent, Session: o.Session}
	open := a.readMemory
	if o.DryRun {
		open = func(ctx context.Context) (*memory.Store, error) { return a.needMemory(a.glimpseMemory(ctx)) }
	}
	doc, err := previewForget(ctx, open, selection)
	if err != nil {
		return err
	}
	doc.DryRun = o.DryRun
	if doc.Records == 0 {
		a.notice(note{Message: "memory has no such record: nothing to forget"})
	}
	if doc.Records == 0 || o.DryRun {
		return renderForget(a, doc)
	}
	if !o.Yes {
		if !a.global.JSON {
			if err := listForget(a, doc); err != nil {
				return err
			}
		}
		if err := a.confirm(fmt.Sprintf("forget %s? The archives stay.", plural(doc.Records, "record"))); err != nil {
			return err
		}
	}
	h, err := a.openSettled(ctx)
	if err != nil {
		return err
	}
	defer h.close()
	if doc.Forgotten, err = h.memory.Forget(ctx, selection); err != nil {
		return err
	}
	return renderForget(a, doc)
}

func previewForget(ctx context.Context, open func(context.Context) (*memory.Store, error), selection memory.Selection) (forgetDocument, error) {
	doc := forgetDocument{Schema: 1, Sessions: []memory.Selected{}}
	store, err := open(ctx)
	if err != nil {
		return doc, err
	}
	defer store.Close()
	sessions, err := store.Select(ctx, selection)
	if err != nil {
		return doc, err
	}
	for _, s := range sessions {
		doc.Sessions = append(doc.Sessions, s)
		doc.Records += s.Records
	}
	return doc, nil
}

func renderForget(a *app, doc forgetDocument) error {
	doc.Notes = a.notes
	if a.global.JSON {
		return a.printJSON(doc)
	}
	if doc.DryRun {
		return listForget(a, doc)
	}
	if doc.Records == 0 {
		return nil
	}
	_, err := fmt.Fprintf(a.Out, "%s forgotten; archives are not touched\n", plural(doc.Forgotten, "record"))
	return err
}

// listForget shows what is selected.
func listForget(a *app, doc forgetDocument) error {
	for _, s := range doc.Sessions {
		_, err := fmt.Fprintf(a.Out, "%s %s: %s (%s not touched)\n", visible(s.Agent), visible(s.Session), plural(s.Records, "record"), plural(s.Archives, "archive"))
		if err != nil {
			return err
		}
	}
	return nil
}
