// Package samples finds the files of a larger set of session logs, which stays beside
// the module because of its size and its licences: its directories are called
// "samples", "samples-newer" and "eval". Tests that need it are skipped where it is
// not there.
package samples
