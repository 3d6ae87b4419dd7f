// Package directory opens the directories of a session store so that nothing
// in them can lead anywhere else. Every adapter whose sessions are files reads
// and changes them through it: names are looked at before they are opened,
// links are never followed, and a pipe or a device with the name of a session
// is never waited on (research/reliability.md section A4, rows 16 and 17).
//
// It also holds the question that every such adapter is asked before a change:
// whether somebody may be writing the session.
package directory
