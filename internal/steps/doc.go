// Package steps is what a run does with each session: compact it, archive it,
// remember it, take its facts, put it back; and what a profile says in one line
// about each of its steps.
package steps
