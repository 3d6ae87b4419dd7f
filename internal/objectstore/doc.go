// Package objectstore starts an S3 server (versitygw, Apache-2.0) for tests, on
// loopback and in a directory of its own. It uses the program that is installed,
// and says why where it cannot: testdata/objectstore/install.sh installs it.
package objectstore
