// Package cmd is the command line. One file holds one command, and every
// command has the same four parts in the same order: a constructor (help,
// flags, a RunE of a few lines), an options struct, its flags and checks, and
// a run function that is a straight page: open, decide, act, render.
//
// The list of commands is in root.go, and everything that is printed goes
// through output.go. What a command works with is a workspace.Run; what it does
// is in the packages below internal, which know no flags and print nothing. Only
// this package knows cobra, viper, lipgloss and progressbar.
package cmd
