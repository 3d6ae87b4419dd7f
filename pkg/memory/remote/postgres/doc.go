// Package postgres keeps a memory that hosts share in PostgreSQL with the
// extension pgvector.
//
// Records are kept by quarter, their vectors as halfvec beside them, their words
// as a tsvector whose terms are those of the built-in embedder. The server
// proposes: rows that hold the question's words by an index of terms, rows
// whose vectors are near by an index (HNSW) or by comparing all. BM25 is
// computed here, from counts of terms that the server keeps, and what is
// proposed is ranked by package memory.
package postgres
