// Package archive keeps byte-for-byte copies of session logs and can prove
// that they are good.
//
// An archive is one file, made once and never modified:
//
//	<dir>/<agent>/<session>.<UTC time>.<hash8>.jsonl       the bytes themselves
//	<dir>/<agent>/<session>.<UTC time>.<hash8>.jsonl.zst   compressed
//
// A session that is no JSON Lines has the end of its own file instead: .md,
// .json, .txt, or .jsonl.zst where the runtime has compressed it itself.
//
// hash8 is the start of the SHA-256 of the session's bytes, so that a file that
// is found without anything else can be checked (docs/dev/decisions.md D12). Any
// tool reads an archive; no part of this one is needed to get a conversation
// back.
//
// Beside the archives there is a catalogue, one small JSON file per archive.
// An entry is written last, after the archive has been made durable and then
// read back, decompressed and hashed: what the catalogue names was good once,
// and [Store.Verify] tells whether it still is. The id of an entry follows from
// runtime, agent, session and hash, so storing the same bytes twice, also after
// a crash at any point of the first time, gives one archive and one entry.
//
// Bytes go through in pieces of 256 KiB and are hashed, counted and compressed
// in one pass; memory does not grow with the session.
package archive
