package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/quantized"
)

// prepareVectors embeds the query and compares it with the vectors. If that
// cannot be, the words alone decide and the notice says why.
func (r *recall) prepareVectors(ctx context.Context) error {
	if r.query.Rank == RankText {
		return nil
	}
	if r.embedder == nil {
		r.goByWords("there is no embedder; found by words only")
		return nil
	}
	if has, err := r.index.HasVectors(ctx, r.query, r.model); err != nil {
		return err
	} else if !has {
		return r.explainNone(ctx)
	}
	vector, err := slices.Clone(r.known.vector), r.known.err
	if vector == nil && err == nil {
		vector, err = r.embedder.EmbedQuery(ctx, r.query.Text)
	}
	if err == nil {
		err = embed.Check([][]float32{vector}, 1, r.model.Dim)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, embed.ErrNoVector):
		r.goByWords("") // there is nothing in it to compare
	case err != nil:
		r.goByWords("the query could not be embedded (" + err.Error() + "); found by words only")
	default:
		r.vector = quantized.Unit(vector)
		return r.compare(ctx)
	}
	return nil
}

// compare compares the query with the vectors.
func (r *recall) compare(ctx context.Context) error {
	if found, err := r.index.Compare(ctx, r.vector); err != nil {
		return err
	} else if !found {
		r.vector = nil
		return r.explainNone(ctx)
	}
	return r.noteOthers(ctx)
}

// explainNone says why no vector of the model passes the filters: the agent has
// some that do not, or there are none yet, or another model made them.
func (r *recall) explainNone(ctx context.Context) error {
	models, err := r.index.Models(ctx, r.query.oneName(), r.model)
	if err != nil {
		return err
	}
	others := strings.Join(models.Others, ", ")
	asked := r.query.Rank
	switch {
	case models.Own:
		r.goByWords("")
	case others == "":
		r.goByWords("nothing has a vector yet; found by words only")
	case asked == RankHybrid && models.Elsewhere:
		r.goByWords(byWordsElsewhere(others))
	case asked == RankHybrid:
		r.goByWords(fmt.Sprintf("memory has vectors of %s, not of %s; found by words only until sessctl memory reindex", others, r.model))
	default:
		return fmt.Errorf("%w: %s, and the query would be embedded by %s; sessctl memory reindex makes them the same", ErrOtherModel, others, r.model)
	}
	return nil
}

// noteOthers says which agents have vectors of other models only, if the
// search is not for one agent: those are found by their words.
func (r *recall) noteOthers(ctx context.Context) error {
	if r.query.Agent != "" {
		return nil
	}
	models, err := r.index.Models(ctx, "", r.model)
	if err == nil && models.Elsewhere && len(models.Others) > 0 {
		r.notice = byWordsElsewhere(strings.Join(models.Others, ", "))
	}
	if err != nil || len(models.Without) == 0 {
		return err
	}
	r.notice = fmt.Sprintf("memory has no vectors of %s of %s; found by words only until sessctl memory reindex", r.model, strings.Join(models.Without, ", "))
	return nil
}

// byWordsElsewhere says what is found by words because other hosts have another embedder.
func byWordsElsewhere(others string) string {
	return "what hosts with another embedder (" + others + ") have sent was found by words only"
}
