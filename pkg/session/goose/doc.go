// Package goose reads the sessions of Goose: rows of sessions.db, a SQLite database
// in its data directory. They are archived and remembered, and never changed.
//
// The form is from the program's public source, schemas 15 to 17; it was not tried
// with the program (docs/dev/formats.md, "goose").
package goose
