// Package fakestatedb writes databases as Hermes does, for tests: of schema 16
// with the tables that Hermes 0.16.0 makes, and of schema 30 with those of its
// source that matter here.
package fakestatedb
