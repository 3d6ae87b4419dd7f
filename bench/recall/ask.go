package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
)

// wanted is how many hits a question asks for: enough for 8,000 characters.
const wanted = 20

// hit is what an answer holds, as far as it is judged.
type hit struct {
	Session string `json:"session"`
	Text    string `json:"text"`
}

// asker answers questions, best hit first.
type asker interface {
	ask(ctx context.Context, text, rank string) ([]hit, error)
}

// program asks the program, a new process for every question.
type program struct{ home *home }

func (p program) ask(ctx context.Context, text, rank string) ([]hit, error) {
	out, err := p.home.run(ctx, "recall", "--json", "--limit", fmt.Sprint(wanted), "--rank", rank, "--", text)
	if err != nil {
		return nil, err
	}
	var document struct {
		Rank string `json:"rank"`
		Hits []hit  `json:"hits"`
	}
	if err := json.Unmarshal(out, &document); err != nil {
		return nil, err
	}
	return document.Hits, nil
}

// library asks package memory. It is faster, and gives the same answers.
type library struct {
	store    *memory.Store
	embedder embedder
	model    embed.Model
}

// embedder is what both embedders are.
type embedder interface {
	embed.Embedder
	embed.QueryEmbedder
}

func openLibrary(ctx context.Context, h *home) (*library, error) {
	l := &library{}
	var err error
	if l.embedder, l.model, err = openEmbedder(ctx, h.server); err != nil {
		return nil, err
	}
	l.model.Chunker = chunk.Version
	l.store, err = memory.Open(ctx, filepath.Join(h.dir, ".local", "share", "sessctl", "memory"), memory.Options{ReadOnly: true})
	return l, err
}

// openEmbedder opens the built-in embedder, or that of a server.
func openEmbedder(ctx context.Context, s server) (embedder, embed.Model, error) {
	if s.url == "" {
		e, err := embed.NewBuiltin()
		if err != nil {
			return nil, embed.Model{}, err
		}
		return e, e.Model(), nil
	}
	e, err := embed.NewOllama(embed.RemoteOptions{BaseURL: s.url, Model: s.model})
	if err != nil {
		return nil, embed.Model{}, err
	}
	m, err := e.Identify(ctx)
	return e, m, err
}

func (l *library) ask(ctx context.Context, text, rank string) ([]hit, error) {
	result, err := l.store.Recall(ctx, memory.Query{Text: text, Limit: wanted, Rank: rank}, l.embedder, l.model)
	if err != nil {
		return nil, err
	}
	hits := make([]hit, len(result.Hits))
	for i, h := range result.Hits {
		hits[i] = hit{Session: h.Session, Text: h.Text}
	}
	return hits, nil
}
