// Package memory keeps what sessions said and finds it again.
//
// The source of truth is one SQLite database: records with their text, where it
// came from (archive, lines, bytes) and how important it is; a full-text index;
// and which vector belongs to which record. Vectors themselves lie in flat
// files, one per agent and embedding model: rows of unit-length float32. A row
// is written and synced before the transaction that names its slot and
// checksum, so a row that no transaction names does not exist. A lost or
// damaged file makes its records pending again; their text is still found.
//
// Recall asks both halves. Full text (BM25) and vectors (cosine) each give
// candidates; their scores are min-max normalised in that pool and mixed 0.6
// to 0.4, and the pool is ranked by 0.7 * relevance + 0.3 * importance. On raw
// cosines importance would decide alone (docs/dev/decisions.md D9). What is proposed is
// decided here (recall.go); package rank does the rest.
package memory
