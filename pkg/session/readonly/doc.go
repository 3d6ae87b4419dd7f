// Package readonly has what all stores of log files share whose sessions are only
// read: listing, sizing, archiving and remembering. A runtime is a value, [Runtime]:
// where its logs lie, by patterns, and what reads one. Its scanner embeds [Lines], reads
// each record by a table (package fields), and adds the messages that the record says.
package readonly
