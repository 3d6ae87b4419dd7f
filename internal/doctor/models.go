package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// examineEmbedder looks whether the embedder that is configured can serve, and
// whether the vectors of memory are its own.
func examineEmbedder(ctx context.Context, run *workspace.Run, report *findings) error {
	store, err := memory.Open(ctx, run.MemoryDir(), memory.Options{NoTrace: true})
	if err != nil {
		store = nil // the check of the memory says why
	} else {
		defer store.Close()
	}
	model, why := workspace.LookByWords(ctx, run, store, probe)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if model.Name != "" {
		report.ok("", "%s serves", workspace.Chunked(model))
	}
	for _, w := range why {
		tell := report.warn
		if w.Settings {
			tell = report.problem
		}
		tell(w.Path, w.Message, w.Hint)
	}
	return nil
}

// examineModels looks at the configuration of the models that write summaries
// and find facts. They are not asked: an answer costs money.
func examineModels(_ context.Context, run *workspace.Run, report *findings) error {
	for _, task := range []struct {
		name string
		of   workspace.ModelConfig
	}{{"summarize", run.Config.Summarize}, {"facts", run.Config.Facts}} {
		endpoint, err := workspace.Endpoint(run, task.name, task.of)
		switch {
		case err != nil:
			unusable(report, task.name, err)
		case endpoint.Provider == summarize.ProviderExtractive:
			report.ok("", "%s: extractive, without a model", task.name)
		case endpoint.Key == "" && (endpoint.Provider == summarize.ProviderAnthropic || endpoint.Provider == summarize.ProviderOpenAI) && task.of.BaseURL == "":
			report.problem("", fmt.Sprintf("%s: there is no API key for %s", task.name, endpoint.Provider), fmt.Sprintf("set %s.api_key_env or %s.api_key_file", task.name, task.name))
		default:
			report.ok("", "%s: %s is configured; it is not asked", task.name, endpoint.Provider)
		}
	}
	return nil
}

// unusable reports a provider that cannot be used as it is configured.
func unusable(report *findings, task string, err error) {
	advice := "look at " + task + ".* in the configuration"
	if f := (*failure.Error)(nil); errors.As(err, &f) && f.Hint != "" {
		advice = f.Hint
	}
	report.problem("", err.Error(), advice)
}

// probe asks the embedder for one vector, so that a server that is away, or
// refuses the key, is seen whatever the configuration says of its model.
func probe(ctx context.Context, e *workspace.Embedding) (embed.Model, error) {
	model, err := e.Identify(ctx)
	if err != nil || e.Address == "" {
		return model, err
	}
	_, err = e.Queries.EmbedQuery(ctx, "sessctl doctor")
	return model, err
}
