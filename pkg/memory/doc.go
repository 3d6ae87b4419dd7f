// Package memory keeps what sessions said and finds it again.
//
// The source of truth is one SQLite database: records with their text, where it
// came from (archive, lines, bytes) and how important it is; an index of their words
// (package words); and their vectors (package vectors). A record whose vector is lost or
// damaged is pending again; its text is still found.
//
// A [Store] is made of parts, each a small value over the same connection: what is
// stored, asked, forgotten, verified, rebuilt, exported, shared. store.go lists them.
//
// Recall asks both halves. Full text (BM25) and vectors (cosine) each give
// candidates; their scores are min-max normalised in that pool and mixed 0.6
// to 0.4, and the pool is ranked by 0.7 * relevance + 0.3 * importance. On raw
// cosines importance would decide alone (docs/dev/decisions.md D9). What is proposed is
// decided here (recall.go); package rank does the rest.
package memory
