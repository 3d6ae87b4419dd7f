// Package cline reads the sessions of the Cline CLI.
//
// A session is a directory data/sessions/<id> below ~/.cline with a manifest,
// <id>.json, and all that was said, <id>.messages.json: one JSON document that
// Cline writes again as a whole. What its own compaction put in the place of the
// first messages lies beside it, <id>.compaction.json; the messages stay where
// they are.
//
// [Tasks] are those of Cline's extension for editors, and of Roo Code and Kilo Code,
// which were made from it: tasks/<id>/api_conversation_history.json, one array of
// messages (docs/dev/formats.md, "clinetasks").
//
// Cline knows its sessions by a database and repeats what was said in two others,
// so a session is archived and remembered, and never changed (docs/dev/formats.md,
// "cline").
package cline
