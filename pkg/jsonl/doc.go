// Package jsonl reads JSON Lines logs: one JSON object per line, megabytes to
// gigabytes of them, written by programs that crash.
package jsonl
