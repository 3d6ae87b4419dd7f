// Package secrets finds what looks like a secret in text and puts a mark in
// its place: keys and tokens of services by their prefixes, private keys,
// passwords in addresses and assignments, credentials in headers.
//
// It guards what leaves a session log for other eyes: memory, which is
// searched and shown, summaries, and prompts for models. Archives and replayed
// contexts keep every byte. The rules are anchored: each begins with letters
// that ordinary text hardly has, so nearly all text is only scanned once. Their
// shapes are those that public secret scanners know, written anew
// (docs/dev/decisions.md D22).
package secrets
