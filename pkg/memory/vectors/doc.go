// Package vectors keeps the vectors of records in the memory's database and finds
// those that are nearest to a question's. It knows the rows of records and the models
// that made vectors, nothing of texts and of ranking.
//
// The vectors that one model made of the records of one agent are a space. Its rows
// (package quantized) lie 64 in a block, in the order they came (blocks.go), and each
// has a name: which record it is of, which block has it, and its checksum. A [Writer]
// stores a row in the transaction that names it; [Remove] takes it out in the one
// that takes the name away. Every record has a vector of each registered model
// ([Register]) or is pending; new vectors of all records are made beside those in use
// ([Beside]), which they replace in one transaction ([ChangeOver]).
//
// A [Search] answers one question. Where nearly all records may be found it sweeps:
// it compares the question with all rows as they lie, and asks for the names of the
// best alone (sweep.go). Else it lists the vectors that pass a filter and reads those
// (nearest.go). Both give the same answer: exact cosines in float64.
//
// All that is read is held to its checksum. What is lost or damaged is passed over
// and counted; [Space.Mend] makes its record pending again.
package vectors
