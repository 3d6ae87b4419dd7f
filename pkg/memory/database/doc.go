// Package database is what all parts of the memory need of its one SQLite database:
// the errors by which it says that the file is bad, full or in use, and how columns of
// numbers and texts are read. It knows no table.
package database
