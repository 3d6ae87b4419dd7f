package cmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// checkResummarize refuses the flags of compact that say nothing to summaries
// that are made again.
func checkResummarize(o compactOptions, fs *pflag.FlagSet) error {
	var err error
	fs.Visit(func(f *pflag.Flag) {
		known := []string{"resummarize", "agent", "all", "session", "dry-run", "force", "focus", "max-llm-calls"}
		if !slices.Contains(known, f.Name) && !isGlobal(f.Name) && err == nil {
			err = usageError("it works on what is archived", "--%s does not go with --resummarize", f.Name)
		}
	})
	if err == nil && o.Agent == "" && o.Session == "" && !o.All {
		err = usageError("sessctl compact --resummarize --agent NAME, or --all", "whose summaries are to be made again?")
	}
	return err
}

// runResummarize is compact --resummarize: summaries that a model was to write
// and did not are written now.
func runResummarize(ctx context.Context, a *app, o compactOptions) error {
	a.config.LLM.MaxCalls = o.MaxCalls
	if a.config.Summarize.Provider == summarize.ProviderExtractive {
		return usageError("set summarize.provider, see docs/summaries.md", "no model is configured that could write summaries")
	}
	summarizer, err := a.summarizers(o.Focus)
	if err != nil {
		return err
	}
	receipts, err := a.receipts().List()
	if err != nil {
		return err
	}
	wanted := slices.DeleteFunc(compact.Upgradable(receipts, o.Force), func(r compact.Receipt) bool { return !a.wants(o, r) })
	doc := compactDocument{Schema: 1, DryRun: o.DryRun}
	if o.DryRun {
		for _, r := range wanted {
			result := r.Result
			result.Outcome, result.Reason, result.Receipt = compact.Planned, "its summary would be made again", ""
			doc.Sessions = append(doc.Sessions, result)
		}
		return a.finish(doc, a.noteSummarizer())
	}
	h, err := a.openHouse(ctx, o.Focus)
	if err != nil {
		return err
	}
	defer h.close()
	h.compactor.Summarizer = summarizer
	doc.Sessions, err = h.resummarize(ctx, a, wanted)
	return a.finish(doc, err)
}

// wants reports whether a receipt is about a session that the options mean.
func (a *app) wants(o compactOptions, r compact.Receipt) bool {
	return (o.Agent == "" || r.Agent == o.Agent) && (a.global.Runtime == "" || r.Runtime == a.global.Runtime) &&
		(o.Session == "" || r.Session == o.Session || r.Key == o.Session)
}

func (h *house) resummarize(ctx context.Context, a *app, wanted []compact.Receipt) ([]compact.Result, error) {
	var results []compact.Result
	for _, r := range wanted {
		store := a.readerOf(r.Runtime)
		if store == nil {
			return results, fmt.Errorf("no runtime %q is known", r.Runtime)
		}
		result, err := h.compactor.Resummarize(ctx, store, r, compact.Policy{})
		if ctx.Err() != nil {
			return results, ctx.Err()
		}
		if err != nil && !a.global.JSON {
			h.progress.clear()
			_, _ = fmt.Fprintf(a.Err, "sessctl: %s: %s\n", visible(r.Path), visibleText(err.Error()))
		}
		results = append(results, result)
	}
	return results, nil
}
