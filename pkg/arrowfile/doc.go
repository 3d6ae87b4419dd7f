// Package arrowfile writes tables as Arrow IPC files, which LanceDB, pandas,
// DuckDB, Polars and the Arrow libraries of every language read.
//
// Such a file is a magic word, the schema, batches of rows, and a footer that
// repeats the schema and says where the batches are, for readers that jump.
// Schema, batch headers and footer are FlatBuffers (tables that are read where
// they lie); the rows themselves are columns of plain little-endian numbers,
// each buffer starting at a multiple of eight bytes, ready to be mapped into
// memory. (Arrow columnar format 1.x, section IPC, metadata version 5.)
//
// Only what an export of memories needs is here: strings, float64 and vectors
// of float32. Memory holds one batch at a time.
package arrowfile
