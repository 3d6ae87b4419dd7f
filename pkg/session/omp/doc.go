// Package omp finds, reads and shortens the sessions of oh-my-pi (omp).
//
//	~/.omp/agent/sessions/<working directory>/<time>_<id>.jsonl   a session
//	~/.omp/agent/sessions/<working directory>/<time>_<id>/        what belongs to it: sub-agents' logs, long outputs
//	~/.omp/agent/blobs/<sha256>                                   images that its records name
//	~/.omp/agent/archive/sessions/.../<time>_<id>.jsonl.gz        what omp gc --archive has put away
//
// Records are those of pi (package piformat), but line 1 is a slot of fixed
// width for the title, which omp overwrites in place, and the header is line 2.
// An image stands in a record as "blob:sha256:...": a log without its blobs is
// not the whole session ([session.Traits].Attached).
//
// A running omp holds its log open, so a lease tells that it runs; elsewhere the
// quiet period has to do (docs/dev/formats.md, "omp").
package omp
