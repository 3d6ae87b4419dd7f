package workspace

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
)

// ByWords is one reason why recall goes by words alone, and what can be done.
type ByWords struct {
	Note
	Agent    string // that it holds for, "" for all
	Settings bool   // they are wrong; else it may be right again by itself
}

// askTimeout is how long a server may take to answer a look.
const askTimeout = 5 * time.Second

// LookByWords says why recall goes by words alone, nothing where it goes by meaning
// too. ask gets the identity of an embedder; store is nil where there is no memory.
func LookByWords(ctx context.Context, run *Run, store *memory.Store, ask func(context.Context, *Embedding) (embed.Model, error)) (embed.Model, []ByWords) {
	const later = "sessions are compacted all the same; recall goes by words until then"
	e, err := OpenEmbedder(&run.Settings)
	if err != nil {
		advice := failure.Explain(err).Hint
		if advice == "" {
			advice = "look at embed.* in the configuration"
		}
		return embed.Model{}, []ByWords{{Note: Note{Message: err.Error(), Hint: advice}, Settings: true}}
	}
	c := run.Config.Embed
	if c.APIKeyEnv != "" && c.APIKeyFile == "" && strings.TrimSpace(run.Getenv(c.APIKeyEnv)) == "" {
		return embed.Model{}, []ByWords{{Note: Note{Message: fmt.Sprintf("the variable %s, which is to hold the API key (embed.api_key_env), is empty", c.APIKeyEnv), Hint: "set it, or name another with embed.api_key_env; " + later}, Settings: true}}
	}
	if c.Provider == "openai" && IsOpenAI(c.BaseURL) && c.APIKeyFile+c.APIKeyEnv+run.Getenv("OPENAI_API_KEY") == "" {
		return embed.Model{}, []ByWords{{Note: Note{Message: "there is no API key for " + e.Address, Hint: "set OPENAI_API_KEY, embed.api_key_env or embed.api_key_file; " + later}, Settings: true}}
	}
	asked, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	model, err := ask(asked, e)
	if err != nil {
		return embed.Model{}, []ByWords{{Note: Note{Message: fmt.Sprintf("the embedder %s/%s cannot serve: %v", e.Expected.Provider, e.Expected.Name, err), Hint: "start its server, or look at embed.base_url and embed.model; " + later}}}
	}
	return model, othersThan(ctx, run, store, Chunked(model))
}

// othersThan are the agents whose vectors another model made.
func othersThan(ctx context.Context, run *Run, store *memory.Store, model embed.Model) (found []ByWords) {
	if store == nil {
		return nil
	}
	agents, err := store.Agents(ctx, "", "")
	if err != nil {
		return nil // the check of the memory says why
	}
	for _, agent := range agents {
		others, err := store.OtherModels(ctx, agent, model)
		if err == nil && len(others) > 0 {
			found = append(found, ByWords{Agent: agent, Note: Note{
				Path: run.MemoryDir(), Message: fmt.Sprintf("the vectors of %s are of %s, and %s is configured: recall goes by words", agent, strings.Join(others, ", "), model),
				Hint: "sessctl memory reindex rebuilds all vectors; or set embed.provider and embed.model back",
			}})
		}
	}
	return found
}
