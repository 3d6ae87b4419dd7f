// Package fakeagentdb writes a database as OpenClaw 2026.9 keeps an agent's
// sessions in, for tests: the tables and columns that a reader needs, without
// the checks, so that rows can be wrong. Everything in it is made up.
package fakeagentdb
