// Package weaviate keeps a memory that hosts share in a cluster of Weaviate, for
// when one PostgreSQL is too small. It speaks its HTTP and GraphQL interface.
//
// All records are objects of one collection, which are written to a majority of
// their replicas (QUORUM). The id of an object is made from the host and the record,
// so a repeated push writes what is there. Each model has its own named vectors. The
// cluster searches and scores: the words by its own BM25, and the vectors by its own
// index. Package memory ranks what both have found, as it does everywhere.
//
// There are no transactions: a batch that was cut off leaves a part of it, which
// the next push completes. Forgetting therefore writes the tombstone first and
// removes the record second, a push looks for tombstones after it has written,
// and an answer leaves out whatever has one.
package weaviate
