package main

import (
	"io"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed/internal/wordtable"
)

const (
	dimension     = 768  // of nomic-embed-text
	contextTokens = 2048 // of its GGUF files
	forward       = 64   // width of the feed-forward layer, which does nothing
	heads         = 12

	// Every layer brings its input to the same variance, which would undo the
	// weights of words. Two components that are the same for all words, and
	// much larger than the others, keep the variance where it is; the last
	// layer takes them out.
	anchors = 2
	anchor  = 100

	// A word of probability p weighs rareWord / (rareWord + p), as in the
	// built-in embedder.
	rareWord  = 1e-3
	zipfShift = 2.7

	// characterWeight of a token that is a single character, as what is in no
	// table is cut into.
	characterWeight = 0.1
)

// The kinds of tokens.
const (
	kindNormal  = 1
	kindControl = 3
)

// token is an entry of the vocabulary.
type token struct {
	text   string
	kind   int32
	row    int // in the word table, or -1
	weight float64
}

// model is what is written.
type model struct {
	table  *wordtable.Table
	random *rand.Rand
	matrix [][]float32 // from the table's dimensions to the model's
	tokens []token
}

func newModel(table *wordtable.Table, o options) *model {
	m := &model{table: table, random: rand.New(rand.NewPCG(o.seed, 0))}
	for range table.Dim() {
		row := make([]float32, dimension-anchors)
		for i := range row {
			row[i] = float32(m.random.NormFloat64() / math.Sqrt(dimension-anchors))
		}
		m.matrix = append(m.matrix, row)
	}
	m.tokens = vocabulary(table, min(o.words, table.Len()))
	return m
}

// wordStart begins the token of a word; one without it continues a word.
const wordStart = "▁"

// vocabulary has the control tokens, the words of the table, also capitalised
// (the server does not fold case), and the characters that anything else is cut
// into.
func vocabulary(table *wordtable.Table, words int) []token {
	var list []token
	for _, text := range []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"} {
		list = append(list, token{text, kindControl, -1, 0})
	}
	seen := map[string]bool{}
	add := func(t token) {
		if !seen[t.text] {
			seen[t.text] = true
			list = append(list, t)
		}
	}
	sum := math.Log(float64(words)) + 0.58 // of the harmonic series
	for row := range words {
		word := table.Word(row)
		weight := rareWord / (rareWord + 1/((float64(row)+zipfShift)*sum))
		add(token{wordStart + word, kindNormal, row, weight})
		add(token{wordStart + strings.ToUpper(word[:1]) + word[1:], kindNormal, row, weight})
	}
	for c := '!'; c <= '~'; c++ {
		add(token{wordStart + string(c), kindNormal, -1, characterWeight})
		add(token{string(c), kindNormal, -1, characterWeight})
	}
	return list
}

func (m *model) write(out io.Writer) error { return writeGGUF(out, m.metadata(), m.tensors()) }

func (m *model) metadata() []metadata {
	texts, scores, kinds := make([]string, len(m.tokens)), make([]float32, len(m.tokens)), make([]int32, len(m.tokens))
	for i, t := range m.tokens {
		texts[i], kinds[i] = t.text, t.kind
	}
	return []metadata{
		{"general.architecture", "nomic-bert"},
		{"general.name", "sessctl test model (means of GloVe words)"},
		{"general.file_type", uint32(tensorFloat16)},
		{"nomic-bert.block_count", uint32(1)},
		{"nomic-bert.context_length", uint32(contextTokens)},
		{"nomic-bert.embedding_length", uint32(dimension)},
		{"nomic-bert.feed_forward_length", uint32(forward)},
		{"nomic-bert.attention.head_count", uint32(heads)},
		{"nomic-bert.attention.layer_norm_epsilon", float32(1e-12)},
		{"nomic-bert.attention.causal", false},
		{"nomic-bert.pooling_type", uint32(1)}, // mean
		{"nomic-bert.rope.freq_base", float32(1000)},
		{"nomic-bert.normalize_embeddings", true},
		{"tokenizer.ggml.model", "bert"},
		{"tokenizer.ggml.token_type_count", uint32(2)},
		{"tokenizer.ggml.tokens", texts},
		{"tokenizer.ggml.scores", scores},
		{"tokenizer.ggml.token_type", kinds},
		{"tokenizer.ggml.padding_token_id", uint32(0)},
		{"tokenizer.ggml.unknown_token_id", uint32(1)},
		{"tokenizer.ggml.cls_token_id", uint32(2)},
		{"tokenizer.ggml.bos_token_id", uint32(2)},
		{"tokenizer.ggml.separator_token_id", uint32(3)},
		{"tokenizer.ggml.eos_token_id", uint32(3)},
		{"tokenizer.ggml.mask_token_id", uint32(4)},
	}
}

func (m *model) tensors() []tensor {
	next := 0
	words := func(out []float32) {
		m.embedding(m.tokens[next], out)
		next++
	}
	withoutAnchors := func(out []float32) {
		all(1)(out)
		clear(out[:anchors])
	}
	return []tensor{
		{"token_embd.weight", dimension, len(m.tokens), true, words},
		{"token_types.weight", dimension, 2, false, all(0)},
		{"token_embd_norm.weight", dimension, 0, false, all(1)},
		{"token_embd_norm.bias", dimension, 0, false, all(0)},
		{"blk.0.attn_qkv.weight", dimension, 3 * dimension, true, all(0)},
		{"blk.0.attn_output.weight", dimension, dimension, true, all(0)},
		{"blk.0.attn_output_norm.weight", dimension, 0, false, all(1)},
		{"blk.0.attn_output_norm.bias", dimension, 0, false, all(0)},
		{"blk.0.ffn_gate.weight", dimension, forward, true, all(0)},
		{"blk.0.ffn_up.weight", dimension, forward, true, all(0)},
		{"blk.0.ffn_down.weight", forward, dimension, true, all(0)},
		{"blk.0.layer_output_norm.weight", dimension, 0, false, withoutAnchors},
		{"blk.0.layer_output_norm.bias", dimension, 0, false, all(0)},
	}
}

// all makes rows of one number.
func all(x float32) func([]float32) {
	return func(out []float32) {
		for i := range out {
			out[i] = x
		}
	}
}

// embedding writes the row of a token: that of its word, or a random one.
func (m *model) embedding(t token, out []float32) {
	clear(out)
	out[0], out[1] = anchor, -anchor
	if t.row < 0 {
		for i := anchors; i < len(out); i++ {
			out[i] = float32(t.weight * m.random.NormFloat64() / math.Sqrt(dimension))
		}
		return
	}
	components, scale := m.table.Row(t.row)
	for i, row := range m.matrix {
		x := float32(t.weight) * scale * float32(int8(components[i]))
		for j, y := range row {
			out[anchors+j] += x * y
		}
	}
}
