package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/replay"
)

// selectMessages keeps what is about the query. Without an embedder the newest
// messages are kept, and a note says so.
func (a *app) selectMessages(ctx context.Context, messages []replay.Message, o replayOptions) ([]replay.Message, error) {
	embedding, err := a.openEmbedder()
	if err != nil {
		return nil, err
	}
	kept, err := replay.Select(ctx, messages, replay.Selection{
		Query: o.Query, Relevance: o.Relevance,
		Similar: func(ctx context.Context, query string, texts []string) ([]float64, error) {
			return cosines(ctx, embedding, query, texts)
		},
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		a.notice(note{Message: "the newest messages are kept: " + err.Error()})
	}
	return kept, nil
}

// cosines compares unit vectors. A text that has no vector is similar to
// nothing.
func cosines(ctx context.Context, e *embedding, query string, texts []string) ([]float64, error) {
	q, err := e.queries.EmbedQuery(ctx, query)
	if err != nil {
		return nil, err
	}
	scores := make([]float64, len(texts))
	if e.expected.Provider == "builtin" {
		return scores, cosinesOfQuestions(ctx, e.queries, q, texts, scores)
	}
	for r := range embed.Batches(ctx, e.documents, texts, embed.BatchOptions{Dim: len(q)}) {
		if errors.Is(r.Err, embed.ErrUnavailable) || ctx.Err() != nil {
			return nil, r.Err
		}
		for j := range r.Vector {
			scores[r.Index] += float64(r.Vector[j]) * float64(q[j])
		}
	}
	return scores, nil
}

// cosinesOfQuestions compares a question with questions, both embedded as such.
// The built-in embedder gives the vector of a short document little length in
// the dimensions of its words (that is what makes it rank well), so that no
// cosine of it would reach the 0.45 of seed 000, not even that of a text with
// itself.
func cosinesOfQuestions(ctx context.Context, e embed.QueryEmbedder, q []float32, texts []string, scores []float64) error {
	for i, text := range texts {
		v, err := e.EmbedQuery(ctx, text)
		if errors.Is(err, embed.ErrNoVector) {
			continue
		}
		if err != nil {
			return err
		}
		for j := range v {
			scores[i] += float64(v[j]) * float64(q[j])
		}
	}
	return nil
}

// checkReplay compares a replay with a stored one.
func checkReplay(a *app, path, got string) error {
	want, err := os.ReadFile(path)
	if err != nil {
		return &failure{code: "no_file", exit: exitFailed, path: path, hint: "make it with: sessctl replay-context ... > " + path, err: fmt.Errorf("read the stored replay: %w", err)}
	}
	if string(want) == got {
		return nil
	}
	if _, err := fmt.Fprint(a.Out, visibleText(difference(path, strings.Split(string(want), "\n"), strings.Split(got, "\n")))); err != nil {
		return err
	}
	return &failure{code: "differs", exit: exitFailed, path: path, hint: "if the new replay is right, write it over the stored one", err: fmt.Errorf("the replay is not the one in %s", path)}
}
