// Package modelhttp is the one HTTP client for servers that run models:
// pkg/embed asks them for vectors, pkg/summarize for text. It knows how to ask
// and when to ask again. What a question means, and what to make of a reply,
// is for the two packages to say.
//
// A [Client] talks to one server. It follows no redirect, because a redirect
// could carry the conversation, and the key, to another host. [ParseBase]
// refuses a base URL that could hold a password, since addresses are shown in
// messages and logs.
//
// [Client.Ask] sends one [Question] and returns the body of a reply with status
// 200. Every try has its own deadline ([Question.Deadline]) and a bounded reply
// ([Question.Limit]). What happens to a try that fails depends on its error:
//
//	*StatusError      Options.Passing says by the status whether to try again
//	*ConnectionError  a connection that broke is tried again; a server that is
//	                  not there (see Absent), or a deadline that passed, is not
//	*SizeError        never tried again: the next reply would be as long
//
// The waits between tries are data ([Retry]): their number is the number of
// tries after the first. A server that sends Retry-After, in seconds or as a
// date, is given that time instead, unless it asks for more than
// [Retry.Longest]. Tests pass a [Clock] and wait for nothing.
//
// No error shows a secret. A server's complaint is searched for the key before
// anything else is done with it, a URL never appears in an error, and
// [Options.Tidy] lets a package cut the complaint and redact more.
package modelhttp
