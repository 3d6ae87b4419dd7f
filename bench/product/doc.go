// Package product builds the program that is measured.
//
// It is built in its own module, with the versions of dependencies that a release
// has: those of this one may be others.
package product
