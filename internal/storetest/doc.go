// Package storetest is what the tests of stores whose sessions lie in a database
// have in common.
package storetest
