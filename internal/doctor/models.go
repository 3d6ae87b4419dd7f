package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// examineEmbedder looks whether the embedder that is configured can serve, and
// whether the vectors of memory are its own.
func examineEmbedder(ctx context.Context, run *workspace.Run, report *findings) error {
	const later = "sessions are compacted all the same; recall goes by words until then"
	e, err := workspace.OpenEmbedder(&run.Settings)
	if err != nil {
		unusable(report, "embed", err)
		return nil
	}
	if key := run.Config.Embed.APIKeyEnv; key != "" && run.Config.Embed.APIKeyFile == "" && strings.TrimSpace(run.Getenv(key)) == "" {
		report.problem("", fmt.Sprintf("the variable %s, which is to hold the API key (embed.api_key_env), is empty", key), "set it, or name another with embed.api_key_env; "+later)
		return nil
	}
	if run.Config.Embed.Provider == "openai" && workspace.IsOpenAI(run.Config.Embed.BaseURL) && run.Config.Embed.APIKeyFile+run.Config.Embed.APIKeyEnv+run.Getenv("OPENAI_API_KEY") == "" {
		report.problem("", "there is no API key for "+e.Address, "set OPENAI_API_KEY, embed.api_key_env or embed.api_key_file; "+later)
		return nil
	}
	asked, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	model, err := probe(asked, e)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		report.warn("", fmt.Sprintf("the embedder %s/%s cannot serve: %v", e.Expected.Provider, e.Expected.Name, err), "start its server, or look at embed.base_url and embed.model; "+later)
		return nil
	}
	return examineVectors(ctx, run, report, workspace.Chunked(model))
}

// examineVectors compares the model of memory's vectors with the embedder's.
func examineVectors(ctx context.Context, run *workspace.Run, report *findings, model embed.Model) error {
	report.ok("", "%s serves", model)
	store, err := memory.Open(ctx, run.MemoryDir(), memory.Options{NoTrace: true})
	if err != nil {
		return nil // the check of the memory says why
	}
	defer store.Close()
	agents, err := store.Agents(ctx, "", "")
	if err != nil {
		return nil
	}
	for _, agent := range agents {
		others, err := store.OtherModels(ctx, agent, model)
		if err == nil && len(others) > 0 {
			report.warn(run.MemoryDir(), fmt.Sprintf("the vectors of %s are of %s, and %s is configured: recall goes by words", agent, strings.Join(others, ", "), model),
				"sessctl memory reindex rebuilds all vectors; or set embed.provider and embed.model back")
		}
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

// askTimeout is how long a server may take to answer a checkup.
const askTimeout = 5 * time.Second

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
