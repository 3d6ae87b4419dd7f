// Package summarize sums a session up.
//
// [Extractive] needs no model: it watches the messages go by once, keeps the
// sentences, files, commands and errors that matter in bounded lists, and
// writes them down in fixed sections, each item with the line of the log that
// it came from. It says nothing that does not stand in the log, the same log
// gives the same summary every time, and its memory does not grow with the
// log. Text that looks like a secret is left out.
package summarize
