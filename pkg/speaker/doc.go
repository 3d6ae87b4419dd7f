// Package speaker tells whose words a text is made of. A message stands in somebody's
// name, and often only a part of it is theirs: programs put stamps, events, reminders
// and whole prompts into the name of a person, and people paste logs, traces and code.
//
// [Person] and [Agent] cut a text into spans: said in words, shown (pasted by a person,
// between fences or printed in an answer), or put there by a program. What a program
// writes is known by its form, one row of a table for each ([Envelopes]). What is shown
// is known by what its lines look like: weights that were learned (bench/speaker) say for
// the words of a line, and for the signs between its spaces, how much they speak for
// something shown. Lines count together, so that a word of prose in a log stays a part
// of the log.
package speaker
