// Package corpus makes session logs to measure with: as many and as large as
// wanted, always the same for the same seed, and of the shape of real ones.
//
// The shape is that of two published pi sessions (docs/dev/decisions.md D24): text
// is 33 to 40 % of the bytes, the rest are tool arguments, details, signatures,
// usage and ids; there is one backslash every 17 bytes or so; the median line
// has about 900 bytes and the longest about 100 KB. An agent reads and edits the
// same files again and again, so a log compresses five- to eightfold. Every
// stretch of 1.7 MB has words of its own, so that logs, and the parts of one
// log, do not compress against each other.
//
// Made-up words are no language, and nothing in them looks like a secret. Logs of
// real text ([Spec.Real]) have the sessions of bench/recall and source code of Go
// in place of them, and more of what tools print: text is 57 % of the bytes. In
// every stretch other words and numbers stand in for some.
//
// Every log ends in an answered turn whose usage is its context size, which is
// what makes the answers of different programs comparable.
package corpus
