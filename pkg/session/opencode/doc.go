// Package opencode reads the sessions of OpenCode, and of Kilo, which is made
// from it and keeps them in the same tables.
//
//	<data directory>/opencode.db          the sessions (package sessiondb); kilo.db
//	<data directory>/opencode-<channel>.db  those of a program of another channel
//	<data directory>/tool-output/tool_*   outputs of tools that were too long for the database
//	<data directory>/storage/session_diff what a session has changed in files
//	<data directory>/snapshot             git objects of the work tree
//
// The program never takes its write-ahead log into the database when it ends: a
// log beside it does not mean that it runs, and the database without its log may
// be empty. What every field means is in docs/dev/formats.md, "opencode".
package opencode
