// Package embed turns texts into vectors whose cosine says how much two texts
// are about the same thing.
//
// An [Embedder] embeds the texts that are kept (documents), a [QueryEmbedder]
// what is asked for. The two may differ for the same text, so a query is never
// embedded as a document. A [Model] names what made a vector: vectors of
// different models never meet.
//
// [Batches] is how documents are embedded: in batches, each reply checked by
// [Check], a failing batch halved until the text to blame is alone. Every text
// gets a vector or an error; none is dropped.
//
// [Ollama] and [OpenAI] ask a server. Nothing that a server says is believed:
// replies are checked, wrong ones halved until the text to blame is known, and
// a fault that no text is to blame for is [ErrUnavailable], after which texts
// wait and are not given to another embedder. A text that is too long for the
// model is embedded in parts.
//
// [Builtin] is the embedder that is always there: no server, no key, no
// network. Its 1024 dimensions are
//
//	0..922     stemmed words and identifier parts, hashed, BM25-weighted
//	923        slack: what a document lacks to unit length
//	924..1023  frequency-weighted mean of GloVe word vectors
//
// The first part finds the words that were said, the last part words that
// stand in the same company. The design and every constant were measured
// (docs/dev/decisions.md D6).
package embed
