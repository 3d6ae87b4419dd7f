// Package rank decides which of the records that were proposed for a question
// answer it, and in which order. It knows records as plain candidates and questions as
// values: no index, no SQL, no files.
//
// [Rank] has the stages in their order. weights.go has every weight and threshold,
// with the figures that justify it. Each kind of evidence has a file of its own:
// passages.go (the best part of a long record), voices.go (who says it), dates.go
// (times that a question names), question.go (identifiers, and what the answer of a
// question must have), fold.go (what says the same), alike.go (what has to do with
// the first hits), fit.go (whether a record answers at all).
//
// names.go rates the texts of questions about what was done: paths, commands, errors.
//
// docs/dev/ranking.md has the measurements.
package rank
