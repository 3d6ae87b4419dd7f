// Package metrics writes what is known of sessions, archives, memory and runs in
// the text format of Prometheus. It is given a [Reading]; nothing is counted
// while the process runs, so a file that is written by a timer and a page that is
// asked for say the same.
//
// Labels name agents, profiles and directories, never sessions: there are few of
// them, they stay, and their number is bounded ([MaxAgents]).
package metrics
