// Package secrets finds what looks like a secret in text and puts a mark in
// its place: keys and tokens of services by their prefixes, private keys,
// passwords in addresses and assignments, credentials in headers.
//
// It guards what leaves a session log for other eyes: memory, which is
// searched and shown, summaries, and prompts for models. Archives and replayed
// contexts keep every byte. The rules are anchored: each begins with letters
// that ordinary text hardly has, so nearly all text is only scanned once. Shapes of
// tokens are a table: our own, and those that Gitleaks publishes. People and models
// write credentials as prose and Markdown; there a label leads to the value, or to
// the nearest word that looks like one (docs/dev/decisions.md D22). What was found once is
// found again where nothing tells what it is: in its text, and in those of its [Session].
package secrets
