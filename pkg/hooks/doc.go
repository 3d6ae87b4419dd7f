// Package hooks registers sessctl with the runtimes: as a server that an agent
// asks for its memory, and as a program that a runtime calls before it changes or
// leaves a session.
//
// What a runtime is told stands in its own files: settings in JSON, of which only
// our part is added and taken away and every other byte stays; a table in TOML;
// or whole files that are ours. A [Plan] is data: which files change from what to
// what. [Plan.Execute] writes them, and leaves a record by which [Remove] makes
// each file again what it was.
//
// What runtimes call, and with what, was seen with the real programs
// (docs/dev/formats.md, "Hooks").
package hooks
