// Package fakesessiondb writes databases as OpenCode 1.18 does: its tables, and
// for every change of an object an event with the whole new state.
package fakesessiondb
