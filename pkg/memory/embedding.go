package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/pkg/embed"
)

// embedPage is how many pending texts are held at a time, and stored together.
const embedPage = 512

// pageOf is embedPage, or for a server one batch: that may have taken minutes,
// and whoever is killed or interrupted has not asked in vain.
func pageOf(m embed.Model) int {
	if m.Provider == builtinProvider {
		return embedPage
	}
	return embed.DefaultBatch
}

// builtinProvider is that of embed.Builtin.
const builtinProvider = "builtin"

// EmbedPending gives a vector to every record of an agent that has none. What
// cannot be embedded stays text and is counted in pending; an embedder that
// cannot serve at all leaves everything pending and is not an error.
// progress is told how many records are done of how many, and may be nil.
func (s *Store) EmbedPending(ctx context.Context, e embed.Embedder, m embed.Model, agent string, progress func(done, total int64)) (pending int, err error) {
	if _, err := s.Reclaim(ctx, m, agent); err != nil {
		return 0, err
	}
	open, refused, err := s.CountPending(ctx, m, agent)
	if err != nil {
		return 0, fmt.Errorf("count pending records: %w", err)
	}
	total, done, after := open, 0, int64(0)
	for done < total {
		texts, err := s.pendingAfter(ctx, m, agent, page{after, pageOf(m)})
		if err != nil {
			return total - done + refused, err
		}
		if len(texts) == 0 {
			break
		}
		after = texts[len(texts)-1].row
		made, down, err := s.embedPage(ctx, e, m, agent, texts)
		if err != nil {
			return total - done + refused, err
		}
		done += made
		if progress != nil {
			progress(int64(done), int64(total))
		}
		if down {
			break
		}
	}
	open, refused, err = s.CountPending(ctx, m, agent)
	return open + refused, err
}

// embedPage embeds one page and stores what came back. It reports how many
// records are done, and whether the embedder cannot serve at all.
func (s *Store) embedPage(ctx context.Context, e embed.Embedder, m embed.Model, agent string, page []PendingText) (made int, down bool, err error) {
	texts := make([]string, len(page))
	for i, p := range page {
		texts[i] = p.Text
	}
	var vectors []Vector
	var failures []Failure
	for r := range embed.Batches(ctx, e, texts, embed.BatchOptions{Dim: m.Dim}) {
		switch {
		case r.Err == nil:
			vectors = append(vectors, Vector{ID: page[r.Index].ID, Values: r.Vector})
		case errors.Is(r.Err, embed.ErrUnavailable):
			down = true // not the text's fault: it is not counted against it
		case errors.Is(r.Err, embed.ErrNoVector):
			failures = append(failures, Failure{ID: page[r.Index].ID, Reason: r.Err.Error(), Nothing: true})
			made++
		default:
			failures = append(failures, Failure{ID: page[r.Index].ID, Reason: r.Err.Error()})
		}
	}
	if err := ctx.Err(); err != nil {
		return 0, down, err
	}
	return made + len(vectors), down, s.PutVectors(ctx, m, agent, vectors, failures)
}
