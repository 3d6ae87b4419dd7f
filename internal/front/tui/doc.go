// Package tui reads for the terminal browser what it shows: the list of
// everything, and a session or an archive a page at a time.
package tui
