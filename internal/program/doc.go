// Package program builds sessctl for the tests that run it as people do.
//
// It imports the command line, although it calls none of it: go test takes a
// result from its cache if nothing changed that the test was compiled from, and
// a program that the test builds while it runs would not count.
package program
