package embed

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// An Embedder gives vectors to texts that are kept.
type Embedder interface {
	// EmbedDocuments returns one unit-length vector a text, in the order of
	// texts, all of the model's dimension. The rows belong to the caller.
	// An error means that no text was embedded: a *[TextError] if one text is
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

// TextError says which text of a call made the whole call fail.
type TextError struct {
	Index int // in the texts of the call
	Err   error
}

// Error names the text by its place in the call, not by its content.
func (e *TextError) Error() string { return fmt.Sprintf("text %d: %v", e.Index, e.Err) }

// Unwrap returns the reason.
func (e *TextError) Unwrap() error { return e.Err }

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
