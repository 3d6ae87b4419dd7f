package embed

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
)

// An Embedder gives vectors to texts that are kept.
type Embedder interface {
	// EmbedDocuments returns one unit-length vector a text, in the order of
	// texts, all of the model's dimension. The rows belong to the caller.
	// An error means that no text was embedded: a *textError if one text is
	// to blame, [ErrUnavailable] if none is.
	EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error)
}

// A QueryEmbedder gives a vector to a text that is searched for.
type QueryEmbedder interface {
	// EmbedQuery returns a unit-length vector to compare with those of
	// EmbedDocuments, or [ErrNoVector] if text has nothing to search for.
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
}

// ErrNoVector is returned when a text has nothing to embed: it is empty, or
// holds only stop words, punctuation or symbols. Such a text is kept and found
// as text only; trying again does not help.
var ErrNoVector = errors.New("nothing to embed in the text")

// ErrUnavailable is returned when an embedder cannot serve at all (refused
// connection, unknown model, rejected key): no text is to blame, all can be
// tried again later, and halving the batch would only knock more often.
var ErrUnavailable = errors.New("embedder unavailable")

// The faults of a reply that [Check] names.
var (
	// ErrCount is returned when a reply has not one vector a text.
	ErrCount = errors.New("wrong number of vectors")
	// ErrDimension is returned when a vector has not the model's length.
	ErrDimension = errors.New("wrong vector dimension")
	// ErrNotFinite is returned when a vector holds a NaN or an infinity.
	ErrNotFinite = errors.New("vector is not finite")
	// ErrZero is returned when all components of a vector are zero, so that it
	// has no direction.
	ErrZero = errors.New("vector is all zero")
)

// textError says which text of a call made the whole call fail.
type textError struct {
	Index int // in the texts of the call
	Err   error
}

// Error names the text by its place in the call, not by its content.
func (e *textError) Error() string { return fmt.Sprintf("text %d: %v", e.Index, e.Err) }

// Unwrap returns the reason.
func (e *textError) Unwrap() error { return e.Err }

// Check holds a reply against what was asked for: count vectors of dim
// components each, finite and not all zero. With dim 0 the first vector sets
// the dimension. It returns ErrCount, ErrDimension, ErrNotFinite or ErrZero,
// wrapped with the place. It does not check order, which no reply shows, nor
// unit length.
func Check(vectors [][]float32, count, dim int) error {
	if len(vectors) != count {
		return fmt.Errorf("%w: %d for %d texts", ErrCount, len(vectors), count)
	}
	for i, v := range vectors {
		if dim == 0 {
			dim = len(v)
		}
		if len(v) != dim || dim == 0 {
			return fmt.Errorf("%w: vector %d has %d components, not %d", ErrDimension, i, len(v), dim)
		}
		if err := checkVector(v); err != nil {
			return fmt.Errorf("%w: vector %d", err, i)
		}
	}
	return nil
}

func checkVector(v []float32) error {
	zero := true
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return ErrNotFinite
		}
		zero = zero && x == 0
	}
	if zero {
		return ErrZero
	}
	return nil
}

// DefaultBatch is how many texts go into one call (docs/dev/decisions.md D7).
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
// textError from the embedder names the text and saves the search. After
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
	var blame *textError
	if errors.As(err, &blame) && blame.Index >= 0 && blame.Index < n {
		return blame.Index, blame.Index + 1
	}
	return n / 2, n / 2
}

// reason strips the position in the call, which says nothing outside of it.
func reason(err error) error {
	var blame *textError
	if errors.As(err, &blame) && blame.Err != nil {
		return blame.Err
	}
	return err
}
