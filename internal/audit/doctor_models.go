package audit

import (
	"context"
	"time"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/embed"
)

// AskTimeout is how long a server may take to answer a checkup.
const AskTimeout = 5 * time.Second

// Probe asks the embedder for one vector, so that a server that is away, or
// refuses the key, is seen whatever the configuration says of its model.
func Probe(ctx context.Context, e *workspace.Embedding) (embed.Model, error) {
	model, err := e.Identify(ctx)
	if err != nil || e.Address == "" {
		return model, err
	}
	_, err = e.Queries.EmbedQuery(ctx, "sessctl doctor")
	return model, err
}
