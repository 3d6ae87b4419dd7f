// Package fakeobjects is an S3 server in memory, for tests that need many of them
// or none that is installed: buckets, objects with their metadata and SHA-256,
// conditional puts, ranges and lists. It does not check signatures. That sessctl
// gets on with a real server the tests of pkg/archive/objects show.
package fakeobjects
