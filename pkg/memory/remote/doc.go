// Package remote says what a memory is that many hosts share, whatever engine
// keeps it.
//
// The memory of each host stays the place that is written first, and the truth
// of that host; a host pushes what it has, as often as it likes: a record that
// is there already is not stored again. What any of them forgets is forgotten
// by all. How answers are ranked is the business of package memory, the same
// here as there. Package conformance holds an engine to all of that.
package remote
