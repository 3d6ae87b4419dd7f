// Package goosedb reads the database of Goose's sessions, and writes sessions out as
// logs: lines of JSON, one for each row, byte for byte (package rowlog).
//
// The first line, of the type "goose.session", is the row of the session; "message"
// are those of its messages in the order in which they were put in; "row" are those
// of thread_messages, which the schemas 10 and 11 have, and of usage_ledger. Columns are read by their names: one that a later version adds is
// in the log, one that an earlier version lacks is no error. Nothing else of the
// database is read.
package goosedb
