package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// askTimeout is how long a server may take to answer a checkup.
const askTimeout = 5 * time.Second

// examineEmbedder looks whether the embedder that is configured can serve, and
// whether the vectors of memory are its own.
func (d *checkup) examineEmbedder(ctx context.Context) error {
	const later = "sessions are compacted all the same; recall goes by words until then"
	e, err := d.openEmbedder()
	if err != nil {
		d.unusable("embed", err)
		return nil
	}
	if key := d.config.Embed.APIKeyEnv; key != "" && d.config.Embed.APIKeyFile == "" && strings.TrimSpace(d.getenv(key)) == "" {
		d.problem("", fmt.Sprintf("the variable %s, which is to hold the API key (embed.api_key_env), is empty", key), "set it, or name another with embed.api_key_env; "+later)
		return nil
	}
	if d.config.Embed.Provider == "openai" && isOpenAI(d.config.Embed.BaseURL) && d.config.Embed.APIKeyFile+d.config.Embed.APIKeyEnv+d.getenv("OPENAI_API_KEY") == "" {
		d.problem("", "there is no API key for "+e.address, "set OPENAI_API_KEY, embed.api_key_env or embed.api_key_file; "+later)
		return nil
	}
	asked, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	model, err := e.probe(asked)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		d.warn("", fmt.Sprintf("the embedder %s/%s cannot serve: %v", e.expected.Provider, e.expected.Name, err), "start its server, or look at embed.base_url and embed.model; "+later)
		return nil
	}
	return d.examineVectors(ctx, chunked(model))
}

// probe asks the embedder for one vector, so that a server that is away, or
// refuses the key, is seen whatever the configuration says of its model.
func (e *embedding) probe(ctx context.Context) (embed.Model, error) {
	model, err := e.identify(ctx)
	if err != nil || e.address == "" {
		return model, err
	}
	_, err = e.queries.EmbedQuery(ctx, "sessctl doctor")
	return model, err
}

// examineVectors compares the model of memory's vectors with the embedder's.
func (d *checkup) examineVectors(ctx context.Context, model embed.Model) error {
	d.ok("", "%s serves", model)
	store, err := memory.Open(ctx, d.memoryDir(), memory.Options{NoTrace: true})
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
			d.warn(d.memoryDir(), fmt.Sprintf("the vectors of %s are of %s, and %s is configured: recall goes by words", agent, strings.Join(others, ", "), model),
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
		of   modelConfig
	}{{"summarize", d.config.Summarize}, {"facts", d.config.Facts}} {
		endpoint, err := d.endpoint(task.name, task.of)
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
	if f := (*failure)(nil); errors.As(err, &f) && f.hint != "" {
		advice = f.hint
	}
	d.problem("", err.Error(), advice)
}
