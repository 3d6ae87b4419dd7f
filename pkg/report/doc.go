// Package report makes the documents that people look at instead of reading:
// the report of what sessions, archives and runs are like now ([WriteHTML]), and
// the pages on which an archived session is read ([Pages]).
//
// A document is one file that needs nothing else: no network, no script to be
// read, light and dark by what the reader's system prefers. It gets data and
// renders it; where the data comes from is not its business.
//
// What a session said may stand in every text of it. Two things keep that from
// doing anything: html/template escapes all of it, without an exception of the
// types that say "this is safe", and what is rendered goes through
// [printable.Text] as a whole, so that no control character, bidirectional
// override or broken byte gets out. A Content-Security-Policy with the hashes of
// our own style and script forbids all others, and every request.
package report
