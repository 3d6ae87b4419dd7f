// Package smallpackages is where packages are tested that are too small for a test
// program of their own: linking one takes longer than all of their tests. It has no
// code. A file is named after its package (retention_clean_test.go), and so are its
// tests: `go test ./internal/smallpackages -run Retention`.
package smallpackages
