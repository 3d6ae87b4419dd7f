package cmd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/exchange"
	"github.com/sessctl/sessctl/pkg/replay"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addReplayFlags(o *steps.ReplayOptions, fs *pflag.FlagSet) {
	fs.StringVar((*string)(&o.Agent), "agent", "", "the main session of this `agent` or runtime/agent")
	fs.StringVar(&o.Session, "session", "", "this session (`id` or key)")
	fs.StringVar(&o.File, "file", "", "any session `file` of any runtime, in any place")
	fs.StringVar(&o.Query, "query", "", "keep the last six messages and the older turns about this `text`, 20 messages in all")
	fs.Float64Var(&o.Relevance, "min-relevance", replay.DefaultRelevance, "with --query: how similar an older turn must be, as a `cosine` (or $"+steps.RelevanceVariable+")")
	fs.Int64Var(&o.Budget, "budget", 0, "leave out the oldest turns until about this many `tokens` are left (0: no budget)")
	fs.StringVar(&o.Format, "format", string(replay.Text), steps.FormatNames())
	fs.BoolVar(&o.NoRepair, "no-repair", false, "leave calls without results and results without calls as they are")
	fs.IntVar(&o.KeepToolResults, "keep-tool-results", -1, "keep this many of the last tool results whole, -1 for all (default: as the runtime does)")
	fs.StringVar(&o.Check, "check", "", "compare with this `file` instead of printing; exit 1 and a diff if it is not the same")
	fs.BoolVar(&o.Recent, "recent", false, "the summaries of the last three sessions of each runtime")
}

func newReplayContextCommand(a *app) *cobra.Command {
	var o steps.ReplayOptions
	c := &cobra.Command{
		Use:   "replay-context",
		Short: "Print what an agent would send to its model",
		Long: `Rebuild the context of a session from its log as its runtime does: the active
branch, the summary of the last compaction, and what followed. Calls without
results are repaired, tool results are cut as the runtime cuts them, and with
--query or --budget only a part is kept. The session is only read; nothing is
redacted. --format atif writes the whole session, not only its context.`,
		Example: `  sessctl replay-context --agent coordinator
  sessctl replay-context --file session.jsonl --format anthropic
  sessctl replay-context --agent coordinator --format atif
  sessctl replay-context --agent coordinator --query "importer port" --budget 8000
  sessctl replay-context --file fixture.jsonl --format json --check golden.json`,
		RunE: func(c *cobra.Command, _ []string) error {
			if a.JSON && !c.Flags().Changed("format") {
				o.Format = string(replay.JSON)
			}
			o.CutResults = c.Flags().Changed("keep-tool-results")
			if !c.Flags().Changed("min-relevance") {
				o.RelevanceText = a.Getenv(steps.RelevanceVariable)
			}
			if err := o.Validate(); err != nil {
				return err
			}
			if o.Recent {
				return runRecent(c.Context(), a, o.Agent)
			}
			return runReplay(c.Context(), a, o)
		},
	}
	addReplayFlags(&o, c.Flags())
	return c
}

func runReplay(ctx context.Context, a *app, o steps.ReplayOptions) error {
	s, err := steps.Replayed(ctx, a.Run, o)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if replay.Format(o.Format) == exchange.FormatATIF {
		if err := steps.WriteTrajectory(ctx, &out, s); err != nil {
			return err
		}
		return showReplay(a, o, out.String())
	}
	messages, scan, err := replay.Read(ctx, steps.ContextScanner(s), func() (io.ReadCloser, error) { return recall.OpenFound(ctx, s) })
	if err != nil {
		return err
	}
	steps.TellDoubt(a.Run, s, scan)
	if o.Query != "" {
		if messages, err = selectMessages(ctx, a, messages, o); err != nil {
			return err
		}
	}
	if !o.NoRepair {
		messages = replay.Repair(messages)
	}
	messages = replay.Budget(replay.Truncate(messages, o.WholeResults(s.Runtime)), o.Budget)
	origin := replay.Origin{Runtime: s.Runtime, Agent: s.Agent, Session: cmp.Or(s.ID, scan.SessionID)}
	if err := exchange.Write(&out, replay.Format(o.Format), origin, messages); err != nil {
		return err
	}
	return showReplay(a, o, out.String())
}

// showReplay prints a replay, or compares it with a stored one.
func showReplay(a *app, o steps.ReplayOptions, text string) error {
	text = steps.VisibleReplay(replay.Format(o.Format), text)
	if o.Check != "" {
		return checkReplay(a, o.Check, text)
	}
	_, err := io.WriteString(a.Out, text)
	return err
}

// selectMessages keeps what is about the query. Without an embedder the newest
// messages are kept, and a note says so.
func selectMessages(ctx context.Context, a *app, messages []replay.Message, o steps.ReplayOptions) ([]replay.Message, error) {
	embedding, err := workspace.OpenEmbedder(&a.Run.Settings)
	if err != nil {
		return nil, err
	}
	kept, err := replay.Select(ctx, messages, replay.Selection{
		Query: o.Query, Relevance: o.Relevance,
		Similar: func(ctx context.Context, query string, texts []string) ([]float64, error) {
			return steps.Cosines(ctx, embedding, query, texts)
		},
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		a.Notice(workspace.Note{Message: "the newest messages are kept: " + err.Error()})
	}
	return kept, nil
}

// checkReplay compares a replay with a stored one.
func checkReplay(a *app, path, got string) error {
	want, err := os.ReadFile(path)
	if err != nil {
		return &failure.Error{Code: "no_file", Exit: failure.ExitFailed, Path: path, Hint: "make it with: sessctl replay-context ... > " + path, Err: fmt.Errorf("read the stored replay: %w", err)}
	}
	if string(want) == got {
		return nil
	}
	if _, err := fmt.Fprint(a.Out, wording.VisibleText(steps.Difference(path, strings.Split(string(want), "\n"), strings.Split(got, "\n")))); err != nil {
		return err
	}
	return &failure.Error{Code: "differs", Exit: failure.ExitFailed, Path: path, Hint: "if the new replay is right, write it over the stored one", Err: fmt.Errorf("the replay is not the one in %s", path)}
}

func runRecent(ctx context.Context, a *app, agent agentset.Set) error {
	doc, err := steps.Recent(ctx, a.Run, agent)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(doc)
	}
	if len(doc.Summaries) == 0 {
		a.Notice(workspace.Note{Message: "no session has a summary", Hint: "sessctl compact writes one"})
		return nil
	}
	_, err = fmt.Fprintln(a.Out, "Recent conversations:")
	for _, s := range doc.Summaries {
		_, err = fmt.Fprintln(a.Out, wording.VisibleText(s))
	}
	return err
}
