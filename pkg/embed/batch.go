package embed

import (
	"context"
	"errors"
	"iter"
)

// DefaultBatch is how many texts go into one call (seed 002, Tuning).
const DefaultBatch = 64

// BatchOptions says how [Batches] calls an embedder.
type BatchOptions struct {
	Size     int            // texts a call; 0 means DefaultBatch
	Dim      int            // components every vector must have; 0 accepts any, the same in a call
	Progress func(done int) // told after each batch how many results were handed out; or nil
}

// A Result is what became of one text.
type Result struct {
	Index  int       // in the texts given to Batches
	Vector []float32 // checked, as Check does; nil if Err is not
	Err    error     // why the text has no vector
}

// Batches embeds texts in batches and yields exactly one result a text, in
// their order, each as soon as its batch is done.
//
// A batch that fails is tried in halves until the texts to blame are alone; a
// [TextError] from the embedder names the text and saves the search. After
// [ErrUnavailable], or when ctx is done, the embedder is not called again and
// every text left gets that error.
func Batches(ctx context.Context, e Embedder, texts []string, options BatchOptions) iter.Seq[Result] {
	size := options.Size
	if size <= 0 {
		size = DefaultBatch
	}
	return func(yield func(Result) bool) {
		b := batcher{embedder: e, dim: options.Dim}
		for first := 0; first < len(texts); first += size {
			end := min(first+size, len(texts))
			b.results = b.results[:0]
			b.embed(ctx, first, texts[first:end])
			for _, r := range b.results {
				if !yield(r) {
					return
				}
			}
			if options.Progress != nil {
				options.Progress(end)
			}
		}
	}
}

// batcher is one run over all batches.
type batcher struct {
	embedder Embedder
	dim      int
	stopped  error // once set, the embedder is not called again
	results  []Result
}

// embed appends a result for every text; first is the index of texts[0].
func (b *batcher) embed(ctx context.Context, first int, texts []string) {
	if len(texts) == 0 {
		return
	}
	vectors, err := b.call(ctx, texts)
	if err == nil {
		for i, v := range vectors {
			b.results = append(b.results, Result{Index: first + i, Vector: v})
		}
		return
	}
	if len(texts) == 1 || b.stopped != nil {
		for i := range texts {
			b.results = append(b.results, Result{Index: first + i, Err: reason(err)})
		}
		return
	}
	left, right := cut(len(texts), err)
	b.embed(ctx, first, texts[:left])
	b.embed(ctx, first+left, texts[left:right])
	b.embed(ctx, first+right, texts[right:])
}

// call asks for the vectors of texts and checks the reply.
func (b *batcher) call(ctx context.Context, texts []string) ([][]float32, error) {
	if b.stopped == nil {
		b.stopped = ctx.Err()
	}
	if b.stopped != nil {
		return nil, b.stopped
	}
	vectors, err := b.embedder.EmbedDocuments(ctx, texts)
	if err == nil {
		err = Check(vectors, len(texts), b.dim)
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil && (errors.Is(err, ErrUnavailable) || ctx.Err() != nil) {
		b.stopped = err
	}
	return vectors, err
}

// cut says where n failed texts are cut in two or three: around the text that
// err blames, else in the middle.
func cut(n int, err error) (left, right int) {
	var blame *TextError
	if errors.As(err, &blame) && blame.Index >= 0 && blame.Index < n {
		return blame.Index, blame.Index + 1
	}
	return n / 2, n / 2
}

// reason strips the position in the call, which says nothing outside of it.
func reason(err error) error {
	var blame *TextError
	if errors.As(err, &blame) && blame.Err != nil {
		return blame.Err
	}
	return err
}
