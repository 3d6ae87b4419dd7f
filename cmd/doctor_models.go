package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// examineEmbedder looks whether the embedder that is configured can serve, and
// whether the vectors of memory are its own.
func (d *checkup) examineEmbedder(ctx context.Context) error {
	const later = "sessions are compacted all the same; recall goes by words until then"
	e, err := workspace.OpenEmbedder(&d.app.Run.Settings)
	if err != nil {
		d.unusable("embed", err)
		return nil
	}
	if key := d.Config.Embed.APIKeyEnv; key != "" && d.Config.Embed.APIKeyFile == "" && strings.TrimSpace(d.Getenv(key)) == "" {
		d.problem("", fmt.Sprintf("the variable %s, which is to hold the API key (embed.api_key_env), is empty", key), "set it, or name another with embed.api_key_env; "+later)
		return nil
	}
	if d.Config.Embed.Provider == "openai" && workspace.IsOpenAI(d.Config.Embed.BaseURL) && d.Config.Embed.APIKeyFile+d.Config.Embed.APIKeyEnv+d.Getenv("OPENAI_API_KEY") == "" {
		d.problem("", "there is no API key for "+e.Address, "set OPENAI_API_KEY, embed.api_key_env or embed.api_key_file; "+later)
		return nil
	}
	asked, cancel := context.WithTimeout(ctx, audit.AskTimeout)
	defer cancel()
	model, err := audit.Probe(asked, e)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		d.warn("", fmt.Sprintf("the embedder %s/%s cannot serve: %v", e.Expected.Provider, e.Expected.Name, err), "start its server, or look at embed.base_url and embed.model; "+later)
		return nil
	}
	return d.examineVectors(ctx, workspace.Chunked(model))
}

// examineVectors compares the model of memory's vectors with the embedder's.
func (d *checkup) examineVectors(ctx context.Context, model embed.Model) error {
	d.ok("", "%s serves", model)
	store, err := memory.Open(ctx, d.MemoryDir(), memory.Options{NoTrace: true})
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
			d.warn(d.MemoryDir(), fmt.Sprintf("the vectors of %s are of %s, and %s is configured: recall goes by words", agent, strings.Join(others, ", "), model),
				"sessctl memory reindex rebuilds all vectors; or set embed.provider and embed.model back")
		}
	}
	return nil
}

// examineModels looks at the configuration of the models that write summaries
// and find facts. They are not asked: an answer costs money.
func (d *checkup) examineModels(context.Context) error {
	for _, task := range []struct {
		name string
		of   workspace.ModelConfig
	}{{"summarize", d.Config.Summarize}, {"facts", d.Config.Facts}} {
		endpoint, err := workspace.Endpoint(d.app.Run, task.name, task.of)
		switch {
		case err != nil:
			d.unusable(task.name, err)
		case endpoint.Provider == summarize.ProviderExtractive:
			d.ok("", "%s: extractive, without a model", task.name)
		case endpoint.Key == "" && (endpoint.Provider == summarize.ProviderAnthropic || endpoint.Provider == summarize.ProviderOpenAI) && task.of.BaseURL == "":
			d.problem("", fmt.Sprintf("%s: there is no API key for %s", task.name, endpoint.Provider), fmt.Sprintf("set %s.api_key_env or %s.api_key_file", task.name, task.name))
		default:
			d.ok("", "%s: %s is configured; it is not asked", task.name, endpoint.Provider)
		}
	}
	return nil
}

// unusable reports a provider that cannot be used as it is configured.
func (d *checkup) unusable(task string, err error) {
	advice := "look at " + task + ".* in the configuration"
	if f := (*failure.Error)(nil); errors.As(err, &f) && f.Hint != "" {
		advice = f.Hint
	}
	d.problem("", err.Error(), advice)
}
