package cmd

import (
	"io"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addProveFlags(o *audit.ProveOptions, fs *pflag.FlagSet) {
	fs.StringVar(&o.Since, "since", "", "show only what happened from this `time` on: 30d, 12h, 2026-03-01 or RFC 3339")
	fs.StringVar((*string)(&o.Agent), "agent", "", "show only what concerns this `agent` or runtime/agent")
	fs.StringVar(&o.Session, "session", "", "show only what concerns this session (`id` or its start)")
	fs.StringVarP(&o.Output, "output", "o", "", "write the proof to this `file`, which must not exist")
	fs.StringVar(&o.Format, "format", "jsonl", "`jsonl` or in-toto")
	fs.BoolVar(&o.Archives, "with-archives", false, "put the archives themselves into the file too")
	fs.StringVar(&o.Check, "check", "", "check the proof in this `file`, without a store, a key or a network")
	fs.StringVar(&o.Head, "head", "", "a `file` with a signed head that somebody kept, which the history must continue")
	fs.BoolVar(&o.Force, "force", false, "replace the file if it exists")
}

func newProveCommand(a *app) *cobra.Command {
	var o audit.ProveOptions
	c := &cobra.Command{
		Use:   "prove",
		Short: "Prove to others what was kept, deleted and forgotten, or check such a proof",
		Long: `Write a file that proves what the ledger says: which archives were made, with
their hashes, what was deleted and why, what was forgotten (as a hash), pinned,
restored. Somebody else checks it with --check, or with a program of his own
(docs/ledger.md); --head shows that nothing was rewritten since that head.`,
		Example: `  sessctl prove --output proof.jsonl
  sessctl prove --since 30d --agent coordinator --output proof.jsonl
  sessctl prove --check proof.jsonl --head last.head`,
		RunE: func(c *cobra.Command, _ []string) error {
			doc, err := audit.ProveOrCheck(c.Context(), a.Run, o)
			switch {
			case err != nil:
				return err
			case a.JSON:
				return audit.ProveOutcome(doc, a.printJSON(doc))
			}
			_, err = io.WriteString(a.Out, audit.DescribeProof(doc))
			return audit.ProveOutcome(doc, err)
		},
	}
	addProveFlags(&o, c.Flags())
	return c
}
